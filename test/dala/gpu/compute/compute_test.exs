defmodule Dala.Gpu.Compute.ComputeTest do
  # Buffers that a command makes, and views of buffers: what Dala.Nx is built on.
  use Dala.Test.GpuCase, async: true

  describe "Kernel.compute/5" do
    test "results follow each other without waiting" do
      a = counting(1000)

      b =
        Enum.reduce(1..100, a, fn _, x ->
          Kernel.compute(:elementwise_add, [x, a], {1000}, :f32)
        end)

      assert Buffer.read_list(b) == for(i <- 1..1000, do: 101.0 * i)
    end

    test "a call that is wrong raises" do
      a = counting(3)

      assert_raises(:shape_mismatch, [], fn ->
        Kernel.compute(:elementwise_add, [a, a], {4}, :f32)
      end)

      assert_raises(:unknown_kernel, ["no_such"], fn ->
        Kernel.compute(:no_such, [a], {3}, :f32)
      end)

      assert_raises(:unknown_param, [], fn -> Kernel.compute(:exp, [a], {3}, :f32, %{x: 1}) end)
      Buffer.free(a)
      assert_raises(:freed, [], fn -> Kernel.compute(:exp, [a], {3}, :f32) end)
    end

    test "what was to be computed from a result that never came is an error, too" do
      test = self()

      {pid, monitor} =
        spawn_monitor(fn ->
          busy = zeros({1}, :u32)
          Compute.submit(slow(300 * rounds_per_ms(), busy))
          first = Kernel.compute(:elementwise_add, [busy, busy], {1}, :u32)
          send(test, {:result, first})
          receive do: (:never -> first)
        end)

      assert_receive {:result, first}, 60_000
      second = Kernel.compute(:neg, [first], {1}, :u32)
      view = Buffer.view(second, {})
      Process.exit(pid, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, 60_000

      # Either the command was dropped with its process, or it had started before that.
      outcomes = for buffer <- [first, second, view], do: outcome(buffer)
      assert outcomes in [[:freed, :freed, :freed], [:content, :content, :content]]
    end

    defp outcome(buffer) do
      _ = Buffer.read_result(buffer)
      :content
    rescue
      error in Error -> error.reason
    end
  end

  describe "Buffer.view/3" do
    test "writes to one do not change the other" do
      buffer = counting(6, :s32)
      view = Buffer.view(buffer, {2, 3})
      :ok = Kernel.run(:fill, [], buffer, value: 0)
      assert Buffer.read_list(view) == [1, 2, 3, 4, 5, 6]
      :ok = Kernel.run(:neg, [view], view)
      assert Buffer.read_list(view) == [-1, -2, -3, -4, -5, -6]
      assert Buffer.read_list(buffer) == [0, 0, 0, 0, 0, 0]
    end

    test "it outlives the buffer" do
      buffer = counting(4)
      view = Buffer.view(buffer, {2, 2})
      Buffer.free(buffer)
      assert Buffer.read_list(view) == [1.0, 2.0, 3.0, 4.0]
      assert_raises(:freed, [], fn -> Buffer.view(buffer, {4}) end)
    end

    test "as elements of another type" do
      buffer = Buffer.new([1.0, -2.0], {2})
      assert Buffer.read_list(Buffer.view(buffer, {2}, :s32)) == [0x3F800000, -0x40000000]

      bytes = [0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0]
      assert Buffer.read_list(Buffer.view(buffer, {2, 4}, :u8)) == bytes
      assert Buffer.read_list(Buffer.view(buffer, {}, :c64)) == [{1.0, -2.0}]

      text = "f32 {2} cannot be viewed as u8 {2}: expected as many bytes"
      assert_raises(:shape_mismatch, text, fn -> Buffer.view(buffer, {2}, :u8) end)
      assert_raises(:shape_mismatch, [], fn -> Buffer.view(buffer, {3}) end)
    end

    test "memory counts once" do
      before = settled_memory()
      buffer = Buffer.zeros({1000, 1000})
      views = for n <- [{1_000_000}, {10, 100_000}, {1000, 1000}], do: Buffer.view(buffer, n)
      assert (Compute.memory_info().in_use - before) in 4_000_000..5_000_000
      Buffer.free(buffer)
      Enum.each(views, &Buffer.free/1)
    end
  end
end
