defmodule Dala.Gpu.Build.Archive do
  @moduledoc false
  # A precompiled library: a .tar.gz with the two files and a manifest, and beside it a file with the
  # SHA-256 of the archive, as sha256sum writes it. All of it is verified before anything is installed.

  alias Dala.Gpu.Build.{Download, Files, Target}

  # Larger than any library, and small enough to hold in memory.
  @most_bytes 256 * 1024 * 1024

  @doc "The name of the archive of this target, by the convention of elixir_make."
  def name(version) do
    "dala_gpu-nif-#{Target.nif_version()}-#{Target.triple()}-#{version}.tar.gz"
  end

  @doc "Packs the library in `priv`; returns the path of the archive and its digest."
  def pack!(priv, root, version, folder) do
    unless Files.complete?(priv), do: Files.fail!("#{priv} has no native library to pack.")

    manifest =
      Files.manifest_text(
        [
          {"version", version},
          {"target", Target.triple()},
          {"nif_version", Target.nif_version()},
          {"sources", Files.sources(root)}
        ] ++ Files.digests(priv)
      )

    File.mkdir_p!(folder)
    path = Path.join(folder, name(version))

    files =
      for name <- Files.library(), do: {to_charlist(name), File.read!(Path.join(priv, name))}

    case :erl_tar.create(to_charlist(path), [{'manifest', manifest} | files], [:compressed]) do
      :ok -> :ok
      {:error, reason} -> Files.fail!("#{path}: #{:erl_tar.format_error(reason)}")
    end

    sum = Files.digest(File.read!(path))
    File.write!(path <> ".sha256", "#{sum}  #{Path.basename(path)}\n")
    {path, sum}
  end

  @doc """
  Finds the archive that `place` names: the path of an archive, the path of a folder with the
  archive of this target, or an http(s) address. `#sha256=` and the digest may follow, and must
  follow an address; otherwise the digest is in the .sha256 file beside the archive.

  Returns a map with the digest, what to call the archive in messages, and where it is.
  """
  def locate!(place, version) do
    case String.split(place, "#sha256=", parts: 2) do
      ["http" <> _rest = address] ->
        Files.fail!("""
        DALA_GPU_PRECOMPILED is an address without a checksum: #{address}
        Append it as #sha256=..., from the .sha256 file that mix dala.precompile wrote.
        """)

      ["http" <> _rest = address, sum] ->
        %{name: address, sum: String.downcase(sum), source: {:address, address}}

      [path | sum] ->
        file = file!(path, version)

        %{
          name: file,
          sum: String.downcase(List.first(sum) || sum_of!(file)),
          source: {:file, file}
        }
    end
  end

  @doc "Verifies an archive and installs its files."
  def install!(archive, root, version, priv) do
    bytes = read!(archive)
    found = Files.digest(bytes)

    if found != archive.sum do
      Files.fail!("""
      The checksum of #{archive.name} does not match.
        expected: #{archive.sum}
        found:    #{found}
      """)
    end

    files = contents!(bytes, archive.name)
    manifest = files |> Map.get("manifest", "") |> Files.manifest()
    check!(manifest, archive.name, root, version)
    folder = Path.join(priv, ".unpacked-#{System.pid()}")
    File.mkdir_p!(folder)

    try do
      for name <- Files.library() do
        content = files[name] || Files.fail!("#{archive.name} has no #{name}.")

        if manifest[name] != Files.digest(content) do
          Files.fail!("#{name} in #{archive.name} does not match the manifest of the archive.")
        end

        File.write!(Path.join(folder, name), content)
      end

      Files.install!(folder, priv)
    after
      File.rm_rf!(folder)
    end
  end

  defp file!(path, version) do
    expanded = Path.expand(path)
    file = if File.dir?(expanded), do: Path.join(expanded, name(version)), else: expanded

    cond do
      File.regular?(file) ->
        file

      File.dir?(expanded) ->
        others = expanded |> File.ls!() |> Enum.filter(&String.ends_with?(&1, ".tar.gz"))

        Files.fail!("""
        DALA_GPU_PRECOMPILED=#{path} has no archive for this target, #{name(version)}.
        It has: #{if others == [], do: "no archive", else: Enum.join(Enum.sort(others), ", ")}
        """)

      true ->
        Files.fail!("DALA_GPU_PRECOMPILED names a file that does not exist: #{file}")
    end
  end

  defp sum_of!(file) do
    with {:ok, text} <- File.read(file <> ".sha256"),
         [sum | _name] <- String.split(text) do
      sum
    else
      _missing ->
        Files.fail!("""
        #{file}.sha256, which has the checksum of the archive, cannot be read.
        Copy it beside the archive, or append #sha256=... to DALA_GPU_PRECOMPILED.
        """)
    end
  end

  defp read!(%{source: {:file, file}}), do: File.read!(file)
  defp read!(%{source: {:address, address}, sum: sum}), do: Download.cached!(address, sum)

  # Unpacks into memory by name, so that nothing in an archive determines where a file goes. A gzip
  # file ends with the size of its content, which is checked before anything is unpacked.
  defp contents!(bytes, name) do
    with true <- byte_size(bytes) in 20..@most_bytes,
         <<size::little-32>> when size <= @most_bytes <- binary_part(bytes, byte_size(bytes), -4),
         {:ok, entries} <- :erl_tar.extract({:binary, bytes}, [:memory, :compressed]) do
      Map.new(entries, fn {name, content} -> {to_string(name), content} end)
    else
      _other -> Files.fail!("#{name} is not an archive of mix dala.precompile.")
    end
  end

  defp check!(manifest, name, root, version) do
    vm = Target.nif_version()
    nif = manifest["nif_version"]

    cond do
      manifest["target"] == nil or nif == nil ->
        Files.fail!("#{name} is not an archive of mix dala.precompile.")

      manifest["target"] != Target.triple() ->
        Files.fail!("#{name} is for #{manifest["target"]}, this machine is #{Target.triple()}.")

      not Target.loads?(nif, vm) ->
        Files.fail!("""
        #{name} is for NIF version #{nif} (#{Target.otp(nif)} or later).
        This VM has NIF version #{vm} (OTP #{System.otp_release()}).
        """)

      manifest["version"] != version ->
        Files.fail!("#{name} is dala_gpu #{manifest["version"]}, the sources are #{version}.")

      manifest["sources"] != Files.sources(root) ->
        Files.fail!("""
        #{name} was built from other sources than those in #{root}.
        Run mix dala.precompile on these sources, or unset DALA_GPU_PRECOMPILED to build here.
        """)

      true ->
        :ok
    end
  end
end
