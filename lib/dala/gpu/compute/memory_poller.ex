defmodule Dala.Gpu.Compute.MemoryPoller do
  @moduledoc false
  # Reports the device's memory at intervals, as the event [:dala, :memory]. It neither loads the
  # native library nor starts the device, and does not poll while no handler is attached.
  use GenServer

  alias Dala.Gpu.Compute.Native
  alias Dala.Telemetry

  @event [:dala, :memory]
  @interval 10_000

  @spec start_link(term()) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "Reports now; gives whether there was anything to report, and anybody to report it to."
  @spec poll(GenServer.server()) :: boolean()
  def poll(poller \\ __MODULE__), do: GenServer.call(poller, :poll, :infinity)

  @impl true
  def init(nil), do: {:ok, schedule()}

  @impl true
  def handle_call(:poll, _from, state), do: {:reply, report(), state}

  @impl true
  def handle_info(:poll, _state) do
    report()
    {:noreply, schedule()}
  end

  def handle_info(_other, state), do: {:noreply, state}

  defp schedule, do: Process.send_after(self(), :poll, @interval)

  defp report do
    with true <- Telemetry.listening?(@event),
         true <- function_exported?(Native, :state, 0),
         :started <- Native.state(),
         {:ok, memory} <- Native.memory_info() do
      Telemetry.execute(@event, memory, %{})
      true
    else
      _nothing -> false
    end
  end
end
