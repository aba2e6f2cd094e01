defmodule Dala.Gpu.Compute.Kernel.IsolationTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute.Isolated

  @moduletag timeout: 300_000
  @moduletag :capture_log

  @add_to_half """
  __kernel void first_half(__global const float *input, __global float *output, float value, int n) {
    int i = get_global_id(0);
    if (i < n / 2) output[i] = input[i] + value;
  }
  """

  @crash """
  __kernel void crash(__global int *output) { output[(get_global_id(0) + 1) * 4000000000L] = 1; }
  """

  test "a kernel runs on buffers of this VM, and of its device" do
    opts = [isolate: true, params: [:value], entry: :first_half]
    assert Kernel.register(:isolation_half, @add_to_half, opts) == :ok
    input = Compute.buffer([1, 2, 3, 4], {4})
    output = Compute.buffer([9, 9, 9, 9], {4})
    assert Kernel.run(:isolation_half, [input], output, value: 10) == :ok
    # What it does not write keeps its content.
    assert Compute.read_list(output) == [11.0, 12.0, 9.0, 9.0]
    assert Compute.read_list(input) == [1.0, 2.0, 3.0, 4.0]
    assert Compute.run_kernel(:isolation_half, [input], input, %{value: 1}) == :ok
    assert Compute.read_list(input) == [2.0, 3.0, 3.0, 4.0]

    device = Isolated.device(Isolated.Shared)
    there = Compute.copy_to(input, device)
    assert Kernel.run(:isolation_half, [there], there, value: 1) == :ok
    assert Compute.read_list(there) == [3.0, 4.0, 3.0, 4.0]

    large = Compute.buffer_zeros({1_000_000})
    assert Kernel.run(:isolation_half, [large], large, value: 2) == :ok
    assert Compute.read_list(large, 499_999, 2) == [2.0, 0.0]

    assert {:ok, %{custom: true, inputs: 1}} = Kernel.lookup(:isolation_half)
    text = "the kernel isolation_half is isolated"
    command = %{op: :run_kernel, kernel: :isolation_half, inputs: [input], output: input}
    assert_error(Compute.wait(Compute.submit(command)), :unsupported, text)
    pipeline = Pipeline.add(Pipeline.new(), command)
    assert_error(Pipeline.run(pipeline), :unsupported, text)
    compute = fn -> Kernel.compute(:isolation_half, [input], {4}, :f32, value: 1) end
    assert_raises(:unsupported, text, compute)

    assert_error(Kernel.run(:isolation_half, [], output), :arity_mismatch)
    assert_error(Kernel.run(:isolation_half, [input], output, v: 1), :unknown_param)
    Compute.free(input)
    assert_error(Kernel.run(:isolation_half, [input], output, value: 1), :freed)

    assert Kernel.unregister(:isolation_half) == :ok
    assert_error(Kernel.run(:isolation_half, [output], output, value: 1), :unknown_kernel)
    assert_error(Kernel.unregister(:isolation_half), :unknown_kernel)
    assert Kernel.lookup(:isolation_half) == :error
  end

  test "what a kernel does to its VM is an error of the call" do
    {:ok, device} = Compute.start_isolated(backoff: 0..0)
    opts = [isolate: device, inputs: 0, entry: :crash]
    assert Kernel.register(:isolation_crash, @crash, opts) == :ok
    output = Compute.buffer([1, 2], {2}, :s32)
    assert_error(Kernel.run(:isolation_crash, [], output), :device_lost, "SIGSEGV")
    assert_error(Kernel.run(:isolation_crash, [], output), :device_lost, "SIGSEGV")
    assert Compute.read_list(output) == [1, 2]
    Compute.stop_isolated(device)
    assert_error(Kernel.run(:isolation_crash, [], output), :device_lost)
    assert Kernel.lookup(:isolation_crash) == :error
    assert_error(Kernel.unregister(:isolation_crash), :device_lost)
  end

  test "a kernel can be registered again, isolated or not" do
    {:ok, device} = Compute.start_isolated()
    isolated = &"__kernel void k(__global int *output) { output[get_global_id(0)] = #{&1}; }"

    run = fn ->
      output = zeros({1}, :s32)
      :ok = Kernel.run(:isolation_again, [], output)
      Compute.read_list(output)
    end

    assert Kernel.register(:isolation_again, isolated.(1), inputs: 0) == :ok
    assert run.() == [1]
    assert Kernel.register(:isolation_again, isolated.(2), inputs: 0, isolate: device) == :ok
    assert run.() == [2]
    assert Kernel.register(:isolation_again, isolated.(3), inputs: 0) == :ok
    assert run.() == [3]
    Kernel.unregister(:isolation_again)
  end

  test "mistakes" do
    assert_error(
      Kernel.register(:isolation_broken, "__kernel void k(", isolate: true),
      :build_failed
    )

    assert Kernel.lookup(:isolation_broken) == :error

    assert_raise ArgumentError, ~r/expected isolate: to be true, false or an isolated/, fn ->
      Kernel.register(:isolation_broken, "", isolate: :yes)
    end
  end
end
