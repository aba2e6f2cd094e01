defmodule Dala.System.SoakTest do
  # Kernels, commands, pipelines, custom kernels, models, streams and surfaces at once, beside
  # processes that take all the memory they can get, while processes are killed at random. For some
  # seconds here, for minutes by `make soak`, which also sets a memory limit.
  use Dala.Test.GpuCase, async: false

  alias Dala.Test.{Measurements, Soak}

  @seconds String.to_integer(System.get_env("DALA_SOAK_SECONDS", "10"))
  # The cores are shared by the device's threads, the schedulers and 16 actors; a call that waited
  # for the device would hold a scheduler for longer than a thread waits for its core.
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
    long = for {_pid, info} <- long_schedules([]), native?(info), do: info

    if System.get_env("DALA_SOAK_SECONDS"), do: IO.puts(report(done, samples, long))
    assert long == []
    assert Measurements.grown(samples, :resident) <= 32 * 1024 * 1024
    Dala.ML.Gpu.free_model(shared.model)
    eventually(fn -> settled_memory() <= start end)
    assert settled_memory() == start
  end

  defp report(done, samples, long) do
    rounds = Enum.map_join(done.rounds, ", ", fn {kind, count} -> "#{kind} #{count}" end)

    "\n#{@seconds} s: #{rounds} rounds, every result right; " <>
      "#{done.kills} processes killed, #{done.refused} rounds out of memory\n" <>
      "  #{Measurements.memory(samples)}; #{length(long)} long schedules"
  end
end
