defmodule Dala.Nx.ProgramTable do
  @moduledoc false
  # Compiled numerical functions, by function and by the types of its arguments. This process only
  # owns the table.
  use GenServer

  alias Dala.Gpu.Compute.Tree

  @table __MODULE__

  # Programs hold constants on the device; when there are this many, all are dropped.
  @most_programs 512
  # A closure over more words than this is not cached, since comparing it is too expensive.
  @most_words 20_000

  @spec start_link(term()) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @impl true
  def init(nil) do
    _ = :ets.new(@table, [:named_table, :public, read_concurrency: true])
    {:ok, nil}
  end

  @doc "Returns the program of a function and its argument types, and builds it if necessary."
  @spec fetch(fun(), term(), (() -> built)) :: built when built: term()
  def fetch(fun, types, build) do
    if small?(fun), do: fetch_small({fun, types}, build), else: build.()
  end

  defp fetch_small(key, build) do
    if :ets.whereis(@table) == :undefined, do: Tree.ensure()

    case :ets.lookup(@table, key) do
      [{_key, built}] ->
        built

      [] ->
        built = build.()
        if :ets.info(@table, :size) >= @most_programs, do: :ets.delete_all_objects(@table)
        :ets.insert(@table, {key, built})
        built
    end
  end

  @doc "Drops all programs."
  @spec clear() :: :ok
  def clear do
    if :ets.whereis(@table) != :undefined, do: :ets.delete_all_objects(@table)
    :ok
  end

  # Caching a closure over tensors would keep them alive.
  defp small?(fun) do
    {:env, env} = :erlang.fun_info(fun, :env)
    :erts_debug.flat_size(env) <= @most_words and not tensor?(env)
  end

  defp tensor?(%{__struct__: Nx.Tensor}), do: true
  defp tensor?(map) when is_map(map), do: map |> Map.to_list() |> tensor?()
  defp tensor?(tuple) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> tensor?()
  defp tensor?([head | tail]), do: tensor?(head) or tensor?(tail)

  defp tensor?(fun) when is_function(fun) do
    {:env, env} = :erlang.fun_info(fun, :env)
    tensor?(env)
  end

  defp tensor?(_other), do: false
end
