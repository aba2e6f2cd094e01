defmodule Dala.ML.Serving.Entry do
  @moduledoc false
  # A request in the custody of a serving. `ref` is an alias of the process that waits: a message to
  # it arrives at most once, and not at all once that process has given up. `lane` is the replica
  # that has to run it, or :any. Times are native monotonic ones of this node.

  @enforce_keys [:ref, :from, :input, :kind, :rank, :lane, :since, :deadline]
  defstruct [:ref, :from, :input, :kind, :rank, :lane, :since, :deadline, :key, :place, lost: 0]

  @type t :: %__MODULE__{
          ref: reference(),
          from: pid(),
          input: term(),
          kind: term(),
          rank: 0..2,
          lane: :any | non_neg_integer(),
          since: integer(),
          deadline: integer() | :infinity,
          key: term(),
          place: {0..2, integer()} | nil,
          lost: non_neg_integer()
        }

  @ranks [high: 0, normal: 1, low: 2]

  @doc "Priorities in their order."
  @spec priorities() :: [atom()]
  def priorities, do: Keyword.keys(@ranks)

  @spec rank(atom()) :: 0..2
  def rank(priority), do: Keyword.fetch!(@ranks, priority)

  @spec priority(t()) :: atom()
  def priority(%__MODULE__{rank: rank}), do: @ranks |> Enum.at(rank) |> elem(0)

  @doc "Whether nobody waits for it any more: `:deadline` or `:cancelled`, else nil."
  @spec dead(t(), integer()) :: :deadline | :cancelled | nil
  def dead(%__MODULE__{deadline: deadline}, now) when is_integer(deadline) and deadline <= now,
    do: :deadline

  def dead(%__MODULE__{from: from}, _now) when node(from) == node(),
    do: if(not Process.alive?(from), do: :cancelled)

  def dead(_entry, _now), do: nil
end
