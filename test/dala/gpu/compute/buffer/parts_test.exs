defmodule Dala.Gpu.Compute.Buffer.PartsTest do
  use Dala.Test.GpuCase, async: true

  @dtypes Buffer.dtypes()

  describe "parts of a buffer" do
    test "are what the whole has there, of every type" do
      for dtype <- @dtypes -- [:c64] do
        whole = Enum.map(0..99, &if(dtype in [:f32, :f64], do: &1 / 2, else: &1))
        buffer = Buffer.new(whole, {10, 10}, dtype)

        for {offset, count} <- [{0, 100}, {0, 1}, {99, 1}, {37, 12}, {5, 0}, {100, 0}] do
          assert Buffer.read_list(buffer, offset, count) == Enum.slice(whole, offset, count)
          size = div(Buffer.size(buffer), 100)

          assert Buffer.read(buffer, offset, count) ==
                   binary_part(Buffer.read(buffer), offset * size, count * size)
        end
      end
    end

    test "wait for what was submitted, and never change" do
      buffer = zeros({1000})

      id =
        Compute.submit(%{
          op: :run_kernel,
          kernel: :fill,
          inputs: [],
          output: buffer,
          params: %{value: 3}
        })

      part = Buffer.read(buffer, 998, 2)
      assert part == f32([3, 3])
      assert Compute.wait(id) == :ok
      assert Compute.run_kernel(:neg, [buffer], buffer) == :ok
      assert part == f32([3, 3])
      assert Compute.read_list(buffer, 0, 1) == [-3.0]
    end

    test "copy no more than the part" do
      buffer = zeros({1_000_000})
      before = Compute.counters().bytes_out
      assert byte_size(Buffer.read(buffer, 500_000, 10)) == 40
      assert Compute.counters().bytes_out - before == 40
    end

    test "outside of the buffer, or of one that is gone, are errors" do
      buffer = zeros({2, 3})

      for {offset, count} <- [{0, 7}, {6, 1}, {7, 0}, {0x7FFFFFFFFFFFFFFF, 0x7FFFFFFFFFFFFFFF}] do
        assert_raises(:invalid_param, "the buffer has 6 elements", fn ->
          Buffer.read(buffer, offset, count)
        end)
      end

      for {offset, count} <- [{-1, 1}, {0, -1}, {0, 1.0}, {:a, 1}] do
        assert_raise ArgumentError, ~r/to be from 0 to/, fn ->
          Buffer.read(buffer, offset, count)
        end
      end

      temporary = Pipeline.temporary({4})
      assert_raises(:unsupported, [], fn -> Buffer.read(temporary, 0, 1) end)
      Buffer.free(buffer)
      assert_raises(:freed, [], fn -> Buffer.read(buffer, 0, 1) end)
      assert_raises(:freed, [], fn -> Buffer.read(buffer, 0, 0) end)
    end
  end
end
