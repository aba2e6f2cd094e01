defmodule Dala.ML.Gpu.Models do
  @moduledoc """
  Where the files of models with a name are.

  The file of `:mobilenet_v2` is `mobilenet_v2.onnx`, in the first of these folders that has it:

  1. the one given as `models_dir:` to `Dala.ML.Gpu.load_model/2`
  2. the environment variable `DALA_MODELS_DIR`
  3. `config :dala_gpu, models_dir: "..."`
  4. `models` in the user's cache folder for this library, `~/.cache/dala_gpu/models` on Linux

  The library has no models of its own. Any ONNX export of the network does; `torchvision` and the
  ONNX model zoo have them ready made.
  """

  alias Dala.Gpu.Compute.Error

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

    cache = Path.join(:filename.basedir(:user_cache, "dala_gpu"), "models")

    for(folder <- configured, folder not in [nil, ""], do: Path.expand(folder)) ++ [cache]
  end

  @doc false
  @spec find(atom(), Path.t() | nil) :: {:ok, Path.t()} | {:error, Error.t()}
  def find(name, given) when name in @names do
    paths = for folder <- folders(given), do: Path.join(folder, "#{name}.onnx")

    case Enum.find(paths, &File.regular?/1) do
      nil -> {:error, not_found("the model #{inspect(name)}", paths)}
      path -> {:ok, path}
    end
  end

  def find(name, _given) do
    raise ArgumentError,
          "expected the name of a model (#{Enum.map_join(@names, ", ", &inspect/1)}), the path " <>
            "of an .onnx file, or {:binary, bytes}, got: #{inspect(name)}"
  end

  @doc false
  @spec not_found(String.t(), [Path.t()]) :: Error.t()
  def not_found(what, paths) do
    %Error{
      reason: :model_not_found,
      message:
        "#{what} is at none of the places looked at: #{Enum.join(paths, ", ")}. Export the " <>
          "network to ONNX (torch.onnx.export, tf2onnx) or download it, and put the file there; " <>
          "DALA_MODELS_DIR or config :dala_gpu, models_dir: names another folder",
      details: %{paths: paths}
    }
  end
end
