defmodule Dala.Gpu.Compute.KernelTest do
  use Dala.Test.GpuCase, async: true

  doctest Dala.Gpu.Compute.Kernel

  describe "run/4" do
    test "takes names and parameters in either form" do
      a = counting(2)
      assert Kernel.run(:scalar_mul, [a], a, %{scalar: 2}) == :ok
      assert Kernel.run("scalar_mul", [a], a, %{"scalar" => 2}) == :ok
      assert Kernel.run(:scalar_mul, [a.ref], a.ref, scalar: 2) == :ok
      assert Kernel.run(:neg, [a], a) == :ok
      assert Compute.read_list(a) == [-8.0, -16.0]
    end

    test "errors name what was expected and what was given" do
      a = counting(3)
      b = counting(3)

      for {kernel, inputs, output, params, reason, text} <- [
            {:relu6, [a], b, %{}, :unknown_kernel,
             "no kernel is named relu6; did you mean relu?"},
            {:add, [a, a], b, %{}, :unknown_kernel, "elementwise_add"},
            {:foo, [a], b, %{}, :unknown_kernel,
             "no kernel is named foo; kernels/0 lists those there are"},
            {:scalar_mul, [a], b, %{scalar: "3"}, :invalid_param,
             ~s(scalar of scalar_mul must be a number, got "3")},
            {:relu, [a, a], b, %{}, :arity_mismatch, "relu takes 1 input, got 2"},
            {:elementwise_add, [a], b, %{}, :arity_mismatch,
             "elementwise_add takes 2 inputs, got 1"},
            {:fill, [a], b, %{value: 1}, :arity_mismatch, "fill takes no input, got 1"},
            {:relu, [a], b, %{steepness: 1}, :unknown_param,
             "relu has no parameter steepness; it takes slope"},
            {:neg, [a], b, %{x: 1}, :unknown_param, "neg has no parameter x; it takes none"},
            {:scalar_mul, [a], b, %{}, :invalid_param, "scalar_mul needs the parameter scalar"},
            {:scalar_mul, [a], b, %{scalar: true}, :invalid_param,
             "scalar of scalar_mul must be a number, got true"},
            {:scalar_mul, [a], b, %{scalar: {1, 2}}, :invalid_param,
             "scalar of scalar_mul must be a number, got {1, 2}"},
            {:fill, [], zeros({1}, :u8), %{value: 256}, :invalid_param,
             "value of fill must be an integer between 0 and 255 for u8, got 256"},
            {:fill, [], zeros({1}, :s32), %{value: 0.5}, :invalid_param, "for s32, got 0.5"},
            {:clamp, [a], b, %{min: 2, max: 1}, :invalid_param, "min of clamp"},
            {:exp, [counting(3, :s32)], b, %{}, :dtype_mismatch, "input 0 of exp is s32"},
            {:elementwise_add, [a, counting(3, :f64)], b, %{}, :dtype_mismatch,
             "input 1 of elementwise_add is f64, expected f32 like input 0"},
            {:neg, [a], zeros({3}, :f64), %{}, :dtype_mismatch,
             "the output of neg is f64, expected f32"},
            {:neg, [a], zeros({4}), %{}, :shape_mismatch, "{3}"},
            {:neg, [zeros({2, 3})], b, %{}, :shape_mismatch, "{2, 3}"},
            {:reduce_sum, [a], zeros({}), %{axis: 1}, :invalid_param,
             "axis of reduce_sum must be an integer between -1 and 0"},
            {:reduce_sum, [a], zeros({2}), %{axis: 0}, :shape_mismatch, "reduce_sum"},
            {:matmul, [zeros({2, 3}), zeros({2, 3})], zeros({2, 3}), %{}, :shape_mismatch,
             "matmul"},
            {:reshape, [a], zeros({4}), %{}, :shape_mismatch, "reshape"}
          ] do
        assert_error(Kernel.run(kernel, inputs, output, params), reason, text)
      end

      assert Compute.read_list(a) == [1.0, 2.0, 3.0]
      assert Compute.read_list(b) == [1.0, 2.0, 3.0]
    end

    test "an integer that no parameter can hold" do
      a = counting(1)
      huge = 0x10000000000000000
      assert_error(Kernel.run(:scalar_mul, [a], a, scalar: huge), :invalid_param, "scalar")
      assert_error(Kernel.run(:scalar_mul, [a], a, scalar: -huge), :invalid_param, "scalar")
    end

    test "parameters of u64 and c64" do
      largest = 0xFFFFFFFFFFFFFFFF
      a = zeros({2}, :u64)
      assert Kernel.run(:fill, [], a, value: largest) == :ok
      assert Compute.read_list(a) == [largest, largest]

      assert_error(
        Kernel.run(:fill, [], a, value: -1),
        :invalid_param,
        "value of fill must be an integer between 0 and #{largest} for u64, got -1"
      )

      bounds = [min: 0x8000000000000000, max: 0x7FFFFFFFFFFFFFFF]
      assert_error(Kernel.run(:clamp, [a], a, bounds), :invalid_param, "min of clamp must be at")

      c = zeros({2}, :c64)
      assert Kernel.run(:fill, [], c, value: {1, -2}) == :ok
      assert Compute.read_list(c) == [{1.0, -2.0}, {1.0, -2.0}]

      assert_error(
        Kernel.run(:fill, [], c, value: "x"),
        :invalid_param,
        "value of fill must be a number or a pair of numbers, got x"
      )
    end

    test "malformed arguments raise" do
      a = counting(1)
      assert_raise ArgumentError, ~r/kernel's name/, fn -> Kernel.run(1, [a], a) end
      assert_raise ArgumentError, ~r/in UTF-8/, fn -> Kernel.run("\u2700\xA8", [a], a) end
      assert_raise ArgumentError, ~r/list of buffers/, fn -> Kernel.run(:neg, a, a) end
      assert_raise ArgumentError, ~r/Buffer{}, got: nil/, fn -> Kernel.run(:neg, [a], nil) end
      assert_raise ArgumentError, ~r/map or keyword list/, fn -> Kernel.run(:neg, [a], a, 5) end
    end
  end

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

  describe "list/0 and lookup/1" do
    test "describe every kernel of the contract" do
      kernels = Kernel.list()
      names = Enum.map(kernels, & &1.name)
      assert names == Enum.sort(names)

      for name <- ~w(elementwise_add elementwise_sub elementwise_mul elementwise_div
                     elementwise_min elementwise_max elementwise_pow scalar_mul relu sigmoid tanh
                     exp log sqrt abs neg clamp fill cast matmul transpose reshape reduce_sum
                     reduce_max reduce_min reduce_mean argmax softmax less select slice pad
                     concatenate take scatter_add cumulative_sum sort top_k) do
        assert name in names
        assert {:ok, kernel} = Kernel.lookup(name)
        assert Kernel.lookup(String.to_atom(name)) == {:ok, kernel}
        assert kernel.custom == false
        assert String.length(kernel.summary) > 3
        assert String.length(kernel.output) > 3
        assert is_integer(kernel.inputs)
        assert kernel.dtypes -- Buffer.dtypes() == []

        for param <- kernel.params do
          assert Enum.sort(Map.keys(param)) ==
                   [:choices, :default, :kind, :max, :min, :name, :required, :summary]

          assert is_binary(param.name)
          assert is_atom(param.kind)
          assert is_boolean(param.required)
          assert is_list(param.choices)
        end
      end
    end

    test "give parameters with their defaults" do
      {:ok, relu} = Kernel.lookup(:relu)
      assert [%{name: "slope", default: 0, required: false}] = relu.params
      {:ok, scalar_mul} = Kernel.lookup(:scalar_mul)
      assert [%{name: "scalar", default: nil, required: true}] = scalar_mul.params
    end

    test "an unknown name" do
      assert Kernel.lookup("no_such_kernel") == :error
    end
  end

  describe "register/3" do
    test "inputs in order, the output, parameters by name, and automatic arguments" do
      assert Kernel.register(
               :kernel_test_affine,
               """
               __kernel void affine(float offset, __global const float *first,
                                    __global const float *second, __global float *output,
                                    uint n, float factor) {
                 size_t i = get_global_id(0);
                 if (i < n) output[i] = factor * first[i] - second[i] + offset + n;
               }
               """,
               inputs: 2,
               params: [:factor, "offset"]
             ) == :ok

      a = counting(3)
      b = Compute.buffer([10, 20, 30], {3})
      c = zeros({3})
      assert Kernel.run(:kernel_test_affine, [b, a], c, factor: 2, offset: 0.5) == :ok
      assert Compute.read_list(c) == [22.5, 41.5, 60.5]

      {:ok, kernel} = Kernel.lookup(:kernel_test_affine)
      assert kernel.custom
      assert kernel.inputs == 2
      assert kernel.params |> Enum.map(& &1.name) |> Enum.sort() == ["factor", "offset"]
    end

    test "images have width, height and channels, and two indices" do
      assert Kernel.register(
               :kernel_test_image,
               """
               __kernel void coordinates(__global uchar *output, int width, int height,
                                         int channels) {
                 int x = get_global_id(0), y = get_global_id(1);
                 if (x >= width || y >= height) return;
                 for (int c = 0; c < channels; ++c)
                   output[(y * width + x) * channels + c] = (uchar)(100 * c + 10 * y + x);
               }
               """,
               inputs: 0,
               range: :pixels
             ) == :ok

      image = zeros({2, 3, 2}, :u8)
      assert Kernel.run(:kernel_test_image, [], image) == :ok
      assert Compute.read_list(image) == [0, 100, 1, 101, 2, 102, 10, 110, 11, 111, 12, 112]
    end

    test "every element type" do
      for {dtype, type} <- [
            f32: "float",
            f64: "double",
            s32: "int",
            s64: "long",
            u32: "uint",
            u8: "uchar",
            s8: "char",
            s16: "short",
            u16: "ushort",
            u64: "ulong"
          ] do
        name = "kernel_test_double_#{dtype}"

        assert Kernel.register(name, """
               __kernel void twice(__global const #{type} *x, __global #{type} *output,
                                   ulong n) {
                 size_t i = get_global_id(0);
                 if (i < n) output[i] = x[i] * 2;
               }
               """) == :ok

        a = counting(4, dtype)
        assert Kernel.run(name, [a], a) == :ok
        assert Compute.read_list(a) == [2, 4, 6, 8]
      end
    end

    test "floats of 16 bits and complex numbers" do
      :ok =
        Kernel.register(:kernel_test_half, """
        __kernel void twice(__global const half *x, __global half *output, ulong n) {
          size_t i = get_global_id(0);
          if (i < n) vstore_half(2 * vload_half(i, x), i, output);
        }
        """)

      :ok =
        Kernel.register(:kernel_test_bits, """
        __kernel void negate(__global const ushort *x, __global ushort *output, ulong n) {
          size_t i = get_global_id(0);
          if (i < n) output[i] = x[i] ^ 0x8000;
        }
        """)

      :ok =
        Kernel.register(:kernel_test_swap, """
        __kernel void swap(__global const float2 *x, __global float2 *output, ulong n) {
          size_t i = get_global_id(0);
          if (i < n) output[i] = x[i].yx;
        }
        """)

      a = Compute.buffer([1, 2.5, -3], {3}, :f16)
      assert Kernel.run(:kernel_test_half, [a], a) == :ok
      assert Compute.read_list(a) == [2.0, 5.0, -6.0]
      assert Kernel.run(:kernel_test_bits, [a], a) == :ok
      assert Compute.read_list(a) == [-2.0, -5.0, 6.0]
      b = Compute.buffer([1, 2.5, -3], {3}, :bf16)
      assert Kernel.run(:kernel_test_bits, [b], b) == :ok
      assert Compute.read_list(b) == [-1.0, -2.5, 3.0]

      assert_error(
        Kernel.run(:kernel_test_half, [b], a),
        :dtype_mismatch,
        "input 0 of kernel_test_half is bf16, expected f16 for half* x"
      )

      c = Compute.buffer([{1, 2}, {3, 4}, 5], {3}, :c64)
      assert Kernel.run(:kernel_test_swap, [c], c) == :ok
      assert Compute.read_list(c) == [{2.0, 1.0}, {4.0, 3.0}, {0.0, 5.0}]
    end

    test "element types are checked" do
      :ok =
        Kernel.register(:kernel_test_types, """
        __kernel void copy(__global const int *x, __global float *output, int n) {
          int i = get_global_id(0);
          if (i < n) output[i] = x[i];
        }
        """)

      a = counting(2, :s32)
      b = zeros({2})
      assert Kernel.run(:kernel_test_types, [a], b) == :ok
      assert Compute.read_list(b) == [1.0, 2.0]

      assert_error(Kernel.run(:kernel_test_types, [b], b), :dtype_mismatch, [
        "kernel_test_types",
        "s32",
        "f32"
      ])

      assert_error(Kernel.run(:kernel_test_types, [a], a), :dtype_mismatch, ["f32", "s32"])

      assert_error(
        Kernel.run(:kernel_test_types, [a, a], b),
        :arity_mismatch,
        "takes 1 input, got 2"
      )

      assert_error(Kernel.run(:kernel_test_types, [a], b, x: 1), :unknown_param, "x")
    end

    test "parameters are checked" do
      :ok =
        Kernel.register(
          :kernel_test_params,
          """
          __kernel void add(__global int *output, int amount, float rest, int n) {
            int i = get_global_id(0);
            if (i < n) output[i] = amount;
          }
          """,
          inputs: 0,
          params: [:amount, :rest]
        )

      a = counting(2, :s32)
      assert Kernel.run(:kernel_test_params, [], a, amount: 3, rest: 1) == :ok
      assert Compute.read_list(a) == [3, 3]
      assert_error(Kernel.run(:kernel_test_params, [], a, amount: 3), :invalid_param, "rest")

      for bad <- [1.5, 0x80000000, "3", :x, true] do
        assert_error(
          Kernel.run(:kernel_test_params, [], a, amount: bad, rest: 1),
          :invalid_param,
          "amount"
        )
      end

      assert Compute.read_list(a) == [3, 3]
    end

    test "a source that does not compile" do
      error =
        assert_error(
          Kernel.register(
            :kernel_test_broken,
            """
            __kernel void broken(__global float *output) { output[0] = undeclared; }
            """,
            inputs: 0
          ),
          :build_failed,
          "does not compile"
        )

      assert error.message ==
               """
               line 1 of the source of kernel_test_broken does not compile: use of undeclared \
               identifier 'undeclared'
                   __kernel void broken(__global float *output) { output[0] = undeclared; }
                                                                              ^\
               """

      assert %{line: 1, column: 60} = error.details
      assert error.details.log =~ "undeclared"
      assert Kernel.lookup(:kernel_test_broken) == :error
      assert_error(Kernel.run(:kernel_test_broken, [], counting(1)), :unknown_kernel)
    end

    test "a mistake below a header has the line that the user wrote" do
      source = """
      #include "half.h"
      __kernel void late(__global float *output) {
        output[0] = half_of(1.0f) + missing;
      }
      """

      headers = %{"half.h" => "float half_of(float x) {\n  return x / 2;\n}\n"}
      result = Kernel.register(:kernel_test_late, source, inputs: 0, headers: headers)
      assert_error(result, :build_failed, "line 3 of the source of kernel_test_late")

      headers = %{"half.h" => "float half_of(float x) {\n  return x / two;\n}\n"}
      result = Kernel.register(:kernel_test_late, source, inputs: 0, headers: headers)
      assert_error(result, :build_failed, ["line 2 of the header half.h", "return x / two;"])
    end

    test "an expression that does not compile is shown" do
      error = assert_error(Kernel.elementwise(:kernel_test_formula, "x * foo"), :build_failed)

      assert error.message =~
               "the expression of kernel_test_formula does not compile: use of undeclared " <>
                 "identifier 'foo'\n    x * foo\n        ^"
    end

    test "parameters may have names of built-in functions" do
      :ok =
        Kernel.register(
          :kernel_test_sign,
          """
          __kernel void kernel_test_sign(__global const float *input, __global float *output,
                                         float sign, int n) {
            int i = get_global_id(0);
            if (i < n) output[i] = sign * input[i];
          }
          """,
          params: [:sign]
        )

      a = Compute.buffer([1, 2], {2})
      assert Kernel.run(:kernel_test_sign, [a], a, sign: -1) == :ok
      assert Compute.read_list(a) == [-1.0, -2.0]

      :ok = Kernel.elementwise(:kernel_test_signs, "x * sign + floor", params: [:sign, :floor])
      assert Kernel.run(:kernel_test_signs, [a], a, sign: 2, floor: 1) == :ok
      assert Compute.read_list(a) == [-1.0, -3.0]
    end

    test "a range, a work-group and its local memory of one's own" do
      # Each work-group of four sums its part of the input in local memory.
      source = """
      __kernel void partial_sums(__global const float *input, __global float *output,
                                 __local float *part, int input_n) {
        int i = get_global_id(0), l = get_local_id(0);
        part[l] = i < input_n ? input[i] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l != 0) return;
        float sum = 0.0f;
        for (int k = 0; k < (int)get_local_size(0); ++k) sum += part[k];
        output[get_group_id(0)] = sum;
      }
      """

      opts = [entry: "partial_sums", range: {10}, local: {4}, local_memory: [part: 4]]
      :ok = Kernel.register(:kernel_test_partial, source, opts)
      sums = zeros({3})
      assert Kernel.run(:kernel_test_partial, [counting(10)], sums) == :ok
      assert Compute.read_list(sums) == [10.0, 26.0, 19.0]

      refused = fn changes, reason, texts ->
        result = Kernel.register(:kernel_test_refused, source, Keyword.merge(opts, changes))
        assert_error(result, reason, texts)
      end

      refused.([local_memory: []], :invalid_param, "local_memory: [part: 256]")

      refused.(
        [local_memory: [part: 4, more: 1]],
        :invalid_param,
        "no __local argument named more"
      )

      refused.([local_memory: [part: 0xFFFFFFFF]], :unsupported, "bytes of __local memory")
      refused.([local: {65_536}], :unsupported, "a work-group of kernel_test_refused has 65536")
      refused.([local: {2, 2}], :invalid_param, "local of kernel_test_refused has 2 dimensions")
    end

    test "a range of two and three dimensions" do
      for {range, count} <- [{{2, 3}, 6}, {{2, 3, 4}, 24}] do
        :ok =
          Kernel.register(
            :kernel_test_dimensions,
            """
            __kernel void kernel_test_dimensions(__global int *output) {
              int i = (get_global_id(2) * get_global_size(1) + get_global_id(1)) *
                      get_global_size(0) + get_global_id(0);
              output[i] = i + 1;
            }
            """,
            inputs: 0,
            range: range
          )

        output = zeros({30}, :s32)
        assert Kernel.run(:kernel_test_dimensions, [], output) == :ok
        assert Enum.take(Compute.read_list(output), count + 1) == Enum.to_list(1..count) ++ [0]
      end
    end

    test "arguments that do not fit the declaration" do
      source = """
      __kernel void odd(__global const float *x, __global float *output, float strength) {
        output[0] = x[0] * strength;
      }
      """

      assert {:error, %Error{message: message}} = Kernel.register(:kernel_test_odd, source)
      assert message =~ "strength"

      assert {:error, %Error{}} =
               Kernel.register(:kernel_test_odd, source, inputs: 2, params: [:strength])

      assert {:error, %Error{message: message}} =
               Kernel.register(:kernel_test_odd, source, params: [:strength, :more])

      assert message =~ "more"
      assert Kernel.lookup(:kernel_test_odd) == :error
      assert {:error, %Error{}} = Kernel.register(:kernel_test_odd, "int f(int x) { return x; }")
      assert {:error, %Error{}} = Kernel.register(:kernel_test_odd, "")
    end

    test "several kernels in a source need an entry" do
      source = """
      __kernel void one(__global int *output) { output[get_global_id(0)] = 1; }
      __kernel void two(__global int *output) { output[get_global_id(0)] = 2; }
      """

      assert {:error, %Error{message: message}} =
               Kernel.register(:kernel_test_entry, source, inputs: 0)

      assert message =~ "has no kernel named kernel_test_entry; it has one, two"
      assert Kernel.register(:kernel_test_entry, source, inputs: 0, entry: "two") == :ok
      a = counting(1, :s32)
      assert Kernel.run(:kernel_test_entry, [], a) == :ok
      assert Compute.read_list(a) == [2]

      assert {:error, %Error{message: message}} =
               Kernel.register(:kernel_test_entry, source, inputs: 0, entry: :three)

      assert message =~ "three"
    end

    test "may replace a custom kernel, never a built-in one" do
      source = &"__kernel void k(__global int *output) { output[0] = #{&1}; }"
      a = counting(1, :s32)

      for value <- ["1", "2"] do
        assert Kernel.register(:kernel_test_replaced, source.(value), inputs: 0) == :ok
        assert Kernel.run(:kernel_test_replaced, [], a) == :ok
        assert Compute.read_list(a) == [String.to_integer(value)]
      end

      assert_error(
        Kernel.register(:relu, source.("3"), inputs: 0),
        :invalid_param,
        "relu is a built-in kernel"
      )

      assert_error(Kernel.unregister(:relu), :unknown_kernel, "relu")
    end

    test "malformed arguments raise" do
      for {arguments, message} <- [
            {[1, "source"], ~r/kernel's name/},
            {[:k, 'source'], "expected the source as a string, got: 'source'"},
            {[:k, "source", [input: 1]], ~r/unknown keys \[:input\]/},
            {[:k, "source", [inputs: -1]], "expected inputs: to be an integer in 0..64, got: -1"},
            {[:k, "source", [inputs: "1"]], ~r/expected inputs:/},
            {[:k, "source", [params: :a]], "expected params: to be a list of names, got: :a"},
            {[:k, "source", [params: [1]]],
             "expected params: to be a list of atoms or strings, got: 1"},
            {[:k, "source", [range: :lines]],
             "expected range: to be :auto, :elements, :pixels or a tuple of one to three positive " <>
               "integers, got: :lines"},
            {[:k, "source", [entry: 1]],
             "expected entry: to be the name of a kernel function, got: 1"},
            {[:k, "source", [summary: nil]], "expected the summary as a string, got: nil"}
          ] do
        assert_raise ArgumentError, message, fn -> apply(Kernel, :register, arguments) end
      end
    end
  end

  describe "elementwise/3" do
    test "broadcasts, takes parameters and every float type" do
      assert Kernel.elementwise(:kernel_test_mix, "x * t + y * (1 - t)",
               inputs: 2,
               params: [:t],
               summary: "Mixes two inputs."
             ) == :ok

      {:ok, kernel} = Kernel.lookup(:kernel_test_mix)
      assert %{custom: true, inputs: 2, summary: "Mixes two inputs."} = kernel

      for dtype <- [:f32, :f64, :f16, :bf16] do
        a = Compute.buffer([1, 2, 3, 4], {2, 2}, dtype)
        b = Compute.buffer([10], {}, dtype)
        assert Kernel.run(:kernel_test_mix, [a, b], a, t: 0.5) == :ok
        assert Compute.read_list(a) == [5.5, 6.0, 6.5, 7.0]
      end
    end

    test "the documented shorthand" do
      assert Kernel.elementwise(:kernel_test_swish, "x / (1 + exp(-x))") == :ok
      a = Compute.buffer([-1.0, 0.0, 2.0], {3})
      assert Kernel.run(:kernel_test_swish, [a], a) == :ok
      expected = Enum.map([-1.0, 0.0, 2.0], &(&1 / (1 + :math.exp(-&1))))
      assert_close(Compute.read_list(a), expected)
    end

    test "invalid expressions" do
      error = assert_error(Kernel.elementwise(:kernel_test_bad, "x + nothing"), :build_failed)
      assert error.details.log =~ "nothing"
      assert_error(Kernel.elementwise(:kernel_test_bad, ""), :invalid_param, "is empty")

      assert_error(
        Kernel.elementwise(:kernel_test_bad, "x; y"),
        :invalid_param,
        "must not contain ;"
      )

      assert_error(Kernel.elementwise(:kernel_test_bad, "(x"), :invalid_param, "parentheses")
      assert Kernel.lookup(:kernel_test_bad) == :error

      assert_raise ArgumentError, ~r/unknown keys/, fn ->
        Kernel.elementwise(:k, "x", range: 1)
      end

      assert_raise ArgumentError, ~r/the expression as a string/, fn ->
        Kernel.elementwise(:k, 1)
      end
    end
  end

  test "unregister/1" do
    assert Kernel.elementwise(:kernel_test_short_life, "x") == :ok
    assert Kernel.unregister("kernel_test_short_life") == :ok
    assert Kernel.lookup(:kernel_test_short_life) == :error

    assert_error(
      Kernel.unregister(:kernel_test_short_life),
      :unknown_kernel,
      "there is no custom kernel named kernel_test_short_life"
    )
  end

  test "async_run/4" do
    a = counting(2)
    id = Kernel.async_run(:scalar_mul, [a], a, scalar: 3)
    assert Compute.wait(id) == :ok
    assert Compute.read_list(a) == [3.0, 6.0]
    assert_error(Compute.wait(Kernel.async_run(:scalar_mul, [a], a)), :invalid_param)
  end

  test "concurrent registration" do
    results =
      1..8
      |> Enum.map(fn i ->
        Task.async(fn ->
          name = "kernel_test_many_#{i}"
          :ok = Kernel.elementwise(name, "x + #{i}")
          a = counting(2)
          :ok = Kernel.run(name, [a], a)
          Compute.read_list(a)
        end)
      end)
      |> Task.await_many(60_000)

    assert results == for(i <- 1..8, do: [1.0 + i, 2.0 + i])
  end

  describe "several outputs" do
    @split """
    __kernel void several_split(__global const float *x, __global float *whole,
                                __global float *fraction, int n) {
      int i = get_global_id(0);
      if (i >= n) return;
      whole[i] = floor(x[i]);
      fraction[i] = x[i] - floor(x[i]);
    }
    """

    setup do
      :ok = Kernel.register(:several_split, @split, outputs: [:whole, :fraction])
      [x: Compute.buffer([1.5, -0.25, 3], {3}), whole: zeros({3}), fraction: zeros({3})]
    end

    test "are a list of buffers", %{x: x, whole: whole, fraction: fraction} do
      assert {:ok, %{inputs: 1, outputs: 2}} = Kernel.lookup(:several_split)
      assert Kernel.run(:several_split, [x], [whole, fraction]) == :ok
      assert Compute.read_list(whole) == [1.0, -1.0, 3.0]
      assert Compute.read_list(fraction) == [0.5, 0.75, 0.0]

      spec = %{op: :run_kernel, kernel: :several_split, inputs: [x], output: [x.ref, fraction]}
      assert Compute.wait(Compute.submit(spec)) == :ok
      assert Compute.read_list(x) == [1.0, -1.0, 3.0]
    end

    test "in a pipeline", %{x: x, whole: whole} do
      fraction = Pipeline.temporary({3})
      result = zeros({3})

      pipeline =
        Pipeline.new()
        |> Pipeline.run_kernel(:several_split, [x], [whole, fraction])
        |> Pipeline.run_kernel(:scalar_mul, [fraction], result, scalar: 4)

      assert Pipeline.run(pipeline) == :ok
      assert Pipeline.run(pipeline, times: 5) == :ok
      assert Compute.read_list(whole) == [1.0, -1.0, 3.0]
      assert Compute.read_list(result) == [2.0, 3.0, 0.0]
    end

    test "are checked as one is", %{x: x, whole: whole, fraction: fraction} do
      assert_error(
        Kernel.run(:several_split, [x], whole),
        :arity_mismatch,
        "several_split has 2 outputs, got 1"
      )

      assert_error(
        Kernel.run(:several_split, [x], [whole, whole]),
        :invalid_param,
        "two outputs of several_split are the same buffer"
      )

      assert_error(
        Kernel.run(:several_split, [x], [whole, zeros({2})]),
        :shape_mismatch,
        "output 1 (fraction) of several_split has 2 elements, but the kernel may write 3"
      )

      assert_error(
        Kernel.run(:several_split, [x], [whole, zeros({3}, :s32)]),
        :dtype_mismatch,
        "output 1 of several_split is s32, expected f32 for float* fraction"
      )

      assert_error(Kernel.run(:neg, [x], [whole, fraction]), :arity_mismatch, "neg has 1 output")
      assert Compute.read_list(whole) == [0.0, 0.0, 0.0]
      assert_raise ArgumentError, fn -> Kernel.run(:neg, [x], []) end
      Compute.free(fraction)
      assert_error(Kernel.run(:several_split, [x], [whole, fraction]), :freed, "an output")
    end

    test "are named, or counted" do
      numbered =
        String.replace(
          @split,
          ["whole", "fraction"],
          &%{"whole" => "output0", "fraction" => "output1"}[&1]
        )

      numbered = String.replace(numbered, "several_split", "several_numbered")
      assert Kernel.register(:several_numbered, numbered, outputs: 2) == :ok

      assert_error(
        Kernel.register(:several_bad, @split, outputs: [:whole, :rest], entry: :several_split),
        :invalid_param,
        ""
      )

      for outputs <- [0, 65, [], [:a, :a], [1], "whole", [nil]] do
        assert_raise ArgumentError, ~r/^expected outputs: to be/, fn ->
          Kernel.register(:several_bad, @split, outputs: outputs)
        end
      end
    end
  end
end
