defmodule Dala.System.PredictionsTest do
  # Many processes on one model: results are those of one process to the bit, memory stays flat, and
  # no process waits long.
  use Dala.Test.GpuCase, async: false

  alias Dala.ML.Gpu
  alias Dala.Test.{Measurements, SmallNetwork}

  @processes 16
  @seconds 8

  @tag timeout: :infinity
  test "#{@processes} processes get what one gets, in memory that does not grow" do
    {:ok, model} = Gpu.load_model({:binary, SmallNetwork.onnx()})
    cases = for index <- 1..8, do: prepare(model, index)
    start = quiet_memory()

    times = Measurements.histogram()
    deadline = System.monotonic_time(:millisecond) + @seconds * 1000

    tasks =
      for number <- 1..@processes do
        Task.async(fn -> predict_until(deadline, model, cases, number, times) end)
      end

    samples = Measurements.sample_while_alive(Enum.map(tasks, & &1.pid), deadline + 60_000)
    counts = for {_task, {:ok, count}} <- Task.yield_many(tasks, 60_000), do: count
    assert length(counts) == @processes
    assert Enum.all?(counts, &(&1 > 0))

    assert Measurements.grown(samples, :resident) <= 16 * 1024 * 1024
    assert Measurements.grown(samples, :in_use) <= 1024 * 1024
    eventually(fn -> settled_memory() <= start end)

    # Every prediction was counted once.
    assert Enum.sum(counts) == Measurements.total(times)
  end

  # A picture of its own, as many at once as its number says, and what one process gets for it.
  defp prepare(model, index) do
    shape = {rem(index, 3) + 1, 3, 32, 32}
    bytes = SmallNetwork.input(shape, index)
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
        Measurements.record(times, System.monotonic_time(:microsecond) - start)
      end

      predict_until(deadline, model, cases, number, times, count + length(predictions))
    else
      count
    end
  end
end
