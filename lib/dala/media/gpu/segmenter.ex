defmodule Dala.Media.Gpu.Segmenter do
  @moduledoc false
  # A behaviour that segments a frame, for the filters `:segmentation` and `:background_replace`. An
  # upper layer registers its implementation.

  alias Dala.Gpu.Compute.{Buffer, Error, Registrations}
  alias Dala.Media.Gpu.Filter

  @doc """
  Returns the stages that compute the mask of a frame of that size, black where the class is and
  with soft edges, and the parameters of the kernel `matte` that locate the frame in the mask.
  Raises an `Error` if that is not possible.
  """
  @callback mask!(Filter.size(), class :: String.t(), softness :: 0..16) ::
              {[Filter.stage()], map()}

  @spec register(module()) :: :ok | {:taken, module()}
  def register(module), do: Registrations.put(:segmenter, :default, module)

  @spec mask!(Filter.size(), String.t(), 0..16) :: {[Filter.stage()], map()}
  def mask!(size, class, softness) do
    case Registrations.get(:segmenter, :default) do
      nil -> raise %Error{reason: :unsupported, message: "no segmenter is registered"}
      module -> module.mask!(size, class, softness)
    end
  end

  @doc "Returns a stage whose inputs are the output of the previous stage, and buffers."
  @spec stage(atom() | String.t(), tuple(), Buffer.dtype(), map(), [Buffer.t()]) :: Filter.stage()
  def stage(kernel, shape, dtype, params \\ %{}, extra \\ []),
    do: %{kernel: kernel, inputs: [:last | extra], params: params, shape: shape, dtype: dtype}
end
