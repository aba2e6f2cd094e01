defmodule Dala.Test.OpenLoop do
  @moduledoc false
  # Load that does not wait for answers: requests arrive at random times (a Poisson process), each in
  # a process of its own. Latencies are counted from the time a request should have been made, so a
  # generator that is late does not hide how long requests would have waited. Bounded in time, and in
  # requests under way.

  alias Dala.Test.Measurements

  @doc """
  Runs `function` at `rate` times a second for so many seconds. Gives the numbers by outcome (`:ok`,
  or the reason of the error), the requests that were `:skipped` since too many were under way, and
  a histogram of the latencies of those that were `:ok`.
  """
  def run(rate, seconds, function, most \\ 4_000) do
    state = %{
      rate: rate,
      function: function,
      most: most,
      open: :atomics.new(1, []),
      histogram: Measurements.histogram(),
      log: :ets.new(:open_loop, [:public, write_concurrency: true])
    }

    start = now()
    generate(state, start, start + round(1.0e6 * seconds))
    drained(state, now() + 120_000_000)
    outcomes = Map.new(:ets.tab2list(state.log))
    %{outcomes: outcomes, histogram: state.histogram, rate: rate, seconds: seconds}
  end

  defp generate(_state, at, finish) when at >= finish, do: :ok

  defp generate(state, at, finish) do
    wait_until(at)

    if :atomics.get(state.open, 1) < state.most do
      :atomics.add(state.open, 1, 1)
      spawn_link(fn -> request(state, at) end)
    else
      count(state, :skipped)
    end

    generate(state, at + round(-1.0e6 * :math.log(:rand.uniform()) / state.rate), finish)
  end

  # Timers have a resolution of a millisecond; arrivals within one are made at once.
  defp wait_until(at) do
    left = div(at - now(), 1000)

    if left > 0 do
      receive do
      after
        left -> :ok
      end
    end
  end

  defp request(state, at) do
    case state.function.() do
      {:ok, _value} ->
        Measurements.record(state.histogram, now() - at)
        count(state, :ok)

      {:error, %{reason: reason}} ->
        count(state, reason)
    end

    :atomics.sub(state.open, 1, 1)
  end

  defp count(state, outcome), do: :ets.update_counter(state.log, outcome, 1, {outcome, 0})

  defp drained(state, bound) do
    cond do
      :atomics.get(state.open, 1) == 0 ->
        :ok

      now() > bound ->
        raise "#{:atomics.get(state.open, 1)} requests were never answered"

      true ->
        receive do
        after
          5 -> drained(state, bound)
        end
    end
  end

  defp now, do: System.monotonic_time(:microsecond)

  @doc "How many times a second processes get a result, each calling again and again."
  def throughput(clients, seconds, function) do
    finish = now() + round(1.0e6 * seconds)
    started = now()

    counts =
      1..clients
      |> Enum.map(fn _ -> Task.async(fn -> calls(function, finish, 0) end) end)
      |> Task.await_many(:infinity)

    1.0e6 * Enum.sum(counts) / (now() - started)
  end

  defp calls(function, finish, count) do
    if now() < finish do
      {:ok, _value} = function.()
      calls(function, finish, count + 1)
    else
      count
    end
  end

  @doc "The median of so many calls, one after the other, in microseconds."
  def median(count, function) do
    times = for _ <- 1..count, do: elem(:timer.tc(function), 0)
    times |> Enum.sort() |> Enum.at(div(count, 2))
  end
end
