defmodule Dala.Gpu.Compute.Kernel.BuiltInTest do
  use Dala.Test.GpuCase, async: true

  describe "the built-in kernels" do
    test "unary kernels of floats" do
      x = [0.5, 1.0, 2.0, 3.5]
      input = Compute.buffer(x, {4})
      output = zeros({4})

      for {kernel, function} <- [
            sigmoid: &(1 / (1 + :math.exp(-&1))),
            tanh: &:math.tanh/1,
            exp: &:math.exp/1,
            log: &:math.log/1,
            sqrt: &:math.sqrt/1,
            abs: &abs/1,
            neg: &(-&1)
          ] do
        assert Kernel.run(kernel, [input], output) == :ok
        assert_close(Compute.read_list(output), Enum.map(x, function))
      end
    end

    test "binary kernels" do
      a = Compute.buffer([7, 2, 9, 4], {4}, :s32)
      b = Compute.buffer([2, 3, 9, 1], {4}, :s32)
      output = zeros({4}, :s32)

      for {kernel, expected} <- [
            elementwise_add: [9, 5, 18, 5],
            elementwise_sub: [5, -1, 0, 3],
            elementwise_mul: [14, 6, 81, 4],
            elementwise_div: [3, 0, 1, 4],
            elementwise_min: [2, 2, 9, 1],
            elementwise_max: [7, 3, 9, 4],
            elementwise_pow: [49, 8, 387_420_489, 4]
          ] do
        assert Kernel.run(kernel, [a, b], output) == :ok
        assert Compute.read_list(output) == expected
      end
    end

    test "clamp, fill and cast" do
      a = counting(5)
      assert Kernel.run(:clamp, [a], a, min: 2, max: 4.5) == :ok
      assert Compute.read_list(a) == [2.0, 2.0, 3.0, 4.0, 4.5]
      bytes = zeros({5}, :u8)
      assert Kernel.run(:cast, [a], bytes) == :ok
      assert Compute.read_list(bytes) |> Enum.take(4) == [2, 2, 3, 4]
      assert Kernel.run(:fill, [], a, value: :nan) == :ok
      assert Compute.read_list(a) |> Enum.uniq() == [:nan]
    end

    test "transpose and reshape" do
      a = Compute.buffer([1, 2, 3, 4, 5, 6], {2, 3}, :u8)
      turned = zeros({3, 2}, :u8)
      assert Kernel.run(:transpose, [a], turned) == :ok
      assert Compute.read_list(turned) == [1, 4, 2, 5, 3, 6]
      assert Kernel.run(:reshape, [a], turned) == :ok
      assert Compute.read_list(turned) == [1, 2, 3, 4, 5, 6]
    end

    test "reductions, argmax and softmax" do
      a = Compute.buffer([3, 1, 2, 6, 5, 4], {2, 3})
      whole = zeros({})

      for {kernel, all, rows, columns} <- [
            {:reduce_sum, [21.0], [6.0, 15.0], [9.0, 6.0, 6.0]},
            {:reduce_max, [6.0], [3.0, 6.0], [6.0, 5.0, 4.0]},
            {:reduce_min, [1.0], [1.0, 4.0], [3.0, 1.0, 2.0]},
            {:reduce_mean, [3.5], [2.0, 5.0], [4.5, 3.0, 3.0]}
          ] do
        by_row = zeros({2})
        by_column = zeros({3})
        assert Kernel.run(kernel, [a], whole) == :ok
        assert Kernel.run(kernel, [a], by_row, axis: 1) == :ok
        assert Kernel.run(kernel, [a], by_column, axis: -2) == :ok
        assert Compute.read_list(whole) == all
        assert Compute.read_list(by_row) == rows
        assert Compute.read_list(by_column) == columns
      end

      position = zeros({2}, :s32)
      assert Kernel.run(:argmax, [a], position, axis: 1) == :ok
      assert Compute.read_list(position) == [0, 0]

      probabilities = zeros({2, 3})
      assert Kernel.run(:softmax, [a], probabilities) == :ok
      sums = Compute.read_list(probabilities) |> Enum.chunk_every(3) |> Enum.map(&Enum.sum/1)
      assert_close(sums, [1.0, 1.0])
    end
  end

  describe "kernels for numeric work" do
    test "comparison and select" do
      a = counting(4)
      smaller = zeros({4}, :u8)
      assert Kernel.run(:less, [a, Compute.buffer([3], {1})], smaller) == :ok
      assert Compute.read_list(smaller) == [1, 1, 0, 0]
      assert Kernel.run(:select, [smaller, Compute.buffer([0], {}), a], a) == :ok
      assert Compute.read_list(a) == [0.0, 0.0, 3.0, 4.0]
    end

    test "moves take a number, or a list of one per dimension" do
      a = Compute.buffer([1, 2, 3, 4, 5, 6], {2, 3}, :s32)
      part = zeros({2, 1}, :s32)
      assert Kernel.run(:slice, [a], part, starts: [0, 2]) == :ok
      assert Compute.read_list(part) == [3, 6]
      padded = zeros({4, 3}, :s32)
      assert Kernel.run(:pad, [a], padded, low: [1, 0], high: {1, 0}, value: 9) == :ok
      assert Compute.read_list(padded) == [9, 9, 9, 1, 2, 3, 4, 5, 6, 9, 9, 9]
      joined = zeros({2, 5}, :s32)
      assert Kernel.run(:concatenate, [a, part, part], joined, axis: 1) == :ok
      assert Compute.read_list(joined) == [1, 2, 3, 3, 3, 4, 5, 6, 6, 6]

      assert {:error, %Error{reason: :invalid_param, message: message}} =
               Kernel.run(:slice, [a], part, starts: [1])

      assert message =~ "one for each of the 2 dimensions"
    end

    test "indices, sums along an axis, and order" do
      a = Compute.buffer([3, 1, 2, 6, 5, 4], {2, 3})
      order = zeros({2, 3}, :s32)
      sorted = zeros({2, 3})
      assert Kernel.run(:argsort, [a], order, direction: :desc) == :ok
      assert Compute.read_list(order) == [0, 2, 1, 0, 1, 2]
      assert Kernel.run(:take_along_axis, [a, order], sorted) == :ok
      assert Compute.read_list(sorted) == [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]
      assert Kernel.run(:cumulative_sum, [a], sorted, axis: 0) == :ok
      assert Compute.read_list(sorted) == [3.0, 1.0, 2.0, 9.0, 6.0, 6.0]
      sum = zeros({3})
      places = Compute.buffer([1, 1, -1], {3, 1}, :s64)
      assert Kernel.run(:scatter_add, [sum, places, counting(3)], sum) == :ok
      assert Compute.read_list(sum) == [0.0, 3.0, 3.0]
      whole = zeros({1, 1})
      assert Kernel.run(:reduce_product, [a], whole, axes: [0, 1]) == :ok
      assert Compute.read_list(whole) == [720.0]
    end

    test "random numbers depend on seed, stream and offset alone" do
      draw = fn count, params ->
        output = zeros({count}, :s64)
        bounds = [min: -0x8000000000000000, max: 0x7FFFFFFFFFFFFFFF]
        assert Kernel.run(:random_integer, [], output, bounds ++ params) == :ok
        Compute.read_list(output)
      end

      assert draw.(100, seed: -5) == draw.(100, seed: -5)
      assert draw.(40, seed: -5, offset: 60) == Enum.drop(draw.(100, seed: -5), 60)
      assert draw.(3, seed: -5, stream: 1) != draw.(3, seed: -5)
      # The upper half of the known answer of Philox4x32-10 for zeros, counted from the minimum.
      assert hd(draw.(1, [])) == 0x9B00DBD8BC57AC4C - 0x8000000000000000

      assert {:error, %Error{reason: :invalid_param}} =
               Kernel.run(:random_integer, [], zeros({1}, :s64), max: 0x8000000000000000)
    end

    test "transforms, counts and factorizations" do
      pairs = Compute.buffer([1, 0, 2, 0, 3, 0], {3, 2})
      assert Kernel.run(:fft, [pairs], pairs) == :ok
      assert_close(Compute.read_list(pairs), [6.0, 0.0, -1.5, 0.8660254, -1.5, -0.8660254])
      assert Kernel.run(:ifft, [pairs], pairs, axes: 0) == :ok
      assert_close(Compute.read_list(pairs), [1.0, 0.0, 2.0, 0.0, 3.0, 0.0])

      counts = zeros({3}, :u32)
      assert Kernel.run(:histogram_bins, [counting(4)], counts, min: 1, max: 4) == :ok
      assert Compute.read_list(counts) == [1, 1, 2]

      a = Compute.buffer([0, 2, 1, 1], {2, 2})
      order = zeros({2}, :s32)
      packed = zeros({2, 2})
      assert Kernel.run(:lu, [a], order, result: :permutation) == :ok
      assert Kernel.run(:lu, [a], packed) == :ok
      assert Compute.read_list(order) == [1, 0]
      assert Compute.read_list(packed) == [1.0, 1.0, 0.0, 2.0]

      assert {:error, %Error{reason: :invalid_param, message: message}} =
               Kernel.run(:svd, [a], zeros({2}), result: :sigma)

      assert message == "result of svd must be values, u or vt, got sigma"
    end
  end
end
