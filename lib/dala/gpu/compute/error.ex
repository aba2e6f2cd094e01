defmodule Dala.Gpu.Compute.Error do
  @moduledoc """
  The error struct of all functions of the library.

  `:reason` is an atom to match on, `:message` a human-readable sentence that says what was expected
  and what was given, and `:details` a map for programs, with entries such as the index of the
  failed stage (`:stage`) or the compiler's output (`:log`).

  Functions that return `:ok` or `{:ok, value}` return it as `{:error, error}`; functions that
  return a bare value raise it. Malformed arguments, such as a shape that is not a tuple, raise
  `ArgumentError` instead.

  | Reason | Meaning |
  |---|---|
  | `:unknown_kernel` | no kernel has that name |
  | `:arity_mismatch` | the wrong number of inputs for the kernel |
  | `:shape_mismatch` | the shapes are incompatible with each other, the kernel, or the data |
  | `:dtype_mismatch` | an element type that the kernel does not support, or types that differ |
  | `:invalid_param` | a parameter or value of the wrong type or out of its range |
  | `:unknown_param` | a parameter that the kernel does not have |
  | `:freed` | the buffer, pipeline or process no longer exists, or the reference is not one of this library |
  | `:out_of_memory` | the device's memory, or the configured limit, is exhausted |
  | `:build_failed` | OpenCL C source that does not compile (`details.log` has the build log), or not enough disk space to compile it |
  | `:no_device` | no usable OpenCL device on this machine |
  | `:unsupported` | valid, but not possible on this device or in this version |
  | `:unknown_command` | an id that was never assigned |
  | `:timeout` | the timeout expired before the command finished |
  | `:cancelled` | the command was cancelled before it started |
  | `:device_error` | the OpenCL driver reported a failure |
  | `:model_not_found` | no model file in any of the searched locations |
  | `:invalid_model` | a model file that is damaged or inconsistent |
  | `:unsupported_op` | a model that uses unsupported operators |
  | `:download_failed` | a model's source cannot be reached, or the connection was lost |
  | `:checksum_mismatch` | a downloaded file does not have the expected checksum |
  | `:invalid_archive` | an archive that is damaged, or that would write outside its target |
  | `:storage_error` | a model file or directory cannot be written, or is world-writable |
  | `:licence` | a licence that must be accepted first |
  | `:overloaded` | the queue of a serving is full |
  | `:deadline` | a request was not answered within its `timeout:`, or a command on an isolated device not within its `deadline:` |
  | `:device_lost` | the node, VM or process that ran a request or had a buffer has ended |
  | `:device_mismatch` | a call with buffers of different devices |
  | `:crashed` | the function of a serving, or the process that ran it, has crashed |

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2, 3], {3})
      iex> {:error, error} = Dala.Gpu.Compute.run_kernel(:no_such_kernel, [a], a)
      iex> error.reason
      :unknown_kernel
  """

  @enforce_keys [:reason, :message]
  defexception [:reason, :message, details: %{}]

  @type reason ::
          :unknown_kernel
          | :arity_mismatch
          | :shape_mismatch
          | :dtype_mismatch
          | :invalid_param
          | :unknown_param
          | :freed
          | :out_of_memory
          | :build_failed
          | :no_device
          | :unsupported
          | :unknown_command
          | :timeout
          | :cancelled
          | :device_error
          | :model_not_found
          | :invalid_model
          | :unsupported_op
          | :download_failed
          | :checksum_mismatch
          | :invalid_archive
          | :storage_error
          | :licence
          | :overloaded
          | :deadline
          | :device_lost
          | :device_mismatch
          | :crashed

  @type t :: %__MODULE__{reason: reason(), message: String.t(), details: map()}

  @doc """
  Unwraps `{:ok, value}`, or raises the error.

  ## Example

      iex> Dala.Gpu.Compute.Error.value!({:ok, 42})
      42
  """
  @spec value!({:ok, value} | {:error, t()}) :: value when value: var
  def value!({:ok, value}), do: value
  def value!({:error, %__MODULE__{} = error}), do: raise(error)
end
