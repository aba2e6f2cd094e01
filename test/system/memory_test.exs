defmodule Dala.System.MemoryTest do
  # Byte-exact accounts, so nothing else may run meanwhile.
  use Dala.Test.GpuCase, async: false

  alias Dala.Test.ChildVM

  setup do
    %{start: quiet_memory()}
  end

  defp in_use, do: Compute.memory_info().in_use

  test "counts every byte of every buffer", %{start: start} do
    a = zeros({1000}, :u8)
    assert in_use() == start + 1000
    b = Compute.buffer_from_binary(:binary.copy(<<1>>, 100_003), {100_003}, :u8)
    assert in_use() == start + 1000 + 100_003
    c = counting(10, :s64)
    assert in_use() == start + 1000 + 100_003 + 80
    empty = zeros({0})
    assert in_use() == start + 1000 + 100_003 + 80
    Compute.free(b)
    assert in_use() == start + 1000 + 80
    Compute.free_many([a, c, empty])
    assert in_use() == start
  end

  test "free/1 releases memory immediately, whichever process holds the buffer", %{start: start} do
    buffer = zeros({3_000_001}, :u8)
    holder = spawn_link(fn -> receive do: (:done -> buffer) end)
    assert in_use() == start + 3_000_001
    Compute.free(buffer)
    assert in_use() == start
    send(holder, :done)
  end

  test "unreferenced buffers are collected", %{start: start} do
    {pid, monitor} =
      spawn_monitor(fn ->
        for i <- 1..100, do: zeros({i * 1000}, :u8)
        exit(:done)
      end)

    assert_receive {:DOWN, ^monitor, :process, ^pid, :done}, 10_000
    eventually(fn -> in_use() <= start end)
  end

  test "a loop over large buffers does not fill the device with garbage", %{start: start} do
    # 16 GB in all; the process itself has too few words for the VM to collect it.
    bytes = :binary.copy(<<0>>, 8_000_000)
    make = fn -> Compute.buffer_from_binary(bytes, {8_000_000}, :u8) end

    {pid, monitor} =
      spawn_monitor(fn -> exit({:most, Enum.max(for _ <- 1..2000, do: with_in_use(make.()))}) end)

    assert_receive {:DOWN, ^monitor, :process, ^pid, {:most, most}}, 60_000
    assert most - start < 1_000_000_000
    eventually(fn -> in_use() <= start end)
  end

  defp with_in_use(_buffer), do: in_use()

  test "a call waits for memory that pending commands are about to release" do
    # Ten times the limit in all, at a rate that the device cannot follow.
    assert {"done\n", 0} =
             ChildVM.run(
               """
               alias Dala.Gpu.Compute
               for _ <- 1..20, do: Compute.free(Compute.buffer_zeros({2_000_000}, :f32))

               for _ <- 1..100 do
                 buffer = Compute.buffer_zeros({2_000_000}, :f32)
                 Compute.submit(%{op: :run_kernel, kernel: :neg, inputs: [buffer], output: buffer})
                 Compute.free(buffer)
               end

               IO.puts("done")
               """,
               env: [{"DALA_GPU_MEMORY_LIMIT", "80000000"}]
             )
  end

  test "binaries that were read are no longer the device's once the buffer is gone", context do
    buffer = Compute.buffer_from_binary(:binary.copy(<<1>>, 1_000_000), {1_000_000}, :u8)
    :ok = Compute.scale(buffer, 3, buffer)
    binary = Compute.read(buffer)
    assert in_use() == context.start + 1_000_000
    Compute.free(buffer)
    assert in_use() == context.start
    assert binary == :binary.copy(<<3>>, 1_000_000)
  end

  test "peak is the maximum", %{start: start} do
    buffer = zeros({50_000_000}, :u8)
    peak = Compute.memory_info().peak
    assert peak >= start + 50_000_000
    Compute.free(buffer)
    assert Compute.memory_info().peak == peak
  end

  test "freed memory is pooled, within the limit", %{start: start} do
    for _ <- 1..200 do
      buffer = zeros({8_000_000}, :u8)
      Compute.free(buffer)
    end

    # Clearing recycled memory is a command, which holds the memory until it is done.
    eventually(fn -> in_use() <= start end)
    info = Compute.memory_info()
    assert info.in_use + info.pooled <= info.limit
    assert info.pooled <= 512 * 1024 * 1024
  end

  test "reading 64 MB makes no copy if memory is shared" do
    if Compute.device_info().zero_copy do
      size = 64 * 1024 * 1024
      buffer = zeros({div(size, 4)}, :f32)
      :ok = Compute.run_kernel(:fill, [], buffer, value: 1.5)

      times =
        for _ <- 1..20 do
          {micros, binary} = :timer.tc(fn -> Compute.read_binary(buffer) end)
          assert byte_size(binary) == size
          micros
        end

      assert Enum.min(times) < 1_000
      assert Enum.at(Enum.sort(times), 10) < 1_000

      # And it is a snapshot: the next write goes elsewhere.
      binary = Compute.read_binary(buffer)
      :ok = Compute.run_kernel(:fill, [], buffer, value: 2.5)
      assert binary_part(binary, size - 4, 4) == <<1.5::float-32-native>>
      assert binary_part(Compute.read_binary(buffer), 0, 4) == <<2.5::float-32-native>>
    end
  end

  test "creating a buffer from 64 MB makes no copy if memory is shared" do
    if Compute.device_info().zero_copy do
      binary = :binary.copy(<<1>>, 64 * 1024 * 1024)

      times =
        for _ <- 1..20 do
          {micros, buffer} =
            :timer.tc(fn -> Compute.buffer_from_binary(binary, {byte_size(binary)}, :u8) end)

          Compute.free(buffer)
          micros
        end

      assert Enum.at(Enum.sort(times), 10) < 1_000
    end
  end

  test "a write that would not fit beside what was read is refused, and nothing is lost" do
    assert {"ok\n", 0} =
             ChildVM.run(
               """
               alias Dala.Gpu.Compute
               a = Compute.buffer_zeros({40_000_000}, :u8)
               {:error, %{reason: :out_of_memory}} =
                 try do
                   {:ok, Compute.buffer_zeros({40_000_000}, :u8)}
                 rescue
                   error in Compute.Error -> {:error, error}
                 end
               b = Compute.buffer_zeros({10_000_000}, :u8)
               :ok = Compute.run_kernel(:fill, [], b, value: 7)
               true = Compute.read(b) == :binary.copy(<<7>>, 10_000_000)
               IO.puts("ok")
               _ = a
               """,
               env: [{"DALA_GPU_MEMORY_LIMIT", "64000000"}]
             )
  end

  test "garbage is collected before an allocation is refused" do
    assert {"ok\n", 0} =
             ChildVM.run(
               """
               defmodule Round do
                 alias Dala.Gpu.Compute

                 # Each of these is garbage as soon as the next one is made; nothing else triggers
                 # a collection, since the heap hardly grows.
                 def run(0), do: :ok

                 def run(times) do
                   buffer = Compute.buffer_zeros({48_000_000}, :u8)
                   <<0, _::binary>> = Compute.read(buffer)
                   run(times - 1)
                 end
               end

               :ok = Round.run(50)
               IO.puts("ok")
               """,
               env: [{"DALA_GPU_MEMORY_LIMIT", "64000000"}]
             )
  end
end
