defmodule Dala.System.Hostile.CommandsTest do
  # Commands that never end, that the driver refuses, that are cancelled, or whose process exited.
  use Dala.Test.GpuCase, async: false

  alias Dala.Test.ChildVM

  @moduletag timeout: 300_000

  # For child VMs. `Endless.start/0` occupies the device for hours.
  @endless """
  defmodule Endless do
    alias Dala.Gpu.Compute

    def start do
      :ok =
        Compute.Kernel.register(
          :endless,
          \"\"\"
          __kernel void endless(__global const uint *input, __global uint *output, int rounds) {
            uint x = input[0] | 1u;
            for (int j = 0; j < rounds; ++j)
              for (int i = 0; i < rounds; ++i) {
                x ^= x << 13;
                x ^= x >> 17;
                x ^= x << 5;
              }
            output[0] = x;
          }
          \"\"\",
          inputs: 1,
          params: [:rounds]
        )

      buffer = Compute.buffer_zeros({1}, :u32)
      submit(1, buffer) |> Compute.wait()
      submit(2_000_000_000, buffer)
    end

    def submit(rounds, buffer) do
      Compute.submit(%{
        op: :run_kernel,
        kernel: :endless,
        inputs: [buffer],
        output: buffer,
        params: %{rounds: rounds}
      })
    end
  end

  alias Dala.Gpu.Compute
  x = Compute.buffer([-1, 2], {2})
  y = Compute.buffer_zeros({2}, :f32)
  :ok = Compute.relu(x, y)
  """

  test "a refused launch during an endless kernel blocks no scheduler" do
    child =
      ChildVM.start(
        @endless <>
          """
          Endless.start()
          register =
            Compute.Kernel.register(:refused, \"\"\"
            __attribute__((reqd_work_group_size(100000, 1, 1)))
            __kernel void refused(__global const float *x, __global float *output) {
              output[get_global_id(0)] = x[get_global_id(0)];
            }
            \"\"\")

          # Refused when it is registered or, by drivers that tell no limit, when it is launched.
          result = with :ok <- register, do: Compute.run_kernel(:refused, [x], y)
          {:error, %Compute.Error{}} = result
          [-1.0, 2.0] = Compute.read_list(x)
          IO.puts("refused")
          Process.sleep(:infinity)
          """,
        args: ["--erl", "+S 1:1"]
      )

    ChildVM.await_output(child, "refused")
    ChildVM.signal(child, "TERM")
    {_output, status} = ChildVM.await_exit(child)
    assert status in [0, 143]
  end

  test "a command beyond kernel_timeout makes the device lost, and the VM keeps running" do
    {output, status} =
      ChildVM.run(
        @endless <>
          """
          id = Endless.start()
          waiting = Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [x], output: y}, notify: self())
          {:error, %Compute.Error{reason: :device_error} = error} = Compute.wait(id, 60_000)
          IO.puts(error.message)
          # Commands that were not stuck may have finished before.
          receive do
            {:dala_gpu, ^waiting, result} -> true = result in [:ok, {:error, error}]
          end
          {:error, ^error} = Compute.run_kernel(:relu, [x], y)
          {:error, ^error} = Compute.submit(%{op: :copy_buffer, inputs: [x], output: y}) |> Compute.wait()
          :ok = Compute.free(x)
          IO.puts("still here")
          """,
        env: [{"DALA_GPU_KERNEL_TIMEOUT", "500"}]
      )

    assert status == 0, output

    assert output =~
             ~r/the device is lost: command \d+ \(endless\) has been on it for \d+ ms, longer/

    assert output =~ "[error] dala_gpu: the device is lost"
    assert output =~ "still here\n"
  end

  test "a queued command can be cancelled, and waiting processes are notified immediately" do
    rounds = 20 * rounds_per_ms()
    # More than the device is given at a time.
    blockers = for _ <- 1..100, do: Compute.submit(slow(rounds))
    buffer = counting(1, :u32)
    id = Compute.submit(slow(rounds, buffer), notify: self())
    waiter = Task.async(fn -> Command.wait(id) end)

    assert Command.cancel(id) == :ok
    assert_receive {:dala_gpu, ^id, {:error, %Error{reason: :cancelled} = error}}, 10_000
    assert error.message == "command #{id} was cancelled"
    assert_error(Task.await(waiter, 10_000), :cancelled)
    assert_error(Command.poll(id), :cancelled)
    assert Command.cancel(id) == :ok
    assert Compute.read_list(buffer) == [1]
    for blocker <- blockers, do: Command.cancel(blocker)
    for blocker <- blockers, do: Command.wait(blocker, 60_000)
  end

  test "a running, finished or unknown command cannot be cancelled" do
    id = Compute.submit(slow(200 * rounds_per_ms()))
    # Nothing is before it, so it starts as soon as it is submitted.
    assert_error(Command.cancel(id), :unsupported, "command #{id} has started; only")
    assert Compute.wait(id, 60_000) == :ok
    assert_error(Command.cancel(id), :unsupported, "command #{id} has ended; only")
    assert_error(Command.cancel(id + 1_000_000), :unknown_command, "no command has the id")
    assert_raise ArgumentError, fn -> Command.cancel(:first) end
  end

  test "commands run after their process has exited normally" do
    test = self()
    buffers = for _ <- 1..1000, do: counting(4)
    blocker = Compute.submit(slow(20 * rounds_per_ms()))

    {pid, monitor} =
      spawn_monitor(fn ->
        for buffer <- buffers do
          negate = %{op: :run_kernel, kernel: :neg, inputs: [buffer], output: buffer}
          Compute.submit(negate, notify: test)
        end
      end)

    assert_receive {:DOWN, ^monitor, :process, ^pid, :normal}, 60_000
    for _ <- buffers, do: assert_receive({:dala_gpu, _id, :ok}, 60_000)
    for buffer <- buffers, do: assert(Compute.read_list(buffer) == [-1.0, -2.0, -3.0, -4.0])
    assert Compute.wait(blocker, 60_000) == :ok
  end

  test "of a killed process only commands that notify another process run" do
    test = self()
    rounds = 20 * rounds_per_ms()

    {pid, monitor} =
      spawn_monitor(fn ->
        silent = for _ <- 1..50, do: Compute.submit(slow(rounds))
        told = for _ <- 1..5, do: Compute.submit(slow(1), notify: test)
        send(test, {:ids, silent, told})
        receive do: (:never -> :ok)
      end)

    assert_receive {:ids, silent, told}, 30_000
    Process.exit(pid, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, 30_000
    for id <- told, do: assert_receive({:dala_gpu, ^id, :ok}, 60_000)
    results = for id <- silent, do: Compute.wait(id, 60_000)
    assert Enum.count(results, &match?({:error, %Error{reason: :freed}}, &1)) > 30
  end
end
