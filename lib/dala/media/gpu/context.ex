defmodule Dala.Media.Gpu.Context do
  @moduledoc """
  A handle to a stream of frames, returned by `Dala.Media.Gpu.start_pipeline/3`.
  """

  @enforce_keys [:pid, :width, :height, :format]
  defstruct [:pid, :width, :height, :format]

  @type t :: %__MODULE__{
          pid: GenServer.server(),
          width: pos_integer(),
          height: pos_integer(),
          format: Dala.Media.Gpu.Format.t()
        }

  defimpl Inspect do
    def inspect(context, _opts) do
      state = if Dala.Gpu.Compute.Server.running?(context.pid), do: "", else: " stopped"

      "#Dala.Media.Gpu.Context<#{context.width}x#{context.height} #{context.format}#{state}>"
    end
  end
end
