defmodule Dala.Gpu.Compute.Remote.Link do
  @moduledoc false
  # The way to a device of another VM: numbers requests, passes them to the `Host` there, and answers
  # whoever asked. It is told by the native library when the last reference to a buffer of that
  # device has gone, and passes that on.
  #
  # The VM of an isolated device belongs to its link, which starts it, ends it when a command is over
  # its deadline, and starts it again when it has ended, after a while that doubles with each life
  # that was short. An epoch is one life of the VM: a buffer of an earlier epoch is lost. A link to
  # another node has one epoch; it ends with the connection.

  use GenServer

  alias Dala.Gpu.Compute.{Error, Native}
  alias Dala.Gpu.Compute.Remote.{Commands, Failure, Host, SystemProcess, Transfer}

  # Beyond this many commands that are not finished, `submit/4` waits.
  @most_commands 1024
  # Requests that the deadline is for.
  @timed [:create, :view, :write, :read, :run, :compute]

  defstruct [:target, :name, :settings, :creator, :port, :host, :started_at, :work_dir, :cause] ++
              [
                epoch: 0,
                up: false,
                again: 0,
                sharing: false,
                seq: 0,
                delay: 0,
                restarts: 0,
                commands: 0
              ] ++
              [pending: %{}, held: :queue.new(), blocked: :queue.new(), lent: %{}, kernels: %{}]

  @type target :: :isolated | {:node, node()}
  @typedoc "What the device gets by shared memory: its number, and the process that holds it."
  @type lent :: {non_neg_integer(), pid()}

  @spec start_link({target(), String.t(), map()}, GenServer.options()) :: GenServer.on_start()
  def start_link(arguments, options), do: GenServer.start_link(__MODULE__, arguments, options)

  @doc """
  Asks the device, and waits for the answer. `epoch` is that of the buffers, if there are any. A
  request that makes a buffer is answered with its epoch.
  """
  @spec call(GenServer.server(), non_neg_integer() | nil, tuple() | :sharing, lent() | nil) ::
          term()
  def call(link, epoch, request, lent \\ nil) do
    ask(link, {:request, epoch, request, lent}, :infinity)
  end

  @doc "Passes a command on; its end is that of the id. Waits while very many are under way."
  @spec submit(GenServer.server(), non_neg_integer(), tuple(), {Commands.id(), pid() | nil}) ::
          :ok | {:error, Error.t()}
  def submit(link, epoch, request, command) do
    ask(link, {:submit, epoch, request, command}, :infinity)
  end

  @doc "Waits for the end of a command."
  @spec wait(pid(), Commands.id(), timeout()) :: :ok | {:error, Error.t()} | :timeout
  def wait(link, id, timeout), do: ask(link, {:wait, id}, timeout)

  @doc "Describes the link: `:epoch`, `:sharing`, `:restarts`, `:os_pid` of an isolated device."
  @spec info(GenServer.server()) :: {:ok, map()} | {:error, Error.t()}
  def info(link), do: ask(link, :info, :infinity)

  defp ask(link, request, timeout) do
    GenServer.call(link, request, timeout)
  catch
    :exit, {:timeout, _call} -> :timeout
    :exit, reason -> {:error, Failure.gone(reason)}
  end

  @impl true
  def init({target, name, settings}) do
    Process.flag(:trap_exit, true)
    state = %__MODULE__{target: target, name: name, settings: settings}
    creator = settings[:creator]
    if creator, do: Process.monitor(creator)
    state = %{state | creator: creator}

    case target do
      :isolated ->
        {:ok, boot(state)}

      {:node, node} ->
        connect(node, state)
    end
  end

  defp connect(node, state) do
    true = :erlang.monitor_node(node, true)

    case host_of(node) do
      {:ok, host} ->
        Process.monitor(host)
        {:ok, %{state | host: host, up: true, epoch: 1}}

      {:error, error} ->
        {:stop, {:shutdown, error}}
    end
  end

  defp host_of(node) do
    :erpc.call(node, Host, :start, [self()], 60_000)
  catch
    _kind, reason -> {:error, Failure.unreachable(node, reason)}
  end

  # The VM of an isolated device.

  defp boot(state) do
    %{limits: limits, env: env, config: config} = state.settings
    port = SystemProcess.start(Host, limits, env)

    state = %{
      state
      | port: port,
        epoch: state.epoch + 1,
        cause: nil,
        started_at: now(),
        sharing: false
    }

    Process.send_after(self(), {:not_up, state.epoch}, state.settings.start_timeout)

    case Transfer.share(<<0>>, self(), 0) do
      {:ok, sent, pid} ->
        state = %{state | lent: Map.put(state.lent, 0, pid)}
        transmit(state, :start, {:start, config, sent})

      :error ->
        transmit(state, :start, {:start, config, nil})
    end
  end

  # Kernels are registered again before anything that may need them.
  defp started(state, {sharing, work_dir}) do
    state = %{state | sharing: sharing, work_dir: work_dir, again: map_size(state.kernels)}

    state.kernels
    |> Enum.reduce(state, fn {_name, request}, state -> transmit(state, :again, request) end)
    |> open()
  end

  defp open(%{again: 0} = state) do
    held = :queue.to_list(state.held)
    Enum.reduce(held, %{state | up: true, held: :queue.new()}, &admit/2)
  end

  defp open(state), do: state

  defp down(state, status) do
    cause = state.cause || {:ended, SystemProcess.explain(status)}
    Failure.report(state.name, cause)
    clean_up(state)
    %{up: was_up, pending: pending, settings: %{deadline: deadline}} = state
    state = %{state | up: false, port: nil, pending: %{}, lent: %{}, work_dir: nil}

    state =
      Enum.reduce(pending, state, fn {seq, entry}, state ->
        finish(entry, {:error, Failure.ended(state.name, seq, cause, deadline)}, state)
      end)

    state = if was_up, do: state, else: fail_held(state, cause)
    delay = delay(state)
    Process.send_after(self(), :boot, delay)
    %{state | delay: delay, restarts: state.restarts + 1}
  end

  # A VM that does not start would otherwise keep its callers for ever.
  defp fail_held(state, cause) do
    for {:request, from, _epoch, _request, lent} <- :queue.to_list(state.held) do
      drop(lent)
      GenServer.reply(from, {:error, Failure.not_started(state.name, cause)})
    end

    %{state | held: :queue.new()}
  end

  defp delay(%{restarts: 0, settings: %{backoff: first.._last}}), do: first

  defp delay(state) do
    lived = now() - state.started_at
    SystemProcess.delay(state.settings.backoff, lived, state.delay)
  end

  defp clean_up(state) do
    SystemProcess.remove_folder(state.work_dir)
    for {_tag, pid} <- state.lent, do: send(pid, :returned)
    :ok
  end

  defp now, do: System.monotonic_time(:millisecond)

  # Requests.

  @impl true
  def handle_call({:request, epoch, request, lent}, from, state),
    do: {:noreply, admit({:request, from, epoch, request, lent}, state)}

  def handle_call({:submit, epoch, request, {id, notify}}, from, state) do
    state = submit_now(state, epoch, request, id, notify)

    if state.commands > @most_commands,
      do: {:noreply, %{state | blocked: :queue.in(from, state.blocked)}},
      else: {:reply, :ok, state}
  end

  def handle_call({:wait, id}, from, state) do
    case Enum.find(state.pending, &match?({_seq, {:command, %{id: ^id}, _timer}}, &1)) do
      {seq, {:command, command, timer}} ->
        command = %{command | waiting: [from | command.waiting]}
        {:noreply, put_in(state.pending[seq], {:command, command, timer})}

      nil ->
        {:reply, Commands.result(id), state}
    end
  end

  def handle_call(:info, _from, state) do
    info = Map.take(state, [:epoch, :up, :sharing, :restarts])
    counts = %{pending: map_size(state.pending), lent: map_size(state.lent)}
    os_pid = SystemProcess.os_pid(state.port)
    {:reply, {:ok, info |> Map.merge(counts) |> Map.put(:os_pid, os_pid)}, state}
  end

  defp admit({:request, from, epoch, request, lent}, state) do
    cond do
      epoch != nil and epoch != state.epoch ->
        drop(lent)
        GenServer.reply(from, {:error, Failure.buffer(state.name)})
        state

      not state.up ->
        %{state | held: :queue.in({:request, from, epoch, request, lent}, state.held)}

      request == :sharing ->
        GenServer.reply(from, {:ok, state.sharing})
        state

      true ->
        state
        |> lend(lent)
        |> transmit({:call, from, request}, request)
    end
  end

  # A command refers to buffers, so one of a VM that is not there has lost them.
  defp submit_now(state, epoch, request, id, notify) do
    command = %{id: id, notify: notify, waiting: []}

    if state.up and epoch == state.epoch,
      do: transmit(%{state | commands: state.commands + 1}, {:command, command}, request),
      else: end_command(command, {:error, Failure.buffer(state.name)}, state)
  end

  defp lend(state, nil), do: state
  defp lend(state, {tag, pid}), do: %{state | lent: Map.put(state.lent, tag, pid)}

  defp drop(nil), do: :ok
  defp drop({_tag, pid}), do: send(pid, :returned)

  defp transmit(state, entry, request) do
    seq = state.seq + 1
    tell(state, {:request, seq, request})
    entry = timed(entry, deadline(state, request, seq))
    %{state | seq: seq, pending: Map.put(state.pending, seq, entry)}
  end

  defp timed(tag, _timer) when is_atom(tag), do: tag
  defp timed({:command, command}, timer), do: {:command, command, timer}
  defp timed({:call, from, request}, timer), do: {:call, from, outcome(request), timer}

  # Of a request, only what is needed for its end.
  defp outcome({:register, _kind, _name, _text, _native} = request), do: request
  defp outcome({:apply, Native, :kernel_unregister, [name]}), do: {:unregister, name}
  defp outcome(request) when elem(request, 0) in [:create, :view, :compute], do: :created
  defp outcome(_request), do: nil

  defp deadline(state, request, seq) do
    case state.settings[:deadline] do
      deadline when is_integer(deadline) and elem(request, 0) in @timed ->
        Process.send_after(self(), {:late, state.epoch, seq}, deadline)

      _none ->
        nil
    end
  end

  defp tell(%{target: :isolated, port: port}, message) do
    if port, do: Port.command(port, :erlang.term_to_binary(message))
    :ok
  end

  defp tell(%{host: host}, message), do: send(host, {:dala_remote, message})

  # Answers.

  @impl true
  def handle_info({:dala_remote, message}, state), do: {:noreply, handle(message, state)}

  def handle_info({port, {:data, data}}, %{port: port} = state),
    do: {:noreply, data |> :erlang.binary_to_term() |> handle(state)}

  def handle_info({port, {:exit_status, status}}, %{port: port} = state),
    do: {:noreply, down(state, status)}

  def handle_info({:dala_gpu_released, tag}, state) do
    tell(state, {:released, tag})
    {:noreply, state}
  end

  def handle_info({:late, epoch, seq}, %{epoch: epoch} = state) do
    if is_map_key(state.pending, seq) and state.cause == nil and state.port != nil do
      SystemProcess.kill(state.port)
      {:noreply, %{state | cause: {:deadline, seq}}}
    else
      {:noreply, state}
    end
  end

  def handle_info({:not_up, epoch}, %{epoch: epoch, up: false, port: port} = state)
      when port != nil do
    SystemProcess.kill(port)
    timeout = state.settings.start_timeout
    {:noreply, %{state | cause: {:ended, "it had not started after #{timeout} ms"}}}
  end

  def handle_info(:boot, state), do: {:noreply, boot(state)}

  def handle_info({:nodedown, node}, state) do
    text = "the connection to #{node} is lost"
    {:stop, {:shutdown, {:lost, text}}, fail_all(state, text)}
  end

  def handle_info({:DOWN, _monitor, :process, pid, _reason}, %{creator: pid} = state),
    do: {:stop, :normal, state}

  def handle_info({:DOWN, _monitor, :process, pid, reason}, %{host: pid} = state) do
    text = "the device's process on #{node(pid)} has ended: #{inspect(reason)}"
    {:stop, {:shutdown, {:lost, text}}, fail_all(state, text)}
  end

  def handle_info(_other, state), do: {:noreply, state}

  @impl true
  def terminate(_reason, state) do
    if state.port, do: SystemProcess.stop(state.port)
    clean_up(state)
    fail_all(state, "the device was stopped")
    Native.segments_trim()
    :ok
  end

  defp fail_all(state, text) do
    error = Failure.lost("#{state.name}: #{text}", %{device: state.name})

    state =
      Enum.reduce(state.pending, state, fn {_seq, entry}, state ->
        finish(entry, {:error, error}, state)
      end)

    %{state | pending: %{}}
  end

  defp handle({:answer, seq, result}, state) do
    {entry, pending} = Map.pop(state.pending, seq)
    finish(entry, result, %{state | pending: pending})
  end

  defp handle({:returned, tag}, state) do
    {pid, lent} = Map.pop(state.lent, tag)
    if pid, do: send(pid, :returned)
    %{state | lent: lent}
  end

  defp finish(:start, {:ok, details}, state), do: started(state, details)

  defp finish(:start, {:error, error}, state) do
    if state.port, do: SystemProcess.kill(state.port)
    %{state | cause: {:ended, Exception.message(error)}}
  end

  # A kernel that is not accepted this time is unknown to its calls.
  defp finish(:again, _result, %{port: nil} = state), do: state
  defp finish(:again, _result, state), do: open(%{state | again: state.again - 1})
  defp finish(nil, _result, state), do: state

  defp finish({:call, from, outcome, timer}, result, state) do
    if timer, do: Process.cancel_timer(timer)

    Transfer.hand_over(
      from,
      if(outcome == :created and result == :ok, do: {:ok, state.epoch}, else: result)
    )

    remember(state, outcome, result)
  end

  defp finish({:command, command, timer}, result, state) do
    if timer, do: Process.cancel_timer(timer)
    state = end_command(command, result, %{state | commands: state.commands - 1})

    case state.commands < @most_commands and :queue.out(state.blocked) do
      {{:value, from}, blocked} ->
        GenServer.reply(from, :ok)
        %{state | blocked: blocked}

      _none ->
        state
    end
  end

  defp end_command(command, result, state) do
    Commands.finish(command.id, result)
    for from <- command.waiting, do: GenServer.reply(from, result)
    if command.notify, do: send(command.notify, {:dala_gpu, command.id, result})
    state
  end

  defp remember(state, {:register, _kind, name, _text, _native} = request, :ok),
    do: put_in(state.kernels[name], request)

  defp remember(state, {:unregister, name}, {:ok, true}),
    do: %{state | kernels: Map.delete(state.kernels, name)}

  defp remember(state, _kernel, _result), do: state
end
