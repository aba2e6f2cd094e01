defmodule Dala.System.RemoteDevicesTest do
  # Devices of other nodes: the same functions, the errors of nodes that go, and no memory left on
  # nodes that stay.
  use Dala.Test.GpuCase, async: false

  alias Dala.Gpu.Compute.Device
  alias Dala.Test.{RemoteHolder, ServingNodes}

  @moduletag :capture_log
  @moduletag timeout: 300_000

  setup_all do
    :ok = ServingNodes.start_distribution()
    on_exit(fn -> Node.stop() end)
    :ok
  end

  defp start_node(name) do
    node = ServingNodes.start_node(name)
    on_exit(fn -> ServingNodes.stop(node) end)
    node
  end

  defp device_of(%{node: node}), do: node |> Compute.devices() |> Enum.find(& &1.available)

  defp in_use(node), do: ServingNodes.call(node, Compute, :memory_info, []).in_use

  test "a device of another node is a device" do
    node = start_node("remote")
    device = device_of(node)
    assert device.place == {:node, node.node}
    assert device.name == Compute.device_info().name

    a = Compute.buffer([1, -2], {2}, :f32, device: device)
    assert Buffer.device(a) == device
    assert inspect(a) =~ "on #{device.name} of #{node.node}"
    assert Compute.relu(a, a) == :ok
    assert Compute.read_list(a) == [1.0, 0.0]
    id = Compute.submit(%{op: :run_kernel, kernel: :neg, inputs: [a], output: a}, notify: self())
    assert Compute.wait(id, 60_000) == :ok
    assert_receive {:dala_gpu, ^id, :ok}, 60_000
    assert Compute.read_list(Kernel.compute(:abs, [a], {2}, :f32)) == [1.0, 0.0]

    Compute.with_device(device, fn ->
      assert Kernel.elementwise(:remote_triple, "3 * x") == :ok
      b = Compute.buffer([1, 2], {2})
      assert Kernel.run(:remote_triple, [b], b) == :ok
      assert Compute.read_list(b) == [3.0, 6.0]
      assert Compute.memory_info() == ServingNodes.call(node, Compute, :memory_info, [])
    end)

    assert Kernel.lookup(:remote_triple) == :error
    assert {:ok, _kernel} = ServingNodes.call(node, Kernel, :lookup, [:remote_triple])

    texts = ["this VM's device", "of #{node.node}"]
    assert_error(Compute.relu(a, zeros({2})), :device_mismatch, texts)
    stage = %{op: :run_kernel, kernel: :neg, inputs: [a], output: a}
    assert_raises(:unsupported, "copy_to", fn -> Pipeline.add(Pipeline.new(), stage) end)

    other = %{device | name: "another device"}
    text = "#{node.node} uses #{device.name}"
    assert_raises(:unsupported, text, fn -> Compute.with_device(other, fn -> :ok end) end)
  end

  test "large buffers go in chunks and come back" do
    node = start_node("large")
    device = device_of(node)
    data = :crypto.strong_rand_bytes(1_000_003) |> :binary.copy(20)
    size = byte_size(data)
    there = Compute.buffer_from_binary(data, {size}, :u8, device: device)
    assert Compute.read(there) == data
    assert Compute.read(there, 2_000_000, 3_000_000) == binary_part(data, 2_000_000, 3_000_000)
    assert Compute.write(there, :binary.copy(<<5>>, size)) == :ok
    assert Compute.read(there) == :binary.copy(<<5>>, size)
    list = Enum.to_list(1..200_000)
    assert Compute.read_list(Compute.buffer(list, {200_000}, :s32, device: device)) == list
    here = Compute.copy_to(there, Device.default())
    assert Compute.read(here) == :binary.copy(<<5>>, size)
  end

  test "the owner keeps buffers while their holder lives" do
    node = start_node("owner")
    device = device_of(node)
    assert in_use(node) == 0

    {pid, monitor} =
      spawn_monitor(fn ->
        held = Compute.buffer_zeros({1_000_000}, :f32, device: device)
        receive do: (:go -> Compute.size(held))
      end)

    eventually(fn -> in_use(node) == 4_000_000 end)
    Process.exit(pid, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}
    eventually(fn -> in_use(node) == 0 end)
  end

  test "buffers of a node that goes are freed here" do
    node = start_node("holder")
    before = quiet_memory()
    assert ServingNodes.call(node, RemoteHolder, :hold, [node()]) == :ok
    assert eventually(fn -> Compute.memory_info().in_use >= before + 4_000_000 end)
    ServingNodes.signal(node, "KILL")
    eventually(fn -> settled_memory() == before end)
  end

  test "a lost node is the error of what needed it, and of nothing else" do
    lost = start_node("lost")
    other = start_node("other")
    {there, elsewhere} = {device_of(lost), device_of(other)}
    source = "__kernel void endless(__global volatile int *output) { while (output[0] == 0) ; }"
    :ok = Compute.with_device(there, fn -> Kernel.register(:endless, source, inputs: 0) end)
    a = Compute.buffer_zeros({4}, :s32, device: there)
    b = Compute.buffer([1, 2], {2}, :f32, device: elsewhere)
    endless = Task.async(fn -> Kernel.run(:endless, [], a) end)
    id = Compute.submit(%{op: :run_kernel, kernel: :endless, inputs: [], output: a})
    assert Compute.poll(id) == :pending

    busy =
      Task.async(fn ->
        for _ <- 1..300 do
          :ok = Compute.run_kernel(:neg, [b], b)
          :ok = Compute.relu(zeros({10}), zeros({10}))
        end
      end)

    ServingNodes.signal(lost, "KILL")
    text = "the connection to #{lost.node} is lost"
    assert_error(Task.await(endless, 60_000), :device_lost, text)
    assert_error(Compute.wait(id), :device_lost, text)
    assert_error(Compute.poll(id), :device_lost, text)
    assert length(Task.await(busy, 60_000)) == 300
    assert Compute.read_list(b) == [1.0, 2.0]
    assert_raises(:device_lost, "", fn -> Compute.read(a) end)
    assert_raises(:device_lost, "", fn -> Compute.buffer([1], {1}, :f32, device: there) end)
    assert_raises(:device_lost, "#{lost.node}", fn -> Compute.devices(lost.node) end)
    assert Compute.free(a) == :ok

    # A node of that name that comes back has the same device.
    again = start_node("lost")
    assert again.node == lost.node
    c = Compute.buffer([1, -1], {2}, :f32, device: there)
    assert Compute.relu(c, c) == :ok
    assert Compute.read_list(c) == [1.0, 0.0]
    assert_raises(:device_lost, "", fn -> Compute.read(a) end)
  end

  test "a node without the library, and what is no node" do
    assert_raises(:device_lost, "nobody@127.0.0.1", fn -> Compute.devices(:"nobody@127.0.0.1") end)

    assert_raise ArgumentError, "expected the name of a node, got: \"a\"", fn ->
      Compute.devices("a")
    end
  end
end
