defmodule Dala.System.Hostile.IsolationTest do
  # Kernels that end the operating system process they run in, or never end. On an isolated device
  # that is not this one.
  use Dala.Test.GpuCase, async: false

  import ExUnit.CaptureLog

  alias Dala.Gpu.Compute.Isolated

  @moduletag timeout: 600_000
  @moduletag :capture_log

  # The name of each kernel, its source and options, and the reasons that its end may have.
  @killers [
    {"out_of_bounds",
     """
     __kernel void out_of_bounds(__global int *output) {
       output[(get_global_id(0) + 1) * 4000000000L] = 1;
     }
     """, [inputs: 0], [:device_lost], "SIGSEGV"},
    {"local_overflow",
     """
     __kernel void local_overflow(__global int *output, __local int *tile) {
       for (long i = 0; i < 1000000000L; ++i) tile[i * 64] = (int)i;
       output[get_global_id(0)] = tile[0];
     }
     """, [inputs: 0, local: {16}, local_memory: [tile: 16]], [:device_lost], "has ended"},
    {"divergent_barrier",
     """
     __kernel void divergent_barrier(__global int *output, __local int *tile) {
       int i = get_local_id(0);
       if (output[i] == i) {
         tile[i] = i;
         barrier(CLK_LOCAL_MEM_FENCE);
         output[i] = tile[0];
       }
       while (output[0] == 0) barrier(CLK_LOCAL_MEM_FENCE);
     }
     """, [inputs: 0, local: {16}, local_memory: [tile: 16]], [:deadline, :device_lost], ""},
    {"null_pointer",
     """
     __kernel void null_pointer(__global int *output, int zero) {
       __global volatile int *nothing = (__global volatile int *)(long)zero;
       nothing[get_global_id(0)] = 1;
       output[0] = 1;
     }
     """, [inputs: 0, params: [:zero]], [:device_lost], "SIGSEGV"},
    {"endless_loop",
     """
     __kernel void endless_loop(__global volatile int *output) {
       while (output[0] == 0) output[1] = output[1] + 1;
     }
     """, [inputs: 0], [:deadline], "had not finished after 1500 ms"}
  ]

  defp params("null_pointer"), do: %{zero: 0}
  defp params(_name), do: %{}

  defp start(opts) do
    {:ok, device} = Compute.start_isolated(opts)
    on_exit(fn -> Compute.stop_isolated(device) end)
    device
  end

  defp alive?(os_pid), do: File.exists?("/proc/#{os_pid}")

  for {name, source, opts, reasons, text} <- @killers do
    @name name
    @source source
    @opts opts
    @reasons reasons
    @text text

    test "#{name} ends the VM of its device and nothing else" do
      device = start(deadline: 1_500, backoff: 0..100)
      :ok = Compute.with_device(device, fn -> Kernel.register(@name, @source, @opts) end)
      output = Compute.buffer_zeros({64}, :s32, device: device)
      other = Compute.buffer([1, 2, 3], {3}, :f32, device: device)
      before = Isolated.info(device)

      # This VM goes on meanwhile.
      here =
        Task.async(fn -> for _ <- 1..200, do: :ok = Compute.relu(zeros({100}), zeros({100})) end)

      error = assert_error(Kernel.run(@name, [], output, params(@name)), hd(@reasons), @text)
      assert error.reason in @reasons
      assert length(Task.await(here, 60_000)) == 200

      # What was there is lost; what is made now is not.
      assert_error(Compute.relu(other, other), :device_lost, "send its content again")
      fresh = Compute.buffer([-1, 2], {2}, :f32, device: device)
      assert Compute.relu(fresh, fresh) == :ok
      assert Compute.read_list(fresh) == [0.0, 2.0]
      now = Isolated.info(device)
      assert now.os_pid != before.os_pid
      assert now.restarts == 1
      refute alive?(before.os_pid)

      # The kernel was registered again, since that is not its fault.
      names = Compute.with_device(device, fn -> Enum.map(Kernel.list(), & &1.name) end)
      assert @name in names
    end
  end

  test "only the command over its deadline has that reason; others under way are lost" do
    device = start(deadline: 1_000, backoff: 0..0)
    {name, source, opts, _reasons, _text} = List.keyfind(@killers, "endless_loop", 0)
    :ok = Compute.with_device(device, fn -> Kernel.register(name, source, opts) end)
    a = Compute.buffer_zeros({64}, :s32, device: device)
    b = Compute.buffer_zeros({64}, :s32, device: device)
    endless = &%{op: :run_kernel, kernel: name, inputs: [], output: &1}

    late = Compute.submit(endless.(a), notify: self())

    # Submitted when the other one has half of its time behind it.
    receive do
    after
      400 -> :ok
    end

    lost = Compute.submit(endless.(b), notify: self())
    assert Compute.poll(late) == :pending
    assert_error(Compute.wait(late, 20), :timeout, "after 20 ms")
    reader = Task.async(fn -> catch_error(Compute.read(b)) end)

    assert_error(Compute.wait(late), :deadline, "had not finished after 1000 ms")
    assert_error(Compute.wait(lost), :device_lost, "a command was over its deadline")
    assert %Error{reason: :device_lost} = Task.await(reader)
    assert_receive {:dala_gpu, ^late, {:error, %Error{reason: :deadline}}}
    assert_receive {:dala_gpu, ^lost, {:error, %Error{reason: :device_lost}}}
    assert_error(Compute.poll(late), :deadline)
    assert_error(Compute.cancel(lost), :unsupported)
  end

  test "many crashes in a row leave nothing behind" do
    crashes = String.to_integer(System.get_env("DALA_TEST_CRASHES", "12"))
    device = start(backoff: 0..0)
    {name, source, opts, _reasons, _text} = List.keyfind(@killers, "out_of_bounds", 0)
    :ok = Compute.with_device(device, fn -> Kernel.register(name, source, opts) end)
    work = Compute.with_device(device, fn -> Compute.device_info() end).work_dir
    frame = :binary.copy(<<7>>, 4_000_000)

    crash = fn ->
      input = Compute.buffer_from_binary(frame, {4_000_000}, :u8, device: device)
      output = Compute.buffer_zeros({64}, :s32, device: device)
      assert byte_size(Compute.read(input)) == 4_000_000
      %{os_pid: os_pid, up: true} = Isolated.info(device)
      assert_error(Kernel.run(name, [], output), :device_lost)
      os_pid
    end

    log =
      capture_log(fn ->
        crash.()
        settle(device)
        before = leftovers()
        os_pids = for _ <- 1..crashes, do: crash.()
        settle(device)
        last = Isolated.info(device)
        assert last.restarts == crashes + 1
        assert_leftovers(before)
        assert length(Enum.uniq([last.os_pid | os_pids])) == crashes + 1
        for os_pid <- os_pids, do: refute(alive?(os_pid))
        Compute.stop_isolated(device)
        refute alive?(last.os_pid)
      end)

    assert log =~ "SIGSEGV"
    refute Enum.any?(work_folders(work), &(&1 == work))
  end

  # Uses the device, which waits until its VM is there again.
  defp settle(device) do
    buffer = Compute.buffer([1], {1}, :f32, device: device)
    :ok = Compute.relu(buffer, buffer)
    Compute.free(buffer)
  end

  # Memory is given back by destructors, a little later.
  defp assert_leftovers(before, looks \\ 100) do
    now = leftovers()

    if now == before or looks == 0 do
      assert now == before
    else
      receive do
      after
        50 -> assert_leftovers(before, looks - 1)
      end
    end
  end

  # What this VM holds: processes, ports, file descriptors, mapped segments, and memory of buffers.
  defp leftovers do
    for pid <- Process.list(), do: :erlang.garbage_collect(pid)
    {:ok, descriptors} = File.ls("/proc/self/fd")
    maps = File.read!("/proc/self/maps")
    segments = length(Regex.scan(~r/memfd:dala_gpu/, maps))

    %{
      processes: length(Process.list()),
      ports: length(Port.list()),
      descriptors: length(descriptors),
      segments: segments,
      shared: Compute.memory_info().shared
    }
  end

  defp work_folders(work), do: Path.wildcard(Path.join(Path.dirname(work), "dala_gpu-work-*"))

  test "limits of memory and CPU time end the VM" do
    device = start(cpu_time: 2, backoff: 0..0)
    {name, source, opts, _reasons, _text} = List.keyfind(@killers, "endless_loop", 0)
    :ok = Compute.with_device(device, fn -> Kernel.register(name, source, opts) end)
    output = Compute.buffer_zeros({64}, :s32, device: device)
    assert_error(Kernel.run(name, [], output), :device_lost, "CPU time is used up")

    device = start(memory: 512 * 1024 * 1024)
    assert Compute.with_device(device, fn -> Compute.memory_info().limit end) == 512 * 1024 * 1024

    buffers = for _ <- 1..5, do: Compute.buffer_zeros({100 * 1024 * 1024}, :u8, device: device)

    assert_raises(:out_of_memory, "no room for", fn ->
      Compute.buffer_zeros({100 * 1024 * 1024}, :u8, device: device)
    end)

    Compute.free_many(buffers)
    assert Compute.size(Compute.buffer_zeros({100 * 1024 * 1024}, :u8, device: device)) > 0
  end

  test "the VM ends with ours, also when it is killed in the middle of an endless loop" do
    {_name, source, _opts, _reasons, _text} = List.keyfind(@killers, "endless_loop", 0)

    child =
      Dala.Test.ChildVM.start("""
      alias Dala.Gpu.Compute
      {:ok, device} = Compute.start_isolated()
      Compute.with_device(device, fn ->
        :ok = Compute.Kernel.register(:endless_loop, #{inspect(source)}, inputs: 0)
        output = Compute.buffer_zeros({64}, :s32)
        Compute.submit(%{op: :run_kernel, kernel: :endless_loop, inputs: [], output: output})
      end)
      IO.puts("os_pid \#{Compute.Isolated.info(device).os_pid}.")
      Process.sleep(:infinity)
      """)

    output = Dala.Test.ChildVM.await_output(child, ".\n")
    [_all, os_pid] = Regex.run(~r/os_pid (\d+)\./, output)
    assert alive?(os_pid)
    Dala.Test.ChildVM.signal(child, "KILL")
    eventually(fn -> not alive?(os_pid) end, 20_000)
  end
end
