defmodule Mix.Tasks.Dala.TuneTest do
  use Dala.Test.GpuCase, async: false

  alias Dala.Test.ChildVM

  # In a VM of its own, since the device class is chosen once.
  defp tune(args, dir, class) do
    env = [
      {"ERL_LIBS", Path.dirname(Mix.Project.app_path())},
      {"MIX_ENV", "dev"},
      {"MIX_BUILD_PATH", nil},
      {"DALA_GPU_DEVICE_CLASS", class},
      {"DALA_GPU_CACHE_DIR", dir}
    ]

    ChildVM.run_program("mix", ["dala.tune" | args], cd: dir, env: env)
  end

  defp project(name) do
    dir = scratch_dir(name)

    File.write!(Path.join(dir, "mix.exs"), """
    defmodule Tuned.MixProject do
      use Mix.Project
      def project, do: [app: :tuned, version: "0.1.0"]
    end
    """)

    dir
  end

  @tag timeout: 300_000
  test "prints the classes of shapes, and keeps what is finished within the time" do
    dir = project("tune")
    {output, status} = tune(["--seconds", "15"], dir, "gpu")
    assert status == 0, output
    assert output =~ ~r/7 classes of shapes on \S/
    assert output =~ "1/7 matmul_few_rows"
    finished? = output =~ ~r/class +before +after +gain +tiles\nmatmul_few_rows +[\d.]+ (us|ms)/
    assert finished? or output =~ "No class of shapes was finished"
    kept? = Path.wildcard(Path.join(dir, "*.tiles")) != []
    assert kept? == finished?
  end

  test "says that kernels for CPUs are not tuned, and takes no arguments" do
    dir = project("tune_cpu")
    {output, status} = tune([], dir, "cpu")
    assert status != 0
    assert output =~ "tuning is for kernels of the GPU family"
    {output, status} = tune(["fast"], dir, "cpu")
    assert status != 0
    assert output =~ "mix dala.tune takes no arguments, got: fast"
  end
end
