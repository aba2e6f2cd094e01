defmodule Dala.ML.Models.Workspace do
  @moduledoc false
  # How the folder of a model comes to be all at once. Everything is prepared in
  #
  #     MODELS_DIR/.install/NAME-UNIQUE/new
  #
  # which is on the same disk as MODELS_DIR/NAME, and becomes that by a rename. What a process that
  # was killed leaves in .install is removed by the next one that holds the model's lock; downloads
  # (NAME-CHECKSUM.part) stay, to be continued.

  import Dala.ML.Models.Failure

  alias Dala.ML.Models.Lock

  @enforce_keys [:name, :target, :folder, :new]
  defstruct @enforce_keys

  @type t :: %__MODULE__{name: atom(), target: Path.t(), folder: Path.t(), new: Path.t()}

  @doc "Where a model is once it is installed."
  @spec target(Path.t(), atom()) :: Path.t()
  def target(models_dir, name), do: Path.join(models_dir, to_string(name))

  @doc "Holds the model's lock, and hands over a new workspace, which is gone afterwards."
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
    # Only when nothing is left in it.
    File.rmdir(Path.join(models_dir, ".install"))
  end

  @doc "The file that a download with this checksum goes to."
  @spec part(t(), String.t()) :: Path.t()
  def part(workspace, sha256) do
    Path.join(
      Path.dirname(workspace.folder),
      "#{workspace.name}-#{binary_part(sha256, 0, 16)}.part"
    )
  end

  @doc "Removes downloads of this model, but for one."
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

  @doc "Puts what was prepared into its place. What was there before is there until then."
  @spec commit(t(), (atom() -> any())) :: :ok
  def commit(%__MODULE__{target: target, new: new} = workspace, step) do
    replaced = Path.join(workspace.folder, "replaced")
    before? = File.exists?(target)
    if before?, do: File.rename(target, replaced) |> file!("replace", target)
    step.(:replaced)

    case File.rename(new, target) do
      :ok ->
        :ok

      error ->
        if before?, do: File.rename(replaced, target)
        file!(error, "install", target)
    end
  end

  @doc "Takes an installed model away, all at once."
  @spec remove(t()) :: :ok
  def remove(%__MODULE__{target: target, folder: folder}),
    do: File.rename(target, Path.join(folder, "removed")) |> file!("remove", target)

  # The holder of the lock is alone with everything that has the model's name. A process that was
  # killed between the two renames of commit/2 left the old one: it comes back.
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
