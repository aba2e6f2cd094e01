defmodule Dala.Gpu.Compute.RegularFile do
  @moduledoc false
  # Reads files whose paths are not trusted. A pipe or a device may never end, and opening one may
  # block forever, which occupies an I/O thread of the VM; so the file's type is checked first.

  @type problem :: :file.posix() | {:type, atom()} | {:size, non_neg_integer()}

  @doc "Reads a regular file of at most `most` bytes."
  @spec read(Path.t(), pos_integer()) :: {:ok, binary()} | {:error, problem()}
  def read(path, most) do
    with {:ok, size} <- size(path) do
      if size > most, do: {:error, {:size, size}}, else: read_at_most(path, most)
    end
  end

  @doc "Returns the size of a regular file."
  @spec size(Path.t()) :: {:ok, non_neg_integer()} | {:error, problem()}
  def size(path) do
    case File.stat(path) do
      {:ok, %File.Stat{type: :regular, size: size}} -> {:ok, size}
      {:ok, %File.Stat{type: :directory}} -> {:error, :eisdir}
      {:ok, %File.Stat{type: type}} -> {:error, {:type, type}}
      {:error, posix} -> {:error, posix}
    end
  end

  @doc "Formats a problem for an error message."
  @spec explain(problem()) :: String.t()
  def explain({:type, _type}), do: "it is not a regular file"
  def explain({:size, size}), do: "it has #{size} bytes, which is too large"
  def explain(posix), do: posix |> :file.format_error() |> List.to_string()

  # The file may have grown since its size was read, and files under /proc report a size of 0.
  defp read_at_most(path, most) do
    with {:ok, device} <- :file.open(path, [:read, :raw, :binary]) do
      try do
        case :file.read(device, most + 1) do
          {:ok, bytes} when byte_size(bytes) > most -> {:error, {:size, byte_size(bytes)}}
          {:ok, bytes} -> {:ok, bytes}
          :eof -> {:ok, ""}
          {:error, posix} -> {:error, posix}
        end
      after
        :file.close(device)
      end
    end
  end
end
