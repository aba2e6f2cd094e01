defmodule Dala.ML.Serving.Request do
  @moduledoc """
  A request under way, as `Dala.ML.Serving.async_run/3` gives it.

  It belongs to the process that made it: `Dala.ML.Serving.await/2` takes its result from that
  process's mailbox, where it arrives as one message.
  """

  @enforce_keys [:ref, :pid, :owner, :serving]
  defstruct [:ref, :pid, :owner, :serving]

  @type t :: %__MODULE__{ref: reference(), pid: pid(), owner: pid(), serving: atom()}
end
