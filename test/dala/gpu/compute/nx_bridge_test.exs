defmodule Dala.Gpu.Compute.NxBridgeTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Test.ChildVM

  @compile {:no_warn_undefined, [Nx]}

  describe "with Nx" do
    unless Code.ensure_loaded?(Nx) do
      @describetag skip: "Nx is not on the code path (ERL_LIBS)"
    end

    for {nx_type, dtype} <- [
          {{:f, 32}, :f32},
          {{:f, 64}, :f64},
          {{:s, 32}, :s32},
          {{:s, 64}, :s64},
          {{:u, 32}, :u32},
          {{:u, 8}, :u8},
          {{:f, 16}, :f16},
          {{:bf, 16}, :bf16},
          {{:s, 8}, :s8},
          {{:s, 16}, :s16},
          {{:u, 16}, :u16},
          {{:u, 64}, :u64}
        ] do
      test "#{dtype} there and back" do
        tensor = Nx.tensor([[1, 2, 3], [4, 5, 6]], type: unquote(nx_type))
        buffer = Compute.from_nx(tensor)
        assert Buffer.dtype(buffer) == unquote(dtype)
        assert Buffer.shape(buffer) == {2, 3}
        assert Buffer.read_list(buffer) == [1, 2, 3, 4, 5, 6]
        assert Compute.to_nx(buffer) == tensor
        assert Compute.to_nx(buffer, {3, 2}, unquote(dtype)) == Nx.reshape(tensor, {3, 2})
      end
    end

    test "other types raise" do
      assert_raise ArgumentError,
                   "a buffer cannot hold the Nx type c128; it takes bf16, c64, f16, f32, f64, " <>
                     "s8 to s64 and u8 to u64 (Nx.as_type/2 converts)",
                   fn -> Compute.from_nx(Nx.tensor([1], type: {:c, 128})) end
    end

    test "complex numbers there and back" do
      tensor = Nx.tensor([1, 2], type: {:c, 64})
      assert Buffer.read_list(Compute.from_nx(tensor)) == [{1.0, 0.0}, {2.0, 0.0}]
      assert Compute.to_nx(Compute.from_nx(tensor)) == tensor
    end

    test "scalars and special values" do
      assert Buffer.shape(Compute.from_nx(Nx.tensor(5.0))) == {}
      assert Nx.to_number(Compute.to_nx(Compute.buffer([5], {}))) == 5.0
      buffer = Compute.buffer([:nan, :infinity, :neg_infinity], {3})
      assert Nx.to_list(Compute.to_nx(buffer)) == [:nan, :infinity, :neg_infinity]
    end

    test "vectorized tensors keep all their axes" do
      tensor = Nx.vectorize(Nx.tensor([[1, 2], [3, 4]]), :rows)
      buffer = Compute.from_nx(tensor)
      assert Buffer.shape(buffer) == {2, 2}
      assert Buffer.read_list(buffer) == [1, 2, 3, 4]
    end

    test "a wrong shape or type" do
      buffer = Compute.buffer([1, 2, 3], {3})

      assert_raises(
        :shape_mismatch,
        "the buffer has 3 elements, but shape {4} has 4",
        fn ->
          Compute.to_nx(buffer, {4}, :f32)
        end
      )

      assert_raises(:dtype_mismatch, "the buffer has element type f32, expected s32", fn ->
        Compute.to_nx(buffer, {3}, :s32)
      end)

      assert_raise ArgumentError, ~r/^expected dtype/, fn -> Compute.to_nx(buffer, {3}, :f8) end
      assert_raise ArgumentError, ~r/^expected shape/, fn -> Compute.to_nx(buffer, 3, :f32) end
    end

    test "terms that are not tensors" do
      for term <- [1.0, [1, 2], nil, counting(1)] do
        assert_raise ArgumentError, ~r/^expected an Nx tensor, got: /, fn ->
          Compute.from_nx(term)
        end
      end
    end

    test "a freed buffer" do
      buffer = counting(3)
      Buffer.free(buffer)
      assert_raises(:freed, "freed", fn -> Compute.to_nx(buffer) end)
    end
  end

  test "without Nx, the functions say what to add" do
    {output, 0} =
      ChildVM.run(
        """
        for call <- [
              fn -> Dala.Gpu.Compute.from_nx(1) end,
              fn -> Dala.Gpu.Compute.to_nx(Dala.Gpu.Compute.buffer([1], {1})) end,
              fn -> Dala.Gpu.Compute.to_nx(Dala.Gpu.Compute.buffer([1], {1}), {1}, :f32) end
            ] do
          try do
            call.()
          rescue
            error in RuntimeError -> IO.puts(error.message)
          end
        end
        """,
        env: [{"ERL_LIBS", nil}]
      )

    sentence =
      "Nx is not available: add {:nx, \"~> 0.7\"} to the dependencies in mix.exs " <>
        "to convert between buffers and tensors\n"

    assert output == String.duplicate(sentence, 3)
  end
end
