defmodule Dala.System.Hostile.MemoryTest do
  # The memory limit is kept, whatever holds the memory; accounts are exact to the byte.
  use Dala.Test.GpuCase, async: false

  alias Dala.Test.{ChildVM, PngFile}

  @moduletag timeout: 300_000

  @limit [{"DALA_GPU_MEMORY_LIMIT", "64000000"}]

  # Runs code with a limit of 64 MB. `refused.(fun)` returns the message of the error.
  defp within_limit(code) do
    ChildVM.run(
      """
      alias Dala.Gpu.Compute
      alias Dala.Media.Image

      refused = fn call ->
        try do
          call.()
        rescue
          error in Compute.Error -> {:error, error}
        end
        |> case do
          {:error, %{reason: :out_of_memory, message: message}} -> message
        end
      end

      bytes = fn count -> :binary.copy(<<1>>, count) end
      #{code}
      IO.puts("ok")
      """,
      env: @limit
    )
  end

  test "binaries that buffers use without a copy count" do
    assert {"ok\n", 0} =
             within_limit("""
             a = Compute.buffer_from_binary(bytes.(40_000_000), {40_000_000}, :u8)
             40_000_000 = Compute.memory_info().in_use

             "no room for 40000000 bytes: 40000000 of 64000000 bytes are in use" =
               refused.(fn ->
                 Compute.buffer_from_binary(bytes.(40_000_000), {40_000_000}, :u8)
               end)

             # New content takes the place of the old.
             for _ <- 1..5, do: :ok = Compute.write(a, bytes.(40_000_000))
             %{in_use: 40_000_000, shared: 0} = Compute.memory_info()
             40_000_000 = byte_size(Compute.read(a))
             """)
  end

  test "binaries that were read count after their buffer is freed" do
    assert {"ok\n", 0} =
             within_limit("""
             defmodule Reader do
               def take do
                 a = Compute.buffer_zeros({40_000_000}, :u8)
                 binary = Compute.read(a)
                 Compute.free(a)
                 %{in_use: 0, shared: 40_000_000} = Compute.memory_info()
                 binary
               end

               def hold(refused) do
                 binary = take()

                 "no room for 30000000 bytes: 0 of 64000000 bytes are in use, " <>
                   "binaries hold 40000000" =
                   refused.(fn -> Compute.buffer_zeros({30_000_000}, :u8) end)

                 40_000_000 = byte_size(binary)
               end
             end

             Reader.hold(refused)
             # The binary is garbage now.
             a = Compute.buffer_zeros({30_000_000}, :u8)
             %{in_use: 30_000_000, shared: 0} = Compute.memory_info()
             Compute.free(a)
             """)
  end

  test "garbage is collected before a call is refused" do
    assert {"ok\n", 0} =
             within_limit("""
             b = Compute.buffer_zeros({20_000_000}, :u8)

             for i <- 1..50 do
               :ok = Compute.run_kernel(:fill, [], b, value: i)
               <<^i, _::binary>> = Compute.read(b)
             end

             for i <- 1..50 do
               fill = %{op: :run_kernel, kernel: :fill, inputs: [], output: b, params: %{value: i}}
               :ok = Compute.wait(Compute.submit(fill))
               <<^i, _::binary>> = Compute.read(b)
             end

             # Referenced memory is not garbage.
             held =
               for i <- 1..3 do
                 :ok = Compute.run_kernel(:fill, [], b, value: i)
                 Compute.read(b)
               end

             "no room for " <> _ = refused.(fn -> Compute.run_kernel(:fill, [], b, value: 2) end)
             fill = %{op: :run_kernel, kernel: :fill, inputs: [], output: b, params: %{value: 2}}
             "no room for " <> _ = refused.(fn -> Compute.wait(Compute.submit(fill)) end)
             for {binary, i} <- Enum.with_index(held, 1), do: <<^i, _::binary>> = binary
             <<3, _::binary>> = Compute.read(b)
             """)
  end

  test "an image beyond the limit is refused before it is decoded" do
    path = Path.join(scratch_dir("bomb"), "bomb.png")
    # 100 MB of pixels.
    File.write!(path, PngFile.zeros(5000, 5000))
    assert File.stat!(path).size < 200_000

    for start <- ["", "%{} = Compute.memory_info()"] do
      assert {"ok\n", 0} =
               within_limit("""
               #{start}
               message = refused.(fn -> Image.read(#{inspect(path)}) end)
               true = message =~ "no room for 100000000 bytes"
               "VmHWM:" <> peak =
                 "/proc/self/status" |> File.stream!() |> Enum.find(&(&1 =~ ~r/^VmHWM/))
               {kib, _} = peak |> String.trim() |> Integer.parse()
               true = kib < 400_000
               """)
    end
  end

  test "images count while their pixels are referenced" do
    assert {"ok\n", 0} =
             within_limit("""
             %{shared: 0} = Compute.memory_info()
             {:ok, png} = Image.encode(Image.new(1000, 1000, {1, 2, 3}))
             {:ok, image} = Image.decode(png)
             %{shared: 4_000_000, in_use: 0} = Compute.memory_info()
             buffer = Image.to_buffer(image)
             %{shared: 4_000_000, in_use: 4_000_000} = Compute.memory_info()
             Compute.free(buffer)

             # Far more than there is room for, were they not collected.
             for _ <- 1..100, do: {:ok, _} = Image.decode(png)
             <<1, 2, 3, _::binary>> = image.data
             """)
  end

  # In a VM of its own: the counters are compared to the byte.
  test "a small part of a large binary does not keep the whole alive" do
    assert {"ok\n", 0} =
             ChildVM.run("""
             defmodule Part do
               alias Dala.Gpu.Compute

               # The whole binary is garbage afterwards.
               def make(whole, size) do
                 binary = :binary.copy(<<7>>, whole)
                 Compute.buffer_from_binary(binary_part(binary, 1000, size), {size}, :u8)
               end

               def memory do
                 for pid <- Process.list(), do: :erlang.garbage_collect(pid)
                 Map.take(Compute.memory_info(), [:in_use, :shared])
               end

               def settles_at(expected) do
                 unless memory() == expected, do: settles_at(expected)
               end

               # The VM counts a binary that another scheduler allocated until that one runs.
               def binaries_settle_below(bytes) do
                 memory()
                 unless :erlang.memory(:binary) < bytes, do: binaries_settle_below(bytes)
               end
             end

             alias Dala.Gpu.Compute
             %{in_use: 0, shared: 0} = Part.memory()
             small = Part.make(100_000_000, 10_000)
             %{in_use: 10_000, shared: 0} = Part.memory()
             Part.binaries_settle_below(60_000_000)
             true = Compute.read(small) == :binary.copy(<<7>>, 10_000)

             # Most of a binary is not copied; the rest of it, which it keeps alive, counts.
             large = Part.make(10_000_000, 6_000_000)

             if Compute.device_info().zero_copy do
               %{in_use: 6_010_000, shared: 4_000_000} = Part.memory()
             end

             part = binary_part(:binary.copy(<<8>>, 20_000_000), 1_000, 6_000_000)
             :ok = Compute.write(large, part)
             Part.settles_at(%{in_use: 6_010_000, shared: 0})
             8 = :binary.first(Compute.read(large))
             Compute.free_many([small, large])
             Part.settles_at(%{in_use: 0, shared: 0})
             IO.puts("ok")
             """)
  end

  test "all bytes are released, however a buffer ends" do
    start = quiet_memory_info()
    :rand.seed(:exsss, {1, 2, 3})

    for _ <- 1..500 do
      {pid, monitor} = spawn_monitor(fn -> for _ <- 1..10, do: live() end)
      if :rand.uniform(2) == 1, do: Process.exit(pid, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^pid, reason}, 60_000
      assert reason in [:normal, :killed]
    end

    eventually(fn ->
      settled_memory()
      now = Compute.memory_info()
      {now.in_use, now.shared} == {start.in_use, start.shared}
    end)
  end

  defp live do
    size = Enum.random([10, 5_000, 100_000])
    whole = :binary.copy(<<1>>, size + 1_000)
    a = Compute.buffer_from_binary(binary_part(whole, 8, size), {size}, :u8)
    b = zeros({size}, :u8)

    for _ <- 1..5 do
      case :rand.uniform(7) do
        1 -> Process.put(:kept, Compute.read(a))
        2 -> Process.put(:part, binary_part(Compute.read(b), 0, div(size, 2)))
        3 -> Compute.write(a, binary_part(whole, 500, size))
        4 -> Compute.run_kernel(:fill, [], Enum.random([a, b]), value: 3)
        5 -> Compute.submit(%{op: :copy_buffer, inputs: [a], output: b})
        6 -> Process.put(:again, Compute.buffer_from_binary(Compute.read(b), {size}, :u8))
        7 -> Process.put(:image, Dala.Media.Image.decode(PngFile.zeros(40, 40)))
      end
    end

    if :rand.uniform(2) == 1, do: Compute.free_many([a, b])
  end
end
