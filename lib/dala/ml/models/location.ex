defmodule Dala.ML.Models.Location do
  @moduledoc false
  # Locates the files of models, as documented in `Dala.ML.Models`.

  import Bitwise, only: [band: 2]

  alias Dala.Gpu.Compute.Error
  alias Dala.ML.Models.Registry

  @files ~w(.onnx .tflite /model.onnx /model.tflite /model.json)

  @doc "Returns the directories that are searched, in order."
  @spec folders(Path.t() | nil) :: [Path.t()]
  def folders(given \\ nil) do
    configured = [
      given,
      System.get_env("DALA_MODELS_DIR"),
      Application.get_env(:dala_gpu, :models_dir)
    ]

    for folder <- configured ++ [last_folder()], folder not in [nil, ""], do: Path.expand(folder)
  end

  @doc false
  # The directory that models are installed into.
  @spec first_folder!(Path.t() | nil) :: Path.t()
  def first_folder!(given) do
    case folders(given) do
      [first | _others] ->
        first

      [] ->
        raise %Error{
          reason: :storage_error,
          message:
            "there is no models directory: HOME is not set. Choose one with models_dir: " <>
              "(--models-dir) or DALA_MODELS_DIR"
        }
    end
  end

  # The tests set another one, so that they do not see the user's installed models.
  defp last_folder do
    :persistent_term.get({__MODULE__, :last_folder}, nil) ||
      Path.join(:filename.basedir(:user_cache, "dala_gpu"), "models")
  rescue
    # :filename.basedir/2 raises this if HOME is not set.
    MatchError -> nil
  end

  @doc "Returns a model's name, and its file or bytes in the form the native side expects."
  @spec locate(Dala.ML.Gpu.source(), Path.t() | nil) ::
          {:ok, String.t(), {:path | :binary, binary()}} | {:error, Error.t()}
  def locate({:binary, bytes}, _folder) when is_binary(bytes),
    do: {:ok, "model", {:binary, bytes}}

  def locate(path, _folder) when is_binary(path) do
    directory? = File.dir?(path)
    file = if directory?, do: Path.join(path, "model.json"), else: path

    cond do
      File.regular?(file) -> {:ok, title(file), {:path, Path.expand(file)}}
      directory? -> {:error, no_model_in(Path.expand(path))}
      true -> {:error, not_found(Path.expand(path))}
    end
  end

  def locate(name, folder) do
    with {:ok, path} <- find(name, folder), do: {:ok, "#{name}", {:path, path}}
  end

  # Most TF.js models are called model.json, so the name of the directory is more descriptive.
  defp title(path) do
    case Path.basename(path) do
      "model.json" ->
        path |> Path.expand() |> Path.dirname() |> Path.basename()

      file ->
        Enum.reduce([".onnx", ".tflite", ".json"], file, &Path.basename(&2, &1))
    end
  end

  @doc "Returns the file of the model of that name."
  @spec find(atom(), Path.t() | nil) :: {:ok, Path.t()} | {:error, Error.t()}
  def find(name, given) do
    names = Registry.names()

    unless name in names do
      raise ArgumentError,
            "expected the name of a model (#{Enum.map_join(names, ", ", &inspect/1)}), the path " <>
              "of an .onnx or .tflite file or a model.json, or {:binary, bytes}, got: " <>
              inspect(name)
    end

    found =
      Enum.find_value(folders(given), fn folder ->
        with path when path != nil <- find_in(name, folder), do: {folder, path}
      end)

    case found do
      nil ->
        {:error, not_installed(name, given)}

      {folder, path} ->
        with :ok <- trusted(Enum.uniq([folder, Path.dirname(path), path])), do: {:ok, path}
    end
  end

  @doc "Returns the file of a model in one directory, or nil."
  @spec find_in(atom(), Path.t()) :: Path.t() | nil
  def find_in(name, folder) do
    paths = for file <- @files, do: Path.join(folder, "#{name}#{file}")
    Enum.find(paths, &File.regular?/1)
  end

  @doc false
  # Checks that none of the paths is world-writable.
  @spec trusted([Path.t()]) :: :ok | {:error, Error.t()}
  def trusted(paths) do
    case Enum.find(paths, &open_to_everyone?/1) do
      nil ->
        :ok

      path ->
        {:error,
         %Error{
           reason: :storage_error,
           message:
             "#{path} is world-writable, so anyone could have replaced the model; " <>
               "run `chmod o-w #{path}` to use it",
           details: %{path: path}
         }}
    end
  end

  defp open_to_everyone?(path) do
    case File.stat(path) do
      {:ok, %{mode: mode}} -> band(mode, 0o002) != 0
      {:error, _reason} -> false
    end
  end

  defp not_installed(name, given) do
    folders = folders(given)

    %Error{
      reason: :model_not_found,
      message:
        "the model #{inspect(name)} was not found in #{places(folders)}. " <>
          "Run `mix dala.models install #{name}` to install it, or " <>
          "`mix dala.models import PATH --as #{name}` to use your own file. DALA_MODELS_DIR or " <>
          "config :dala_gpu, models_dir: sets another directory",
      details: %{folders: folders}
    }
  end

  defp places([]), do: "any directory: HOME is not set"
  defp places(folders), do: Enum.join(folders, ", ")

  defp no_model_in(directory) do
    %Error{
      reason: :model_not_found,
      message:
        "#{directory} is a directory without a model.json; pass the path of an .onnx or .tflite " <>
          "file, or the directory of a TF.js model",
      details: %{paths: [directory]}
    }
  end

  @spec not_found(Path.t()) :: Error.t()
  def not_found(path) do
    %Error{
      reason: :model_not_found,
      message: "#{path} does not exist",
      details: %{paths: [path]}
    }
  end
end
