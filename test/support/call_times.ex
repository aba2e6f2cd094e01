defmodule Dala.Test.CallTimes do
  @moduledoc false
  # Measures how long NIFs block a scheduler. `:long_schedule` reports the function a process was in
  # when it was scheduled out, which after a NIF is nearly always another one, so a long call shows
  # only in the time between its call and its return. A process that is scheduled out in between has
  # moved to a dirty scheduler, which may be blocked.

  alias Dala.Gpu.Compute.Native

  @doc """
  Runs the function, and gives the calls of native functions, by whichever process, that held a
  scheduler for so many microseconds: `{name, microseconds}`, the longest first.

  A thread may lose its core in the middle of any call, which a rerun tells from a call that takes
  long: where there were such calls it runs again, `runs` times at most, and of each function the
  quickest run counts.
  """
  def long(micros, function, runs) do
    1..runs
    |> Enum.reduce_while(nil, fn _run, best ->
      case merge(best, run(micros, function)) do
        none when none == %{} -> {:halt, none}
        some -> {:cont, some}
      end
    end)
    |> Enum.sort_by(&(-elem(&1, 1)))
  end

  # Only what was long in every run stays.
  defp merge(nil, calls), do: calls

  defp merge(best, calls) do
    for {name, micros} <- calls, before = best[name], into: %{}, do: {name, min(micros, before)}
  end

  defp run(micros, function) do
    tracer = self()

    # Its own process collects, so that a test's mailbox stays its own.
    {collector, monitor} =
      spawn_monitor(fn ->
        send(tracer, {self(), collect(%{}, %{}, micros)})
      end)

    :erlang.trace_pattern({Native, :_, :_}, true, [:local])

    :erlang.trace(:processes, true, [
      :call,
      :arity,
      :return_to,
      :running,
      :monotonic_timestamp,
      {:tracer, collector}
    ])

    try do
      Task.await(Task.async(function), 240_000)
    after
      :erlang.trace(:processes, false, [:all])
      :erlang.trace_pattern({Native, :_, :_}, false, [:local])
    end

    ref = :erlang.trace_delivered(:all)
    receive do: ({:trace_delivered, :all, ^ref} -> send(collector, :done))

    receive do
      {^collector, calls} ->
        Process.demonitor(monitor, [:flush])
        calls

      {:DOWN, ^monitor, :process, ^collector, reason} ->
        raise "the tracer ended: #{inspect(reason)}"
    end
  end

  defp collect(open, long, micros) do
    receive do
      {:trace_ts, pid, :call, {Native, name, _arity}, time} ->
        collect(Map.put(open, pid, {name, time}), long, micros)

      {:trace_ts, pid, :return_to, _to, time} ->
        {began, open} = Map.pop(open, pid)
        collect(open, note(began, time, long, micros), micros)

      {:trace_ts, pid, :out, _where, _time} ->
        collect(Map.delete(open, pid), long, micros)

      {:trace_ts, _pid, _other, _where, _time} ->
        collect(open, long, micros)

      :done ->
        long
    end
  end

  defp note(nil, _ended, long, _micros), do: long

  defp note({name, began}, ended, long, micros) do
    took = div(ended - began, 1_000)
    if took >= micros, do: Map.update(long, name, took, &max(&1, took)), else: long
  end
end
