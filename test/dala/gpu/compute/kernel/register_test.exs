defmodule Dala.Gpu.Compute.Kernel.RegisterTest do
  use Dala.Test.GpuCase, async: true

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
