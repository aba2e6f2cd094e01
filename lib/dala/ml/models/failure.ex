defmodule Dala.ML.Models.Failure do
  @moduledoc false
  # The errors of installing, so that every file says the same thing the same way.

  alias Dala.Gpu.Compute.Error

  @doc "Raises an error."
  @spec fail!(Error.reason(), String.t(), map()) :: no_return()
  def fail!(reason, message, details \\ %{}),
    do: raise(%Error{reason: reason, message: message, details: details})

  @doc "Takes the result of a file operation: :ok, the value, or an error that names the path."
  @spec file!(term(), String.t(), Path.t()) :: term()
  def file!(:ok, _verb, _path), do: :ok
  def file!({:ok, value}, _verb, _path), do: value

  def file!({:error, posix}, verb, path) do
    fail!(
      :storage_error,
      "cannot #{verb} #{path}: #{:file.format_error(posix)}#{advice(posix)}",
      %{path: path, posix: posix}
    )
  end

  # What File.cp/2 and File.rm_rf/1 say.
  def file!({:error, posix, path}, verb, _path), do: file!({:error, posix}, verb, path)

  defp advice(:enospc), do: "; make room, or name another folder with --models-dir"
  defp advice(:edquot), do: "; make room, or name another folder with --models-dir"

  defp advice(posix) when posix in [:eacces, :eperm, :erofs],
    do: "; name a folder that you may write to with --models-dir or DALA_MODELS_DIR"

  defp advice(_posix), do: ""
end
