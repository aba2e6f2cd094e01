defmodule Dala.Media.Gpu.Timing do
  @moduledoc false
  # Frame counts of a stream, and the latencies of its latest frames.

  @window 512

  @type t :: %{
          frames: non_neg_integer(),
          dropped: non_neg_integer(),
          failed: non_neg_integer(),
          latest: :queue.queue(),
          held: non_neg_integer()
        }

  @spec new() :: t()
  def new, do: %{frames: 0, dropped: 0, failed: 0, latest: :queue.new(), held: 0}

  @spec count(t(), Dala.Media.Gpu.Stream.result(), integer()) :: t()
  def count(timing, :dropped, _latency), do: %{timing | dropped: timing.dropped + 1}
  def count(timing, {:error, _error}, _latency), do: %{timing | failed: timing.failed + 1}

  def count(timing, {:ok, _frame}, latency) do
    latest = :queue.in({System.monotonic_time(:microsecond), latency}, timing.latest)
    timing = %{timing | frames: timing.frames + 1, latest: latest, held: timing.held + 1}

    if timing.held > @window do
      %{timing | latest: :queue.drop(timing.latest), held: @window}
    else
      timing
    end
  end

  @spec report(t(), [map()], non_neg_integer()) :: map()
  def report(timing, kernels, queued) do
    latest = :queue.to_list(timing.latest)
    latencies = latest |> Enum.map(&elem(&1, 1)) |> Enum.sort()

    %{
      frames: timing.frames,
      dropped: timing.dropped,
      failed: timing.failed,
      queued: queued,
      fps: rate(latest),
      latency_ms: %{
        median: percentile(latencies, 0.5),
        p95: percentile(latencies, 0.95),
        max: percentile(latencies, 1.0)
      },
      stages: kernels |> Enum.map(&stage/1) |> Enum.sort_by(&(-&1.total_ms))
    }
  end

  defp stage(kernel) do
    %{
      name: kernel.name,
      count: kernel.count,
      mean_ms: kernel.device_ns / max(kernel.count, 1) / 1.0e6,
      total_ms: kernel.device_ns / 1.0e6
    }
  end

  defp rate([{first, _}, _ | _] = latest) do
    {last, _} = List.last(latest)
    if last > first, do: (length(latest) - 1) * 1.0e6 / (last - first), else: 0.0
  end

  defp rate(_too_few), do: 0.0

  defp percentile([], _share), do: 0.0

  defp percentile(sorted, share) do
    index = min(length(sorted) - 1, round(share * (length(sorted) - 1)))
    Enum.at(sorted, index) / 1000
  end
end
