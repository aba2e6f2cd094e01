defmodule Dala.System.PredictionsTest do
  # Many processes on one model: results are those of one process to the bit, memory stays flat, and
  # nobody waits long. For some seconds here, for minutes by `make soak`.
  use Dala.Test.GpuCase, async: false

  alias Dala.ML.Gpu
  alias Dala.Test.OnnxFile

  @processes 16
  @seconds String.to_integer(System.get_env("DALA_SOAK_SECONDS", "8"))
  @sample_ms 100

  @tag timeout: :infinity
  test "#{@processes} processes get what one gets, in memory that does not grow" do
    {:ok, model} = Gpu.load_model({:binary, network()})
    cases = for index <- 1..8, do: prepare(model, index)
    start = settled_memory()

    times = :counters.new(1024, [:write_concurrency])
    deadline = System.monotonic_time(:millisecond) + @seconds * 1000

    tasks =
      for number <- 1..@processes do
        Task.async(fn -> predict_until(deadline, model, cases, number, times) end)
      end

    samples = watch(tasks, deadline + 60_000)
    counts = for {_task, {:ok, count}} <- Task.yield_many(tasks, 60_000), do: count
    assert length(counts) == @processes
    assert Enum.all?(counts, &(&1 > 0))

    assert grown(samples, :resident) <= 16 * 1024 * 1024
    assert grown(samples, :in_use) <= 1024 * 1024
    eventually(fn -> settled_memory() <= start end)

    # Every prediction was counted once.
    assert Enum.sum(counts) == total(times)
    if System.get_env("DALA_SOAK_SECONDS"), do: IO.puts(report(times, samples))
  end

  # A picture of its own, as many at once as its number says, and what one process gets for it.
  defp prepare(model, index) do
    shape = {rem(index, 3) + 1, 3, 32, 32}
    bytes = random(Tuple.product(shape), index)
    {:ok, output} = Gpu.predict(model, Compute.buffer_from_binary(bytes, shape, :f32))
    result = Compute.read(output)
    assert byte_size(result) == 4 * 10 * elem(shape, 0)
    {shape, bytes, result}
  end

  # Odd ones have two predictions under way at a time. Raises at the first wrong bit.
  defp predict_until(deadline, model, cases, number, times, count \\ 0) do
    if System.monotonic_time(:millisecond) < deadline do
      picked = Enum.map(0..rem(number, 2), &Enum.at(cases, rem(number + count + &1, 8)))
      start = System.monotonic_time(:microsecond)

      predictions =
        for {shape, bytes, expected} <- picked do
          input = Compute.buffer_from_binary(bytes, shape, :f32)
          {:ok, prediction} = Gpu.predict_async(model, input)
          {prediction, expected}
        end

      for {prediction, expected} <- predictions do
        {:ok, output} = Gpu.await(prediction, 60_000)
        ^expected = Compute.read(output)
        :counters.add(times, bucket(System.monotonic_time(:microsecond) - start), 1)
      end

      predict_until(deadline, model, cases, number, times, count + length(predictions))
    else
      count
    end
  end

  # Looks at memory from time to time until all are done.
  defp watch(tasks, bound) do
    monitors = for task <- tasks, do: Process.monitor(task.pid)
    sample(monitors, bound, [])
  end

  defp sample([], _bound, samples), do: Enum.reverse(samples)

  defp sample(monitors, bound, samples) do
    receive do
      {:DOWN, monitor, :process, _pid, reason} when reason != :normal ->
        if monitor in monitors, do: flunk(inspect(reason)), else: sample(monitors, bound, samples)

      {:DOWN, monitor, :process, _pid, :normal} ->
        sample(List.delete(monitors, monitor), bound, samples)
    after
      @sample_ms ->
        assert System.monotonic_time(:millisecond) < bound
        now = %{resident: resident(), in_use: Compute.memory_info().in_use}
        sample(monitors, bound, [now | samples])
    end
  end

  # From the second third to the last, what comes and goes left aside.
  defp grown(samples, kind) do
    third = div(length(samples), 3)
    usual = &(&1 |> Enum.map(fn sample -> sample[kind] end) |> median())
    usual.(Enum.drop(samples, 2 * third)) - usual.(Enum.slice(samples, third, third))
  end

  defp median(numbers), do: numbers |> Enum.sort() |> Enum.at(div(length(numbers), 2))

  defp resident do
    [_, kilobytes] = Regex.run(~r/VmRSS:\s+(\d+) kB/, File.read!("/proc/self/status"))
    String.to_integer(kilobytes) * 1024
  end

  # Times fall into buckets that are a twelfth of a doubling wide, so that keeping them takes no
  # memory.
  defp bucket(microseconds), do: 1 + round(12 * :math.log2(max(microseconds, 1)))
  defp milliseconds(bucket), do: Float.round(:math.pow(2, (bucket - 1) / 12) / 1000, 2)

  defp total(times), do: Enum.sum(for bucket <- 1..1024, do: :counters.get(times, bucket))

  defp percentile(times, percent) do
    rank = total(times) * percent / 100

    Enum.reduce_while(1..1024, 0, fn bucket, below ->
      below = below + :counters.get(times, bucket)
      if below >= rank and below > 0, do: {:halt, milliseconds(bucket)}, else: {:cont, below}
    end)
  end

  defp report(times, samples) do
    latencies =
      for percent <- [50, 90, 99, 99.9, 100], do: "p#{percent} #{percentile(times, percent)} ms"

    memory =
      for {kind, name} <- [in_use: "buffers", resident: "resident"] do
        sizes = Enum.map(samples, & &1[kind])

        "#{name} #{mib(Enum.min(sizes))} to #{mib(Enum.max(sizes))}, grown #{mib(grown(samples, kind))}"
      end

    "\n#{@processes} processes, #{@seconds} s: #{total(times)} predictions, all as from one process\n" <>
      "  #{Enum.join(latencies, ", ")}\n  #{Enum.join(memory, "; ")}"
  end

  defp mib(bytes), do: "#{Float.round(bytes / 1024 / 1024, 2)} MiB"

  # A small classifier with a bit of everything: a stem, a depthwise and a pointwise convolution
  # with a shortcut, a matrix product.
  defp network do
    OnnxFile.model(
      [
        {"Conv", ["x", "w1", "b1"], ["c1"],
         kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1]},
        {"Relu", ["c1"], ["r1"]},
        {"Conv", ["r1", "w2"], ["c2"], kernel_shape: [3, 3], pads: [1, 1, 1, 1], group: 24},
        {"Relu", ["c2"], ["r2"]},
        {"Conv", ["r2", "w3"], ["c3"], kernel_shape: [1, 1]},
        {"Add", ["c3", "r1"], ["a"]},
        {"GlobalAveragePool", ["a"], ["p"]},
        {"Flatten", ["p"], ["f"]},
        {"Gemm", ["f", "w4"], ["g"]},
        {"Softmax", ["g"], ["y"]}
      ],
      [{"x", :f32, ["batch", 3, 32, 32]}],
      [{"y", :f32, ["batch", 10]}],
      constants: [
        {"w1", {:f32, [24, 3, 3, 3], random(24 * 27, 1)}},
        {"b1", {:f32, [24], random(24, 2)}},
        {"w2", {:f32, [24, 1, 3, 3], random(24 * 9, 3)}},
        {"w3", {:f32, [24, 24, 1, 1], random(24 * 24, 4)}},
        {"w4", {:f32, [24, 10], random(240, 5)}}
      ]
    )
  end

  defp random(count, seed) do
    state = :rand.seed_s(:exsss, seed)

    {bytes, _state} =
      Enum.map_reduce(1..count, state, fn _index, state ->
        {number, state} = :rand.uniform_s(state)
        {<<2 * number - 1::float-32-native>>, state}
      end)

    IO.iodata_to_binary(bytes)
  end
end
