defmodule Dala.Gpu.Build.Cache do
  @moduledoc false
  # Previously built libraries, in a folder per key. Entries are atomic: they are created under
  # another name and renamed. The manifest has the digests of an entry's files, so that a damaged
  # entry is rebuilt.

  alias Dala.Gpu.Build.Files

  # An entry is about 10 MB.
  @most_entries 8

  @doc "The folder of the cache, or nil if DALA_GPU_BUILD_CACHE switches it off."
  def folder do
    case System.get_env("DALA_GPU_BUILD_CACHE") do
      off when off in ["0", "false", "off"] -> nil
      set when set in [nil, ""] -> Files.cache() && Path.join(Files.cache(), "native")
      folder -> Path.expand(folder)
    end
  end

  @doc "Installs the library of that key; false if the cache does not have it."
  def fetch(key, priv) do
    with folder when folder != nil <- folder(),
         entry = Path.join(folder, key),
         true <- Files.complete?(entry),
         manifest = Files.read_manifest(Path.join(entry, "manifest")),
         true <- Enum.all?(Files.digests(entry), fn {name, sum} -> manifest[name] == sum end) do
      Files.install!(entry, priv)
      # The least recently used entries are removed first.
      File.touch(entry)
      true
    else
      _missing -> false
    end
  end

  @doc "Keeps a library. The build has succeeded, so a cache that cannot be written is no error."
  def store(key, priv) do
    with folder when folder != nil <- folder(),
         fresh = Path.join(folder, "#{key}.new-#{System.pid()}"),
         :ok <- File.mkdir_p(fresh) do
      try do
        # Its content is executed, so it belongs to this user alone.
        File.chmod!(folder, 0o700)
        Files.install!(priv, fresh)
        File.write!(Path.join(fresh, "manifest"), Files.manifest_text(Files.digests(fresh)))
        File.rm_rf!(Path.join(folder, key))
        File.rename!(fresh, Path.join(folder, key))
        trim(folder)
      rescue
        _error in File.Error -> :ok
        _error in File.RenameError -> :ok
        _error in File.CopyError -> :ok
      after
        File.rm_rf(fresh)
      end
    end

    :ok
  end

  defp trim(folder) do
    folder
    |> File.ls!()
    |> Enum.map(&Path.join(folder, &1))
    |> Enum.sort_by(&File.stat!(&1, time: :posix).mtime, :desc)
    |> Enum.drop(@most_entries)
    |> Enum.each(&File.rm_rf/1)
  end
end
