defmodule Dala.Gpu.Compute.TuningTest do
  use Dala.Test.GpuCase, async: false

  alias Dala.Gpu.Compute.Tuning

  test "options are checked" do
    assert_raise ArgumentError, ~r/expected seconds: an integer in 0..86400, got: -1/, fn ->
      Tuning.run(seconds: -1)
    end

    assert_raise ArgumentError, ~r/expected progress: a function of 1 argument, got: :no/, fn ->
      Tuning.run(progress: :no)
    end
  end

  test "the kernels for CPUs are not tuned" do
    case Compute.device_info().class do
      :cpu -> assert_error(Tuning.run(seconds: 0), :unsupported, "kernels of the GPU family")
      :gpu -> assert Tuning.run(seconds: 0) == {:ok, []}
    end
  end
end
