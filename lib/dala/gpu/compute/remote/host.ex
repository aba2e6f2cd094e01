defmodule Dala.Gpu.Compute.Remote.Host do
  @moduledoc false
  # The side of a device that other VMs use: keeps their buffers and runs their commands. One process
  # for each `Link`, on the node or in the VM where the device is. It ends with its link, and gives
  # all buffers back then.
  #
  # Arguments have been checked by the other side, so this calls the native functions directly. It
  # waits for nothing: commands report their end by message, and whatever else takes long is done by
  # processes that are linked to this one.
  #
  # Things that the other side refers to have numbers: even ones were chosen there (buffers, and
  # uploads that become buffers), odd ones here (processes that lend a binary).

  use GenServer

  alias Dala.Gpu.Compute.{Error, Native, Runtime, Tree, Watcher}
  alias Dala.Gpu.Compute.Kernel.Provider
  alias Dala.Gpu.Compute.Remote.Transfer

  # Lists up to this length are converted by a normal scheduler.
  @long_list 20_000

  @doc "Starts the host for a link of another node."
  @spec start(pid()) :: {:ok, pid()} | {:error, Error.t()}
  def start(link) do
    Tree.ensure()

    child = %{
      id: __MODULE__,
      start: {GenServer, :start_link, [__MODULE__, {:node, link}]},
      restart: :temporary
    }

    with :ok <- Runtime.ensure(),
         do: DynamicSupervisor.start_child(Dala.Gpu.Compute.Remote.Supervisor, child)
  end

  @doc "The first function of an isolated device's VM: serves the pipes until they are closed."
  @spec main() :: no_return()
  def main do
    {:ok, _apps} = Application.ensure_all_started(:elixir)
    {:ok, host} = GenServer.start(__MODULE__, :pipes)
    monitor = Process.monitor(host)

    receive do
      {:DOWN, ^monitor, :process, ^host, _reason} -> stop()
    end
  end

  # At exit, drivers wait for kernels that run; one that never ends would keep the process.
  @spec stop() :: no_return()
  defp stop do
    _ = :os.cmd(~c"kill -9 #{System.pid()}")
    System.halt(1)
  end

  @impl true
  def init({:node, link}) do
    Process.monitor(link)
    {:ok, new({:node, link})}
  end

  def init(:pipes) do
    port = Port.open({:fd, 3, 4}, [:binary, :eof, {:packet, 4}])
    {:ok, new({:pipes, port})}
  end

  defp new(peer), do: %{peer: peer, sharing: false, things: %{}, commands: %{}, next: 1}

  @impl true
  def handle_info({:dala_remote, message}, state), do: handle(message, state)

  def handle_info({port, {:data, data}}, %{peer: {:pipes, port}} = state),
    do: data |> :erlang.binary_to_term() |> handle(state)

  def handle_info({port, :eof}, %{peer: {:pipes, port}} = state), do: {:stop, :normal, state}

  # A command has ended.
  def handle_info({:dala_gpu, id, result}, state) do
    case Map.pop(state.commands, id) do
      {nil, _commands} ->
        {:noreply, state}

      {seq, commands} ->
        answer(state, seq, result)
        {:noreply, %{state | commands: commands}}
    end
  end

  # A process of `work/3` has ended its work, and may lend the result.
  def handle_info({:worked, seq, {:lend, describe, pid}}, state) do
    tag = state.next
    answer(state, seq, {:ok, describe.(tag)})
    {:noreply, put(%{state | next: tag + 2}, tag, {:lent, pid})}
  end

  def handle_info({:worked, seq, result}, state) do
    answered(state, seq, result)
  end

  def handle_info({:dala_gpu_released, tag}, state) do
    tell(state, {:returned, tag})
    {:noreply, state}
  end

  def handle_info({:DOWN, _monitor, :process, _link, _reason}, state),
    do: {:stop, :normal, state}

  def handle_info(_other, state), do: {:noreply, state}

  # The pipes are closed, or the application stops.
  @impl true
  def terminate(_reason, state) do
    for {_id, {:buffer, ref}} <- state.things, do: Native.buffer_free(ref)
    :ok
  end

  defp handle({:request, seq, request}, state), do: request(request, seq, state)

  defp handle({:released, tag}, state) do
    {thing, things} = Map.pop(state.things, tag)

    case thing do
      {:buffer, ref} -> Native.buffer_free(ref)
      {:lent, pid} -> send(pid, :returned)
      _none_or_upload -> :ok
    end

    {:noreply, %{state | things: things}}
  end

  # The settings come first, before anything starts the device. What was sent along shows whether the
  # two VMs can map each other's memory.
  defp request({:start, env, sent}, seq, state) do
    Application.put_all_env(dala_gpu: env)
    sharing = Transfer.readable?(sent)
    if sharing, do: Native.segments_share()
    :erlang.garbage_collect()

    work(seq, %{state | sharing: sharing}, fn ->
      with :ok <- Runtime.ensure(),
           {:ok, info} <- Native.runtime_info(),
           do: {:ok, {sharing, info.work_dir}}
    end)
  end

  defp request({:apply, module, function, arguments}, seq, state) do
    work(seq, state, fn -> {:ok, apply(module, function, arguments)} end)
  end

  defp request({:upload, id, chunk}, seq, state) do
    parts =
      case state.things do
        %{^id => {:upload, parts}} -> [parts | chunk]
        _none -> chunk
      end

    answer(state, seq, :ok)
    {:noreply, put(state, id, {:upload, parts})}
  end

  defp request({:download, tag, offset, count}, seq, state) do
    case state.things do
      %{^tag => {:lent, pid}} -> send(pid, {:part, offset, count, seq})
      _none -> answer(state, seq, gone())
    end

    {:noreply, state}
  end

  defp request({:create, id, source, dims, dtype}, seq, state) do
    result =
      with {:ok, content} <- Transfer.unpack(source, state.things),
           do: Runtime.collecting(fn -> create(content, dims, dtype) end)

    collect(source)
    keep(result, id, seq, state)
  end

  defp request({:view, id, of, dims, dtype}, seq, state) do
    with_buffer(of, seq, state, fn ref ->
      keep(Native.buffer_view(ref, dims, dtype), id, seq, state)
    end)
  end

  defp request({:write, id, source}, seq, state) do
    with_buffer(id, seq, state, fn ref ->
      result =
        with {:ok, {:binary, binary}} <- Transfer.unpack(source, state.things),
             do: Runtime.collecting(fn -> Native.buffer_write(ref, binary, byte_size(binary)) end)

      collect(source)
      answered(state, seq, result)
    end)
  end

  defp request({:read, id, part}, seq, state) do
    with_buffer(id, seq, state, fn ref ->
      started =
        Runtime.collecting(fn ->
          case part do
            nil -> Native.buffer_read(ref)
            {offset, count} -> Native.buffer_read_part(ref, offset, count)
          end
        end)

      lend(seq, state, started)
    end)
  end

  defp request({:free, id}, seq, state) do
    with_buffer(id, seq, state, fn ref ->
      answered(state, seq, Native.buffer_free(ref))
    end)
  end

  defp request({:valid, id}, seq, state) do
    with_buffer(id, seq, state, fn ref ->
      answered(state, seq, {:ok, Native.buffer_state(ref) != :freed})
    end)
  end

  defp request({:run, op, kernel, inputs, output, params}, seq, state) do
    Watcher.monitor_caller()

    with {:ok, inputs} <- refs(inputs, state),
         {:ok, output} <- refs(output, state),
         :ok <- Provider.ensure(kernel),
         {:ok, command} <-
           Runtime.collecting(fn ->
             Native.submit(op, kernel, inputs, output, params, {:notify, self()})
           end) do
      {:noreply, %{state | commands: Map.put(state.commands, command, seq)}}
    else
      {:error, _error} = failed ->
        answered(state, seq, failed)
    end
  end

  defp request({:compute, id, kernel, inputs, dims, dtype, params}, seq, state) do
    with {:ok, inputs} <- refs(inputs, state), :ok <- Provider.ensure(kernel) do
      compute = fn -> Native.compute(kernel, inputs, dims, dtype, params) end
      keep(Runtime.collecting(compute), id, seq, state)
    else
      {:error, _error} = failed ->
        answered(state, seq, failed)
    end
  end

  defp request({:register, kind, name, text, native}, seq, state) do
    register =
      if kind == :register, do: &Native.kernel_register/4, else: &Native.kernel_elementwise/4

    work(seq, state, fn -> Runtime.answer(&register.(name, text, native, &1)) end)
  end

  defp create(:zeros, dims, dtype), do: Native.buffer_zeros(dims, dtype)

  defp create({:binary, binary}, dims, dtype),
    do: Native.buffer_from_binary(binary, dims, dtype, byte_size(binary))

  defp create({:list, list}, dims, dtype) do
    if length(list) > @long_list,
      do: Native.buffer_from_list_dirty(list, dims, dtype),
      else: Native.buffer_from_list(list, dims, dtype)
  end

  # The heap of this process has the last reference to a mapped binary once its buffer is freed, and
  # is rarely collected by itself.
  defp collect({:segment, _place, _bytes, _tag}), do: :erlang.garbage_collect()
  defp collect(_source), do: false

  defp keep({:ok, ref}, id, seq, state) do
    answer(state, seq, :ok)
    {:noreply, put(state, id, {:buffer, ref})}
  end

  defp keep({:error, _error} = failed, _id, seq, state) do
    answered(state, seq, failed)
  end

  defp with_buffer(id, seq, state, fun) do
    case refs(id, state) do
      {:ok, ref} ->
        fun.(ref)

      failed ->
        answered(state, seq, failed)
    end
  end

  defp refs(ids, state) when is_list(ids) do
    Enum.reduce_while(Enum.reverse(ids), {:ok, []}, fn id, {:ok, refs} ->
      case refs(id, state) do
        {:ok, ref} -> {:cont, {:ok, [ref | refs]}}
        failed -> {:halt, failed}
      end
    end)
  end

  defp refs(id, state) do
    case state.things do
      %{^id => {:buffer, ref}} -> {:ok, ref}
      _none -> gone()
    end
  end

  defp gone, do: {:error, %Error{reason: :freed, message: "the buffer is not there any more"}}

  # Answers with the result of a function that may take long.
  defp work(seq, state, fun) do
    host = self()
    spawn_link(fn -> send(host, {:worked, seq, result(fun)}) end)
    {:noreply, state}
  end

  defp result(fun) do
    fun.()
  rescue
    error in [Error] ->
      {:error, error}

    error in [ArgumentError, RuntimeError] ->
      {:error, %Error{reason: :device_error, message: Exception.message(error)}}
  end

  # Waits for a readback and hands its bytes over. The process that did so holds them until the other
  # side has returned them.
  defp lend(seq, state, started) do
    host = self()
    sharing = state.sharing

    spawn_link(fn ->
      case Transfer.pack_read(finish(started), sharing) do
        {:lend, binary, describe} ->
          send(host, {:worked, seq, {:lend, describe, self()}})
          hold(host, binary)

        result ->
          send(host, {:worked, seq, result})
      end
    end)

    {:noreply, state}
  end

  defp finish({:pending, id, readback}) do
    ref = make_ref()

    with :pending <- Native.command_watch_end(id, ref) do
      receive do
        {^ref, _outcome} -> :ok
      end
    end

    {:ok, Native.readback_binary(readback)}
  end

  defp finish(result), do: result

  defp hold(host, binary) do
    receive do
      :returned ->
        :ok

      {:part, offset, count, seq} ->
        send(host, {:worked, seq, {:ok, :binary.copy(binary_part(binary, offset, count))}})
        hold(host, binary)
    end
  end

  defp put(state, id, thing), do: %{state | things: Map.put(state.things, id, thing)}

  # The last thing that a request does, where it leaves the state as it is.
  defp answered(state, seq, result) do
    answer(state, seq, result)
    {:noreply, state}
  end

  defp answer(state, seq, result), do: tell(state, {:answer, seq, result})

  defp tell(%{peer: {:pipes, port}}, message),
    do: Port.command(port, :erlang.term_to_binary(message))

  defp tell(%{peer: {:node, link}}, message), do: send(link, {:dala_remote, message})
end
