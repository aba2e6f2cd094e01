defmodule Dala.Gpu.Supervisor do
  @moduledoc false
  # The top supervisor of the application, and the owner of the table of registrations.
  #
  #   Dala.Gpu.Supervisor
  #   ├── Dala.Gpu.Compute.Watcher       monitors processes that submit; logs the device's reports
  #   ├── Dala.Gpu.Compute.MemoryPoller  the event [:dala, :memory], while a handler is attached
  #   ├── Dala.Gpu.Compute.Remote.*      links to devices of other VMs, and hosts of links from there
  #   ├── Dala.Gpu.Surfaces              surfaces of Dala.Gpu.create_surface
  #   └── parts, listed in mix.exs       child specifications of the upper layers
  #
  # The children do not depend on each other, so each is restarted on its own, and max_restarts is
  # the default of a supervisor times the number of children.

  use Supervisor

  alias Dala.Gpu.Compute.{Error, MemoryPoller, Registrations, Watcher}
  alias Dala.Gpu.Compute.Remote.{Commands, Links}

  @spec start_link([Supervisor.child_spec() | module()]) :: Supervisor.on_start()
  def start_link(parts), do: Supervisor.start_link(__MODULE__, parts, name: __MODULE__)

  @impl true
  def init(parts) do
    Registrations.new()
    Commands.new()

    children =
      [Watcher, MemoryPoller] ++
        Links.children() ++ [{DynamicSupervisor, name: Dala.Gpu.Surfaces} | parts]

    Supervisor.init(children, strategy: :one_for_one, max_restarts: 3 * length(children))
  end

  @doc """
  Starts a process under a supervisor of this tree that stops when its creator exits and is not
  restarted. `arguments` are those of the module's `start_link`.
  """
  @spec start_temporary(Supervisor.name(), module(), [term()]) ::
          {:ok, pid()} | {:error, Error.t()}
  def start_temporary(supervisor, module, arguments) do
    child = %{id: module, start: {module, :start_link, arguments}, restart: :temporary}

    case DynamicSupervisor.start_child(supervisor, child) do
      {:ok, pid} -> {:ok, pid}
      {:error, {:shutdown, %Error{} = error}} -> {:error, error}
    end
  catch
    :exit, {reason, {GenServer, :call, _arguments}} when reason in [:noproc, :shutdown] ->
      {:error, %Error{reason: :unsupported, message: "the application :dala_gpu is not running"}}
  end
end
