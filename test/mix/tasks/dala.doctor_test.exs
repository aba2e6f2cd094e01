defmodule Mix.Tasks.Dala.DoctorTest do
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO

  test "prints the report" do
    assert capture_io(fn -> assert Mix.Task.rerun("dala.doctor") == :ok end) =~
             "Dala GPU #{Dala.Gpu.Compute.version()}"
  end

  test "shows the settings from the environment, and what they overrule" do
    System.put_env("DALA_MODELS_DIR", "/nonexistent")
    Application.put_env(:dala_gpu, :models_dir, "/elsewhere")

    on_exit(fn ->
      System.delete_env("DALA_MODELS_DIR")
      Application.delete_env(:dala_gpu, :models_dir)
    end)

    output = capture_io(fn -> Mix.Task.rerun("dala.doctor") end)
    assert output =~ "  DALA_MODELS_DIR=/nonexistent (from the environment)\n"
    assert output =~ ~s(  config :dala_gpu, models_dir: "/elsewhere"\n)
    assert output =~ "DALA_MODELS_DIR overrules config :dala_gpu, models_dir:"
  end

  test "takes no arguments" do
    assert_raise Mix.Error, "mix dala.doctor takes no arguments, got: --now", fn ->
      Mix.Task.rerun("dala.doctor", ["--now"])
    end
  end
end
