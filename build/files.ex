defmodule Dala.Gpu.Build.Error do
  @moduledoc false
  defexception [:message]
end

defmodule Dala.Gpu.Build.Files do
  @moduledoc false
  # The files of a native library, and the ones that it is built from.

  alias Dala.Gpu.Build.Error

  @library ~w(dala_gpu_nif.so dala_gpu_compiler)

  @doc "The names of the files in priv."
  def library, do: @library

  def complete?(folder), do: Enum.all?(@library, &File.regular?(Path.join(folder, &1)))

  @doc """
  Copies a library from one folder to another. A VM may have the old files mapped, so they are
  replaced and never written to.
  """
  def install!(from, to) do
    File.mkdir_p!(to)

    for name <- @library do
      target = Path.join(to, name)
      fresh = target <> ".new-#{System.pid()}"
      File.cp!(Path.join(from, name), fresh)
      File.chmod!(fresh, 0o755)
      File.rename!(fresh, target)
    end

    :ok
  end

  def remove!(folder), do: Enum.each(@library, &File.rm_rf!(Path.join(folder, &1)))

  @doc "A digest of the sources of the native library."
  def sources(root) do
    folders = for folder <- ~w(c_src cmake), do: Path.join([root, folder, "**", "*.*"])

    (Enum.flat_map(folders, &Path.wildcard/1) ++ [Path.join(root, "CMakeLists.txt")])
    |> Enum.filter(&File.regular?/1)
    |> Enum.sort()
    |> Enum.map(&[Path.relative_to(&1, root), 0, :crypto.hash(:sha256, File.read!(&1))])
    |> digest()
  end

  def digest(content), do: :sha256 |> :crypto.hash(content) |> Base.encode16(case: :lower)

  @doc "The number of files that are compiled."
  def units(root),
    do: [root, "c_src", "**", "*.cpp"] |> Path.join() |> Path.wildcard() |> length()

  @doc "Reads `key: value` lines."
  def manifest(text) do
    for line <- String.split(text, "\n"),
        [key, value] <- [String.split(line, ": ", parts: 2)],
        into: %{},
        do: {key, value}
  end

  def manifest_text(pairs), do: Enum.map_join(pairs, fn {key, value} -> "#{key}: #{value}\n" end)

  def read_manifest(path) do
    case File.read(path) do
      {:ok, text} -> manifest(text)
      {:error, _reason} -> %{}
    end
  end

  @doc "Digests of the library's files, as lines of a manifest."
  def digests(folder) do
    for name <- @library, do: {name, digest(File.read!(Path.join(folder, name)))}
  end

  @doc "The user's cache folder of this library."
  def cache do
    to_string(:filename.basedir(:user_cache, "dala_gpu"))
  rescue
    # Neither HOME nor XDG_CACHE_HOME.
    _error -> nil
  end

  def fail!(message), do: raise(Error, message: String.trim_trailing(message))
end
