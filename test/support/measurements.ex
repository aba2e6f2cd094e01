defmodule Dala.Test.Measurements do
  @moduledoc false
  # Recordings of long-running tests: latencies in a histogram of constant size, and samples of
  # memory.

  import ExUnit.Assertions

  alias Dala.Gpu.Compute

  @sample_ms 100
  @buckets 1024

  @doc "An empty histogram of times. Buckets are a twelfth of an octave wide."
  def histogram, do: :counters.new(@buckets, [:write_concurrency])

  @doc "Counts a time in microseconds."
  def record(histogram, microseconds),
    do: :counters.add(histogram, 1 + round(12 * :math.log2(max(microseconds, 1))), 1)

  @doc "How many times were recorded."
  def total(histogram),
    do: Enum.sum(for bucket <- 1..@buckets, do: :counters.get(histogram, bucket))

  @doc "The percentiles that a report shows, as text."
  def latencies(histogram) do
    Enum.map_join([50, 90, 99, 99.9, 100], ", ", fn percent ->
      "p#{percent} #{percentile(histogram, percent)} ms"
    end)
  end

  @doc "A percentile in milliseconds."
  def percentile(histogram, percent) do
    rank = total(histogram) * percent / 100

    Enum.reduce_while(1..@buckets, 0, fn bucket, below ->
      below = below + :counters.get(histogram, bucket)
      if below >= rank and below > 0, do: {:halt, milliseconds(bucket)}, else: {:cont, below}
    end)
  end

  defp milliseconds(bucket), do: Float.round(:math.pow(2, (bucket - 1) / 12) / 1000, 2)

  @doc """
  Samples memory until all processes have ended normally; flunks when one ends otherwise, or when
  they take longer than `bound`, a monotonic time in milliseconds.
  """
  def sample_while_alive(pids, bound),
    do: sample(Enum.map(pids, &Process.monitor/1), bound, beside_buffers(), [])

  defp sample([], _bound, _least, samples), do: Enum.reverse(samples)

  defp sample(monitors, bound, least, samples) do
    receive do
      {:DOWN, monitor, :process, _pid, reason} when reason != :normal ->
        if monitor in monitors,
          do: flunk(inspect(reason)),
          else: sample(monitors, bound, least, samples)

      {:DOWN, monitor, :process, _pid, :normal} ->
        sample(List.delete(monitors, monitor), bound, least, samples)
    after
      @sample_ms ->
        assert System.monotonic_time(:millisecond) < bound
        # Pages that were never touched count as in use and are not resident, which hides as much
        # of the rest: no sample is below the first one.
        resident = max(beside_buffers(), least)
        now = %{resident: resident, in_use: Compute.memory_info().in_use}
        sample(monitors, bound, least, [now | samples])
    end
  end

  # Buffers are counted by themselves, and the pool keeps what was freed.
  defp beside_buffers do
    memory = Compute.memory_info()
    resident() - memory.in_use - memory.shared - memory.pooled
  end

  @doc "The growth of the median from the second third of the samples to the last."
  def grown(samples, kind) do
    third = div(length(samples), 3)
    usual = &(&1 |> Enum.map(fn sample -> sample[kind] end) |> median())
    usual.(Enum.drop(samples, 2 * third)) - usual.(Enum.slice(samples, third, third))
  end

  @doc "Formats a summary of the samples."
  def memory(samples) do
    Enum.map_join([in_use: "buffers", resident: "resident beside them"], "; ", fn {kind, name} ->
      sizes = Enum.map(samples, & &1[kind])
      range = "#{mib(Enum.min(sizes))} to #{mib(Enum.max(sizes))}"
      "#{name} #{range}, grown #{mib(grown(samples, kind))}"
    end)
  end

  defp median(numbers), do: numbers |> Enum.sort() |> Enum.at(div(length(numbers), 2))

  defp mib(bytes), do: "#{Float.round(bytes / 1024 / 1024, 2)} MiB"

  @doc "The bytes of this VM that are in memory."
  def resident do
    [_, kilobytes] = Regex.run(~r/VmRSS:\s+(\d+) kB/, File.read!("/proc/self/status"))
    String.to_integer(kilobytes) * 1024
  end
end
