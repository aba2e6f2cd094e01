defmodule Bench.Frames do
  # The guide's chain, from binary to binary through a stream, beside the same chain in OpenCV (a
  # process of its own, see bench/frame_chain.cpp). The peer does not pay for getting frames there.

  alias Bench.Line
  alias Dala.Media.{Gpu, TestScene}

  @calls 40
  @native Path.expand("../../_build/bench/dala_bench", __DIR__)
  @filters [
    {:blur, %{radius: 3, sigma: 1.5}},
    {:sharpen, %{amount: 0.3}},
    {:brightness, %{value: 0.1}}
  ]

  def family, do: "frames"

  def workloads(options) do
    for {width, height} <- [{640, 480}, {1920, 1080}] do
      {"chain #{width}x#{height}", fn -> [measure(width, height, options)] end}
    end
  end

  defp measure(width, height, options) do
    {:ok, ctx} = Gpu.start_pipeline(width, height)
    frame = TestScene.frame(width, height)
    port = Port.open({:spawn_executable, @native}, [:binary, line: 100, args: ["--serve-frames"]])
    ours = fn -> round_of(fn -> Gpu.process_frame(ctx, frame, @filters) end) end
    theirs = fn -> ask(port, width, height) end
    ours.()

    rounds = for _round <- 1..if(options.quick, do: 5, else: 15), do: {ours.(), theirs.()}

    Port.close(port)
    Gpu.stop_pipeline(ctx)
    {our_times, their_times} = Enum.unzip(rounds)
    line = %Line{peer: "OpenCV", ours: Line.median(our_times), at_least: 1.5}

    if nil in their_times do
      line
    else
      ratio = Line.median(for {ours, theirs} <- rounds, do: theirs / ours)
      %{line | theirs: Line.median(their_times), ratio: ratio}
    end
  end

  defp ask(port, width, height) do
    Port.command(port, "#{width} #{height}\n")

    receive do
      {^port, {:data, {:eol, "none"}}} -> nil
      {^port, {:data, {:eol, text}}} -> String.to_integer(text) * 1.0
    after
      60_000 -> raise "dala_bench does not answer"
    end
  end

  defp round_of(call), do: Line.median_time(call, @calls)
end
