defmodule Dala.Gpu.Compute.ProfileTest do
  use Dala.Test.GpuCase, async: false

  alias Dala.Gpu.Compute.Profile

  doctest Dala.Gpu.Compute.Profile

  test "counts what ran, with its time, bytes and operations" do
    a = Compute.buffer_zeros({64, 64}, :f32)
    b = Compute.buffer_zeros({64, 64}, :f32)
    Compute.matmul(a, a, b)

    {result, profile} =
      Compute.profile(fn ->
        for _ <- 1..5, do: :ok = Compute.relu(a, b)
        :ok = Compute.matmul(a, a, b)
        :done
      end)

    assert result == :done
    relu = Enum.find(profile.kernels, &(&1.name == "relu"))
    assert relu.count == 5
    assert relu.bytes == 5 * 2 * 64 * 64 * 4
    assert relu.device_ms > 0
    matmul = Enum.find(profile.kernels, &(&1.name == "matmul"))
    assert matmul.count == 1
    # 2 * 64^3 operations in the time that the device says it took
    assert_in_delta matmul.gflop_per_s * matmul.device_ms * 1.0e6, 2 * 64 * 64 * 64, 1.0e4
    assert profile.wall_ms > 0
  end

  test "the stages of a pipeline are told apart" do
    a = Compute.buffer_zeros({1000}, :f32)
    b = Compute.buffer_zeros({1000}, :f32)

    pipeline =
      Compute.pipeline()
      |> Compute.pipeline_add(%{op: :run_kernel, kernel: :relu, inputs: [a], output: b})
      |> Compute.pipeline_add(%{op: :copy_buffer, inputs: [b], output: a})
      |> Compute.pipeline_add(%{op: :run_kernel, kernel: :softmax, inputs: [a], output: b})

    {:ok, profile} = Compute.profile(fn -> Compute.pipeline_run(pipeline) end)
    names = Enum.sort(Enum.map(profile.kernels, & &1.name))

    # Stages that were fused are one.
    if System.get_env("DALA_GPU_FUSION") == "0" do
      assert names == ["copy_buffer", "relu", "softmax"]
    else
      assert names == ["relu+copy_buffer", "softmax"]
    end
  end

  test "ends with the function, also if it raises" do
    a = Compute.buffer_zeros({10}, :f32)
    assert_raise RuntimeError, fn -> Compute.profile(fn -> raise "no" end) end
    {_, profile} = Compute.profile(fn -> :nothing end)
    Compute.relu(a, a)
    assert profile.kernels == []
  end

  test "prints as a table" do
    profile = %Profile{
      wall_ms: 2.0,
      kernels: [
        %{
          name: "relu",
          count: 2,
          device_ms: 1.5,
          queue_ms: 0.25,
          bytes: 1000,
          gb_per_s: 12.345,
          gflop_per_s: 0.0
        }
      ]
    }

    assert to_string(profile) == """
           kernel              calls  device ms  queued ms    GB/s  GFLOP/s
           relu                    2       1.50       0.25    12.3      0.0
           1.50 ms on the device in 2.00 ms wall time\
           """
  end
end
