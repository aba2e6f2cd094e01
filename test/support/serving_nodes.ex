defmodule Dala.Test.ServingNodes do
  @moduledoc false
  # Nodes on this machine, on the loopback interface only, with servings that clients put under
  # load. Nodes are controlled through their standard input and output, so that they can be reached
  # whatever happens to the connections between them, and end with this VM.

  import ExUnit.Assertions

  alias Dala.ML.Serving

  @enforce_keys [:peer, :node, :os_pid, :name]
  defstruct [:peer, :node, :os_pid, :name]

  @host "127.0.0.1"
  @bound 60_000

  @doc "Makes this VM a node."
  def start_distribution do
    {_output, 0} = System.cmd("epmd", ["-daemon"], env: [{"ERL_EPMD_ADDRESS", @host}])
    Application.put_env(:kernel, :inet_dist_use_interface, {127, 0, 0, 1})
    name = :"dala_test_#{System.pid()}@#{@host}"
    {:ok, _pid} = Node.start(name, :longnames)
    Node.set_cookie(:"dala_#{System.pid()}_#{System.unique_integer([:positive])}")
    :ok
  end

  @doc "Starts a node with the library, connected to this one and through it to the others."
  def start_node(name) do
    paths = Enum.flat_map(:code.get_path(), &[~c"-pa", &1])

    # What a test cuts is all that is cut.
    args =
      [~c"-kernel", ~c"inet_dist_use_interface", ~c"{127,0,0,1}"] ++
        [~c"-kernel", ~c"prevent_overlapping_partitions", ~c"false"] ++
        [~c"-setcookie", Atom.to_charlist(Node.get_cookie())] ++ paths

    {:ok, peer, node} =
      :peer.start(%{
        name: String.to_charlist("#{name}_#{System.pid()}"),
        host: String.to_charlist(@host),
        longnames: true,
        connection: :standard_io,
        args: args,
        wait_boot: @bound
      })

    call = &:peer.call(peer, &1, &2, &3, @bound)
    {:ok, _apps} = call.(:application, :ensure_all_started, [:dala_gpu])
    os_pid = call.(:os, :getpid, []) |> List.to_integer()
    true = Node.connect(node)
    %__MODULE__{peer: peer, node: node, os_pid: os_pid, name: name}
  end

  @doc "Calls a function on a node, by way of its standard input."
  def call(%__MODULE__{peer: peer}, module, function, arguments),
    do: :peer.call(peer, module, function, arguments, @bound)

  @doc "Ends a node that was not killed."
  def stop(%__MODULE__{peer: peer}) do
    :peer.stop(peer)
  catch
    :exit, _reason -> :ok
  end

  @doc "Sends a signal to the node's operating system process."
  def signal(%__MODULE__{os_pid: os_pid}, name) do
    {_output, 0} = System.cmd("kill", ["-#{name}", "#{os_pid}"])
    :ok
  end

  @doc "Connects nodes with this one and with each other."
  def connect(nodes) do
    for node <- nodes do
      true = Node.connect(node.node)
      for other <- nodes, do: call(node, Node, :connect, [other.node])
    end

    :ok
  end

  @doc "Cuts a node off from all others."
  def disconnect(node) do
    for other <- call(node, :erlang, :nodes, []),
        do: call(node, :erlang, :disconnect_node, [other])

    :ok
  end

  @doc "Starts a serving on a node, which stays until the node ends."
  def serve(node, opts), do: call(node, __MODULE__, :serve_here, [opts])

  @doc false
  def serve_here(opts) do
    caller = self()

    {holder, monitor} =
      spawn_monitor(fn ->
        opts = if opts[:model], do: opts, else: Keyword.put(opts, :function, &work/1)
        {:ok, _supervisor} = Supervisor.start_link([{Serving, opts}], strategy: :one_for_one)
        send(caller, {self(), :serving})
        Process.sleep(:infinity)
      end)

    receive do
      {^holder, :serving} -> :ok
      {:DOWN, ^monitor, :process, ^holder, reason} -> {:error, reason}
    end
  end

  # Each input is `{milliseconds, value}`; a batch takes as long as its longest one.
  @doc false
  def work(inputs) do
    longest = inputs |> Enum.map(&elem(&1, 0)) |> Enum.max()

    receive do
    after
      longest -> Enum.map(inputs, fn {_ms, value} -> {node(), value} end)
    end
  end

  @doc """
  Runs clients until `stop_load/3`. Each makes one request after the other, and notes how long it
  took and what came of it: all of them as numbers, those of the last minute one by one.
  """
  def start_load(serving, clients, opts) do
    load = %{
      stop: :atomics.new(1, []),
      slowest: :atomics.new(1, []),
      totals: :ets.new(:totals, [:public]),
      recent: :ets.new(:recent, [:public, :ordered_set]),
      work: Keyword.get(opts, :work, 2)
    }

    opts = Keyword.delete(opts, :work)

    tasks =
      for client <- 1..clients, do: Task.async(fn -> loop(0, serving, client, opts, load) end)

    Map.put(load, :tasks, tasks)
  end

  defp loop(count, serving, client, opts, load) do
    if :atomics.get(load.stop, 1) == 1 do
      # Answers that come twice, or late, would be here.
      receive do
        stray -> {:stray, stray}
      after
        2 * opts[:timeout] -> {:ok, count}
      end
    else
      value = {client, count}
      started = now()
      result = Serving.run(serving, {load.work, value}, opts)
      took = now() - started
      note(load, client, started, took, outcome(result, value))
      loop(count + 1, serving, client, opts, load)
    end
  end

  defp note(load, client, started, took, outcome) do
    :ets.insert(load.recent, {{started, client}, outcome})
    :ets.update_counter(load.totals, outcome, 1, {outcome, 0})
    raise_to(load.slowest, took)
    if client == 1, do: prune(load, started - 1_000_000 * div(@bound, 1000))
  end

  defp prune(load, before) do
    with {started, _client} = key when started < before <- :ets.first(load.recent) do
      :ets.delete(load.recent, key)
      prune(load, before)
    end
  end

  defp raise_to(atomics, value) do
    current = :atomics.get(atomics, 1)

    if value > current and :atomics.compare_exchange(atomics, 1, current, value) != :ok,
      do: raise_to(atomics, value)
  end

  defp outcome({:ok, {node, value}}, value), do: {:ok, node}
  defp outcome({:ok, other}, value), do: {:wrong, other, value}
  defp outcome({:error, %{reason: reason}}, _value), do: {:error, reason}

  @doc "What came of all requests: numbers by outcome."
  def outcomes(load), do: Map.new(:ets.tab2list(load.totals))

  @doc "The same of those that were made since a time of `now/0`, in the last minute."
  def outcomes(load, since) do
    load.recent
    |> :ets.select([{{{:"$1", :_}, :"$2"}, [{:>=, :"$1", since}], [:"$2"]}])
    |> Enum.frequencies()
  end

  @doc "Waits until so many requests that were made from now on have been answered by a node."
  def await_answers(load, node, count) do
    since = now()
    deadline = System.monotonic_time(:millisecond) + @bound
    await_answers(load, node, count, since, deadline)
  end

  defp await_answers(load, node, count, since, deadline) do
    cond do
      Map.get(outcomes(load, since), {:ok, node}, 0) >= count ->
        :ok

      System.monotonic_time(:millisecond) > deadline ->
        flunk("#{node} did not answer: #{inspect(outcomes(load, since))}")

      true ->
        receive do
        after
          20 -> await_answers(load, node, count, since, deadline)
        end
    end
  end

  def now, do: System.monotonic_time(:microsecond)

  @doc """
  Ends the load and gives the numbers by outcome. Every request had one answer, which was its own,
  in time: `timeout:` and what a busy machine takes to wake a process.
  """
  def stop_load(load, timeout, slack \\ 1_500) do
    :atomics.put(load.stop, 1, 1)
    counts = Task.await_many(load.tasks, @bound)
    for count <- counts, do: assert({:ok, _count} = count)
    outcomes = outcomes(load)

    assert outcomes |> Map.values() |> Enum.sum() ==
             counts |> Enum.map(&elem(&1, 1)) |> Enum.sum()

    slowest = :atomics.get(load.slowest, 1)
    assert slowest <= 1000 * (timeout + slack), "a request took #{slowest} µs"
    assert Enum.all?(Map.keys(outcomes), &(elem(&1, 0) in [:ok, :error])), inspect(outcomes)
    outcomes
  end
end
