defmodule Dala.Gpu.Compute.WarmupTest do
  use Dala.Test.GpuCase, async: false

  doctest Dala.Gpu.Compute.Warmup

  @tag timeout: 300_000
  test "prepares every kernel of a type and tells how far it is" do
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

  test "options are checked" do
    assert_raise ArgumentError, ~r/expected dtype to be one of/, fn ->
      Compute.warmup(dtypes: [:f16])
    end

    assert_raise ArgumentError, ~r/progress/, fn -> Compute.warmup(progress: :yes) end
    assert_raise ArgumentError, fn -> Compute.warmup(verbose: true) end
  end
end
