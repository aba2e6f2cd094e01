defmodule Dala.Gpu.Compute.WarmupTest do
  use Dala.Test.GpuCase, async: false

  doctest Dala.Gpu.Compute.Warmup

  @tag timeout: 300_000
  test "compiles every kernel of a type and reports progress" do
    test = self()
    assert Compute.warmup(dtypes: [:s32], progress: &send(test, {:step, &1})) == :ok

    total =
      receive do
        {:step, {0, total, _kernel, :s32}} -> total
      end

    for done <- 1..(total - 1), do: assert_receive({:step, {^done, ^total, _kernel, :s32}})
    expected = Enum.count(Compute.kernels(), &(:s32 in &1.dtypes and not &1.custom))
    assert total == expected
  end

  test "prepares only the kernels that are named" do
    test = self()
    step = &send(test, {:step, &1})
    assert Compute.warmup(dtypes: [:f32, :u8], only: [:relu, "blur"], progress: step) == :ok
    steps = for _ <- 1..4, do: assert_receive({:step, {_done, 4, _kernel, _dtype}})

    assert Enum.sort(for {:step, {_, _, kernel, dtype}} <- steps, do: {kernel, dtype}) ==
             [{"blur", :f32}, {"blur", :u8}, {"relu", :f32}, {"relu", :u8}]

    assert Compute.warmup(only: []) == :ok
    assert_error(Compute.warmup(only: [:reluu]), :unknown_kernel, "named reluu")
    assert_raise ArgumentError, ~r/only: a list of names/, fn -> Compute.warmup(only: :relu) end
  end

  test "records what runs, fused or not, in whichever process" do
    a = zeros({64})
    b = Pipeline.temporary({64})

    pipeline =
      Pipeline.new() |> Pipeline.run_kernel(:exp, [a], b) |> Pipeline.run_kernel(:neg, [b], a)

    {result, names} =
      Dala.Gpu.Compute.Warmup.record(fn ->
        :ok = Pipeline.run(pipeline)
        Task.await(Task.async(fn -> Compute.run_kernel(:sigmoid, [a], a) end))
      end)

    assert result == :ok
    assert ["exp", "neg", "sigmoid"] -- names == []
  end

  test "options are checked" do
    assert_raise ArgumentError, ~r/expected dtype to be one of/, fn ->
      Compute.warmup(dtypes: [:f8])
    end

    assert_raise ArgumentError, ~r/progress/, fn -> Compute.warmup(progress: :yes) end
    assert_raise ArgumentError, fn -> Compute.warmup(verbose: true) end
  end
end
