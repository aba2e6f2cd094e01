defmodule Dala.Gpu.ComputeTest do
  use Dala.Test.GpuCase, async: true

  doctest Dala.Gpu.Compute

  @dtypes Buffer.dtypes() -- [:c64]

  test "all documented functions exist" do
    Code.ensure_loaded!(Compute)

    for {name, arity} <- [
          device_info: 0,
          devices: 0,
          available?: 0,
          gpu?: 0,
          version: 0,
          doctor: 0,
          memory_info: 0,
          counters: 0,
          kernels: 0,
          buffer: 2,
          buffer: 3,
          buffer_from_binary: 3,
          buffer_zeros: 2,
          write: 2,
          shape: 1,
          dtype: 1,
          size: 1,
          read: 1,
          read_binary: 1,
          read_list: 1,
          free: 1,
          free_many: 1,
          run_kernel: 3,
          run_kernel: 4,
          run_kernel_async: 3,
          run_kernel_async: 4,
          add: 3,
          multiply: 3,
          relu: 2,
          scale: 3,
          matmul: 3,
          matmul: 4,
          submit: 1,
          submit: 2,
          poll: 1,
          wait: 1,
          wait: 2,
          pipeline: 0,
          pipeline_add: 2,
          pipeline_run: 1,
          free_pipeline: 1,
          from_nx: 1,
          to_nx: 1,
          to_nx: 3
        ] do
      assert function_exported?(Compute, name, arity), "#{name}/#{arity}"
    end
  end

  for dtype <- @dtypes do
    test "add, multiply, relu and scale of #{dtype}" do
      a = counting(5, unquote(dtype))
      b = Compute.buffer([5, 4, 3, 2, 1], {5}, unquote(dtype))
      c = zeros({5}, unquote(dtype))

      assert Compute.add(a, b, c) == :ok
      assert Compute.read_list(c) == [6, 6, 6, 6, 6]
      assert Compute.multiply(a, b, c) == :ok
      assert Compute.read_list(c) == [5, 8, 9, 8, 5]
      assert Compute.relu(a, c) == :ok
      assert Compute.read_list(c) == [1, 2, 3, 4, 5]
      assert Compute.scale(a, 3, c) == :ok
      assert Compute.read_list(c) == [3, 6, 9, 12, 15]
    end
  end

  test "matmul of other sizes agrees with the definition" do
    for {m, k, n} <- [{1, 1, 1}, {3, 5, 2}, {7, 1, 9}, {17, 33, 20}, {64, 48, 72}] do
      a = for i <- 1..(m * k), do: rem(i * 7, 11) - 5
      b = for i <- 1..(k * n), do: rem(i * 5, 13) - 6
      c = zeros({m, n})
      assert Compute.matmul(Compute.buffer(a, {m, k}), Compute.buffer(b, {k, n}), c) == :ok

      rows = Enum.chunk_every(a, k)
      columns = b |> Enum.chunk_every(n) |> Enum.zip_with(& &1)
      expected = for row <- rows, column <- columns, do: dot(row, column)
      assert Compute.read_list(c) == expected
    end
  end

  defp dot(row, column), do: 1.0 * Enum.sum(Enum.zip_with(row, column, &(&1 * &2)))

  test "matmul of transposed operands, with a bias and an activation" do
    for dtype <- [:f32, :s32, :u8] do
      a = Compute.buffer([1, 4, 2, 5, 3, 6], {3, 2}, dtype)
      b = Compute.buffer([1, 0, 2, 0, 1, 0], {2, 3}, dtype)
      c = zeros({2, 2}, dtype)
      assert Compute.matmul(a, b, c, transpose_a: true, transpose_b: true) == :ok
      assert Compute.read_list(c) |> Enum.map(&trunc/1) == [7, 2, 16, 5]

      bias = Compute.buffer([1, 3], {2}, dtype)
      params = %{transpose_a: true, transpose_b: true, activation: :relu6}
      assert Compute.run_kernel(:matmul, [a, b, bias], c, params) == :ok
      assert Compute.read_list(c) |> Enum.map(&trunc/1) == [6, 5, 6, 6]
    end

    a = Compute.buffer([1, -1], {1, 2})
    b = Compute.buffer([1, 2, 3, 1], {2, 2})
    c = zeros({1, 2})
    assert Compute.matmul(a, b, c, activation: :relu) == :ok
    assert Compute.read_list(c) == [0.0, 1.0]
  end

  test "batches of matmul broadcast" do
    a = Compute.buffer(Enum.to_list(1..8), {2, 1, 2, 2}, :s64)
    b = Compute.buffer([1, 0, 0, 1, 0, 1, 1, 0], {2, 2, 2}, :s64)
    c = zeros({2, 2, 2, 2}, :s64)
    assert Compute.matmul(a, b, c) == :ok
    assert Compute.read_list(c) == [1, 2, 3, 4, 2, 1, 4, 3, 5, 6, 7, 8, 6, 5, 8, 7]
  end

  test "matmul reports incompatible operands" do
    a = zeros({2, 3})
    c = zeros({2, 2})

    assert_error(
      Compute.matmul(a, c, a, transpose_b: true),
      :shape_mismatch,
      "matmul needs as many rows in input 1 as columns in input 0, " <>
        "got {2, 3} and {2, 2} transposed"
    )

    assert_error(
      Compute.matmul(zeros({2, 2, 2}), zeros({3, 2, 2}), c),
      :shape_mismatch,
      "matmul needs inputs whose leading dimensions are equal or 1, got {2, 2, 2} and {3, 2, 2}"
    )

    assert_error(
      Compute.run_kernel(:matmul, [a, a, zeros({3})], c, transpose_b: true),
      :shape_mismatch,
      "input 2 of matmul has shape {3}, expected {2}"
    )

    assert_error(
      Compute.matmul(c, c, c, activation: :tanh),
      :invalid_param,
      "activation of matmul must be none, relu or relu6, got tanh"
    )

    assert_error(
      Compute.matmul(c, c, c, transpose_a: 1),
      :invalid_param,
      "transpose_a of matmul must be true or false, got 1"
    )
  end

  test "an output may be an input" do
    a = Compute.buffer([1, 2, 3, 4], {2, 2})
    assert Compute.matmul(a, a, a) == :ok
    assert Compute.read_list(a) == [7.0, 10.0, 15.0, 22.0]
  end

  test "inputs broadcast to the shape of the output" do
    column = Compute.buffer([10, 20], {2, 1}, :s32)
    row = Compute.buffer([1, 2, 3], {3}, :s32)
    sum = zeros({2, 3}, :s32)
    assert Compute.add(column, row, sum) == :ok
    assert Compute.read_list(sum) == [11, 12, 13, 21, 22, 23]
  end

  test "integers wrap around, and dividing by zero gives zero" do
    a = Compute.buffer([255, 7], {2}, :u8)
    b = Compute.buffer([1, 0], {2}, :u8)
    assert Compute.add(a, b, a) == :ok
    assert Compute.read_list(a) == [0, 7]
    assert Compute.run_kernel(:elementwise_div, [a, b], a) == :ok
    assert Compute.read_list(a) == [0, 0]
  end

  test "floats follow IEEE 754" do
    a = Compute.buffer([1, -1, 0], {3})
    zero = zeros({3})
    assert Compute.run_kernel(:elementwise_div, [a, zero], a) == :ok
    assert Compute.read_list(a) == [:infinity, :neg_infinity, :nan]
  end

  test "scalars and empty buffers" do
    scalar = Compute.buffer([2], {})
    assert Compute.scale(scalar, 4, scalar) == :ok
    assert Compute.read_list(scalar) == [8.0]

    empty = zeros({0, 5})
    assert Compute.add(empty, empty, empty) == :ok
    assert Compute.read_list(empty) == []
    assert Compute.read(empty) == ""
  end

  test "a wrong call through the shorthands" do
    a = counting(3)
    b = counting(4)
    assert_error(Compute.add(a, b, a), :shape_mismatch, ["elementwise_add", "{4}", "{3}"])
    assert_error(Compute.matmul(a, a, a), :shape_mismatch, "matmul")
    assert_error(Compute.relu(a, zeros({3}, :s32)), :dtype_mismatch, ["s32", "f32"])
    assert_raise ArgumentError, ~r/param scalar/, fn -> Compute.scale(a, nil, a) end
    assert_error(Compute.scale(a, "two", a), :invalid_param, ["scalar of scalar_mul", "two"])
    assert Compute.read_list(a) == [1.0, 2.0, 3.0]
  end

  test "run_kernel_async is run_kernel in two steps" do
    a = counting(3)
    assert Compute.run_kernel_async(:scalar_mul, [a], a, scalar: 2) == :ok
    assert Compute.read_list(a) == [2.0, 4.0, 6.0]
    assert_error(Compute.run_kernel_async(:scalar_mul, [a], a), :invalid_param, "scalar")
    assert_error(Compute.run_kernel_async(:nope, [a], a), :unknown_kernel, "nope")
  end
end
