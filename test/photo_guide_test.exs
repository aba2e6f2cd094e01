defmodule Dala.PhotoGuideTest do
  # The code of guides/photo.md, guides/photo.livemd and guides/deployment.md, run with stand-in
  # models. Not async: the models directory is a global setting.

  use Dala.Test.GpuCase, async: false

  import ExUnit.CaptureIO

  alias Dala.Media.Image
  alias Dala.ML.Models
  alias Dala.Test.StandIns

  setup do
    dir = StandIns.models_dir()
    from = scratch_dir("from")

    for {name, bytes} <- [blazeface: StandIns.blazeface(), deeplab: StandIns.deeplab()] do
      path = Path.join(from, "#{name}.onnx")
      File.write!(path, bytes)
      assert {:ok, _folder} = Models.import_file(path, name, models_dir: dir)
    end

    %{scratch: from}
  end

  defp code(file) do
    ~r/^```elixir\n(.*?)^```$/ms
    |> Regex.scan(File.read!(file), capture: :all_but_first)
    |> List.flatten()
  end

  test "the guide", %{scratch: scratch} do
    photo = Path.join(scratch, "photo.jpg")
    :ok = Image.write(Image.new(64, 48, Dala.Media.TestScene.frame(64, 48)), photo)

    code =
      "guides/photo.md"
      |> code()
      |> Enum.join("\n")
      |> String.replace("photo.jpg", photo)
      |> String.replace("faces.png", Path.join(scratch, "faces.png"))

    assert capture_io(fn -> Code.eval_string(code) end) =~ "98 % a face at 42, 32: 16 by 16"
    assert {:ok, %{width: 64, height: 48}} = Image.read(Path.join(scratch, "faces.png"))

    for [path] <-
          Regex.scan(~r/\((images\/[^)]+)\)/, File.read!("guides/photo.md"),
            capture: :all_but_first
          ),
        do: assert({:ok, _picture} = Image.read(Path.join("guides", path)))
  end

  test "the Phoenix example", %{scratch: scratch} do
    [code] = code("guides/deployment.md")
    {{:module, vision, _binary, _last}, _binding} = Code.eval_string(code)
    vision.load()

    path = Path.join(scratch, "upload.png")
    :ok = Image.write(Image.new(64, 48, Dala.Media.TestScene.frame(64, 48)), path)
    assert {:ok, jpeg} = vision.mark_faces(File.read!(path))
    assert {:ok, %Image{width: 64, height: 48}} = Image.decode(jpeg)
    assert {:error, %{reason: :unsupported}} = vision.mark_faces("not an image")
  after
    :persistent_term.erase(MyApp.Vision)
    Dala.Gpu.Compute.Kernel.unregister(:my_app_faces)
  end

  test "the Livebook" do
    [install | cells] = code("guides/photo.livemd")
    # It installs this library.
    assert install =~ ~s|Mix.install([{:dala_gpu, path: Path.join(__DIR__, "..")}])|
    file = Path.expand("guides/photo.livemd")

    output =
      capture_io(fn ->
        {result, _binding} = Code.eval_string(Enum.join(cells, "\n"), [], file: file)
        assert %Image{width: 512, height: 512} = result
      end)

    assert output =~ "blazeface: MediaPipe's short-range face detector"
  end
end
