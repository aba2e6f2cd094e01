defmodule Dala.ML.Models.Files do
  @moduledoc false
  # Copies the files of a model into the workspace: those listed by the registry, from an archive;
  # or the single model in a file, a directory or an archive of the user. The model itself is
  # renamed to model.onnx, model.tflite or model.json; weight files keep their names, because a
  # TF.js model refers to them by name.

  import Dala.ML.Models.Failure

  alias Dala.ML.Models.{Archive, Download, Entry, Json, Receipt}

  @extensions %{onnx: ".onnx", tflite: ".tflite", tfjs: ".json"}

  @doc "Extracts the files listed by the registry from an archive, and verifies each."
  @spec from_registry(Path.t(), [Entry.file()], Path.t()) :: [Receipt.file()]
  def from_registry(archive, files, folder) do
    paths = if Enum.any?(files, &(&1.from =~ "*")), do: Archive.list(archive), else: []
    files = for file <- files, do: %{file | from: resolve!(file.from, paths, archive)}
    written = extract!(archive, Enum.map(files, &{&1.from, &1.to}), folder)

    for {file, got} <- Enum.zip(files, written), file.sha256 do
      Download.check!(file.from, file.sha256, got.sha256)
    end

    written
  end

  @doc "Extracts the single model from an archive."
  @spec from_archive(Path.t(), Path.t()) :: [Receipt.file()]
  def from_archive(archive, folder) do
    {from, to} = archive |> Archive.list() |> only!("the archive #{Path.basename(archive)}")
    model = extract!(archive, [{from, to}], folder)

    case Entry.format_of(to) do
      :tfjs ->
        beside = Path.dirname(from)
        shards = for shard <- shards(Path.join(folder, to)), do: {beside(beside, shard), shard}
        model ++ extract!(archive, shards, folder)

      _whole ->
        model
    end
  end

  @doc "Copies a model from the disk: a file, or a directory with a model.json."
  @spec from_disk(Path.t(), Path.t()) :: [Receipt.file()]
  def from_disk(path, folder) do
    path = if File.dir?(path), do: Path.join(path, "model.json"), else: path

    unless File.regular?(path),
      do: fail!(:model_not_found, "#{path} does not exist", %{paths: [path]})

    to = model_name!(path)
    model = copy!(path, Path.join(folder, to))

    shards =
      if Entry.format_of(to) == :tfjs,
        do:
          for(
            shard <- shards(path),
            do: copy!(beside(Path.dirname(path), shard), Path.join(folder, shard))
          ),
        else: []

    [model | shards]
  end

  # The path of the model in an archive, and its name once installed.
  defp only!(paths, what) do
    models =
      for path <- paths,
          name = Path.basename(path),
          not String.starts_with?(name, "."),
          Path.extname(name) in [".onnx", ".tflite"] or name == "model.json",
          do: path

    case models do
      [path] ->
        {path, model_name!(path)}

      [] ->
        fail!(:invalid_archive, "#{what} has no .onnx or .tflite file and no model.json")

      several ->
        fail!(:invalid_archive, "#{what} has several models: #{Enum.join(several, ", ")}")
    end
  end

  defp resolve!("*" <> ending, paths, archive) do
    case Enum.filter(paths, &(String.ends_with?(&1, ending) and not hidden?(&1))) do
      [path] ->
        path

      found ->
        fail!(
          :invalid_archive,
          "the archive #{Path.basename(archive)} has #{length(found)} files *#{ending}"
        )
    end
  end

  defp resolve!(path, _paths, _archive), do: path

  defp hidden?(path), do: path |> Path.basename() |> String.starts_with?(".")

  defp model_name!(path), do: "model" <> (@extensions[Entry.format_of(path)] || unknown!(path))

  @spec unknown!(Path.t()) :: no_return()
  defp unknown!(path) do
    fail!(:unsupported, "expected an .onnx, .tflite, model.json or .tar.gz file, got: #{path}")
  end

  # The weight files that a TF.js model lists. They must be in its directory.
  defp shards(path) do
    text = path |> File.read() |> file!("read", path)

    with {:ok, %{"weightsManifest" => groups}} when is_list(groups) <- Json.decode(text),
         lists = Enum.map(groups, &(is_map(&1) && &1["paths"])),
         true <- Enum.all?(lists, &is_list/1),
         names = lists |> Enum.concat() |> Enum.uniq(),
         true <- Enum.all?(names, &plain?/1) do
      names
    else
      _other -> fail!(:invalid_model, "#{path} is not a TF.js model: it has no list of weights")
    end
  end

  defp plain?(name) do
    is_binary(name) and name not in ["", ".", "..", "model.json", "dala.json"] and
      Path.basename(name) == name and not (name =~ ~r/[\\\0]/)
  end

  defp beside(".", name), do: name
  defp beside(folder, name), do: Path.join(folder, name)

  defp extract!(archive, pairs, folder) do
    written =
      Archive.extract(archive, Map.new(pairs, fn {from, to} -> {from, Path.join(folder, to)} end))

    for {from, to} <- pairs do
      case written do
        %{^from => %{sha256: sha256, bytes: bytes}} ->
          %{name: to, bytes: bytes, sha256: sha256}

        _missing ->
          fail!(:invalid_archive, "the archive #{Path.basename(archive)} has no #{from}")
      end
    end
  end

  defp copy!(from, to) do
    unless File.regular?(from),
      do: fail!(:model_not_found, "#{from} does not exist", %{paths: [from]})

    from |> File.cp(to) |> file!("copy to", to)
    {sha256, bytes} = Download.checksum(to)
    %{name: Path.basename(to), bytes: bytes, sha256: sha256}
  end
end
