defmodule Mix.Tasks.Dala.ModelsTest do
  use ExUnit.Case, async: false

  import ExUnit.CaptureIO
  import Dala.Test.GpuCase, only: [scratch_dir: 1]

  alias Dala.Test.{FileServer, Tarball}

  @double "examples/double.onnx"

  setup do
    %{dir: scratch_dir("models")}
  end

  defp models(dir, args) do
    capture_io(fn ->
      assert Mix.Task.rerun("dala.models", args ++ ["--models-dir", dir]) == :ok
    end)
  end

  defp fails(dir, args, text) do
    {error, said} =
      ExUnit.CaptureIO.with_io(:stderr, fn ->
        {error, _output} =
          ExUnit.CaptureIO.with_io(fn ->
            assert_raise Mix.Error, fn ->
              Mix.Task.rerun("dala.models", args ++ ["--models-dir", dir])
            end
          end)

        error
      end)

    assert Exception.message(error) <> said =~ text
  end

  test "list says what there is", %{dir: dir} do
    for args <- [["list"], []] do
      output = models(dir, args)
      assert output =~ ~r/^name +task +input +download +size +licence +installed$/m
      assert output =~ ~r/^blazeface +faces +128x128 RGB +5 MiB +223\.7 KiB +Apache-2\.0 +no$/m
      assert output =~ ~r/^yolo_v5 +detect +640x640 RGB +25\.4 MiB +27\.8 MiB +AGPL-3\.0 +no$/m
      assert output =~ ~r/^posenet +pose +385x385 RGB +137\.8 MiB +4\.8 MiB +MIT +no$/m
      assert output =~ "Folder: #{dir}"
    end
  end

  test "import, info, remove", %{dir: dir} do
    output = models(dir, ["import", @double, "--as", "mobilenet_v2"])
    assert output =~ "installed #{@double} as mobilenet_v2 in #{dir}/mobilenet_v2"
    assert models(dir, ["list"]) =~ ~r/^mobilenet_v2 .* yes, from file:\S+double\.onnx$/m
    info = models(dir, ["info", "mobilenet_v2"])
    assert info =~ "for        Dala.ML.classify/3"
    assert info =~ "licence    Apache-2.0. The ONNX model zoo's mobilenetv2-12"
    File.write!(Path.join(dir, "mobilenet_v2/model.onnx"), "x")

    assert models(dir, ["info", "mobilenet_v2"]) =~
             "damaged    model.onnx: it has 1 bytes instead of"

    assert models(dir, ["remove", "mobilenet_v2"]) =~ "mobilenet_v2 is removed"
    assert models(dir, ["remove", "mobilenet_v2"]) =~ "mobilenet_v2 is not installed in #{dir}"
    assert File.ls!(dir) == []
  end

  test "install shows the licence and how far it is", %{dir: dir} do
    archive = Tarball.new([{"a.onnx", File.read!(@double)}])
    server = FileServer.start(archive, [:serve])
    sha256 = Base.encode16(:crypto.hash(:sha256, archive), case: :lower)
    source = ["--source", "#{server}/a.tgz", "--sha256", sha256]
    output = models(dir, ["install", "posenet" | source])
    assert output =~ "posenet: 17 points of a person's body"
    assert output =~ "licence: see #{server}/a.tgz"
    assert output =~ "from #{server}/a.tgz"
    assert output =~ "[##############################]"
    assert output =~ "installed in #{dir}/posenet"

    File.cp!(@double, Path.join(dir, "posenet.onnx"))
    again = models(dir, ["install", "posenet", "--force" | source])
    assert again =~ "; but #{dir}/posenet.onnx takes precedence"
  end

  test "what cannot be done is said, and the status is 1", %{dir: dir} do
    fails(dir, ["install", "yolo_v5"], "not installed: yolo_v5")
    fails(dir, ["install", "yolo_v5"], "Accept it with --accept-licence")
    server = FileServer.start("", [{:status, 404}])
    source = ["--source", "#{server}/a.onnx", "--sha256", String.duplicate("0", 64)]
    fails(dir, ["install", "deeplab" | source], "the server answers 404 No")
    fails(dir, ["install", "deeplab" | source], "mix dala.models import PATH --as deeplab")
    fails(dir, ["install", "gpt"], "unknown model gpt; the models are mobilenet_v2, ")
    fails(dir, ["import", @double], "import requires --as NAME, one of mobilenet_v2, ")
    fails(dir, ["import", "mix.exs", "--as", "deeplab"], "expected an .onnx, .tflite, model.json")
    fails(dir, ["dance"], "unknown command: dance; mix dala.models list | install NAME")
    fails(dir, ["list", "--fast"], "unknown option --fast")
    fails(dir, ["list", "--force"], "--force does not apply here")
    assert File.ls!(dir) == []
  end
end
