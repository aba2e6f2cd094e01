defmodule Dala.Gpu.Compute.Registrations do
  @moduledoc false
  # Modules of upper layers that lower layers call: an ETS table of `{kind, key} => module`. It also
  # has the devices of isolated kernels.
  #
  # `Dala.Gpu.Supervisor` owns the table, so it outlives every child that registers a module.

  alias Dala.Gpu.Compute.{Placement, Tree}

  @table __MODULE__

  @doc "Creates the table; the calling process owns it."
  @spec new() :: :ok
  def new do
    _ = :ets.new(@table, [:named_table, :public, read_concurrency: true])
    :ok
  end

  @doc "Registers a module; returns the other module if the key is already taken."
  @spec put(atom(), term(), module()) :: :ok | {:taken, value()}
  def put(kind, key, module) do
    started!()

    if :ets.insert_new(@table, {{kind, key}, module}) do
      :ok
    else
      case get(kind, key) do
        ^module -> :ok
        nil -> put(kind, key, module)
        other -> {:taken, other}
      end
    end
  end

  @typedoc "A module, or the device of an isolated kernel."
  @type value :: module() | Placement.device()

  @doc "Returns the value under a key, or nil, also if the application is not running."
  @spec get(atom(), term()) :: value() | nil
  def get(kind, key) do
    case :ets.whereis(@table) do
      :undefined ->
        nil

      table ->
        case :ets.lookup(table, {kind, key}) do
          [{_key, module}] -> module
          [] -> nil
        end
    end
  end

  @doc "Removes all entries of that kind and module."
  @spec delete(atom(), module()) :: :ok
  def delete(kind, module) do
    started!()
    true = :ets.match_delete(@table, {{kind, :_}, module})
    :ok
  end

  @doc "Puts a value under a key, whatever was there."
  @spec replace(atom(), term(), term()) :: :ok
  def replace(kind, key, value) do
    started!()
    true = :ets.insert(@table, {{kind, key}, value})
    :ok
  end

  @doc "Removes the value under a key."
  @spec remove(atom(), term()) :: :ok
  def remove(kind, key) do
    started!()
    true = :ets.delete(@table, {kind, key})
    :ok
  end

  @doc "Lists the keys of a kind with their values."
  @spec all(atom()) :: [{term(), term()}]
  def all(kind) do
    case :ets.whereis(@table) do
      :undefined -> []
      table -> :ets.select(table, [{{{kind, :"$1"}, :"$2"}, [], [{{:"$1", :"$2"}}]}])
    end
  end

  defp started! do
    if :ets.whereis(@table) == :undefined, do: Tree.ensure(), else: :ok
  end
end
