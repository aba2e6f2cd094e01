defmodule Dala.ML.Gpu.Prediction do
  @moduledoc """
  A prediction under way, as `Dala.ML.Gpu.predict_async/2` gives it.

  It belongs to the process that started it: `Dala.ML.Gpu.await/2` takes its result from that
  process's mailbox.
  """

  @enforce_keys [:ref, :model, :owner, :nx]
  defstruct [:ref, :model, :owner, :nx]

  @type t :: %__MODULE__{
          ref: reference(),
          model: Dala.ML.Gpu.Model.t(),
          owner: pid(),
          nx: boolean()
        }
end
