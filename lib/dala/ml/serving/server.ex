defmodule Dala.ML.Serving.Server do
  @moduledoc false
  # The process in front of a model or function: takes requests into its queue, hands batches to its
  # replicas, and never runs anything itself.
  #
  #   client ──{:request, ...}──▶ server ──batch──▶ replica ──answer──▶ client
  #                                 ▲                  │
  #                                 └──{:batch_done}───┘
  #
  # Replicas are linked to this process and end with it. One that ends alone is started again; the
  # requests it had are run once more, and the second time answered with an error. A request is
  # answered through an alias that takes one message, so a second answer reaches nobody.
  #
  # Loading happens before the process is known to anybody, so that whoever finds it finds it warm.
  # A replacement is loaded by a process of its own; batches that have started keep the old one,
  # whose memory is given back after the last of them.

  use GenServer

  alias Dala.Gpu.Compute.Error

  alias Dala.ML.Serving.{
    Cluster,
    Counters,
    Engine,
    Entry,
    Failure,
    Queue,
    Replica,
    Settings,
    Wire
  }

  alias Dala.Telemetry

  @prefix [:dala, :serving, :request]
  @idle 1_000
  @again 50

  defstruct [
    :settings,
    :engine,
    :queue,
    :counters,
    replicas: %{},
    idle: [],
    times: %{},
    timer: nil,
    entered: nil,
    loader: nil,
    replacements: [],
    draining: false
  ]

  @spec start_link(Settings.t()) :: GenServer.on_start()
  def start_link(settings) do
    opts = [name: settings.name, timeout: :infinity, spawn_opt: [fullsweep_after: 10]]

    with {:error, {:shutdown, %Error{} = error}} <-
           GenServer.start_link(__MODULE__, settings, opts),
         do: {:error, error}
  end

  @impl true
  def init(settings) do
    Process.flag(:trap_exit, true)

    case Engine.load(settings) do
      {:ok, engine} ->
        state = %__MODULE__{
          settings: settings,
          queue: Queue.new(settings.queue),
          counters: Counters.new()
        }

        state = Enum.reduce(0..(settings.replicas - 1), state, &start_replica(&2, &1))
        state = use_engine(state, engine)
        {:ok, enter(state)}

      {:error, error} ->
        {:stop, {:shutdown, error}}
    end
  end

  # The process that servings are entered with may be restarted at any time.
  defp enter(%{draining: true} = state), do: state

  defp enter(state) do
    monitor = Cluster.monitor()
    :ok = Cluster.join(state.settings.name, self(), state.counters, description(state))
    %{state | entered: monitor}
  catch
    :exit, _not_running ->
      Process.send_after(self(), :enter, @again)
      state
  end

  # The description that any process can read without a call to this one.
  defp description(state) do
    %{
      name: state.settings.name,
      model: Engine.name(state.engine),
      limit: state.settings.queue,
      replicas: state.settings.replicas
    }
  end

  defp start_replica(state, index) do
    about = %{serving: state.settings.name, node: node(), replica: index}
    {:ok, pid} = Replica.start_link(about)
    if state.engine, do: Replica.use_engine(pid, state.engine)
    replica = %{pid: pid, batch: nil}
    %{state | replicas: Map.put(state.replicas, index, replica), idle: state.idle ++ [index]}
  end

  defp use_engine(state, engine) do
    for {_index, replica} <- state.replicas, do: Replica.use_engine(replica.pid, engine)
    queue = Queue.map(state.queue, &%{&1 | kind: Engine.kind(engine, &1.input)})
    %{state | engine: engine, queue: queue, times: engine.times}
  end

  @impl true
  def handle_call(:info, _from, state), do: {:reply, info(state), state}

  def handle_call({:replace, opts}, from, state) do
    settings = Settings.replace!(state.settings, opts)
    {:noreply, load_next(%{state | replacements: state.replacements ++ [{from, settings}]})}
  rescue
    error in ArgumentError -> {:reply, {:raise, error}, state}
  end

  # Replacements take effect in the order they were asked for.
  defp load_next(%{loader: nil, replacements: [{from, settings} | rest]} = state) do
    server = self()

    {pid, monitor} =
      spawn_monitor(fn ->
        # Loading ends with the serving.
        Process.link(server)
        send(server, {:loaded, self(), Engine.load(settings)})
        Process.unlink(server)
      end)

    %{state | loader: {pid, monitor, from, settings}, replacements: rest}
  end

  defp load_next(state), do: state

  @impl true
  def handle_info({:request, ref, from, input, left, priority, key}, state) do
    Counters.add(state.counters, :received)
    {:noreply, state |> admit(ref, from, input, left, priority, key) |> dispatch(), @idle}
  end

  def handle_info({:cancel, ref}, state) do
    case Queue.cancel(state.queue, ref) do
      {nil, _queue} -> {:noreply, state, @idle}
      {entry, queue} -> {:noreply, cancelled(%{state | queue: queue}, entry), @idle}
    end
  end

  def handle_info({:batch_done, index, id, duration, outcomes}, state) do
    case state.replicas do
      %{^index => %{batch: %{id: ^id} = batch} = replica} ->
        state
        |> finished(batch, duration, outcomes)
        |> then(&put_in(&1.replicas[index], %{replica | batch: nil}))
        |> then(&%{&1 | idle: &1.idle ++ [index]})
        |> release(batch.engine)
        |> dispatch()
        |> then(&{:noreply, &1, @idle})

      _another_batch ->
        {:noreply, state, @idle}
    end
  end

  def handle_info(:delay_over, state),
    do: {:noreply, dispatch(%{state | timer: nil}), @idle}

  def handle_info({:loaded, pid, result}, %{loader: {pid, monitor, from, settings}} = state) do
    Process.demonitor(monitor, [:flush])
    state = %{state | loader: nil}

    state =
      case result do
        {:ok, engine} ->
          old = state.engine
          state = %{use_engine(state, engine) | settings: settings} |> release(old)
          Cluster.describe(self(), description(state))
          GenServer.reply(from, :ok)
          state

        {:error, error} ->
          GenServer.reply(from, {:error, error})
          state
      end

    {:noreply, state |> load_next() |> dispatch(), @idle}
  end

  def handle_info({:DOWN, monitor, _, _, _reason}, %{entered: monitor} = state),
    do: {:noreply, enter(state), @idle}

  def handle_info(:enter, state), do: {:noreply, enter(state), @idle}

  def handle_info({:DOWN, monitor, _, _, reason}, %{loader: {_, monitor, from, _}} = state) do
    GenServer.reply(
      from,
      {:error, Failure.crashed(state.settings, "the process that loaded the replacement", reason)}
    )

    {:noreply, load_next(%{state | loader: nil}), @idle}
  end

  def handle_info({:EXIT, pid, reason}, state) do
    case Enum.find(state.replicas, fn {_index, replica} -> replica.pid == pid end) do
      {index, replica} -> {:noreply, state |> replica_lost(index, replica, reason) |> dispatch()}
      nil -> {:noreply, state, @idle}
    end
  end

  # Garbage that refers to inputs is not kept while nothing happens.
  def handle_info(:timeout, state) do
    :erlang.garbage_collect()
    {:noreply, state}
  end

  def handle_info(_other, state), do: {:noreply, state, @idle}

  # A supervisor ends this process by an exit signal, which the trap turns into a call of this. What
  # is in the queue is done first, for as long as `drain:` allows; a request that comes now is sent
  # elsewhere by its client.
  @impl true
  def terminate(reason, state) when reason in [:normal, :shutdown], do: stop(state)
  def terminate({:shutdown, _why}, state), do: stop(state)
  # Clients notice that a process has crashed by themselves.
  def terminate(_crash, _state), do: leave()

  defp stop(state) do
    leave()
    deadline = System.monotonic_time(:millisecond) + state.settings.drain
    state = drain(dispatch(%{state | draining: true}), deadline)

    for entry <- Queue.entries(state.queue),
        do: refuse(entry.ref, Failure.stopping(state.settings))

    for {_index, %{batch: %{entries: entries}}} <- state.replicas, entry <- entries do
      refuse(entry.ref, Failure.stopping(state.settings))
    end

    if busy?(state), do: :ok, else: Engine.close(state.engine)
  end

  defp leave do
    Cluster.leave(self())
  catch
    :exit, _not_running -> :ok
  end

  defp drain(state, deadline) do
    left = deadline - System.monotonic_time(:millisecond)

    if left > 0 and (Queue.size(state.queue) > 0 or busy?(state)) do
      receive do
        {:request, ref, _from, _input, _left, _priority, _key} ->
          Counters.result(state.counters, :stopping)
          refuse(ref, Failure.stopping(state.settings))
          drain(state, deadline)

        {:"$gen_call", from, _request} ->
          GenServer.reply(from, {:error, Failure.stopping(state.settings)})
          drain(state, deadline)

        message ->
          message |> handle_info(state) |> elem(1) |> drain(deadline)
      after
        left -> state
      end
    else
      state
    end
  end

  defp busy?(state), do: Enum.any?(state.replicas, fn {_index, replica} -> replica.batch end)

  defp admit(state, ref, from, input, left, priority, key) do
    now = System.monotonic_time()

    entry = %Entry{
      ref: ref,
      from: from,
      input: input,
      kind: Engine.kind(state.engine, input),
      rank: Entry.rank(priority),
      key: key,
      lane: lane(key, state.settings.replicas),
      since: now,
      deadline: deadline(now, left)
    }

    case Queue.push(state.queue, entry, now) do
      {:ok, queue, dropped} ->
        tell(:start, fn ->
          counts = %{queue_length: Queue.size(queue) - 1}
          {Map.merge(Telemetry.times(now), counts), metadata(state, entry)}
        end)

        dropped(%{state | queue: queue}, dropped)

      {:full, queue, dropped} ->
        state = dropped(%{state | queue: queue}, dropped)
        answered(state, entry, :overloaded, 0, now)
        refuse(ref, Failure.overloaded(state.settings))
        state
    end
  end

  defp lane(nil, _replicas), do: :any
  defp lane({:key, key}, replicas), do: :erlang.phash2(key, replicas)

  defp deadline(_now, :infinity), do: :infinity

  defp deadline(now, milliseconds),
    do: now + System.convert_time_unit(milliseconds, :millisecond, :native)

  # Gives batches to replicas that have none, until they all have one or nothing waits for them.
  defp dispatch(state) do
    state.idle
    |> Enum.reduce(%{state | idle: []}, &feed(&2, &1))
    |> publish()
  end

  defp feed(state, index) do
    now = System.monotonic_time()
    most = Engine.most(state.engine)
    {entries, dropped, queue} = Queue.collect(state.queue, index, most, now)
    state = dropped(%{state | queue: queue}, dropped)

    cond do
      entries == [] -> %{state | idle: state.idle ++ [index]}
      left = wait(state, entries, most, now) -> sleep(state, index, left)
      true -> start_batch(state, index, limit(state, entries, now), now)
    end
  end

  # How many milliseconds a batch that is not full waits for more, or nil.
  defp wait(%{settings: %{delay: delay}, draining: false}, entries, most, now)
       when delay > 0 and length(entries) < most do
    oldest = entries |> Enum.map(& &1.since) |> Enum.min()
    age = System.convert_time_unit(now - oldest, :native, :millisecond)
    if age < delay, do: delay - age
  end

  defp wait(_state, _entries, _most, _now), do: nil

  defp sleep(state, index, left) do
    timer = state.timer || Process.send_after(self(), :delay_over, left)
    %{state | timer: timer, idle: state.idle ++ [index]}
  end

  # As many as a plan is ready for and, where there is a goal for latency, as the time of such a
  # batch allows: the first request has waited for some of it already.
  defp limit(state, entries, now) do
    count = Engine.fit(state.engine, length(entries))
    Enum.take(entries, within_goal(state, count, hd(entries).since, now))
  end

  defp within_goal(%{settings: %{goal: nil}}, count, _since, _now), do: count
  defp within_goal(_state, 1, _since, _now), do: 1

  defp within_goal(%{settings: %{goal: goal}} = state, count, since, now) do
    left = System.convert_time_unit(goal, :millisecond, :native) - (now - since)

    if Map.get(state.times, count, 0) <= left do
      count
    else
      within_goal(state, Engine.fit(state.engine, count - 1), since, now)
    end
  end

  defp start_batch(state, index, entries, now) do
    replica = Map.fetch!(state.replicas, index)
    queue = Queue.remove(state.queue, entries)
    id = make_ref()
    :ok = Replica.run(replica.pid, id, entries, Queue.size(queue))
    batch = %{id: id, entries: entries, engine: state.engine, started: now}
    put_in(%{state | queue: queue}.replicas[index], %{replica | batch: batch})
  end

  defp finished(state, batch, duration, outcomes) do
    size = length(batch.entries)
    Counters.size(state.counters, size)
    Counters.time(state.counters, :batch_time, duration)

    for {entry, outcome} <- Enum.zip(batch.entries, outcomes),
        do: answered(state, entry, outcome, size, batch.started)

    %{state | times: Map.update(state.times, size, duration, &div(7 * &1 + duration, 8))}
  end

  # An engine is given back when it is not the present one, and no batch runs on it.
  defp release(%{engine: %{id: id}} = state, %{id: id}), do: state

  defp release(state, %{id: id} = engine) do
    used =
      Enum.any?(state.replicas, fn {_, %{batch: batch}} -> batch && batch.engine.id == id end)

    unless used, do: spawn(fn -> Engine.close(engine) end)
    state
  end

  defp replica_lost(state, index, replica, reason) do
    state = %{state | idle: List.delete(state.idle, index)}
    state = start_replica(state, index)

    case replica.batch do
      nil ->
        state

      batch ->
        {again, failed} = Enum.split_with(batch.entries, &(&1.lost == 0))

        for entry <- failed do
          error = Failure.crashed(state.settings, "the replica that ran this request", reason)

          answered(
            state,
            entry,
            {:crashed, {:exit, reason, []}},
            length(batch.entries),
            batch.started
          )

          Wire.reply(entry.ref, {:answer, {:error, error}})
        end

        again = Enum.map(again, &%{&1 | lost: 1, kind: Engine.kind(state.engine, &1.input)})

        release(%{state | queue: Queue.restore(state.queue, again)}, batch.engine)
    end
  end

  defp dropped(state, []), do: state

  defp dropped(state, dropped) do
    now = System.monotonic_time()

    for {entry, reason} <- dropped do
      answered(state, entry, reason, 0, now)

      case reason do
        :overloaded -> refuse(entry.ref, Failure.overloaded(state.settings))
        :deadline -> Wire.reply(entry.ref, {:answer, {:error, Failure.late(state.settings)}})
        :cancelled -> :ok
      end
    end

    state
  end

  defp cancelled(state, entry), do: state |> dropped([{entry, :cancelled}]) |> publish()

  defp answered(state, entry, outcome, size, started) do
    now = System.monotonic_time()
    result = if is_tuple(outcome), do: :crashed, else: outcome
    Counters.result(state.counters, result)

    if size > 0 do
      Counters.time(state.counters, :duration, now - entry.since)
      Counters.time(state.counters, :queue_time, started - entry.since)
    end

    measurements = fn ->
      %{
        duration: now - entry.since,
        monotonic_time: now,
        queue_time: started - entry.since,
        queue_length: Queue.size(state.queue),
        batch_size: size
      }
    end

    case outcome do
      {:crashed, {kind, reason, stacktrace}} ->
        failure = %{kind: kind, reason: reason, stacktrace: stacktrace}
        tell(:exception, fn -> {measurements.(), Map.merge(metadata(state, entry), failure)} end)

      _result ->
        tell(:stop, fn ->
          {measurements.(), Map.put(metadata(state, entry), :result, result)}
        end)
    end
  end

  defp tell(what, event), do: Telemetry.execute_lazily(@prefix ++ [what], event)

  defp metadata(state, entry) do
    key = with {:key, key} <- entry.key, do: key
    %{serving: state.settings.name, node: node(), priority: Entry.priority(entry), key: key}
  end

  # Others read how loaded this serving is.
  defp publish(state) do
    running =
      for {_index, %{batch: %{entries: entries}}} <- state.replicas, reduce: 0 do
        sum -> sum + length(entries)
      end

    Counters.put(state.counters, :waiting, Queue.size(state.queue))
    Counters.put(state.counters, :running, running)
    state
  end

  defp refuse(ref, error), do: Wire.reply(ref, {:refused, error})

  defp info(state) do
    ms = fn native -> System.convert_time_unit(native, :native, :microsecond) / 1000 end

    %{
      name: state.settings.name,
      node: node(),
      model: Engine.name(state.engine),
      waiting: Queue.size(state.queue),
      running: Counters.get(state.counters, :running),
      queue: state.settings.queue,
      replicas: state.settings.replicas,
      batch: %{
        max: Engine.most(state.engine),
        sizes: state.engine.sizes,
        delay: state.settings.delay,
        goal: state.settings.goal,
        milliseconds: Map.new(state.times, fn {size, time} -> {size, ms.(time)} end)
      },
      received: Counters.get(state.counters, :received),
      results: Counters.results(state.counters),
      batches: Counters.batches(state.counters),
      replacing: state.loader != nil
    }
  end
end
