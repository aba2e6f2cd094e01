defmodule Dala.ML.Serving.Counters do
  @moduledoc false
  # The counters of a serving, in one array of numbers that its process writes and any process reads
  # without a message; and the same as text in the format of Prometheus.

  @results [:ok, :error, :crashed, :overloaded, :deadline, :cancelled, :stopping, :device_lost]
  @gauges [:waiting, :running]
  # Upper bounds of buckets, in microseconds and in requests.
  @times [250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000] ++
           [250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000]
  @sizes [1, 2, 4, 8, 16, 32, 64, 128]

  # A histogram is its buckets, one for what is above them, and the sum.
  @histograms [duration: @times, queue_time: @times, batch_time: @times, batch_size: @sizes]

  {slots, count} = Enum.map_reduce(@gauges ++ [:received] ++ @results, 1, &{{&1, &2}, &2 + 1})

  {starts, count} =
    Enum.map_reduce(@histograms, count, fn {name, bounds}, at ->
      {{name, at}, at + length(bounds) + 2}
    end)

  @slots Map.new(slots)
  @starts Map.new(starts)
  @count count

  @type t :: :counters.counters_ref()
  @type result ::
          :ok
          | :error
          | :crashed
          | :overloaded
          | :deadline
          | :cancelled
          | :stopping
          | :device_lost

  @spec new() :: t()
  def new, do: :counters.new(@count, [])

  @doc "Requests that wait, and requests that run."
  @spec load(t()) :: non_neg_integer()
  def load(counters), do: get(counters, :waiting) + get(counters, :running)

  @spec get(t(), atom()) :: integer()
  def get(counters, name), do: :counters.get(counters, Map.fetch!(@slots, name))

  @spec put(t(), :waiting | :running, non_neg_integer()) :: :ok
  def put(counters, name, value), do: :counters.put(counters, Map.fetch!(@slots, name), value)

  @spec add(t(), atom()) :: :ok
  def add(counters, name), do: :counters.add(counters, Map.fetch!(@slots, name), 1)

  @doc "Counts a result; those with reasons of other modules are `:error`."
  @spec result(t(), atom()) :: :ok
  def result(counters, result),
    do: add(counters, if(result in @results, do: result, else: :error))

  @doc "Enters a duration in native units."
  @spec time(t(), :duration | :queue_time | :batch_time, integer()) :: :ok
  def time(counters, name, native) do
    observe(
      counters,
      name,
      @times,
      System.convert_time_unit(max(native, 0), :native, :microsecond)
    )
  end

  @spec size(t(), pos_integer()) :: :ok
  def size(counters, size), do: observe(counters, :batch_size, @sizes, size)

  defp observe(counters, name, bounds, value) do
    start = Map.fetch!(@starts, name)
    :counters.add(counters, start + bucket(bounds, value, 0), 1)
    :counters.add(counters, start + length(bounds) + 1, value)
  end

  defp bucket([bound | rest], value, index) when value > bound, do: bucket(rest, value, index + 1)
  defp bucket(_bounds, _value, index), do: index

  @doc "The numbers of requests so far, by result."
  @spec results(t()) :: %{result() => non_neg_integer()}
  def results(counters), do: Map.new(@results, &{&1, get(counters, &1)})

  @doc "The number of batches so far."
  @spec batches(t()) :: non_neg_integer()
  def batches(counters), do: counters |> buckets(:batch_size) |> elem(0) |> Enum.sum()

  defp buckets(counters, name) do
    start = Map.fetch!(@starts, name)
    last = start + length(@histograms[name])
    {Enum.map(start..last, &:counters.get(counters, &1)), :counters.get(counters, last + 1)}
  end

  @doc "The text of several servings, each `{name, model, limit, replicas, counters}`."
  @spec text([{atom(), String.t(), integer(), integer(), t()}]) :: String.t()
  def text(servings) do
    [
      family(servings, "dala_serving_info", "gauge", "What a serving runs.", fn {_, model, _, _,
                                                                                 _} ->
        [{"", [model: model], 1}]
      end),
      family(
        servings,
        "dala_serving_waiting",
        "gauge",
        "Requests in the queue.",
        &gauge(&1, :waiting)
      ),
      family(
        servings,
        "dala_serving_running",
        "gauge",
        "Requests that run.",
        &gauge(&1, :running)
      ),
      family(servings, "dala_serving_queue_limit", "gauge", "The most requests that wait.", fn
        {_, _, limit, _, _} -> [{"", [], limit}]
      end),
      family(servings, "dala_serving_replicas", "gauge", "Batches that run at once.", fn
        {_, _, _, replicas, _} -> [{"", [], replicas}]
      end),
      family(
        servings,
        "dala_serving_received_total",
        "counter",
        "Requests received.",
        &gauge(&1, :received)
      ),
      family(servings, "dala_serving_requests_total", "counter", "Requests by result.", fn
        {_, _, _, _, counters} ->
          for {result, count} <- Enum.sort(results(counters)), do: {"", [result: result], count}
      end),
      for {name, key, help} <- [
            {"request_duration_seconds", :duration, "From arrival to answer."},
            {"queue_duration_seconds", :queue_time, "From arrival to the start of the batch."},
            {"batch_duration_seconds", :batch_time, "Time of a batch."},
            {"batch_size", :batch_size, "Requests of a batch."}
          ] do
        family(servings, "dala_serving_" <> name, "histogram", help, fn {_, _, _, _, counters} ->
          histogram(counters, key)
        end)
      end
    ]
    |> IO.iodata_to_binary()
  end

  defp gauge({_, _, _, _, counters}, name), do: [{"", [], get(counters, name)}]

  defp histogram(counters, name) do
    {counts, sum} = buckets(counters, name)
    bounds = Enum.map(@histograms[name], &amount(name, &1)) ++ ["+Inf"]
    totals = Enum.scan(counts, &+/2)

    for({bound, total} <- Enum.zip(bounds, totals), do: {"_bucket", [le: bound], total}) ++
      [{"_sum", [], amount(name, sum)}, {"_count", [], List.last(totals)}]
  end

  defp amount(:batch_size, value), do: value
  defp amount(_time, micros), do: micros / 1.0e6

  defp family(servings, name, type, help, samples) do
    [
      "# HELP #{name} #{help}\n# TYPE #{name} #{type}\n",
      for serving <- servings, {suffix, labels, value} <- samples.(serving) do
        [name, suffix, labels([{:serving, inspect(elem(serving, 0))} | labels]), " #{value}\n"]
      end
    ]
  end

  defp labels(labels),
    do: ["{", Enum.map_intersperse(labels, ",", fn {k, v} -> ~s(#{k}="#{escape(v)}") end), "}"]

  defp escape(value) do
    value
    |> to_string()
    |> String.replace("\\", "\\\\")
    |> String.replace("\"", "\\\"")
    |> String.replace("\n", "\\n")
  end
end
