defmodule Dala.Gpu.Compute.Remote.Links do
  @moduledoc false
  # The links of this VM: that of an isolated device is started with it, that to another node at
  # first use, and again when the node has come back.

  alias Dala.Gpu.Compute.{Error, Placement, Server, Tree}
  alias Dala.Gpu.Compute.Remote.Link

  @registry Dala.Gpu.Compute.Remote.Registry
  @supervisor Dala.Gpu.Compute.Remote.Supervisor

  @doc "The link to a device that is not this VM's own."
  @spec find(Placement.device()) :: {:ok, pid()} | {:error, Error.t()}
  def find(%{place: {:isolated, server}} = device) do
    case GenServer.whereis(server) do
      pid when is_pid(pid) ->
        {:ok, pid}

      _none ->
        {:error,
         %Error{
           reason: :device_lost,
           message: "#{Placement.label(device)} is not running",
           details: %{device: device.name}
         }}
    end
  end

  def find(%{place: {:node, node}}), do: to_node(node)

  @doc "The link to a node."
  @spec to_node(node()) :: {:ok, pid()} | {:error, Error.t()}
  def to_node(node) do
    Tree.ensure()

    case Registry.lookup(@registry, node) do
      [{pid, _value}] -> {:ok, pid}
      [] -> start({{:node, node}, "#{node}", %{}}, name: {:via, Registry, {@registry, node}})
    end
  end

  @doc "Starts a link under the application's supervisor."
  @spec start({Link.target(), String.t(), map()}, GenServer.options()) ::
          {:ok, pid()} | {:error, Error.t()}
  def start(arguments, options) do
    Tree.ensure()

    child = %{
      id: Link,
      start: {Link, :start_link, [arguments, options]},
      restart: :temporary,
      shutdown: 10_000
    }

    case DynamicSupervisor.start_child(@supervisor, child) do
      {:ok, pid} -> {:ok, pid}
      {:error, {:already_started, pid}} -> {:ok, pid}
      {:error, {:shutdown, %Error{} = error}} -> {:error, error}
    end
  end

  @doc "Ends an isolated device; one that is not running stays so."
  @spec stop(GenServer.server()) :: :ok
  def stop(server), do: Server.stop(server, Link, "isolated device")

  @doc "The children of the application that this module needs."
  @spec children() :: [Supervisor.child_spec() | {module(), keyword()}]
  def children do
    [
      {Registry, keys: :unique, name: @registry},
      %{
        id: @supervisor,
        start: {DynamicSupervisor, :start_link, [[name: @supervisor, strategy: :one_for_one]]},
        type: :supervisor
      }
    ]
  end
end
