defmodule Mix.Tasks.Dala.DoctorTest do
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO

  test "prints the report" do
    assert capture_io(fn -> assert Mix.Task.rerun("dala.doctor") == :ok end) =~
             "Dala GPU #{Dala.Gpu.Compute.version()}"
  end

  test "takes no arguments" do
    assert_raise Mix.Error, "mix dala.doctor takes no arguments, got: --now", fn ->
      Mix.Task.rerun("dala.doctor", ["--now"])
    end
  end
end
