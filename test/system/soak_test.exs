defmodule Dala.System.SoakTest do
  # Kernels, commands, pipelines, custom kernels, models, streams and surfaces at once, beside
  # processes that take all the memory they can get, while processes are killed at random. For some
  # seconds here, for minutes by `make soak`, which also sets a memory limit.
  use Dala.Test.GpuCase, async: false

  alias Dala.Test.{Measurements, Soak}

  @seconds String.to_integer(System.get_env("DALA_SOAK_SECONDS", "10"))
  # The cores are shared by the device's threads, the schedulers and 16 actors; a call that waited
  # for the device would hold a scheduler for longer than a thread waits for its core. Processes
  # that are in no native function show how long a thread waits if the machine is busy otherwise.
  @long_schedule_ms 100

  @tag timeout: :infinity
  test "everything concurrently, with correct results and flat memory" do
    start = quiet_memory()
    shared = Soak.prepare()
    deadline = System.monotonic_time(:millisecond) + @seconds * 1000
    previous = :erlang.system_monitor(self(), [{:long_schedule, @long_schedule_ms}])
    conductor = Task.async(fn -> Soak.run(shared, deadline) end)
    samples = Measurements.sample_while_alive([conductor.pid], deadline + 120_000)
    :erlang.system_monitor(previous)
    done = Task.await(conductor)

    for {kind, rounds} <- done.rounds, do: assert(rounds > 0, "no #{kind} in #{inspect(done)}")
    {native, other} = Enum.split_with(schedules(), &native?/1)
    busy = other |> Enum.map(& &1[:timeout]) |> Enum.max(fn -> @long_schedule_ms end)
    long = Enum.filter(native, &(&1[:timeout] > busy))

    if System.get_env("DALA_SOAK_SECONDS"),
      do: IO.puts(report(done, samples, long, length(native), busy))

    assert long == []
    assert Measurements.grown(samples, :resident) <= 32 * 1024 * 1024
    Dala.ML.Gpu.free_model(shared.model)
    eventually(fn -> settled_memory() <= start end)
    assert settled_memory() == start
  end

  defp schedules, do: for({_pid, info} <- long_schedules([]), do: info)

  defp report(done, samples, long, native, busy) do
    rounds = Enum.map_join(done.rounds, ", ", fn {kind, count} -> "#{kind} #{count}" end)

    "\n#{@seconds} s: #{rounds} rounds, every result right; " <>
      "#{done.kills} processes killed, #{done.refused} rounds out of memory\n" <>
      "  #{Measurements.memory(samples)}; #{native} schedules over #{@long_schedule_ms} ms in " <>
      "native functions, #{length(long)} of them longer than elsewhere (#{busy} ms)"
  end
end
