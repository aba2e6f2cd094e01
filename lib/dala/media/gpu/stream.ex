defmodule Dala.Media.Gpu.Stream do
  @moduledoc """
  A supervised stream of frames.

      children = [
        {Dala.Media.Gpu.Stream, name: MyApp.Camera, size: {640, 480}, on_overload: :drop_oldest}
      ]

      Supervisor.start_link(children, strategy: :one_for_one)
      Dala.Media.Gpu.process_frame(MyApp.Camera, rgba, [:grayscale])

  The functions of `Dala.Media.Gpu` that take a context also accept the name. After a restart, a
  stream has an empty queue and new statistics. While it is not running, calls raise the error
  `:freed`, and so does `Dala.Media.Gpu.process_frame/3` for a frame in progress. For a frame
  submitted by `Dala.Media.Gpu.process_frame_async/3`, the error arrives as a message if the stream
  is shut down; no message arrives if it is killed.

  `Dala.Media.Gpu.start_pipeline/3` starts a stream that belongs to the calling process instead.

  ## Options

    * `:size` - `{width, height}` of the frames in pixels, required
    * `:name` - a name for the process: an atom, `{:global, term}` or `{:via, module, term}`; none
      by default
    * `:id` - the id of the child specification, by default the name, or this module
    * all options of `Dala.Media.Gpu.start_pipeline/3`
  """

  # The process has one frame on the device and a bounded queue of frames behind it. It never waits:
  # completion of a frame arrives as a message. A stream started by start_pipeline/3 is linked to
  # its owner and traps exits, so that it stops when the owner exits, for whatever reason; its
  # supervisor does not restart it.

  use GenServer

  alias Dala.Gpu.Compute.{Argument, Error, Native, Runtime, Server}
  alias Dala.Media.Gpu.{Chain, Context, Streams, Timing}
  alias Dala.Media.Gpu.Stream.Settings

  # The number of cached chains, most recently used first. Most streams switch between few chains.
  @chains 8

  @type policy :: :wait | :drop_oldest | :drop_newest
  @type result :: {:ok, binary()} | :dropped | {:error, Error.t()}

  defmodule Job do
    @moduledoc false
    # `reply` is where the result goes; `entry` is the caller to answer once the job is queued.
    @enforce_keys [:frame, :filters, :reply, :since]
    defstruct [:frame, :filters, :reply, :since, entry: nil]
  end

  @doc """
  Returns the child specification of a stream; see the options above.

  ## Example

      iex> Dala.Media.Gpu.Stream.child_spec(name: MyApp.Camera, size: {640, 480}).id
      MyApp.Camera
  """
  @spec child_spec(keyword()) :: Supervisor.child_spec()
  def child_spec(opts) do
    {id, opts} = Keyword.pop(opts, :id, opts[:name] || __MODULE__)
    %{id: id, start: {__MODULE__, :start_link, [opts]}}
  end

  @doc """
  Starts a stream linked to the calling process, usually a supervisor; see the options above.

  ## Example

      iex> {:ok, stream} = Dala.Media.Gpu.Stream.start_link(size: {1, 1})
      iex> Dala.Media.Gpu.process_frame(stream, <<255, 0, 0, 9>>, [:grayscale])
      <<76, 76, 76, 9>>
  """
  @spec start_link(keyword()) :: {:ok, pid()} | {:error, Error.t() | {:already_started, pid()}}
  def start_link(opts) do
    {own, opts} = opts |> Argument.keyword!() |> Keyword.split([:name, :size])

    case own[:size] do
      {width, height} ->
        settings = Settings.new!(width, height, opts)
        name = Keyword.take(own, [:name])
        with :ok <- Runtime.ensure(), do: GenServer.start_link(__MODULE__, {settings, nil}, name)

      other ->
        Argument.refuse!("size: {width, height} of the frames", other)
    end
  end

  @doc false
  # Starts a stream that stops when its owner exits.
  @spec create(pid(), term(), term(), keyword()) :: {:ok, Context.t()} | {:error, Error.t()}
  def create(owner, width, height, opts) do
    settings = Settings.new!(width, height, opts)

    with :ok <- Runtime.ensure(),
         {:ok, pid} <-
           Dala.Gpu.Supervisor.start_temporary(Streams, __MODULE__, [settings, owner]) do
      {:ok, context(pid, settings.frame)}
    end
  end

  @doc false
  @spec start_link(Settings.t(), pid()) :: GenServer.on_start()
  def start_link(settings, owner), do: GenServer.start_link(__MODULE__, {settings, owner})

  @doc false
  # The context of a stream, given its pid or name.
  @spec context(GenServer.server()) :: {:ok, Context.t()} | {:error, Error.t()}
  def context(stream) do
    with {:ok, frame} <- call(stream, :frame), do: {:ok, context(stream, frame)}
  end

  defp context(stream, %{size: {width, height}, from: format}),
    do: %Context{pid: stream, width: width, height: height, format: format}

  @doc false
  # Queues a frame and waits for its result.
  @spec process(GenServer.server(), binary(), [{atom(), map()}]) :: result()
  def process(stream, frame, filters), do: call(stream, {:process, frame, filters})

  @doc false
  # Queues a frame as soon as the policy allows it; the result arrives as a message.
  @spec process_async(GenServer.server(), binary(), [{atom(), map()}]) ::
          {:ok, reference()} | {:error, Error.t()}
  def process_async(stream, frame, filters) do
    ref = make_ref()

    with :ok <- call(stream, {:process_async, frame, filters, {self(), ref}}), do: {:ok, ref}
  end

  @doc false
  @spec stats(GenServer.server()) :: {:ok, map()} | {:error, Error.t()}
  def stats(stream), do: call(stream, :stats)

  @doc false
  @spec stop(GenServer.server()) :: :ok
  def stop(stream), do: Server.stop(stream, __MODULE__, "stream")

  defp call(stream, request), do: Server.call(stream, __MODULE__, "stream", request)

  # The process

  @impl true
  def init({settings, owner}) do
    Process.flag(:trap_exit, true)
    if owner, do: Process.link(owner)

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

  def handle_call(:frame, _from, state), do: {:reply, {:ok, state.frame}, state}

  def handle_call(:stats, _from, state) do
    kernels = Error.value!(Native.profile_read(state.profile))
    {:reply, {:ok, Timing.report(state.timing, kernels, :queue.len(state.queue))}, state}
  end

  # A model among the filters has been prepared for frames of this size.
  @impl true
  def handle_info({ref, result}, %{running: {ref, chain, job}} = state) do
    result = with :ok <- result, do: {:ok, Chain.result(chain)}
    state = advance(%{finish(state, job, result) | running: nil})
    # References to frames in this process would keep their memory from being reused.
    :erlang.garbage_collect()
    {:noreply, state}
  end

  def handle_info({:EXIT, owner, reason}, %{owner: owner} = state) when owner != nil do
    {:stop, {:shutdown, reason}, state}
  end

  def handle_info(_other, state), do: {:noreply, state}

  @impl true
  def terminate(_reason, state) do
    stopped = {:error, %Error{reason: :freed, message: "the stream has been stopped"}}

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

  # Queues a new frame, or applies the policy if the queue is full.
  defp admit(state, job) do
    cond do
      :queue.len(state.queue) < state.room ->
        enter(job)
        %{state | queue: :queue.in(%{job | entry: nil}, state.queue)}

      state.running == nil and :queue.is_empty(state.queue) ->
        # The queue has length 0: start the frame directly.
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

  # Starts the next frame if none is running, and admits callers that wait for room.
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
        {:ok, _id} -> %{state | running: {ref, chain, job}}
        {:error, _error} = refused -> finish(state, job, refused)
      end
    else
      {:error, _error} = refused -> finish(state, job, refused)
    end
  end

  # Returns the chain for these filters, created or adapted if necessary, and moves it to the front.
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
