defmodule Dala.ML.Gpu.Prediction do
  @moduledoc """
  A prediction in progress, returned by `Dala.ML.Gpu.predict_async/3`.

  It belongs to the process that started it: `Dala.ML.Gpu.await/2` takes its result from that
  process's mailbox.
  """

  @enforce_keys [:ref, :native, :outputs, :owner, :nx]
  defstruct [:ref, :native, :outputs, :owner, :nx]

  @type t :: %__MODULE__{
          ref: reference(),
          native: reference(),
          outputs: [Dala.ML.Gpu.Model.port_info()],
          owner: pid(),
          nx: boolean()
        }
end
