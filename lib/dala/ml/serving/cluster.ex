defmodule Dala.ML.Serving.Cluster do
  @moduledoc false
  # Where the servings of a name are, on this node and on those it is connected to, and how loaded
  # each of them is. There is one such process on every node, and none in the middle:
  #
  #   * Servings are members of a group of `:pg` under their name, which every node has a copy of.
  #   * This process tells the others of its kind, ten times a second, how many requests each of its
  #     node's servings holds. It sends without waiting, so a node that does not read holds up none.
  #   * Clients choose by a table that these messages fill. The load of a serving of the same node
  #     is read from its own counters.
  #
  # A remote serving that nothing was heard of for a second is suspect: suspended, or cut off. It is
  # chosen when there is no other.
  #
  # The table belongs to the supervisor above. Rows are {pid, name, :local, counters, info} and
  # {pid, name, load, monotonic milliseconds}. When the scope of `:pg` is restarted, this process
  # enters the servings of the table again. Servings monitor this process, and enter again when it
  # was restarted: the table may have gone, too.

  use GenServer

  alias Dala.Gpu.Compute.Tree
  alias Dala.ML.Serving.{Counters, Wire}

  @scope __MODULE__
  @table __MODULE__.Loads
  @agent __MODULE__.Agent
  @agents {__MODULE__, :agents}
  @interval 100
  @silence 1_000
  @soon 10

  @doc "What a supervisor starts, in this order."
  @spec children() :: [Supervisor.child_spec()]
  def children do
    [
      %{id: @scope, start: {__MODULE__, :start_scope, []}},
      %{id: @agent, start: {__MODULE__, :start_link, [nil]}}
    ]
  end

  @doc "Makes the table; the calling process owns it."
  @spec new_table() :: :ok
  def new_table do
    @table = :ets.new(@table, [:named_table, :public, :set, read_concurrency: true])
    :ok
  end

  @spec start_scope() :: GenServer.on_start()
  def start_scope, do: :pg.start_link(@scope)

  @spec start_link(term()) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, nil, name: @agent)

  @doc "Starts the application's tree, with this process, where nothing has yet."
  @spec ensure() :: :ok
  def ensure, do: if(Process.whereis(@agent), do: :ok, else: Tree.ensure())

  @doc "Enters a serving of this node, which takes requests from now on."
  @spec join(atom(), pid(), Counters.t(), map()) :: :ok
  def join(name, pid, counters, info),
    do: GenServer.call(@agent, {:join, {pid, name, :local, counters, info}}, :infinity)

  @doc "A monitor of the process that a serving is entered with, after whose end it is not."
  @spec monitor() :: reference()
  def monitor, do: Process.monitor(@agent)

  @doc "Ends that; requests on their way may still arrive."
  @spec leave(pid()) :: :ok
  def leave(pid), do: GenServer.call(@agent, {:leave, pid}, :infinity)

  @doc "Changes what is known of a serving of this node beside its counters."
  @spec describe(pid(), map()) :: boolean()
  def describe(pid, info), do: :ets.update_element(@table, pid, {5, info})

  @doc "The serving of that name on this node: its process, counters and description."
  @spec local(atom()) :: {pid(), Counters.t(), map()} | nil
  def local(name) do
    with [pid | _] <- local_members(name),
         [{_pid, _name, :local, counters, info}] <- lookup(pid) do
      {pid, counters, info}
    else
      _none -> nil
    end
  end

  @doc "The names of the servings of this node."
  @spec local_names() :: [atom()]
  def local_names do
    for [_pid, name] <- :ets.match(@table, {:"$1", :"$2", :local, :_, :_}),
        local_members(name) != [],
        do: name
  end

  @doc "Every serving of a name: its process, its load as far as known, and whether it is suspect."
  @spec members(atom()) :: [%{pid: pid(), load: integer(), suspect: boolean()}]
  def members(name) do
    now = now()
    for pid <- all(name), do: %{pid: pid, load: load(pid), suspect: suspect?(pid, now)}
  end

  @doc """
  Chooses the serving for a request, or nil: not one of those tried already; with a key, the same
  one as long as it is there; else the less loaded of two, of which one is that of this node if
  there is one, and preferred when they are equal.
  """
  @spec choose(atom(), term(), [pid()]) :: pid() | nil
  def choose(name, key, tried) do
    case all(name) -- tried do
      [] -> nil
      [only] -> only
      several -> several |> heard_of() |> pick(key)
    end
  end

  defp pick([only], _key), do: only

  # Rendezvous hashing: when a serving goes, only the keys that were with it move.
  defp pick(pids, {:key, key}), do: Enum.max_by(pids, &{:erlang.phash2({key, node(&1)}), &1})

  defp pick(pids, nil) do
    case Enum.split_with(pids, &(node(&1) == node())) do
      {[own | _], []} -> own
      {[own | _], others} -> less_loaded(own, Enum.random(others))
      {[], others} -> others |> Enum.take_random(2) |> then(fn [a, b] -> less_loaded(a, b) end)
    end
  end

  defp less_loaded(first, second), do: if(load(second) < load(first), do: second, else: first)

  defp heard_of(pids) do
    now = now()

    case Enum.reject(pids, &suspect?(&1, now)) do
      [] -> pids
      heard_of -> heard_of
    end
  end

  defp load(pid) do
    case lookup(pid) do
      [{_pid, _name, :local, counters, _info}] -> Counters.load(counters)
      [{_pid, _name, load, _at}] -> load
      [] -> 0
    end
  end

  # A serving that has just joined has no row yet.
  defp suspect?(pid, now) do
    case lookup(pid) do
      [{_pid, _name, _load, at}] -> now - at > @silence
      _local_or_none -> false
    end
  end

  # The table is missing while the supervisor that owns it is restarted.
  defp lookup(pid) do
    :ets.lookup(@table, pid)
  rescue
    ArgumentError -> []
  end

  @doc "Counts a request that was sent to another node, until that node tells."
  @spec sent(pid()) :: :ok
  def sent(pid) do
    with [{^pid, _name, _load, _at}] <- lookup(pid), do: :ets.update_counter(@table, pid, {3, 1})
    :ok
  rescue
    # The row has just gone.
    ArgumentError -> :ok
  end

  @doc "Whether a node reads what is sent to it; sending does not wait."
  @spec reads?(node()) :: boolean()
  def reads?(node), do: node == node() or Wire.send_now({@agent, node}, :probe)

  # Where nothing has started the application yet, this does.
  defp all(name) do
    if :ets.whereis(@scope) == :undefined, do: Tree.ensure()
    known(name)
  end

  # Nothing is known while the scope is restarted.
  defp known(group) do
    :pg.get_members(@scope, group)
  rescue
    ArgumentError -> []
  end

  defp local_members(name) do
    :pg.get_local_members(@scope, name)
  rescue
    ArgumentError -> []
  end

  defp now, do: System.monotonic_time(:millisecond)

  @impl true
  def init(nil) do
    Process.flag(:priority, :high)
    :ok = :net_kernel.monitor_nodes(true)
    schedule()
    {:ok, attach(%{tick: 0, scope: nil})}
  end

  # Enters this process and the servings of this node, as soon as the scope of `:pg` runs.
  defp attach(state) do
    case Process.whereis(@scope) do
      nil ->
        Process.send_after(self(), :attach, @soon)
        state

      scope ->
        monitor = Process.monitor(scope)
        join(@agents, self())

        for [pid, name] <- :ets.match(@table, {:"$1", :"$2", :local, :_, :_}) do
          enter(pid, name)
        end

        %{state | scope: monitor}
    end
  end

  @impl true
  def handle_call({:join, {pid, name, :local, _counters, _info} = row}, _from, state) do
    :ets.insert(@table, row)
    enter(pid, name)
    {:reply, :ok, state}
  end

  def handle_call({:leave, pid}, _from, state) do
    with [row] <- lookup(pid) do
      :ets.delete(@table, pid)
      leave(elem(row, 1), pid)
    end

    {:reply, :ok, state}
  end

  @impl true
  def handle_info(:tick, state) do
    gossip()
    if rem(state.tick, 10) == 0, do: forget()
    schedule()
    {:noreply, %{state | tick: state.tick + 1}}
  end

  def handle_info({:loads, loads}, state) do
    now = now()
    :ets.insert(@table, for({pid, name, load} <- loads, do: {pid, name, load, now}))
    {:noreply, state}
  end

  def handle_info({:nodedown, node}, state) do
    for [pid] <- :ets.match(@table, {:"$1", :_, :_, :_}), node(pid) == node do
      :ets.delete(@table, pid)
    end

    {:noreply, state}
  end

  def handle_info(:attach, state), do: {:noreply, attach(state)}

  def handle_info({:DOWN, scope, :process, _pid, _reason}, %{scope: scope} = state),
    do: {:noreply, attach(state)}

  def handle_info({:DOWN, _monitor, :process, pid, _reason}, state) do
    :ets.delete(@table, pid)
    {:noreply, state}
  end

  def handle_info(_probe_or_other, state), do: {:noreply, state}

  defp enter(pid, name) do
    Process.monitor(pid)
    join(name, pid)
  end

  # A scope that ends meanwhile is joined when it runs again.
  defp join(group, pid) do
    if pid not in local_members(group), do: :pg.join(@scope, group, pid)
  catch
    :exit, _not_running -> :ok
  end

  defp leave(group, pid) do
    :pg.leave(@scope, group, pid)
  catch
    :exit, _not_running -> :ok
  end

  defp schedule, do: Process.send_after(self(), :tick, @interval)

  defp gossip do
    case :ets.match(@table, {:"$1", :"$2", :local, :"$3", :_}) do
      [] ->
        :ok

      own ->
        loads = for [pid, name, counters] <- own, do: {pid, name, Counters.load(counters)}

        for agent <- known(@agents), node(agent) != node() do
          Wire.send_now(agent, {:loads, loads})
        end
    end
  end

  # Remote servings that have ended without their node.
  defp forget do
    for [pid, name] <- :ets.match(@table, {:"$1", :"$2", :_, :_}), pid not in known(name) do
      :ets.delete(@table, pid)
    end
  end
end
