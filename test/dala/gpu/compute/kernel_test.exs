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
end
