defmodule Dala.ML.ModelsTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.ML.{Gpu, Models}
  alias Dala.ML.Models.{Entry, Registry}

  doctest Dala.ML.Models

  @double "examples/double.onnx"

  test "the registry has complete entries for all named models" do
    assert Registry.names() == Gpu.available_models()

    for entry <- Registry.all() do
      assert %{name: name, text: text, free?: free?} = entry.licence
      assert is_binary(name) and String.ends_with?(text, ".") and is_boolean(free?)
      assert Entry.format(entry) in Map.keys(entry.contracts)
      assert Entry.download_bytes(entry) > 0
      assert Enum.map(entry.files, & &1.to) == Enum.uniq(Enum.map(entry.files, & &1.to))
      assert Path.rootname(hd(entry.files).to) == "model"

      case entry.source do
        {:npm, package, _bytes} ->
          assert package =~ ~r/^(@[a-z-]+\/)?[a-z_0-9-]+@\d+\.\d+\.\d+$/

          for file <- entry.files,
              do: assert(file.sha256 =~ ~r/^[0-9a-f]{64}$/ and file.bytes > 0)

        {:url, address, _bytes, sha256} ->
          assert address =~ ~r/^https:/ and sha256 =~ ~r/^[0-9a-f]{64}$/
      end
    end

    # The one that says what it asks for.
    assert [%{name: :yolo_v5, licence: %{name: "AGPL-3.0"}}] =
             Enum.reject(Registry.all(), & &1.licence.free?)
  end

  test "a local file is imported and removed" do
    dir = scratch_dir("models")
    assert Models.info(:mobilenet_v2, models_dir: dir).installed == nil
    assert {:ok, folder} = Models.import_file(@double, "mobilenet_v2", models_dir: dir)
    assert %{installed: installed} = Models.info("mobilenet_v2", models_dir: dir)
    assert installed.path == Path.join(folder, "model.onnx")
    assert installed.source == "file:" <> Path.expand(@double)
    refute installed.by_hand?
    assert {:ok, %{name: "mobilenet_v2"}} = Gpu.load_model(:mobilenet_v2, models_dir: dir)

    File.write!(Path.join(folder, "model.onnx"), "")

    assert [{"model.onnx", "it has 0 bytes instead of" <> _}] =
             Models.damaged(:mobilenet_v2, models_dir: dir)

    # A file by hand is found first, and stays.
    by_hand = Path.join(dir, "mobilenet_v2.onnx")
    File.cp!(@double, by_hand)

    assert %{path: ^by_hand, by_hand?: true} =
             Models.info(:mobilenet_v2, models_dir: dir).installed

    assert Models.remove(:mobilenet_v2, models_dir: dir) == {:ok, :removed}
    assert Models.remove(:mobilenet_v2, models_dir: dir) == {:ok, :not_installed}
    assert File.ls!(dir) == ["mobilenet_v2.onnx"]
  end

  test "a file that does not load is not imported" do
    dir = scratch_dir("models")
    damaged = Path.join(scratch_dir("from"), "damaged.onnx")
    File.write!(damaged, binary_part(File.read!(@double), 0, 50))

    assert_error(
      Models.import_file(damaged, :posenet, models_dir: dir),
      :invalid_model,
      "is truncated"
    )

    assert_error(Models.import_file("no/such.onnx", :posenet, models_dir: dir), :model_not_found)
    assert File.ls!(dir) == []
  end

  test "a licence that must be accepted is an error until it is accepted" do
    dir = scratch_dir("models")

    assert_error(Models.install(:yolo_v5, models_dir: dir), :licence, [
      "Ultralytics' YOLOv5s, under the GNU Affero General Public License 3.0",
      "--accept-licence, or accept_licence: true"
    ])

    assert File.ls!(dir) == []
  end

  test "unknown names and options" do
    assert_raise ArgumentError,
                 ~r/unknown model gpt; the models are mobilenet_v2, yolo_v5/,
                 fn ->
                   Models.install("gpt")
                 end

    assert_raise ArgumentError, fn -> Models.install(:blazeface, quickly: true) end
  end
end
