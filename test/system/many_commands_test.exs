defmodule Dala.System.ManyCommandsTest do
  # Commands must leave nothing behind, however many there are.
  use Dala.Test.GpuCase, async: false

  @moduletag timeout: 600_000

  @million 1_000_000

  test "a million commands without a waiter leave memory flat" do
    commands =
      for _ <- 1..8 do
        buffer = zeros({16})
        %{op: :run_kernel, kernel: :relu, inputs: [buffer], output: buffer}
      end

    # The first ones fill whatever is filled once.
    submit_many(commands, div(@million, 20))
    before = memory()
    submit_many(commands, @million)
    grown = memory() - before

    assert grown < 30 * 1024 * 1024, "the VM has grown by #{div(grown, 1024)} KiB"
  end

  test "a hundred thousand commands that cannot run leave memory flat" do
    buffer = zeros({16})
    commands = [%{op: :run_kernel, kernel: :no_such_kernel, inputs: [buffer], output: buffer}]
    submit_many(commands, 20_000)
    before = memory()
    last = submit_many(commands, 100_000)
    grown = memory() - before
    assert grown < 20 * 1024 * 1024, "the VM has grown by #{div(grown, 1024)} KiB"

    # The latest failures are known, and so is what became of the command after them.
    assert_error(Compute.poll(last), :unknown_kernel)
    id = Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [buffer], output: buffer})
    assert Compute.wait(id) == :ok
  end

  # Gives the last id, once it is done.
  defp submit_many(commands, count) do
    last =
      commands
      |> Stream.cycle()
      |> Stream.take(count)
      |> Enum.reduce(nil, fn command, _id -> Compute.submit(command) end)

    _ = Compute.wait(last)
    last
  end

  # The resident set size, which includes native memory.
  defp memory do
    for pid <- Process.list(), do: :erlang.garbage_collect(pid)
    [_, kib] = Regex.run(~r/VmRSS:\s+(\d+) kB/, File.read!("/proc/self/status"))
    String.to_integer(kib) * 1024
  end

  test "more commands than the queue holds: the submitter waits, and all of them run" do
    counter = Compute.buffer([0], {}, :s32)
    one = Compute.buffer([1], {}, :s32)
    add = %{op: :run_kernel, kernel: :elementwise_add, inputs: [counter, one], output: counter}
    for _ <- 1..30_000, do: Compute.submit(add)
    assert Compute.read_list(counter) == [30_000]
  end

  test "more commands than the queue holds, from several processes, with every kind of call" do
    counter = Compute.buffer([0], {}, :s32)
    one = Compute.buffer([1], {}, :s32)
    add = %{op: :run_kernel, kernel: :elementwise_add, inputs: [counter, one], output: counter}

    tasks =
      for i <- 1..6 do
        Task.async(fn ->
          results =
            for _ <- 1..3_000 do
              case i do
                i when i < 4 -> Compute.submit(add)
                4 -> Compute.submit(add, notify: self())
                _ -> Compute.add(counter, one, counter)
              end
            end

          # Waits for the last command, so that the total is complete.
          if i < 5, do: Compute.wait(List.last(results)), else: List.last(results)
        end)
      end

    assert Enum.uniq(Task.await_many(tasks, 120_000)) == [:ok]
    assert Compute.read_list(counter) == [18_000]
  end
end
