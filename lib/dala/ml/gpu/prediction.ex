defmodule Dala.ML.Gpu.Prediction do
  @moduledoc """
  A prediction in progress, returned by `Dala.ML.Gpu.predict_async/2`.

  It belongs to the process that started it: `Dala.ML.Gpu.await/2` takes its result from that
  process's mailbox.
  """

  @enforce_keys [:ref, :native, :model, :owner, :nx]
  defstruct [:ref, :native, :model, :owner, :nx]

  @type t :: %__MODULE__{
          ref: reference(),
          native: reference(),
          model: Dala.ML.Gpu.Model.t(),
          owner: pid(),
          nx: boolean()
        }
end
