defmodule Dala.Gpu.Compute.Error do
  @moduledoc """
  What every failure of the library looks like.

  `:reason` is an atom to match on, `:message` a sentence for people that names what was expected
  and what was given, `:details` a map with whatever a program may want to look at: the index of
  the failed stage (`:stage`), the compiler's output (`:log`).

  Functions that can return `{:error, error}` return this struct there; functions that return a
  bare value raise it. Arguments that are malformed, such as a shape that is not a tuple, raise
  `ArgumentError` instead.

  | Reason | Meaning |
  |---|---|
  | `:unknown_kernel` | no kernel has that name |
  | `:arity_mismatch` | the kernel takes another number of inputs |
  | `:shape_mismatch` | the shapes do not fit each other, the kernel, or the data |
  | `:dtype_mismatch` | an element type the kernel does not take, or types that differ |
  | `:invalid_param` | a parameter or value of the wrong kind or out of its range |
  | `:unknown_param` | a parameter the kernel does not have |
  | `:freed` | the buffer or pipeline is gone, or the reference never was one |
  | `:out_of_memory` | the device, or the configured limit, has no room |
  | `:build_failed` | OpenCL C source that does not compile; `details.log` has the build log |
  | `:no_device` | no usable OpenCL device on this machine |
  | `:unsupported` | well-formed, but not possible on this device or in this version |
  | `:unknown_command` | an id that was never handed out |
  | `:timeout` | the wait ended before the command did |
  | `:device_error` | the OpenCL driver reported a failure |
  | `:model_not_found` | no model file at any of the places looked at |
  | `:invalid_model` | a model file that is damaged or inconsistent |
  | `:unsupported_op` | a model that uses operators which are not there |
  | `:download_failed` | a model's source cannot be reached, or the connection was lost |
  | `:checksum_mismatch` | what was downloaded is not what was expected |
  | `:invalid_archive` | an archive that is damaged, or that would write where it should not |
  | `:storage_error` | a file or folder of models cannot be written: no room, no permission |
  | `:licence` | a licence that has to be accepted first |

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
          | :device_error
          | :model_not_found
          | :invalid_model
          | :unsupported_op
          | :download_failed
          | :checksum_mismatch
          | :invalid_archive
          | :storage_error
          | :licence

  @type t :: %__MODULE__{reason: reason(), message: String.t(), details: map()}

  @doc """
  Turns a result into its value, or raises its error.

  ## Example

      iex> Dala.Gpu.Compute.Error.value!({:ok, 42})
      42
  """
  @spec value!({:ok, value} | {:error, t()}) :: value when value: var
  def value!({:ok, value}), do: value
  def value!({:error, %__MODULE__{} = error}), do: raise(error)
end
