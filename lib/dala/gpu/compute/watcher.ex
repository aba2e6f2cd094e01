defmodule Dala.Gpu.Compute.Watcher do
  @moduledoc false
  # Monitors the processes that have submitted commands, because only a monitor reports the exit
  # reason: pending commands of a process that was killed are dropped, those of a process that
  # exited normally still run. It also receives and logs reports of the native side that belong to
  # no call. It uses Erlang's logger, because an Erlang program may run without Elixir's.
  use GenServer

  alias Dala.Gpu.Compute.{Error, Native}

  @spec start_link(term()) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "Monitors the calling process; repeated calls are cheap."
  @spec monitor_caller() :: :ok
  def monitor_caller do
    case Process.whereis(__MODULE__) do
      nil ->
        :ok

      watcher ->
        unless Process.get(__MODULE__) == watcher do
          :ok = GenServer.call(watcher, :monitor, :infinity)
          Process.put(__MODULE__, watcher)
        end

        :ok
    end
  end

  @doc "Makes this process the receiver of the native side's reports."
  @spec attach() :: :ok
  def attach do
    with pid when is_pid(pid) <- Process.whereis(__MODULE__), do: Native.report_to(pid)
    :ok
  end

  @impl true
  def init(nil) do
    # This applies after a restart; at the first start the native library is not loaded yet.
    if function_exported?(Native, :state, 0) and Native.state() == :started,
      do: Native.report_to(self())

    {:ok, nil}
  end

  @impl true
  def handle_call(:monitor, {pid, _tag}, state) do
    Process.monitor(pid)
    {:reply, :ok, state}
  end

  @impl true
  def handle_info({:DOWN, _monitor, :process, pid, reason}, state) do
    unless by_itself?(reason), do: drop(pid, 0)
    {:noreply, state}
  end

  def handle_info({:dala_gpu_lost, {:error, %Error{reason: reason, message: message}}}, state) do
    :logger.error("dala_gpu: " <> message)

    Dala.Telemetry.execute(
      [:dala, :device, :lost],
      %{system_time: System.system_time()},
      %{reason: reason, message: message}
    )

    {:noreply, state}
  end

  def handle_info({:dala_gpu_note, note}, state) do
    :logger.warning("dala_gpu: " <> note)
    {:noreply, state}
  end

  def handle_info(_other, state), do: {:noreply, state}

  # Each call drops a bounded number of commands, so that none of them takes long.
  defp drop(pid, from) do
    with {:more, next} <- Native.client_killed(pid, from), do: drop(pid, next)
  end

  defp by_itself?(:normal), do: true
  defp by_itself?(:shutdown), do: true
  defp by_itself?({:shutdown, _why}), do: true
  defp by_itself?(_reason), do: false
end
