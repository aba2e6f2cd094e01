defmodule Dala.Gpu.Compute.DoctorTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute.Doctor

  doctest Dala.Gpu.Compute.Doctor

  test "the report names the devices, the chosen one, and the reason" do
    report = Doctor.report()
    info = Compute.device_info()

    for text <- [
          "Dala GPU #{Compute.version()}",
          "Drivers",
          "Loader",
          "libOpenCL",
          "Platforms and devices",
          info.platform,
          "Chosen\n  #{info.name} (#{info.platform}), because #{info.why}",
          "zero copy: #{if info.zero_copy, do: "yes", else: "no"}",
          "compiled kernels are kept in #{info.cache_dir}"
        ] do
      assert report =~ text
    end

    refute report =~ "What to install"
  end
end
