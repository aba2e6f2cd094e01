defmodule Mix.Tasks.Dala.WarmupTest do
  use Dala.Test.GpuCase, async: false

  import ExUnit.CaptureIO

  defp task(args), do: capture_io(fn -> Mix.Task.rerun("dala.warmup", args) end)

  test "prepares named kernels, and tells how many there are" do
    output = task(["--only", "relu,neg", "f32"])
    assert output =~ ~r/^2 kernels for \S/
    assert output =~ "1/2"
    assert output =~ "the kernels are ready"
    assert output =~ ~r/It took \d+ (ms|s)\./
  end

  test "tells how long the rest takes" do
    names = ~w(relu neg abs exp log sqrt tanh)
    assert task(["--only", Enum.join(names, ","), "f32"]) =~ ~r/6\/7, about \d+ (ms|s) left,/
  end

  test "records what a script uses, and prepares that" do
    dir = scratch_dir("warmup")
    script = Path.join(dir, "script.exs")
    file = Path.join(dir, "kernels.txt")

    File.write!(script, """
    a = Dala.Gpu.Compute.buffer([1, 2], {2})
    :ok = Dala.Gpu.Compute.run_kernel(:sigmoid, [a], a)
    """)

    assert task(["--record", file, script]) =~ ~r/kernels were used; their names are in #{file}/
    names = file |> File.read!() |> String.split("\n", trim: true)
    assert "sigmoid" in names
    assert task(["--only", file, "f32"]) =~ "the kernels are ready"
  end

  test "does not start the application of the project" do
    dir = scratch_dir("host")
    File.mkdir_p!(Path.join(dir, "lib"))

    File.write!(Path.join(dir, "mix.exs"), """
    defmodule Host.MixProject do
      use Mix.Project
      def project, do: [app: :host, version: "0.1.0"]
      def application, do: [mod: {Host, []}]
    end
    """)

    File.write!(Path.join(dir, "lib/host.ex"), """
    defmodule Host do
      use Application
      def start(_type, _args), do: raise("the host application was started")
    end
    """)

    alias Dala.Test.ChildVM
    libs = Path.dirname(Mix.Project.app_path())
    env = [{"ERL_LIBS", libs}, {"MIX_ENV", "dev"}, {"MIX_BUILD_PATH", nil}]
    args = ["dala.warmup", "--only", "relu", "f32"]
    {output, status} = ChildVM.run_program("mix", args, cd: dir, env: env)
    assert status == 0, output
    assert output =~ "the kernels are ready"
  end

  test "mistakes" do
    for {args, text} <- [
          {["f8"], "expected an element type"},
          {["--only", "reluu", "f32"], "there is no built-in kernel named reluu"},
          {["--record", "x"], "--record needs a script to run"},
          {["--record", "x", "--only", "relu", "y"], "--record and --only do not go together"}
        ] do
      assert_raise Mix.Error, ~r/#{text}/, fn -> task(args) end
    end
  end
end
