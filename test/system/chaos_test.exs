defmodule Dala.System.ChaosTest do
  # Processes that are killed in the middle of whatever they do.
  use Dala.Test.GpuCase, async: false

  @moduletag timeout: 300_000
  @owners 10_000
  @at_once 4

  test "owners killed at random during submit, read and free leave nothing behind" do
    start = quiet_memory()
    shared = counting(64)
    :rand.seed(:exsss, {7, 7, 7})

    for _batch <- 1..div(@owners, @at_once) do
      owners = for _ <- 1..@at_once, do: spawn_monitor(fn -> live(shared) end)

      for {pid, monitor} <- Enum.shuffle(owners) do
        spin(:rand.uniform(4))
        Process.exit(pid, :kill)
        assert_receive {:DOWN, ^monitor, :process, ^pid, _reason}, 30_000
      end
    end

    # The device still works, and what the dead had is back.
    assert Compute.read(shared) |> byte_size() == 256
    assert Compute.relu(shared, shared) == :ok
    Compute.free(shared)
    eventually(fn -> settled_memory() <= start end)
    assert settled_memory() == start
  end

  # A delay that is neither a sleep nor always the same.
  defp spin(times), do: for(_ <- 1..times, do: :erlang.yield())

  defp live(shared) do
    size = Enum.random([1, 100, 5_000, 20_000])
    a = Compute.buffer_zeros({size}, :f32)
    b = Compute.buffer_from_binary(:binary.copy(<<0>>, size * 4), {size}, :f32)

    case :rand.uniform(8) do
      1 ->
        Compute.run_kernel(:relu, [a], b)

      2 ->
        Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: b}, notify: self())

      3 ->
        Compute.read(b)

      4 ->
        Compute.read_list(Compute.buffer([1, 2, 3], {3}))

      5 ->
        Compute.free_many([a, b])

      6 ->
        for _ <- 1..10, do: Compute.submit(%{op: :copy_buffer, inputs: [a], output: b})

      7 ->
        Compute.relu(shared, Compute.buffer_zeros({64}, :f32))

      8 ->
        run_pipeline(a, b)
    end

    live(shared)
  end

  defp run_pipeline(a, b) do
    Pipeline.new()
    |> Pipeline.add(%{op: :run_kernel, kernel: :relu, inputs: [a], output: b})
    |> Pipeline.add(%{op: :copy_buffer, inputs: [b], output: a})
    |> Pipeline.run()
  end

  test "commands of a process that was killed are dropped unless they have started" do
    rounds = 20 * rounds_per_ms()
    test = self()

    {pid, monitor} =
      spawn_monitor(fn ->
        ids = for _ <- 1..200, do: Compute.submit(slow(rounds))
        send(test, {:ids, ids})
        receive do: (:never -> :ok)
      end)

    assert_receive {:ids, ids}, 30_000
    Process.exit(pid, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}

    # Four seconds of work, most of it without a waiter.
    results = for id <- ids, do: Compute.wait(id, 60_000)
    dropped = Enum.count(results, &match?({:error, %Error{reason: :freed}}, &1))
    assert dropped > 100
    assert Enum.all?(results, &(&1 == :ok or match?({:error, %Error{reason: :freed}}, &1)))
  end
end
