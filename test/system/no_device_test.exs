defmodule Dala.System.NoDeviceTest do
  # A machine without an OpenCL driver, as far as a second VM can tell: the loader looks into an
  # empty folder.
  use Dala.Test.GpuCase, async: true

  alias Dala.Test.ChildVM

  setup do
    %{env: [{"OCL_ICD_VENDORS", scratch_dir("vendors") <> "/"}, {"OCL_ICD_FILENAMES", nil}]}
  end

  test "the library loads, and every call says what to install", %{env: env} do
    {output, status} =
      ChildVM.run(
        """
        alias Dala.Gpu.Compute
        alias Dala.Gpu.Compute.{Buffer, Error, Kernel, Pipeline}

        false = Compute.available?()
        false = Compute.gpu?()
        [] = Compute.devices()
        {:ok, _} = Version.parse(Compute.version())

        # Buffers of a VM that had a device.
        a = %Buffer{ref: make_ref(), shape: {1}, dtype: :f32}
        pipeline = %Pipeline{ref: make_ref()}

        calls = [
          device_info: fn -> Compute.device_info() end,
          memory_info: fn -> Compute.memory_info() end,
          kernels: fn -> Compute.kernels() end,
          buffer: fn -> Compute.buffer([1], {1}) end,
          buffer_from_binary: fn -> Compute.buffer_from_binary("a", {1}, :u8) end,
          buffer_zeros: fn -> Compute.buffer_zeros({1}, :f32) end,
          run_kernel: fn -> Compute.run_kernel(:relu, [a], a) end,
          run_kernel_async: fn -> Compute.run_kernel_async(:relu, [a], a) end,
          add: fn -> Compute.add(a, a, a) end,
          multiply: fn -> Compute.multiply(a, a, a) end,
          relu: fn -> Compute.relu(a, a) end,
          scale: fn -> Compute.scale(a, 2, a) end,
          matmul: fn -> Compute.matmul(a, a, a) end,
          submit: fn -> Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: a}) end,
          poll: fn -> Compute.poll(1) end,
          wait: fn -> Compute.wait(1) end,
          wait_in_time: fn -> Compute.wait(1, 10) end,
          pipeline: fn -> Compute.pipeline() end,
          pipeline_add: fn -> Compute.pipeline_add(pipeline, %{op: :barrier}) end,
          pipeline_run: fn -> Compute.pipeline_run(pipeline) end,
          stages: fn -> Pipeline.stages(pipeline) end,
          register: fn -> Kernel.register(:k, "source") end,
          elementwise: fn -> Kernel.elementwise(:k, "x") end,
          unregister: fn -> Kernel.unregister(:k) end,
          lookup: fn -> Kernel.lookup(:relu) end
        ]

        for {name, call} <- calls do
          error =
            try do
              {:error, %Error{} = error} = call.()
              error
            rescue
              error in Error -> error
            end

          :no_device = error.reason
          true = error.message =~ "pocl-opencl-icd"
          IO.puts("\#{name}: ok")
        end

        false = Compute.available?()
        IO.puts(Compute.doctor())
        """,
        env: env
      )

    assert status == 0, output
    assert output =~ "lookup: ok"
    assert output =~ "no OpenCL driver (ICD) is registered on this machine"
    assert output =~ "(from OCL_ICD_VENDORS) has no *.icd file"
    assert output =~ "What to install"
    for package <- ~w(pocl nvidia mesa intel), do: assert(output =~ "#{package}-opencl-icd")
  end

  test "mix dala.doctor exits with 1", %{env: env} do
    {output, status} =
      ChildVM.run_program("mix", ["dala.doctor"], env: [{"MIX_ENV", "test"} | env])

    assert status == 1
    assert output =~ "What to install"
    assert output =~ "no device: "
  end
end
