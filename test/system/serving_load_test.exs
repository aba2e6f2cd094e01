defmodule Dala.System.ServingLoadTest do
  # A serving under random arrivals at half, nine tenths and one and a half of what it can do: every
  # request has an answer, those that are admitted have it in bounded time, and memory does not grow.
  # A second each here; `make soak-serving` takes longer, compares with direct predictions, and
  # prints what it measured. DALA_SERVING_MODEL is the model, a small one by default.
  use Dala.Test.GpuCase, async: false

  alias Dala.ML.{Gpu, Serving}
  alias Dala.Test.{Measurements, OpenLoop, SmallNetwork}

  @seconds String.to_integer(System.get_env("DALA_SERVING_SECONDS", "1"))
  @long System.get_env("DALA_SERVING_SECONDS") != nil
  @timeout 10_000
  @queue 64
  @clients 16

  @tag timeout: :infinity
  test "requests are answered at any load" do
    {:ok, model} = Gpu.load_model(source())
    input = Buffer.zeros(shape(model))
    {:ok, _output} = Gpu.predict(model, input)
    start_supervised!({Serving, name: Loaded, model: model, queue: @queue, batch: [max: 4]})
    serve = fn -> Serving.run(Loaded, input, timeout: @timeout) end
    predict = fn -> Gpu.predict(model, input) end

    {direct, capacity} = throughputs(predict, serve)
    if @long, do: idle(predict, serve)

    print(
      "#{model.name}, #{@clients} clients: #{round(direct)} direct predictions per second, " <>
        "#{round(capacity)} through the serving (#{Float.round(capacity / direct, 3)})"
    )

    OpenLoop.run(0.5 * capacity, 0.5 * @seconds, serve)
    before = resident()

    for load <- [0.5, 0.9, 1.5] do
      result = OpenLoop.run(load * capacity, @seconds, serve)
      assert Enum.all?(Map.keys(result.outcomes), &(&1 in [:ok, :overloaded])), inspect(result)
      ok = result.outcomes[:ok]

      print(
        "#{load} of capacity, #{round(result.rate)} per second: #{round(ok / @seconds)} answered, " <>
          "#{Map.get(result.outcomes, :overloaded, 0)} refused; " <>
          Measurements.latencies(result.histogram)
      )

      # What is admitted has at most the queue and the running batches in front of it.
      longest = 1000 * (@queue + 16) / capacity
      assert Measurements.percentile(result.histogram, 99.9) < 10 * longest + 1_000
      if load > 1 and @long, do: assert(Map.get(result.outcomes, :overloaded, 0) > 0)
    end

    for pid <- Process.list(), do: :erlang.garbage_collect(pid)
    grown = resident() - before
    print("memory of the VM: #{div(grown, 1024)} KiB more")
    assert grown < 64 * 1024 * 1024
  end

  # In turns, so that whatever else the machine does concerns both.
  defp throughputs(predict, serve) do
    rounds =
      for _ <- 1..3 do
        {OpenLoop.throughput(@clients, @seconds / 3, predict),
         OpenLoop.throughput(@clients, @seconds / 3, serve)}
      end

    {rounds |> Enum.map(&elem(&1, 0)) |> Enum.max(),
     rounds |> Enum.map(&elem(&1, 1)) |> Enum.max()}
  end

  defp idle(predict, serve) do
    {direct, served} = {OpenLoop.median(500, predict), OpenLoop.median(500, serve)}

    print("idle, one client: median #{direct} µs direct, #{served} µs through the serving")
  end

  defp source, do: System.get_env("DALA_SERVING_MODEL") || {:binary, SmallNetwork.onnx()}

  defp shape(%{inputs: [%{shape: shape}]}),
    do: put_elem(shape, 0, 1)

  defp resident, do: :erlang.memory(:total)

  defp print(line), do: if(@long, do: IO.puts(["\n", line]))
end
