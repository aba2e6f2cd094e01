defmodule Dala.Gpu.Compute.Remote.Commands do
  @moduledoc false
  # Commands on devices of other VMs that nobody waits for yet. Their ids are above those of this
  # VM's own device, and are issued in order: an id without a record belongs to a command that has
  # succeeded. The table has those that are pending, and the last that failed.

  alias Dala.Gpu.Compute.Error

  @table __MODULE__
  @first 0x8000000000000000
  @most_failed 1024

  @type id :: non_neg_integer()

  @doc "Creates the table; the calling process owns it."
  @spec new() :: :ok
  def new do
    _ = :ets.new(@table, [:named_table, :public, :ordered_set, write_concurrency: true])
    true = :ets.insert(@table, {:last, @first})
    true = :ets.insert(@table, {:failed, 0})
    :ok
  end

  @doc "Issues an id for a command that goes over that link."
  @spec issue(pid()) :: id()
  def issue(link) do
    id = :ets.update_counter(@table, :last, 1)
    true = :ets.insert(@table, {id, link})
    id
  end

  @doc "Returns whether the id is one of these."
  @spec remote?(integer()) :: boolean()
  def remote?(id), do: id > @first

  @doc "Records the end of a command."
  @spec finish(id(), :ok | {:error, Error.t()}) :: :ok
  def finish(id, :ok) do
    :ets.delete(@table, id)
    :ok
  end

  def finish(id, {:error, _error} = failed) do
    true = :ets.insert(@table, {id, failed})
    if :ets.update_counter(@table, :failed, 1) > @most_failed, do: forget_oldest()
    :ok
  end

  # Numbers come before atoms, so the first key is the oldest id.
  defp forget_oldest do
    case :ets.select(@table, [{{:"$1", {:error, :_}}, [], [:"$1"]}], 1) do
      {[id], _rest} ->
        :ets.delete(@table, id)
        :ets.update_counter(@table, :failed, -1)

      _none ->
        :ok
    end
  end

  @doc "The link of a pending command, the result of one that has finished, or `:unknown`."
  @spec find(id()) :: {:pending, pid()} | :ok | {:error, Error.t()} | :unknown
  def find(id) do
    case :ets.lookup(@table, id) do
      [{_id, link}] when is_pid(link) -> {:pending, link}
      [{_id, failed}] -> failed
      [] -> if id <= :ets.lookup_element(@table, :last, 2), do: :ok, else: :unknown
    end
  end

  @doc "The result of a command that has finished."
  @spec result(id()) :: :ok | {:error, Error.t()}
  def result(id) do
    with {:pending, _link} <- find(id), do: :ok
  end
end
