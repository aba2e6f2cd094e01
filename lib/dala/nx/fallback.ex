defmodule Dala.Nx.Fallback do
  @moduledoc false
  # Operations that `Dala.Nx.Backend` hands to `Nx.BinaryBackend`, because no kernel computes them or
  # no buffer holds their element type. Each is counted, and logged the first time. This process only
  # owns the table, so that any process can count without a message. It uses Erlang's logger, because
  # this application does not depend on Elixir's.
  use GenServer

  alias Dala.Gpu.Compute.Tree
  alias Dala.Nx.{Data, Device}

  @compile {:no_warn_undefined, [Nx, Nx.BinaryBackend]}

  @table __MODULE__

  @spec start_link(term()) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @impl true
  def init(nil) do
    _ = :ets.new(@table, [:named_table, :public, write_concurrency: true])
    {:ok, nil}
  end

  @doc "Returns how often each operation has fallen back."
  @spec counts() :: %{atom() => pos_integer()}
  def counts do
    ensure_table()
    Map.new(:ets.tab2list(@table))
  end

  @doc "Forgets all counts; the next fallback of each operation is logged again."
  @spec reset() :: :ok
  def reset do
    ensure_table()
    :ets.delete_all_objects(@table)
    :ok
  end

  @doc """
  Computes a callback of the backend by `Nx.BinaryBackend`.

  `out` is the template of the result, or a tuple of them; `args` are the other arguments.
  """
  @spec run(atom(), tuple() | map(), [term()]) :: tuple() | map()
  def run(op, out, args) do
    Device.host_only()
    note(op, [out | args])

    on_host(fn -> apply(Nx.BinaryBackend, op, [out | to_host(args)]) end)
    |> to_device(out)
  end

  @doc """
  Calls a function on copies of the arguments in `Nx.BinaryBackend`, for operations without a
  callback there: `Nx.Shared.optional/4` passes its own implementation.
  """
  @spec call(atom(), [term()], fun()) :: tuple() | map()
  def call(op, args, fun) do
    Device.host_only()
    note(op, args)
    result = on_host(fn -> apply(fun, to_host(args)) end)
    to_device(result, result)
  end

  # Meanwhile, constants that the user's function creates must not be copied to the device either.
  defp on_host(fun), do: Data.with_backend(Nx.BinaryBackend, fun)

  defp to_host(%{__struct__: Nx.Tensor} = tensor), do: Data.to_host(tensor)
  defp to_host(list) when is_list(list), do: Enum.map(list, &to_host/1)
  defp to_host({key, value}) when is_atom(key), do: {key, to_host(value)}
  defp to_host(fun) when is_function(fun, 1), do: fn a -> to_host(fun.(a)) end
  defp to_host(fun) when is_function(fun, 2), do: fn a, b -> to_host(fun.(a, b)) end
  defp to_host(other), do: other

  # Names and vectorized axes are those of the template.
  defp to_device(result, out) when is_tuple(result) do
    [Tuple.to_list(result), Tuple.to_list(out)]
    |> Enum.zip_with(fn [result, out] -> to_device(result, out) end)
    |> List.to_tuple()
  end

  defp to_device(%{__struct__: Nx.Tensor} = result, out),
    do: Data.from_binary(out, Nx.to_binary(Data.to_host(result)))

  defp note(op, args) do
    ensure_table()

    if :ets.update_counter(@table, op, 1, {op, 0}) == 1 and warn?() do
      :logger.warning(
        "Nx.#{op} of #{types(args)} is computed by Nx.BinaryBackend, since Dala.Nx.Backend has no " <>
          "kernel for it. This is said once for each operation; Dala.Nx.fallbacks/0 counts them, " <>
          "and config :dala_gpu, nx: [warn: false] silences it"
      )
    end
  end

  defp types(args) do
    args
    |> List.flatten()
    |> Enum.flat_map(fn
      %{__struct__: Nx.Tensor, type: {kind, bits}} -> ["#{kind}#{bits}"]
      _other -> []
    end)
    |> Enum.uniq()
    |> Enum.join(", ")
  end

  defp warn?, do: Keyword.get(Application.get_env(:dala_gpu, :nx, []), :warn, true)

  defp ensure_table do
    if :ets.whereis(@table) == :undefined, do: Tree.ensure()
  end
end
