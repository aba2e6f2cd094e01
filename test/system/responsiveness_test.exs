defmodule Dala.System.ResponsivenessTest do
  # Waiting parks a process, never a scheduler.
  use Dala.Test.GpuCase, async: false

  @moduletag timeout: 300_000

  @waiters 64
  @slow_ms 60

  # Starts processes that each wait for a slow command; returns them once all wait.
  defp start_waiters do
    rounds = @slow_ms * rounds_per_ms()
    test = self()

    tasks =
      for _ <- 1..@waiters do
        Task.async(fn ->
          id = Compute.submit(slow(rounds))
          send(test, :submitted)
          Compute.wait(id)
        end)
      end

    for _ <- tasks, do: assert_receive(:submitted, 10_000)
    tasks
  end

  defp micros(function), do: function |> :timer.tc() |> elem(0)

  defp median(list), do: list |> Enum.sort() |> Enum.at(div(length(list), 2))

  test "others stay responsive while many processes wait for slow commands" do
    echo =
      spawn_link(fn ->
        loop = fn loop ->
          receive do:
                    ({pid, ref} ->
                       send(pid, ref)
                       loop.(loop))
        end

        loop.(loop)
      end)

    a = counting(100)
    b = zeros({100})
    assert Compute.relu(a, b) == :ok
    waiters = start_waiters()

    times =
      for _ <- 1..5 do
        %{
          message:
            micros(fn ->
              ref = make_ref()
              send(echo, {self(), ref})
              assert_receive ^ref, 10_000
            end),
          buffer: micros(fn -> counting(100) end),
          read: micros(fn -> Compute.read(a) end),
          poll: micros(fn -> Compute.memory_info() end),
          dirty: micros(fn -> Compute.buffer(List.duplicate(1, 30_000), {30_000}) end),
          kernel: micros(fn -> assert Compute.relu(a, b) == :ok end)
        }
      end

    # A small command may have to wait for what is on the device, but not for the whole queue.
    waiting = Enum.count(waiters, &Process.alive?(&1.pid))
    assert waiting >= div(@waiters, 4), "only #{waiting} still wait: #{inspect(times)}"

    medians =
      for key <- Map.keys(hd(times)), into: %{}, do: {key, median(Enum.map(times, & &1[key]))}

    # These calls do not involve the device's queue.
    for key <- [:message, :buffer, :read, :poll],
        do: assert(medians[key] < 5_000, inspect(medians))

    # No dirty scheduler is parked either.
    assert medians.dirty < 50_000, inspect(medians)

    assert Enum.uniq(Task.await_many(waiters, 120_000)) == [:ok]
  end

  test "no call blocks a scheduler while commands are pending" do
    # The kernels and their group sizes are there before the watch begins.
    exercise(3)
    # Two cores are shared with the device's own threads, so that a scheduler thread may lose its
    # core for a time slice in the middle of any call. A call that waited for the device would hold
    # it for as long as a slow command takes.
    blocked =
      watch_schedulers(div(@slow_ms, 2), fn ->
        waiters = start_waiters()
        exercise(100)
        assert Enum.uniq(Task.await_many(waiters, 120_000)) == [:ok]
      end)

    assert blocked == []
  end

  test "on an idle device no call takes a millisecond" do
    exercise(3)
    assert watch_schedulers(1, fn -> exercise(100) end, 5) == []
  end

  # Every kind of call, on buffers of any size.
  defp exercise(times) do
    pipeline_buffer = zeros({1000})

    pipeline =
      Pipeline.add(Pipeline.new(), %{
        op: :run_kernel,
        kernel: :relu,
        inputs: [pipeline_buffer],
        output: pipeline_buffer
      })

    for _ <- 1..times, size <- [1, 1_000, 1_000_000] do
      a = zeros({size})
      b = Compute.buffer_from_binary(:binary.copy(<<0>>, size * 4), {size}, :f32)
      id = Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: b})
      _ = Compute.poll(id)
      _ = Compute.wait(id, 0)
      _ = Compute.submit(%{op: :copy_buffer, inputs: [b], output: a})
      _ = counting(1_000)
      Compute.free_many([a, b])
      _ = Compute.memory_info()
      _ = Compute.kernels()
    end

    Task.await(Task.async(fn -> Pipeline.run(pipeline) end), 120_000)
  end
end
