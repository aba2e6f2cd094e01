# A tour of the library, one step at a time. Run it with `make demo`, or
#
#     mix run examples/quick_start.exs

defmodule QuickStart do
  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Bytes, Kernel, Pipeline}
  alias Dala.Media.{Gpu, Image, TestScene}

  def run do
    unless Compute.available?() do
      IO.puts(Compute.doctor())
      System.halt(1)
    end

    device()
    buffers()
    async()
    pipeline()
    custom_kernel()
    matmul()
    filters()
    model()
    memory()
  end

  defp device do
    title("The device")
    info = Compute.device_info()
    say("#{info.name}")
    say("#{info.type}, #{info.compute_units} compute units, #{Bytes.format(info.global_memory)}")
    say("chosen because #{info.why}")

    say("")

    say("Each kernel is compiled at its first use, which takes about a second, and cached in")
    say("#{info.cache_dir}, so the next run of this tour is faster.")
  end

  defp buffers do
    title("Buffers and a kernel: c = a + b")
    a = Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
    b = Compute.buffer([4.0, 5.0, 6.0], {3}, :f32)
    c = Compute.buffer_zeros({3}, :f32)

    timed("add", fn -> :ok = Compute.add(a, b, c) end)
    show("a", Compute.read_list(a))
    show("b", Compute.read_list(b))
    show("c", Compute.read_list(c))
    show("inspect(c)", c)

    say("")
    say("A wrong call returns an error that says what was expected, and changes nothing:")
    {:error, error} = Compute.add(a, Compute.buffer([1, 2], {2}), c)
    show("reason", error.reason)
    show("message", error.message)
    Compute.free_many([a, b, c])
  end

  defp async do
    title("Asynchronous commands: fifty square roots of a million numbers")
    numbers = Compute.buffer(Enum.to_list(1..1_000_000), {1_000_000})
    sqrt = %{op: :run_kernel, kernel: :sqrt, inputs: [numbers], output: numbers}

    ids = for _ <- 1..50, do: Compute.submit(sqrt, notify: self())
    last = List.last(ids)
    show("submitted as", "#{hd(ids)} to #{last}")
    show("poll(#{last})", Compute.poll(last))
    say("this process can do other work until the message arrives")

    receive do
      {:dala_gpu, ^last, result} -> show("message for #{last}", result)
    end

    show("poll(#{last})", Compute.poll(last))
    show("the last element", numbers |> Compute.read_list() |> List.last())
  end

  defp pipeline do
    title("A pipeline: softmax(relu(x) * 2), validated once, run many times")
    x = Compute.buffer([-1.0, 0.5, 1.0], {3})
    y = Compute.buffer_zeros({3}, :f32)

    pipeline =
      Pipeline.new()
      |> Pipeline.run_kernel(:relu, [x], y)
      |> Pipeline.run_kernel(:scalar_mul, [y], y, scalar: 2)
      |> Pipeline.run_kernel(:softmax, [y], y)

    show("pipeline", pipeline)
    timed("first run", fn -> :ok = Pipeline.run(pipeline) end)
    show("y", Compute.read_list(y))

    {micros, _} = :timer.tc(fn -> for _ <- 1..1000, do: :ok = Pipeline.run(pipeline) end)
    say("1000 more runs: #{Float.round(micros / 1000, 1)} µs each")
    Pipeline.free(pipeline)
  end

  defp custom_kernel do
    title("A custom kernel")
    say("swish(x) = x / (1 + exp(-x)), as one line of OpenCL C:")

    timed("register", fn ->
      :ok = Kernel.elementwise(:swish, "x / (1 + exp(-x))")
    end)

    x = Compute.buffer([-2.0, -1.0, 0.0, 1.0, 2.0], {5})
    :ok = Compute.run_kernel(:swish, [x], x)
    show("swish", Compute.read_list(x))
    show("kernels now", length(Compute.kernels()))
  end

  defp matmul do
    n = 512
    title("Matrix multiplication, #{n} by #{n}")
    a = Compute.buffer(for(_ <- 1..(n * n), do: :rand.uniform()), {n, n})
    b = Compute.buffer(for(_ <- 1..(n * n), do: :rand.uniform()), {n, n})
    c = Compute.buffer_zeros({n, n}, :f32)

    timed("first call", fn -> :ok = Compute.matmul(a, b, c) end)
    times = for _ <- 1..20, do: elem(:timer.tc(fn -> :ok = Compute.matmul(a, b, c) end), 0)
    best = Enum.min(times)

    say(
      "best of 20: #{Float.round(best / 1000, 2)} ms, " <>
        "#{Float.round(2 * n * n * n / best / 1000, 1)} GFLOP/s"
    )
  end

  defp filters do
    {width, height} = {640, 480}
    title("Filters on frames of #{width} by #{height}")
    chain = [{:beauty, %{strength: 0.8}}, :vignette, :sepia, {:contrast, %{value: 0.1}}]
    show("chain", chain)
    {:ok, ctx} = Gpu.start_pipeline(width, height)
    frames = for i <- 0..4, do: TestScene.frame(width, height, time: i)

    timed("first frame", fn -> Gpu.process_frame(ctx, hd(frames), chain) end)
    for _round <- 1..20, frame <- frames, do: Gpu.process_frame(ctx, frame, chain)
    stats = Gpu.stats(ctx)
    say("100 more: #{Float.round(stats.latency_ms.median, 2)} ms each")
    for stage <- stats.stages, do: say("  #{stage.name}: #{Float.round(stage.mean_ms, 2)} ms")

    frame = List.last(frames)
    filtered = Gpu.process_frame(ctx, frame, chain)
    path = Path.expand("_build/demo.png")
    File.mkdir_p!(Path.dirname(path))

    both =
      for {left, right} <- Enum.zip(rows(frame, width), rows(filtered, width)), into: <<>> do
        left <> right
      end

    :ok = Image.write(Image.new(2 * width, height, both), path)
    say("before and after: #{path}")
  end

  defp rows(rgba, width), do: for(<<row::binary-size(4 * width) <- rgba>>, do: row)

  defp model do
    title("A model from an ONNX file")
    {:ok, model} = Dala.ML.Gpu.load_model(Path.join(__DIR__, "double.onnx"))
    show("model", model)
    {:ok, output} = Dala.ML.Gpu.predict(model, Compute.buffer([1, 2, 3], {1, 3}))
    show("predict [1, 2, 3]", Compute.read_list(output))
  end

  defp memory do
    title("Memory")
    for {key, bytes} <- Compute.memory_info(), do: show(key, Bytes.format(bytes))
    say("")
    say("End of the tour. README.md lists the other features.")
  end

  defp title(text), do: IO.puts("\n#{text}\n#{String.duplicate("-", String.length(text))}")
  defp say(""), do: IO.puts("")
  defp say(text), do: IO.puts("  " <> text)
  defp show(name, value) when is_binary(value), do: say("#{name}: #{value}")
  defp show(name, value), do: say("#{name}: #{inspect(value)}")

  defp timed(name, function) do
    {micros, _result} = :timer.tc(function)
    say("#{name}: done in #{Float.round(micros / 1000, 1)} ms")
  end
end

QuickStart.run()
