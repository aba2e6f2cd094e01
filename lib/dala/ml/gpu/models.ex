defmodule Dala.ML.Gpu.Models do
  @moduledoc """
  Where the files of models with a name are.

  `mix dala.models install NAME` puts a model there, see `Dala.ML.Models`; a file that is put there
  by hand does as well. `:blazeface` is the first of these that is there:

    * `blazeface.onnx`, `blazeface.tflite`: a file by hand
    * `blazeface/`: a folder with `model.onnx`, `model.tflite`, or a TF.js model's `model.json`

  in the first of these folders that has one:

  1. the one given as `models_dir:` to `Dala.ML.Gpu.load_model/2`
  2. the environment variable `DALA_MODELS_DIR`
  3. `config :dala_gpu, models_dir: "..."`
  4. `models` in the user's cache folder for this library, `~/.cache/dala_gpu/models` on Linux
  """

  alias Dala.Gpu.Compute.Error

  @files ~w(.onnx .tflite /model.onnx /model.tflite /model.json)
  @names [:mobilenet_v2, :yolo_v5, :blazeface, :posenet, :deeplab]

  @doc """
  Lists the names that `Dala.ML.Gpu.load_model/2` knows.

  ## Example

      iex> Dala.ML.Gpu.Models.names()
      [:mobilenet_v2, :yolo_v5, :blazeface, :posenet, :deeplab]
  """
  @spec names() :: [atom()]
  def names, do: @names

  @doc """
  Lists the folders that are looked at, first one first.

  ## Example

      iex> [first | _others] = Dala.ML.Gpu.Models.folders("/srv/models")
      iex> first
      "/srv/models"
  """
  @spec folders(Path.t() | nil) :: [Path.t()]
  def folders(given \\ nil) do
    configured = [
      given,
      System.get_env("DALA_MODELS_DIR"),
      Application.get_env(:dala_gpu, :models_dir)
    ]

    for(folder <- configured, folder not in [nil, ""], do: Path.expand(folder)) ++ [last_folder()]
  end

  # The tests name another one, so that they do not see what the user has installed.
  defp last_folder do
    :persistent_term.get({__MODULE__, :last_folder}, nil) ||
      Path.join(:filename.basedir(:user_cache, "dala_gpu"), "models")
  end

  @doc false
  # A model's name, and its file or bytes as the native side takes them.
  @spec locate(Dala.ML.Gpu.source(), Path.t() | nil) ::
          {:ok, String.t(), {:path | :binary, binary()}} | {:error, Error.t()}
  def locate({:binary, bytes}, _folder) when is_binary(bytes),
    do: {:ok, "model", {:binary, bytes}}

  def locate(path, _folder) when is_binary(path) do
    file = if File.dir?(path), do: Path.join(path, "model.json"), else: path

    if File.regular?(file) do
      {:ok, title(file), {:path, Path.expand(file)}}
    else
      {:error, not_found(Path.expand(path))}
    end
  end

  def locate(name, folder) do
    with {:ok, path} <- find(name, folder), do: {:ok, "#{name}", {:path, path}}
  end

  # Most TF.js models are called model.json; what they are is the name of their folder.
  defp title(path) do
    case Path.basename(path) do
      "model.json" ->
        path |> Path.expand() |> Path.dirname() |> Path.basename()

      file ->
        Enum.reduce([".onnx", ".tflite", ".json"], file, &Path.basename(&2, &1))
    end
  end

  @doc false
  @spec find(atom(), Path.t() | nil) :: {:ok, Path.t()} | {:error, Error.t()}
  def find(name, given) when name in @names do
    case Enum.find_value(folders(given), &find_in(name, &1)) do
      nil -> {:error, not_installed(name, given)}
      path -> {:ok, path}
    end
  end

  def find(name, _given) do
    raise ArgumentError,
          "expected the name of a model (#{Enum.map_join(@names, ", ", &inspect/1)}), the path " <>
            "of an .onnx or .tflite file or a model.json, or {:binary, bytes}, got: " <>
            inspect(name)
  end

  @doc false
  # The file of a model in one folder, or nil.
  @spec find_in(atom(), Path.t()) :: Path.t() | nil
  def find_in(name, folder) do
    paths = for file <- @files, do: Path.join(folder, "#{name}#{file}")
    Enum.find(paths, &File.regular?/1)
  end

  defp not_installed(name, given) do
    folders = folders(given)

    %Error{
      reason: :model_not_found,
      message:
        "the model #{inspect(name)} is not in #{Enum.join(folders, ", ")}. " <>
          "`mix dala.models install #{name}` installs it; a file of your own is " <>
          "#{name}.onnx, #{name}.tflite or #{name}/model.json there, or comes there by " <>
          "`mix dala.models import PATH --as #{name}`. DALA_MODELS_DIR or config :dala_gpu, " <>
          "models_dir: names another folder",
      details: %{folders: folders}
    }
  end

  @doc false
  @spec not_found(Path.t()) :: Error.t()
  def not_found(path) do
    %Error{
      reason: :model_not_found,
      message: "there is no file #{path}",
      details: %{paths: [path]}
    }
  end
end
