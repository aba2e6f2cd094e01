defmodule Dala.Media.Gpu.Context do
  @moduledoc """
  A stream of frames: what `Dala.Media.Gpu.start_pipeline/3` gives and the other functions take.
  """

  @enforce_keys [:pid, :width, :height, :format]
  defstruct [:pid, :width, :height, :format]

  @type t :: %__MODULE__{
          pid: pid(),
          width: pos_integer(),
          height: pos_integer(),
          format: Dala.Media.Gpu.Format.t()
        }

  defimpl Inspect do
    def inspect(context, _opts) do
      state = if Process.alive?(context.pid), do: "", else: " stopped"

      "#Dala.Media.Gpu.Context<#{context.width}x#{context.height} #{context.format}#{state}>"
    end
  end
end
