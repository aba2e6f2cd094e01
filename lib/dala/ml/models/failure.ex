defmodule Dala.ML.Models.Failure do
  @moduledoc false
  # Raises the errors of installation, with consistent messages.

  alias Dala.Gpu.Compute.Error

  @doc "Raises an error."
  @spec fail!(Error.reason(), String.t()) :: no_return()
  @spec fail!(Error.reason(), String.t(), map()) :: no_return()
  def fail!(reason, message, details \\ %{}),
    do: raise(%Error{reason: reason, message: message, details: details})

  @doc "Unwraps the result of a file operation, or raises an error that names the path."
  @spec file!(term(), String.t(), Path.t()) :: term()
  def file!(:ok, _verb, _path), do: :ok
  def file!({:ok, value}, _verb, _path), do: value

  def file!({:error, posix}, verb, path), do: file_failed!(posix, verb, path)

  # The error tuple of File.cp/2 and File.rm_rf/1.
  def file!({:error, posix, path}, verb, _path), do: file_failed!(posix, verb, path)

  @doc "Raises the error of a file operation that failed."
  @spec file_failed!(term(), String.t(), Path.t()) :: no_return()
  def file_failed!(posix, verb, path) do
    fail!(
      :storage_error,
      "cannot #{verb} #{path}: #{:file.format_error(posix)}#{advice(posix)}",
      %{path: path, posix: posix}
    )
  end

  defp advice(:enospc), do: "; free some space, or choose another directory with --models-dir"
  defp advice(:edquot), do: "; free some space, or choose another directory with --models-dir"

  defp advice(posix) when posix in [:eacces, :eperm, :erofs],
    do: "; choose a writable directory with --models-dir or DALA_MODELS_DIR"

  defp advice(_posix), do: ""
end
