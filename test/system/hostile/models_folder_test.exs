defmodule Dala.System.Hostile.ModelsFolderTest do
  # Write permissions of the models directory, and what happens if there is none.
  use ExUnit.Case, async: true

  import Bitwise
  import Dala.Test.GpuCase, only: [scratch_dir: 1]

  alias Dala.Gpu.Compute.Error
  alias Dala.ML.Models.Location
  alias Dala.Test.ChildVM

  setup do
    folder = scratch_dir("models")
    File.mkdir_p!(Path.join(folder, "blazeface"))
    model = Path.join(folder, "blazeface/model.tflite")
    File.write!(model, "not read")
    %{folder: folder, model: model}
  end

  test "a world-writable model is refused", %{folder: folder, model: model} do
    assert Location.find(:blazeface, folder) == {:ok, model}

    for path <- [folder, Path.dirname(model), model] do
      mode = File.stat!(path).mode &&& 0o777
      File.chmod!(path, mode ||| 0o002)
      assert {:error, %Error{reason: :storage_error} = error} = Location.find(:blazeface, folder)

      assert error.message ==
               "#{path} is world-writable, so anyone could have replaced the model; " <>
                 "run `chmod o-w #{path}` to use it"

      assert error.details == %{path: path}
      # A path is not checked.
      assert Location.locate(model, nil) == {:ok, "model", {:path, model}}
      File.chmod!(path, mode)
    end

    File.chmod!(folder, 0o775)
    assert Location.find(:blazeface, folder) == {:ok, model}
  end

  test "nothing is installed into a world-writable directory", %{folder: folder, model: model} do
    File.chmod!(folder, 0o777)

    assert {:error, %Error{reason: :storage_error, message: message}} =
             Dala.ML.Models.import_file(model, :blazeface, models_dir: folder)

    assert message =~ "#{folder} is world-writable"
    assert File.read!(model) == "not read"
  end

  test "without HOME there is no default directory, and errors say so" do
    code = """
    {:error, load} = Dala.ML.Gpu.load_model(:blazeface)
    {:error, import} = Dala.ML.Models.import_file("x.onnx", :blazeface)
    for error <- [load, import], do: IO.puts([inspect(error.reason), " ", error.message])
    """

    env = [{"HOME", nil}, {"XDG_CACHE_HOME", nil}, {"DALA_MODELS_DIR", nil}]
    assert {output, 0} = ChildVM.run(code, env: env)

    assert output =~
             ":model_not_found the model :blazeface was not found in any directory: HOME is not set"

    assert output =~ ":storage_error there is no models directory: HOME is not set"
  end
end
