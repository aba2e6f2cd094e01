defmodule Dala.ML.Models.Receipt do
  @moduledoc false
  # dala.json in the directory of an installed model: the model's file, its source and licence, and
  # the sizes and checksums of all files at installation.

  import Dala.ML.Models.Failure

  alias Dala.ML.Models.{Download, Json}

  @file_name "dala.json"

  @type file :: %{name: String.t(), bytes: non_neg_integer(), sha256: String.t()}
  @type t :: %{
          name: String.t(),
          model: String.t(),
          source: String.t(),
          licence: String.t(),
          files: [file()]
        }

  @spec write(Path.t(), t()) :: :ok
  def write(folder, receipt) do
    path = Path.join(folder, @file_name)
    File.write(path, Json.encode(receipt), [:sync]) |> file!("write", path)
  end

  @doc "Reads the receipt of a directory; nil if it is missing or invalid."
  @spec read(Path.t()) :: t() | nil
  def read(folder) do
    with {:ok, text} <- File.read(Path.join(folder, @file_name)),
         {:ok, %{"name" => name, "model" => model, "source" => source} = json} <-
           Json.decode(text),
         true <- Enum.all?([name, model, source], &is_binary/1),
         true <- Path.basename(model) == model do
      files =
        for %{"name" => name, "bytes" => bytes, "sha256" => sha256} <- List.wrap(json["files"]),
            is_binary(name) and is_integer(bytes) and is_binary(sha256),
            do: %{name: name, bytes: bytes, sha256: sha256}

      licence = if is_binary(json["licence"]), do: json["licence"], else: "unknown"
      %{name: name, model: model, source: source, licence: licence, files: files}
    else
      _none -> nil
    end
  end

  @doc "Returns the files that have changed since the installation, with the problem of each."
  @spec damaged(Path.t(), t()) :: [{String.t(), String.t()}]
  def damaged(folder, receipt) do
    for %{name: name, bytes: bytes, sha256: sha256} <- receipt.files,
        problem = problem(Path.join(folder, name), bytes, sha256),
        do: {name, problem}
  end

  defp problem(path, bytes, sha256) do
    case File.stat(path) do
      {:ok, %{size: ^bytes}} ->
        if elem(Download.checksum(path), 0) != sha256, do: "its content has changed"

      {:ok, %{size: size}} ->
        "it has #{size} bytes instead of #{bytes}"

      {:error, posix} ->
        to_string(:file.format_error(posix))
    end
  end
end
