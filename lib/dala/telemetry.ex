defmodule Dala.Telemetry do
  @moduledoc """
  Events of the library, for metrics, logs and traces.

      Dala.Telemetry.attach("slow batches", [:dala, :serving, :batch, :stop], fn
        _event, %{duration: duration, batch_size: size}, %{serving: serving}, _config ->
          ms = System.convert_time_unit(duration, :native, :millisecond)
          if ms > 50, do: IO.puts("\#{inspect(serving)}: \#{size} requests took \#{ms} ms")
      end)

  Every event goes to the handlers attached here, and to those of the package `:telemetry` where a
  program has loaded it; `:telemetry.attach/4` takes the same names. A handler is called in the
  process that the event happens in, with the event, its measurements, its metadata, and the term
  that it was attached with. A handler that raises, throws or exits is detached, and logged.

  Durations and times are in native time units (`System.convert_time_unit/3`). While neither kind of
  handler can exist, an event costs a look at a persistent term.

  The [guide](serving.md) has a table of all events, which is also what `events/0` gives.
  """

  @key {__MODULE__, :handlers}

  @type event :: [atom(), ...]
  @type handler_id :: term()
  @type handler :: (event(), measurements :: map(), metadata :: map(), config :: term() -> term())
  @type description :: %{
          event: event(),
          when: String.t(),
          measurements: [atom()],
          metadata: [atom()]
        }

  @times [:system_time, :monotonic_time]
  @ended [:duration, :monotonic_time]
  @failure [:kind, :reason, :stacktrace]
  @request [:serving, :node, :priority, :key]
  @batch [:serving, :node, :model, :replica]
  @command [:op, :name]
  @build [:kind, :name]

  @events [
    {[:dala, :serving, :request, :start], "a serving has taken a request into its queue",
     @times ++ [:queue_length], @request},
    {[:dala, :serving, :request, :stop],
     "a request was answered, refused, or dropped because it was late or cancelled",
     @ended ++ [:queue_time, :queue_length, :batch_size], @request ++ [:result]},
    {[:dala, :serving, :request, :exception],
     "the function or the replica that ran a request has crashed",
     @ended ++ [:queue_time, :queue_length, :batch_size], @request ++ @failure},
    {[:dala, :serving, :batch, :start], "a replica starts a batch",
     @times ++ [:batch_size, :queue_length], @batch},
    {[:dala, :serving, :batch, :stop], "a batch is done, every request of it answered",
     @ended ++ [:batch_size, :queue_length], @batch ++ [:result]},
    {[:dala, :serving, :batch, :exception], "the function of a serving has crashed",
     @ended ++ [:batch_size, :queue_length], @batch ++ @failure},
    {[:dala, :command, :start], "a process starts a command and waits for it", @times, @command},
    {[:dala, :command, :stop], "the command is done, or has failed", @ended,
     @command ++ [:result]},
    {[:dala, :command, :exception], "the call has raised", @ended, @command ++ @failure},
    {[:dala, :command, :submit], "a command was handed over by `submit/2`", [:system_time],
     @command ++ [:id]},
    {[:dala, :program, :build, :start], "a kernel of a user is compiled, or a model is loaded",
     @times, @build},
    {[:dala, :program, :build, :stop], "the kernel is there or refused, the model loaded or not",
     @ended, @build ++ [:result]},
    {[:dala, :program, :build, :exception], "the call has raised", @ended, @build ++ @failure},
    {[:dala, :memory], "every 10 seconds once the device runs, while somebody listens",
     [:in_use, :peak, :pooled, :limit, :shared], []},
    {[:dala, :device, :lost],
     "the device does not answer any more, or the VM of an isolated one has ended",
     [:system_time], [:reason, :message]}
  ]

  @doc """
  Calls the function at every such event until `detach/1`.

  An id that is attached already is `{:error, :already_exists}`.

  ## Example

      iex> parent = self()
      iex> tell = fn event, _measurements, metadata, _config -> send(parent, {event, metadata}) end
      iex> Dala.Telemetry.attach("doc", [:dala, :command, :stop], tell)
      :ok
      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> Dala.Gpu.Compute.relu(a, a)
      iex> receive do
      ...>   {[:dala, :command, :stop], %{name: "relu"} = metadata} -> metadata
      ...> end
      %{op: :run_kernel, name: "relu", result: :ok}
      iex> Dala.Telemetry.detach("doc")
      :ok
  """
  @spec attach(handler_id(), event(), handler(), term()) :: :ok | {:error, :already_exists}
  def attach(id, event, handler, config \\ nil), do: attach_many(id, [event], handler, config)

  @doc """
  Calls the function at each of several events.

  ## Example

      iex> events = [[:dala, :command, :start], [:dala, :command, :stop]]
      iex> Dala.Telemetry.attach_many("doc many", events, fn _, _, _, _ -> :ok end)
      :ok
      iex> Dala.Telemetry.attach_many("doc many", events, fn _, _, _, _ -> :ok end)
      {:error, :already_exists}
      iex> Dala.Telemetry.detach("doc many")
      :ok
  """
  @spec attach_many(handler_id(), [event()], handler(), term()) ::
          :ok | {:error, :already_exists}
  def attach_many(id, events, handler, config \\ nil) do
    unless is_list(events) and Enum.all?(events, &event?/1) do
      raise ArgumentError,
            "expected an event as a list of atoms, such as [:dala, :memory], got: " <>
              inspect(events)
    end

    unless is_function(handler, 4) do
      raise ArgumentError,
            "expected a function of event, measurements, metadata and config, got: " <>
              inspect(handler)
    end

    change(fn handlers ->
      if attached?(handlers, id) do
        {{:error, :already_exists}, handlers}
      else
        entry = {id, handler, config}

        {:ok,
         Enum.reduce(events, handlers, &Map.update(&2, &1, [entry], fn l -> l ++ [entry] end))}
      end
    end)
  end

  @doc """
  Ends what `attach/4` or `attach_many/4` began; an id that is not attached is an error.

  ## Example

      iex> Dala.Telemetry.detach("never attached")
      {:error, :not_found}
  """
  @spec detach(handler_id()) :: :ok | {:error, :not_found}
  def detach(id) do
    change(fn handlers ->
      if attached?(handlers, id),
        do: {:ok, without(handlers, id)},
        else: {{:error, :not_found}, handlers}
    end)
  end

  @doc """
  Describes every event: when it happens, its measurements and its metadata.

  ## Example

      iex> [%{measurements: measurements}] =
      ...>   Enum.filter(Dala.Telemetry.events(), &(&1.event == [:dala, :memory]))
      iex> :in_use in measurements
      true
  """
  @spec events() :: [description()]
  def events do
    for {event, occasion, measurements, metadata} <- @events,
        do: %{event: event, when: occasion, measurements: measurements, metadata: metadata}
  end

  @doc """
  Tells whether a handler may be attached to an event.

  It is true of every event while the package `:telemetry` is loaded.

  ## Example

      iex> Dala.Telemetry.attach("doc listening", [:dala, :memory], fn _, _, _, _ -> :ok end)
      iex> Dala.Telemetry.listening?([:dala, :memory])
      true
      iex> Dala.Telemetry.detach("doc listening")
      :ok
  """
  @spec listening?(event()) :: boolean()
  def listening?(event) do
    case :persistent_term.get(@key, nil) do
      nil -> loaded?()
      handlers -> is_map_key(handlers, event) or loaded?()
    end
  end

  @doc """
  Reports an event.

  ## Example

      iex> Dala.Telemetry.execute([:my_app, :started], %{system_time: System.system_time()}, %{})
      :ok
  """
  @spec execute(event(), map(), map()) :: :ok
  def execute(event, measurements, metadata) do
    case :persistent_term.get(@key, nil) do
      %{^event => handlers} -> Enum.each(handlers, &call(&1, event, measurements, metadata))
      _none -> :ok
    end

    if loaded?(), do: apply(:telemetry, :execute, [event, measurements, metadata])
    :ok
  end

  @doc false
  # As execute/3, for measurements and metadata that are worth computing only if a handler may exist.
  @spec execute_lazily(event(), (() -> {map(), map()})) :: :ok
  def execute_lazily(event, fun) do
    if active?() do
      {measurements, metadata} = fun.()
      execute(event, measurements, metadata)
    else
      :ok
    end
  end

  @doc """
  Runs a function between the events `start` and `stop` of a prefix, or `exception` when it raises.

  `result` in the metadata of `stop` is `:ok`, or the reason of the error that the function gave.

  ## Example

      iex> Dala.Telemetry.span([:my_app, :work], %{name: "sum"}, fn -> {:ok, 1 + 2} end)
      {:ok, 3}
  """
  @spec span(event(), map(), (() -> result)) :: result when result: var
  def span(prefix, metadata, fun) do
    if active?(), do: observed(prefix, metadata, fun), else: fun.()
  end

  @doc "Tells whether any handler may be attached at all, without a look at an event."
  @spec active?() :: boolean()
  def active?, do: :persistent_term.get(@key, nil) != nil or loaded?()

  defp observed(prefix, metadata, fun) do
    started = System.monotonic_time()
    execute(prefix ++ [:start], times(started), metadata)

    try do
      fun.()
    catch
      kind, reason ->
        failure = %{kind: kind, reason: reason, stacktrace: __STACKTRACE__}
        execute(prefix ++ [:exception], ended(started), Map.merge(metadata, failure))
        :erlang.raise(kind, reason, __STACKTRACE__)
    else
      result ->
        execute(prefix ++ [:stop], ended(started), Map.put(metadata, :result, result(result)))
        result
    end
  end

  @doc false
  @spec times(integer()) :: map()
  def times(monotonic), do: %{system_time: System.system_time(), monotonic_time: monotonic}

  @doc false
  @spec ended(integer()) :: map()
  def ended(started) do
    now = System.monotonic_time()
    %{duration: now - started, monotonic_time: now}
  end

  @doc false
  @spec result(term()) :: atom()
  def result({:error, %{reason: reason}}) when is_atom(reason), do: reason
  def result({:error, _other}), do: :error
  def result(_result), do: :ok

  # A program attaches its handlers by calling the package, which loads it. Nothing is exported
  # before that.
  defp loaded?, do: :erlang.function_exported(:telemetry, :execute, 3)

  defp call({id, handler, config}, event, measurements, metadata) do
    handler.(event, measurements, metadata, config)
  catch
    kind, reason ->
      detach(id)

      :logger.error(
        "dala_gpu: the handler #{inspect(id)} of #{inspect(event)} has failed and is detached: " <>
          Exception.format(kind, reason, __STACKTRACE__)
      )
  end

  defp attached?(handlers, id) do
    Enum.any?(handlers, fn {_event, list} -> Enum.any?(list, &(elem(&1, 0) == id)) end)
  end

  defp without(handlers, id) do
    for {event, list} <- handlers,
        [_ | _] = left <- [Enum.reject(list, &(elem(&1, 0) == id))],
        into: %{},
        do: {event, left}
  end

  # Handlers change rarely and are read all the time, so they are a persistent term. The lock is of
  # this node only.
  defp change(fun) do
    :global.trans({@key, self()}, fn -> change_locked(fun) end, [node()])
  end

  defp change_locked(fun) do
    before = :persistent_term.get(@key, %{})

    case fun.(before) do
      {result, ^before} ->
        result

      {result, handlers} when handlers == %{} ->
        :persistent_term.erase(@key)
        result

      {result, handlers} ->
        :persistent_term.put(@key, handlers)
        result
    end
  end

  defp event?([_ | _] = event), do: Enum.all?(event, &is_atom/1)
  defp event?(_other), do: false
end
