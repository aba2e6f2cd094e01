defmodule Dala.Media.Gpu.Stream do
  @moduledoc false
  # The process behind a `Dala.Media.Gpu.Context`. It has one frame on the device and a bounded
  # queue of frames behind it, and never waits: the device tells it by message that a frame is done.
  # It ends with the process that started it, and its memory with it.

  use GenServer

  alias Dala.Gpu.Compute.{Command, Error, Native}
  alias Dala.Media.Gpu.{Chain, Timing}

  # Chains kept ready, the latest first. A stream has one list of filters, or switches among a few.
  @chains 8

  @type policy :: :wait | :drop_oldest | :drop_newest
  @type result :: {:ok, binary()} | :dropped | {:error, Error.t()}

  defmodule Job do
    @moduledoc false
    # `reply` takes the result. Whoever waits for room in the queue is in `entry`.
    @enforce_keys [:frame, :filters, :reply, :since]
    defstruct [:frame, :filters, :reply, :since, entry: nil]
  end

  # The caller's side

  @spec start_link(map()) :: GenServer.on_start()
  def start_link(settings), do: GenServer.start_link(__MODULE__, {settings, self()})

  @doc "Queues a frame and waits for its result."
  @spec process(pid(), binary(), [{atom(), map()}]) :: result()
  def process(stream, frame, filters), do: call(stream, {:process, frame, filters})

  @doc "Queues a frame, as soon as the policy lets it; the result comes as a message."
  @spec process_async(pid(), binary(), [{atom(), map()}]) ::
          {:ok, reference()} | {:error, Error.t()}
  def process_async(stream, frame, filters) do
    ref = make_ref()

    with :ok <- call(stream, {:process_async, frame, filters, {self(), ref}}), do: {:ok, ref}
  end

  @spec stats(pid()) :: {:ok, map()} | {:error, Error.t()}
  def stats(stream), do: call(stream, :stats)

  @spec stop(pid()) :: :ok
  def stop(stream) do
    GenServer.stop(stream)
  catch
    :exit, _gone -> :ok
  end

  defp call(stream, request) do
    GenServer.call(stream, request, :infinity)
  catch
    :exit, {reason, _call} when reason in [:noproc, :normal, :shutdown] ->
      {:error, %Error{reason: :freed, message: "the pipeline has been stopped"}}
  end

  # The process

  @impl true
  def init({settings, owner}) do
    Process.monitor(owner)

    {:ok,
     %{
       frame: settings.frame,
       policy: settings.on_overload,
       room: settings.queue,
       owner: owner,
       chains: [],
       profile: Native.profile_new(),
       running: nil,
       queue: :queue.new(),
       waiting: :queue.new(),
       timing: Timing.new()
     }}
  end

  @impl true
  def handle_call({:process, frame, filters}, from, state) do
    job = %Job{frame: frame, filters: filters, reply: {:call, from}, since: now()}
    {:noreply, state |> admit(job) |> advance()}
  end

  def handle_call({:process_async, frame, filters, target}, from, state) do
    job = %Job{
      frame: frame,
      filters: filters,
      reply: {:message, target},
      since: now(),
      entry: from
    }

    {:noreply, state |> admit(job) |> advance()}
  end

  def handle_call(:stats, _from, state) do
    kernels = Error.value!(Native.profile_read(state.profile))
    {:reply, {:ok, Timing.report(state.timing, kernels, :queue.len(state.queue))}, state}
  end

  # A model among the filters has been made ready for frames of this size.
  @impl true
  def handle_info({ref, _result}, %{running: {ref, :preparing, job}} = state) do
    {:noreply, advance(start(%{state | running: nil}, job))}
  end

  def handle_info({ref, result}, %{running: {ref, chain, job}} = state) do
    result = with :ok <- result, do: {:ok, Chain.result(chain)}
    state = advance(%{finish(state, job, result) | running: nil})
    # What this process still holds of the frames keeps their memory from being used again.
    :erlang.garbage_collect()
    {:noreply, state}
  end

  # The device had no room for another command, and now has.
  def handle_info({:retry, ref, _done}, %{running: {ref, _chain, job}} = state) do
    {:noreply, advance(start(%{state | running: nil}, job))}
  end

  def handle_info({:DOWN, _monitor, :process, owner, _reason}, %{owner: owner} = state) do
    {:stop, :normal, state}
  end

  def handle_info(_other, state), do: {:noreply, state}

  @impl true
  def terminate(_reason, state) do
    stopped = {:error, %Error{reason: :freed, message: "the pipeline has been stopped"}}

    running =
      case state.running do
        {_ref, _chain, job} -> [job]
        nil -> []
      end

    for job <- running ++ :queue.to_list(state.queue) ++ :queue.to_list(state.waiting) do
      enter(job)
      answer(job, stopped)
    end

    Enum.each(state.chains, &Chain.free/1)
  end

  # A frame that has come: onto the queue, or what the policy says when that is full.
  defp admit(state, job) do
    cond do
      :queue.len(state.queue) < state.room ->
        enter(job)
        %{state | queue: :queue.in(%{job | entry: nil}, state.queue)}

      state.running == nil and :queue.is_empty(state.queue) ->
        # No queue at all: straight to the device.
        enter(job)
        start(state, %{job | entry: nil})

      state.policy == :wait ->
        %{state | waiting: :queue.in(job, state.waiting)}

      state.policy == :drop_newest or state.room == 0 ->
        enter(job)
        finish(state, job, :dropped)

      state.policy == :drop_oldest ->
        {{:value, oldest}, queue} = :queue.out(state.queue)
        admit(%{finish(state, oldest, :dropped) | queue: queue}, job)
    end
  end

  # Starts the next frame when the device has none of ours, and lets those in that wait for room.
  defp advance(%{running: nil} = state) do
    case :queue.out(state.queue) do
      {{:value, job}, queue} -> %{state | queue: queue} |> start(job) |> let_in() |> advance()
      {:empty, _queue} -> let_in_first(state)
    end
  end

  defp advance(state), do: state

  defp let_in(state) do
    with true <- :queue.len(state.queue) < state.room,
         {{:value, job}, waiting} <- :queue.out(state.waiting) do
      let_in(admit(%{state | waiting: waiting}, job))
    else
      _ -> state
    end
  end

  defp let_in_first(state) do
    case :queue.out(state.waiting) do
      {{:value, job}, waiting} -> advance(admit(%{state | waiting: waiting}, job))
      {:empty, _waiting} -> state
    end
  end

  defp start(state, job) do
    ref = make_ref()

    with {:ok, chain, state} <- chain(state, job.filters) do
      case Chain.start(chain, job.frame, ref, state.profile) do
        {:ok, _id} ->
          %{state | running: {ref, chain, job}}

        {:full, id} ->
          wait_for(id, ref)
          %{state | running: {ref, chain, job}}

        {:wait, ready} ->
          %{state | running: {ready, :preparing, job}}

        {:error, _error} = refused ->
          finish(state, job, refused)
      end
    else
      {:error, _error} = refused -> finish(state, job, refused)
    end
  end

  # Somebody else waits for the command, so that this process does not.
  defp wait_for(id, ref) do
    stream = self()
    spawn(fn -> send(stream, {:retry, ref, Command.wait(id)}) end)
  end

  # The chain for these filters, made or adapted if need be, and first in line from now on.
  defp chain(state, filters) do
    case Enum.find(state.chains, &(&1.filters == filters)) do
      nil -> adapted(state, filters)
      chain -> {:ok, chain, first(state, chain, chain)}
    end
  end

  defp adapted(state, filters) do
    Enum.find_value(state.chains, fn chain ->
      case Chain.adapt(chain, filters) do
        {:ok, adapted} -> {:ok, adapted, first(state, chain, adapted)}
        :differs -> nil
        {:error, _error} = failed -> failed
      end
    end) || made(state, filters)
  end

  defp made(state, filters) do
    with {:ok, chain} <- Chain.new(state.frame, filters) do
      {kept, surplus} = Enum.split([chain | state.chains], @chains)
      Enum.each(surplus, &Chain.free/1)
      {:ok, chain, %{state | chains: kept}}
    end
  end

  defp first(state, before, chain),
    do: %{state | chains: [chain | List.delete(state.chains, before)]}

  defp finish(state, job, result) do
    answer(job, result)
    %{state | timing: Timing.count(state.timing, result, now() - job.since)}
  end

  defp enter(%Job{entry: nil}), do: :ok
  defp enter(%Job{entry: from}), do: GenServer.reply(from, :ok)

  defp answer(%Job{reply: {:call, from}}, result), do: GenServer.reply(from, result)

  defp answer(%Job{reply: {:message, {pid, ref}}}, result),
    do: send(pid, {:dala_media_frame, ref, result})

  defp now, do: System.monotonic_time(:microsecond)
end
