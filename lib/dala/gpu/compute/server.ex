defmodule Dala.Gpu.Compute.Server do
  @moduledoc false
  # Calls to the processes of the library, by pid or by name. A process that is not running is an
  # error with the reason `:freed`, whatever its exit reason. A process of another module raises,
  # since an unknown request would crash it.

  alias Dala.Gpu.Compute.{Argument, Error}

  @doc "Calls a process of the module `module`; `what` names it in error messages."
  @spec call(GenServer.server(), module(), String.t(), term()) :: term() | {:error, Error.t()}
  def call(server, module, what, request) do
    case check!(server, module, what) do
      nil -> {:error, not_running(server, what)}
      pid -> GenServer.call(pid, request, :infinity)
    end
  catch
    :exit, _reason -> {:error, not_running(server, what)}
  end

  @doc "Stops a process; does nothing if it is not running."
  @spec stop(GenServer.server(), module(), String.t()) :: :ok
  def stop(server, module, what) do
    with pid when is_pid(pid) <- check!(server, module, what), do: GenServer.stop(pid)
    :ok
  catch
    :exit, _reason -> :ok
  end

  @doc "Returns the module of a process, given its pid or name, or nil if it is not running."
  @spec module(GenServer.server()) :: module() | nil
  def module(server) do
    with pid when is_pid(pid) <- whereis(server) do
      case :proc_lib.translate_initial_call(pid) do
        {module, :init, 1} -> module
        _other -> nil
      end
    end
  end

  @doc "Returns whether the process with that pid or name is running."
  @spec running?(GenServer.server()) :: boolean()
  def running?(server) do
    pid = whereis(server)
    pid != nil and not gone?(pid)
  end

  @doc "Returns whether a term is a pid or a valid name of a process."
  @spec server?(term()) :: boolean()
  def server?(pid) when is_pid(pid), do: true
  def server?(name) when is_atom(name), do: name not in [nil, true, false]
  def server?({:global, _name}), do: true
  def server?({:via, module, _name}) when is_atom(module), do: true
  def server?({name, node}) when is_atom(name) and is_atom(node), do: true
  def server?(_other), do: false

  @doc "Returns the error for a process that is not running."
  @spec not_running(GenServer.server(), String.t()) :: Error.t()
  def not_running(server, what) do
    %Error{
      reason: :freed,
      message: "the #{what} #{inspect(server)} is not running",
      details: %{server: server}
    }
  end

  @doc "Sends a message to a pid or name; returns false if there is no such process."
  @spec deliver(GenServer.server(), term()) :: boolean()
  def deliver(server, message) do
    case GenServer.whereis(server) do
      nil ->
        false

      pid_or_remote ->
        _ = send(pid_or_remote, message)

        not is_pid(pid_or_remote) or node(pid_or_remote) != node() or
          Process.alive?(pid_or_remote)
    end
  end

  defp check!(server, module, what) do
    unless server?(server), do: Argument.refuse!("a #{what}, by its pid or name", server)

    case {whereis(server), module(server)} do
      {nil, _} -> nil
      {pid, ^module} -> pid
      {_pid, _other} -> if running?(server), do: Argument.refuse!("a #{what}", server)
    end
  end

  # A name on another node is resolved on that node.
  defp whereis({:global, _name} = global), do: GenServer.whereis(global)

  defp whereis({name, node}) when is_atom(name) and is_atom(node) and node != node() do
    case :rpc.call(node, Process, :whereis, [name]) do
      pid when is_pid(pid) -> pid
      _none -> nil
    end
  end

  defp whereis(server), do: GenServer.whereis(server)

  defp gone?(pid), do: node(pid) == node() and not Process.alive?(pid)
end
