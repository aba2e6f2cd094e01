defmodule Dala.ML.Serving.Client do
  @moduledoc false
  # The side of a request that waits. A request to the serving of the same node is sent and waited
  # for by the calling process itself. Any other is in the care of a process of its own, which may
  # be held up by a channel to another node while the caller's time goes on: it chooses a serving,
  # sends, tries another one when the first is lost or refuses, and sends to a second one when the
  # first has not answered after `hedge` milliseconds.
  #
  # Every attempt has an alias of its own, which takes one message. The first result counts, and the
  # aliases of all other attempts are given up with it; that of the caller takes one message, too.
  # Each serving gets a request once at most.

  alias Dala.Gpu.Compute.{Argument, Error}
  alias Dala.ML.Serving.{Cluster, Entry, Request, Settings, Wire}

  # Servings that refuse a request because they are full, after which it is refused.
  @refusals 2

  @spec run(atom(), term(), keyword()) :: {:ok, term()} | {:error, Error.t()}
  def run(name, input, opts) do
    call = call!(name, input, opts)

    case first(call) do
      nil -> {:error, not_running(name)}
      {:direct, pid} -> direct(pid, call)
      {:by_process, tried} -> by_process(call, tried, nil)
    end
  end

  @spec async_run(atom(), term(), keyword()) :: Request.t()
  def async_run(name, input, opts), do: start(call!(name, input, opts), [], nil)

  defp call!(name, input, opts) do
    opts = Argument.options!(opts, timeout: 5_000, priority: :normal, key: nil, hedge: nil)
    timeout = Argument.timeout!(opts[:timeout])

    unless opts[:priority] in Entry.priorities() do
      Argument.refuse!("priority: to be one of #{inspect(Entry.priorities())}", opts[:priority])
    end

    %{
      name: Settings.name!(name),
      input: input,
      timeout: timeout,
      deadline: if(timeout == :infinity, do: :infinity, else: now() + timeout),
      priority: opts[:priority],
      key: if(opts[:key] != nil, do: {:key, opts[:key]}),
      hedge: opts[:hedge] && Argument.integer!(:hedge, opts[:hedge], 0..0xFFFFFFFF)
    }
  end

  defp first(%{hedge: nil} = call) do
    case Cluster.choose(call.name, call.key, []) do
      nil -> nil
      pid when node(pid) == node() -> {:direct, pid}
      _remote -> {:by_process, []}
    end
  end

  defp first(_hedged), do: {:by_process, []}

  defp direct(pid, call) do
    ref = :erlang.monitor(:process, pid, alias: :reply_demonitor)
    send(pid, {:request, ref, self(), call.input, call.timeout, call.priority, call.key})

    receive do
      {^ref, {:answer, result}} -> result
      {^ref, {:refused, error}} -> elsewhere(call, pid, error)
      {:DOWN, ^ref, :process, _pid, reason} -> elsewhere(call, pid, lost(call.name, pid, reason))
    after
      call.timeout ->
        send(pid, {:cancel, ref})
        given_up(ref, &direct_result/1, fn -> {:error, late(call)} end)
    end
  end

  defp direct_result({:answer, result}), do: result
  defp direct_result({:refused, error}), do: {:error, error}

  defp elsewhere(call, pid, error) do
    case Cluster.choose(call.name, call.key, [pid]) do
      nil -> {:error, error}
      _other -> by_process(call, [pid], error)
    end
  end

  defp by_process(call, tried, error) do
    request = start(call, tried, error)

    with nil <- wait(request, left(call)),
         do: give_up(request, fn -> {:error, late(call)} end)
  end

  @doc "Waits for a result; nil when the time runs out."
  @spec wait(Request.t(), timeout()) :: {:ok, term()} | {:error, Error.t()} | nil
  def wait(%Request{ref: ref} = request, timeout) do
    receive do
      {^ref, result} ->
        result

      {:DOWN, ^ref, :process, _pid, reason} ->
        {:error, lost(request.serving, request.pid, reason)}
    after
      timeout -> nil
    end
  end

  @doc "Ends a request; a result that is there already counts, else that of the function."
  @spec give_up(Request.t(), (() -> result)) :: result when result: term()
  def give_up(%Request{ref: ref, pid: pid}, otherwise) do
    send(pid, {:cancel, ref})
    given_up(ref, & &1, otherwise)
  end

  # After this no message of the request comes.
  defp given_up(ref, result, otherwise) do
    Process.demonitor(ref, [:flush])

    receive do
      {^ref, answer} -> result.(answer)
    after
      0 -> otherwise.()
    end
  end

  # The process of a request.

  defp start(call, tried, error) do
    owner = self()
    run = fn -> init(owner, call, tried, error) end
    {pid, ref} = :erlang.spawn_opt(run, monitor: [alias: :reply_demonitor])
    send(pid, {:start, ref})
    %Request{ref: ref, pid: pid, owner: owner, serving: call.name}
  end

  defp init(owner, call, tried, error) do
    monitor = Process.monitor(owner)

    receive do
      {:start, ref} ->
        loop(
          next(%{
            call: call,
            packed: nil,
            reply: ref,
            owner: monitor,
            tried: tried,
            refusals: if(error && error.reason == :overloaded, do: 1, else: 0),
            error: error,
            # The attempts under way: references and the servings they went to.
            open: %{},
            hedge_at: call.hedge && now() + call.hedge,
            result: nil
          })
        )

      {:DOWN, ^monitor, :process, _owner, _reason} ->
        :ok
    end
  end

  defp loop(%{result: nil, open: open} = state) when map_size(open) > 0 do
    receive do
      {ref, {:answer, result}} when is_map_key(open, ref) ->
        loop(answer(closed(state, ref), unpacked(result)))

      {ref, {:refused, error}} when is_map_key(open, ref) ->
        loop(refused(closed(state, ref), error))

      {:DOWN, ref, :process, pid, reason} when is_map_key(open, ref) ->
        loop(next(%{closed(state, ref) | error: lost(state.call.name, pid, reason)}))

      {:DOWN, owner, :process, _pid, _reason} when owner == state.owner ->
        cancel(state)

      {:cancel, reply} when reply == state.reply ->
        cancel(state)
    after
      pause(state) -> loop(timed(state))
    end
  end

  defp loop(%{result: nil} = state), do: finish(state, {:error, state.error})
  defp loop(state), do: finish(state, state.result)

  # The buffers of a result may have no room on this node.
  defp unpacked(result) do
    Wire.unpack(result)
  rescue
    error in Error -> {:error, error}
  end

  # An error is the result when no other attempt can do better.
  defp answer(state, {:ok, _value} = result), do: %{state | result: result}

  defp answer(%{open: open} = state, {:error, error}) when open != %{},
    do: %{state | error: error}

  defp answer(state, result), do: %{state | result: result}

  defp refused(state, error) do
    state = %{state | error: error, refusals: state.refusals + 1}
    full? = error.reason == :overloaded and state.refusals >= @refusals
    if full?, do: state, else: next(state)
  end

  # Attempts under way are waited for before there is another one, except for a hedge.
  defp next(%{open: open} = state) when open != %{}, do: state
  defp next(state), do: attempt(state)

  defp attempt(state) do
    case Cluster.choose(state.call.name, state.call.key, state.tried) do
      nil -> %{state | error: state.error || not_running(state.call.name)}
      pid -> attempt(%{state | tried: [pid | state.tried]}, pid)
    end
  end

  defp attempt(state, pid) do
    if Cluster.reads?(node(pid)) do
      {input, state} = input(state, node(pid))
      ref = :erlang.monitor(:process, pid, alias: :reply_demonitor)
      %{priority: priority, key: key} = state.call
      message = {:request, ref, self(), input, left(state.call), priority, key}

      if Wire.send_now(pid, message) do
        Cluster.sent(pid)
        %{state | open: Map.put(state.open, ref, pid)}
      else
        Process.demonitor(ref, [:flush])
        unreachable(state, pid)
      end
    else
      unreachable(state, pid)
    end
  rescue
    # An input that was freed.
    error in Error -> %{state | result: {:error, error}}
  end

  defp unreachable(state, pid),
    do: attempt(%{state | error: lost(state.call.name, pid, :noconnection)})

  defp input(state, node) when node == node(), do: {state.call.input, state}

  defp input(state, _remote) do
    {:packed, packed} = state.packed || {:packed, Wire.pack(state.call.input)}
    {packed, %{state | packed: {:packed, packed}}}
  end

  defp closed(state, ref) do
    Process.demonitor(ref, [:flush])
    %{state | open: Map.delete(state.open, ref)}
  end

  defp pause(%{call: call, hedge_at: nil}), do: left(call)
  defp pause(%{call: call, hedge_at: at}), do: min(left(call), max(at - now(), 0))

  defp timed(state) do
    cond do
      left(state.call) == 0 -> %{state | result: {:error, late(state.call)}}
      state.hedge_at -> attempt(%{state | hedge_at: nil})
      true -> state
    end
  end

  defp finish(state, result) do
    cancel(state)
    send(state.reply, {state.reply, result})
  end

  defp cancel(state) do
    for {ref, pid} <- state.open do
      Process.demonitor(ref, [:flush])
      Wire.send_now(pid, {:cancel, ref})
    end
  end

  defp left(%{deadline: :infinity}), do: :infinity
  defp left(%{deadline: deadline}), do: max(deadline - now(), 0)

  defp now, do: System.monotonic_time(:millisecond)

  @doc "The error of a serving that is on no node."
  @spec not_running(atom()) :: Error.t()
  def not_running(name) do
    %Error{
      reason: :freed,
      message: "the serving #{inspect(name)} is not running",
      details: %{serving: name}
    }
  end

  defp lost(name, pid, reason) do
    %Error{
      reason: :device_lost,
      message:
        "the serving #{inspect(name)} on #{node(pid)} was lost with the request: #{why(reason)}",
      details: %{serving: name, node: node(pid), reason: reason}
    }
  end

  defp why(:noconnection), do: "there is no connection to the node"
  defp why(reason), do: Exception.format_exit(reason)

  defp late(call) do
    %Error{
      reason: :deadline,
      message:
        "the serving #{inspect(call.name)} has not answered within #{call.timeout} milliseconds",
      details: %{serving: call.name, timeout: call.timeout}
    }
  end
end
