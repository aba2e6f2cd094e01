defmodule Dala.ML.Models.Workspace do
  @moduledoc false
  # Makes installation atomic. The model's directory is prepared as
  #
  #     MODELS_DIR/.install/NAME-UNIQUE/new
  #
  # on the same file system as MODELS_DIR/NAME, and renamed to it. Files that a killed process
  # leaves in .install are removed by the next holder of the model's lock, except for downloads
  # (NAME-CHECKSUM.part), which are resumed.

  import Dala.ML.Models.Failure

  alias Dala.ML.Models.Lock

  @enforce_keys [:name, :target, :folder, :new]
  defstruct @enforce_keys

  @type t :: %__MODULE__{name: atom(), target: Path.t(), folder: Path.t(), new: Path.t()}

  @doc "Returns the directory of an installed model."
  @spec target(Path.t(), atom()) :: Path.t()
  def target(models_dir, name), do: Path.join(models_dir, to_string(name))

  @doc "Calls the function with a new workspace, under the model's lock, and removes it afterwards."
  @spec open(Path.t(), atom(), (String.t() -> any()), (t() -> result)) :: result
        when result: var
  def open(models_dir, name, waiting, function) do
    root = Path.join(models_dir, ".install")

    Lock.hold(Path.join(root, "#{name}.lock"), waiting, fn ->
      target = target(models_dir, name)
      sweep(root, name, target)
      folder = Path.join(root, "#{name}-#{System.pid()}-#{System.unique_integer([:positive])}")

      workspace = %__MODULE__{
        name: name,
        target: target,
        folder: folder,
        new: Path.join(folder, "new")
      }

      File.mkdir_p(workspace.new) |> file!("make", workspace.new)

      try do
        function.(workspace)
      after
        File.rm_rf(folder)
      end
    end)
  after
    # This succeeds only if the directory is empty.
    File.rmdir(Path.join(models_dir, ".install"))
  end

  @doc "Returns the part file of a download with this checksum."
  @spec part(t(), String.t()) :: Path.t()
  def part(workspace, sha256) do
    Path.join(
      Path.dirname(workspace.folder),
      "#{workspace.name}-#{binary_part(sha256, 0, 16)}.part"
    )
  end

  @doc "Removes the part files of this model, except for one."
  @spec drop_parts(t(), Path.t() | nil) :: :ok
  def drop_parts(workspace, keep \\ nil) do
    root = Path.dirname(workspace.folder)

    for entry <- list(root),
        String.starts_with?(entry, "#{workspace.name}-") and String.ends_with?(entry, ".part"),
        path = Path.join(root, entry),
        path != keep,
        do: File.rm(path)

    :ok
  end

  @doc "Renames the prepared directory to its target, and moves the previous one out of the way."
  @spec commit(t(), (atom() -> any())) :: :ok
  def commit(%__MODULE__{target: target, new: new} = workspace, step) do
    replaced = Path.join(workspace.folder, "replaced")
    before? = File.exists?(target)
    if before?, do: File.rename(target, replaced) |> file!("replace", target)
    step.(:replaced)

    case File.rename(new, target) do
      :ok ->
        :ok

      {:error, reason} ->
        if before?, do: File.rename(replaced, target)
        file_failed!(reason, "install", target)
    end
  end

  @doc "Removes an installed model atomically."
  @spec remove(t()) :: :ok
  def remove(%__MODULE__{target: target, folder: folder}),
    do: File.rename(target, Path.join(folder, "removed")) |> file!("remove", target)

  # The holder of the lock owns all entries with the model's name. If a process was killed between
  # the two renames of commit/2, the previous model is restored.
  defp sweep(root, name, target) do
    for entry <- list(root),
        String.starts_with?(entry, "#{name}-"),
        not String.ends_with?(entry, ".part") do
      folder = Path.join(root, entry)
      replaced = Path.join(folder, "replaced")
      if File.exists?(replaced) and not File.exists?(target), do: File.rename(replaced, target)
      File.rm_rf(folder)
    end
  end

  defp list(folder) do
    case File.ls(folder) do
      {:ok, entries} -> entries
      {:error, _none} -> []
    end
  end
end
