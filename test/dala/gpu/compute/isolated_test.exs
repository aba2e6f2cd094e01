defmodule Dala.Gpu.Compute.IsolatedTest do
  # What kernels do to a device that is not isolated is in test/system/hostile/isolation_test.exs.
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute.{Device, Isolated, Native}

  doctest Dala.Gpu.Compute.Isolated

  @moduletag timeout: 300_000

  setup_all do
    start_supervised!({Isolated, name: __MODULE__.Shared})
    {:ok, device: Isolated.device(__MODULE__.Shared)}
  end

  describe "buffers" do
    test "of every element type, from lists, binaries and zeros", %{device: device} do
      for dtype <- Buffer.dtypes() do
        list = if dtype == :c64, do: [{1.0, -2.0}, {3.0, 0.0}], else: [1, 2]
        here = Compute.buffer(list, {2}, dtype)
        there = Compute.buffer(list, {2}, dtype, device: device)
        assert Compute.read(there) == Compute.read(here)
        assert Compute.read_list(there) == Compute.read_list(here)
        zeros = Compute.buffer_zeros({2}, dtype, device: device)
        assert Compute.read(zeros) == Compute.read(zeros({2}, dtype))
      end

      assert Compute.read(Compute.buffer_zeros({0}, :f32, device: device)) == ""
      scalar = Compute.buffer([7], {}, :s32, device: device)
      assert Compute.read_list(scalar) == [7]
    end

    test "are made, written, viewed, read in part and freed", %{device: device} do
      buffer = Compute.buffer([1, 2, 3, 4, 5, 6], {2, 3}, :u8, device: device)
      assert Compute.read(buffer, 2, 3) == <<3, 4, 5>>
      assert Compute.read_list(buffer, 4, 2) == [5, 6]
      view = Buffer.view(buffer, {3, 2})
      assert Compute.write(buffer, <<9, 9, 9, 9, 9, 9>>) == :ok
      assert Compute.read(view) == <<1, 2, 3, 4, 5, 6>>
      assert Compute.read(buffer.ref) == <<9, 9, 9, 9, 9, 9>>
      assert Buffer.valid?(buffer)
      assert Compute.free(buffer) == :ok
      assert Compute.free(buffer) == :ok
      refute Buffer.valid?(buffer)
      assert_raises(:freed, "", fn -> Compute.read(buffer) end)
      assert Compute.read_list(view) == [1, 2, 3, 4, 5, 6]
    end

    test "have the errors of this VM's buffers", %{device: device} do
      for {reason, create} <- [
            {:shape_mismatch, &Compute.buffer([1, 2], {3}, :f32, &1)},
            {:shape_mismatch, &Compute.buffer_from_binary(<<1>>, {3}, :f32, &1)},
            {:dtype_mismatch, &Compute.buffer([1.5], {1}, :u8, &1)},
            {:out_of_memory, &Compute.buffer_zeros({1_000_000_000_000}, :u8, &1)}
          ] do
        here = catch_error(create.([]))
        there = catch_error(create.(device: device))
        assert {there.reason, there.message} == {here.reason, here.message}, inspect(reason)
      end

      assert_raise ArgumentError, ~r/unknown keys \[:devise\]/, fn ->
        Compute.buffer([1], {1}, :f32, devise: device)
      end

      assert_raise ArgumentError, "expected a %Dala.Gpu.Compute.Device{}, got: :gpu", fn ->
        Compute.buffer([1], {1}, :f32, device: :gpu)
      end
    end

    test "say where they are", %{device: device} do
      buffer = Compute.buffer_zeros({3}, :f32, device: device)
      assert Buffer.device(buffer) == device

      assert inspect(buffer) ==
               "#Dala.Gpu.Compute.Buffer<f32[3] 12 B on the isolated device " <>
                 "Dala.Gpu.Compute.IsolatedTest.Shared>"

      assert inspect(device) ==
               "#Dala.Gpu.Compute.Device<the isolated device Dala.Gpu.Compute.IsolatedTest.Shared>"
    end

    test "are freed there when nobody here refers to them" do
      {:ok, device} = Compute.start_isolated()
      in_use = fn -> Compute.with_device(device, fn -> Compute.memory_info().in_use end) end
      assert in_use.() == 0

      {pid, monitor} =
        spawn_monitor(fn ->
          held = for _ <- 1..10, do: Compute.buffer_zeros({1000}, :f32, device: device)
          receive do: (:go -> length(held))
        end)

      eventually(fn -> in_use.() == 40_000 end)
      Process.exit(pid, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}
      eventually(fn -> in_use.() == 0 end)
      Compute.stop_isolated(device)
    end

    test "are copied from device to device", %{device: device} do
      here = counting(1000)
      there = Compute.copy_to(here, device)
      assert Buffer.device(there) == device
      assert Compute.read(there) == Compute.read(here)
      back = Compute.copy_to(there, Device.default())
      assert is_reference(back.ref)
      assert Compute.read(back) == Compute.read(here)
      assert Compute.copy_to(there, device) |> Compute.read() == Compute.read(here)
    end
  end

  describe "large buffers" do
    @bytes 8_000_000

    defp frame(seed), do: :binary.copy(<<seed, 2, 3, 4, 5, 6, 7, 8>>, div(@bytes, 8))

    test "are in memory that both VMs map", %{device: device} do
      assert Isolated.info(device).sharing
      buffer = Compute.buffer_from_binary(frame(1), {@bytes}, :u8, device: device)
      assert Compute.run_kernel(:bitwise_not, [buffer], buffer) == :ok
      read = Compute.read(buffer)
      assert binary_part(read, 0, 4) == <<254, 253, 252, 251>>
      # The bytes are those of the other VM, at their place there.
      assert {:ok, {os_pid, _fd, _inode, 0}} = Native.segment_place(read)
      assert os_pid == Isolated.info(device).os_pid

      # A binary that was read never changes.
      assert Compute.run_kernel(:fill, [], buffer, value: 0) == :ok
      assert binary_part(read, 0, 4) == <<254, 253, 252, 251>>
      assert Compute.read(buffer) == :binary.copy(<<0>>, @bytes)
    end

    test "are given back on both sides" do
      {:ok, device} = Compute.start_isolated()
      memory = fn -> Compute.with_device(device, &Compute.memory_info/0) end

      Task.await(
        Task.async(fn ->
          for seed <- 1..5 do
            buffer = Compute.buffer_from_binary(frame(seed), {@bytes}, :u8, device: device)
            assert Compute.read(buffer) == frame(seed)
          end
        end),
        60_000
      )

      eventually(fn -> match?(%{in_use: 0, shared: 0}, memory.()) end)
      eventually(fn -> Isolated.info(device).lent == 0 end)
      Compute.stop_isolated(device)
    end

    test "that are written and read again take no more memory" do
      {:ok, device} = Compute.start_isolated()
      buffer = Compute.buffer_zeros({@bytes}, :u8, device: device)

      for seed <- 1..30 do
        Compute.write(buffer, frame(seed))
        assert Compute.run_kernel(:bitwise_not, [buffer], buffer) == :ok
        assert :binary.first(Compute.read(buffer)) == 255 - seed
        :erlang.garbage_collect()
      end

      assert Compute.with_device(device, fn -> Compute.memory_info().peak end) <= 6 * @bytes
      Compute.stop_isolated(device)
    end

    test "of a list", %{device: device} do
      list = Enum.to_list(1..100_000)
      buffer = Compute.buffer(list, {100_000}, :s32, device: device)
      assert Compute.read_list(buffer) == list
    end

    test "outlive their device" do
      {:ok, device} = Compute.start_isolated()
      buffer = Compute.buffer_zeros({@bytes}, :u8, device: device)
      :ok = Compute.run_kernel(:fill, [], buffer, value: 3)
      read = Compute.read(buffer)
      Compute.stop_isolated(device)
      assert read == :binary.copy(<<3>>, @bytes)
      assert_raises(:device_lost, "was stopped", fn -> Compute.read(buffer) end)
      assert Compute.free(buffer) == :ok
      refute Buffer.valid?(buffer)
    end
  end

  describe "commands" do
    test "run where their buffers are", %{device: device} do
      a = Compute.buffer([1, -2], {2}, :f32, device: device)
      b = Compute.buffer_zeros({2}, :f32, device: device)
      assert Compute.add(a, a, b) == :ok
      assert Compute.read_list(b) == [2.0, -4.0]
      assert Compute.run_kernel_async(:relu, [b.ref], b.ref) == :ok
      assert Compute.read_list(b) == [2.0, 0.0]
      c = Kernel.compute(:elementwise_mul, [b, b], {2}, :f32)
      assert Buffer.device(c) == device
      assert Compute.read_list(c) == [4.0, 0.0]
    end

    test "are submitted, polled, waited for and notified of", %{device: device} do
      a = Compute.buffer([1, -2], {2}, :f32, device: device)
      neg = %{op: :run_kernel, kernel: :neg, inputs: [a], output: a}
      ids = for _ <- 1..101, do: Compute.submit(neg)
      assert Enum.sort(ids) == ids
      last = List.last(ids)
      assert Compute.wait(last, 60_000) == :ok
      assert Enum.all?(ids, &(Compute.poll(&1) == :completed))
      assert Compute.read_list(a) == [-1.0, 2.0]
      id = Compute.submit(%{op: :copy_buffer, inputs: [a], output: a}, notify: self())
      assert_receive {:dala_gpu, ^id, :ok}, 60_000
      assert_error(Compute.cancel(id), :unsupported, "has ended")
      assert_error(Compute.wait(id + 1000), :unknown_command)
      assert_error(Compute.poll(id + 1000), :unknown_command)
      assert_error(Compute.cancel(id + 1000), :unknown_command)
    end

    test "have the errors of this VM's device", %{device: device} do
      a = Compute.buffer([1, 2], {2}, :f32, device: device)
      assert_error(Compute.run_kernel(:no_such_kernel, [a], a), :unknown_kernel)
      assert_error(Compute.run_kernel(:relu, [a, a], a), :arity_mismatch)
      assert_error(Compute.run_kernel(:relu, [a], a, slop: 1), :unknown_param, "slope")
      id = Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a, a], output: a})
      assert_error(Compute.wait(id), :arity_mismatch)
      assert_error(Compute.poll(id), :arity_mismatch)
      assert_raises(:unknown_kernel, "", fn -> Kernel.compute(:none, [a], {2}, :f32) end)
    end

    test "with buffers of two devices name both", %{device: device} do
      here = zeros({2})
      there = Compute.buffer_zeros({2}, :f32, device: device)
      texts = ["this VM's device", inspect(__MODULE__.Shared), "copy_to"]
      assert_error(Compute.relu(there, here), :device_mismatch, texts)
      assert_error(Compute.relu(here, there), :device_mismatch, texts)

      id =
        Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [here], output: there},
          notify: self()
        )

      assert_error(Compute.wait(id), :device_mismatch, texts)
      assert_receive {:dala_gpu, ^id, {:error, %Error{reason: :device_mismatch}}}
      add = fn -> Kernel.compute(:elementwise_add, [here, there], {2}, :f32) end
      assert_raises(:device_mismatch, texts, add)
    end

    test "of pipelines, models and surfaces say that they are for this VM's device", ctx do
      there = Compute.buffer_zeros({1, 2}, :f32, device: ctx.device)
      stage = %{op: :run_kernel, kernel: :relu, inputs: [there], output: there}
      text = "takes buffers of this VM's own device"
      assert_raises(:unsupported, text, fn -> Pipeline.add(Pipeline.new(), stage) end)
      {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      assert_error(Dala.ML.Gpu.predict(model, there), :unsupported, text)
      {:ok, surface} = Dala.Gpu.create_surface(1, 1)
      output = Compute.buffer_zeros({1, 1, 4}, :u8, device: ctx.device)
      to_surface = fn -> Compute.run_to_surface(:fill, [], output, surface, %{value: 9}) end
      assert_raises(:unsupported, text, to_surface)
      # Pixels are read, wherever they are.
      assert Compute.run_kernel(:fill, [], output, value: 9) == :ok
      assert Dala.Gpu.set_pixels(surface, output) == :ok
      assert Dala.Gpu.get_pixels(surface) == <<9, 9, 9, 9>>
    end

    test "of many processes at once", %{device: device} do
      tasks =
        for n <- 1..16 do
          Task.async(fn ->
            a = Compute.buffer([n, -n], {2}, :f32, device: device)
            for _ <- 1..20, do: :ok = Compute.run_kernel(:neg, [a], a)
            Compute.read_list(a)
          end)
        end

      assert Task.await_many(tasks, 60_000) == for(n <- 1..16, do: [n * 1.0, -n * 1.0])
    end
  end

  describe "kernels" do
    test "are registered and listed where the process makes its buffers", %{device: device} do
      Compute.with_device(device, fn ->
        assert Kernel.elementwise(:isolated_triple, "3 * x") == :ok
        assert {:ok, %{custom: true}} = Kernel.lookup(:isolated_triple)
        a = Compute.buffer([1, 2], {2})
        assert Kernel.run(:isolated_triple, [a], a) == :ok
        assert Compute.read_list(a) == [3.0, 6.0]
        assert_error(Kernel.register(:isolated_broken, "__kernel void x("), :build_failed)
        assert Kernel.unregister(:isolated_triple) == :ok
        assert_error(Kernel.unregister(:isolated_triple), :unknown_kernel)
      end)

      assert Kernel.lookup(:isolated_triple) == :error
    end
  end

  describe "with_device/2" do
    test "is for this process and until the function ends", %{device: device} do
      there = fn -> Buffer.device(zeros({1})) end
      assert Compute.with_device(device, there) == device
      assert there.() == Device.default()
      assert catch_throw(Compute.with_device(device, fn -> throw(:out) end)) == :out
      assert there.() == Device.default()

      Compute.with_device(device, fn ->
        assert Compute.with_device(Device.default(), there) == Device.default()
        assert there.() == device
        assert Task.await(Task.async(there)) == Device.default()
        assert Compute.device_info().name == device.name
        assert Compute.counters().reads >= 0
      end)

      assert_raise ArgumentError, "expected a function without arguments, got: :none", fn ->
        Compute.with_device(device, :none)
      end
    end

    test "refuses a device that this VM does not use" do
      other = %{Device.default() | name: "another device"}

      assert_raises(:unsupported, ["not another device", "start_isolated"], fn ->
        Compute.with_device(other, fn -> :ok end)
      end)
    end
  end

  describe "start/1" do
    test "has options that are checked" do
      for {opts, message} <- [
            {[deadline: 0], "expected deadline: to be from 1 to 4294967295, got: 0"},
            {[memory: 1], "expected memory: to be from 268435456 to "},
            {[cpu_time: 0.5], "expected cpu_time: to be from 1 to "},
            {[backoff: 5], "expected backoff: to be a range of milliseconds such as 50..5_000"},
            {[env: [A: 1]], "expected env: to be pairs of strings"},
            {[name: 1], "expected name: to be an atom"},
            {[device: 1], "config :dala_gpu, device: expected :auto, :gpu, :cpu or part of"},
            {[size: 1], "unknown keys [:size]"}
          ] do
        error = assert_raise ArgumentError, fn -> Compute.start_isolated(opts) end
        assert error.message =~ message
      end
    end

    @tag :capture_log
    test "says why a device does not start" do
      assert_error(
        Compute.start_isolated(device: "no such device", backoff: 1000..1000),
        :device_lost,
        ["did not start", "no such device"]
      )
    end

    test "has a VM with its own environment, and no node" do
      {:ok, device} = Compute.start_isolated(env: %{"DALA_TEST_VARIABLE" => "there"})
      apply = &Dala.Gpu.Compute.Remote.apply(device, &1, &2, &3)
      assert apply.(System, :get_env, ["DALA_TEST_VARIABLE"]) == {:ok, "there"}
      assert apply.(Node, :alive?, []) == {:ok, false}
      assert Compute.stop_isolated(device) == :ok
    end

    test "a device stops with the process that started it" do
      parent = self()

      starter =
        spawn(fn ->
          {:ok, device} = Compute.start_isolated()
          send(parent, {:started, device, Isolated.info(device).os_pid})
          receive do: (:exit -> :ok)
        end)

      assert_receive {:started, device, os_pid}, 60_000
      send(starter, :exit)
      eventually(fn -> not File.exists?("/proc/#{os_pid}") end)
      assert_raises(:device_lost, "", fn -> Isolated.info(device) end)
      create = fn -> Compute.buffer_zeros({1}, :f32, device: device) end
      assert_raises(:device_lost, "it was stopped", create)
    end
  end
end
