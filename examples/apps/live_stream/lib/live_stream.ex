defmodule LiveStream do
  @moduledoc """
  The parts of the stream: see `LiveStream.Application`.
  """

  @size {320, 240}

  @doc "Width and height of the frames."
  def size, do: @size
end

defmodule LiveStream.Application do
  @moduledoc false
  use Application

  @impl true
  def start(_type, _args) do
    children = [
      LiveStream.Screen,
      {LiveStream.Look,
       argument: [{:sepia, %{intensity: 0.8}}, :vignette],
       name: LiveStream.Look,
       size: LiveStream.size(),
       on_overload: :drop_oldest,
       to: LiveStream.Screen},
      LiveStream.Camera
    ]

    # Each child works without the others, so one that ends takes nothing with it.
    Supervisor.start_link(children,
      strategy: :one_for_one,
      max_restarts: 10,
      name: LiveStream.Supervisor
    )
  end
end

defmodule LiveStream.Camera do
  @moduledoc """
  Films a scene, and pushes each frame to the pipeline.
  """
  use GenServer

  alias Dala.Media.{MediaPipeline, TestScene}

  @interval 16

  def start_link(_opts), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @impl true
  def init(nil) do
    {:ok, _timer} = :timer.send_interval(@interval, :frame)
    {:ok, System.monotonic_time(:millisecond)}
  end

  @impl true
  def handle_info(:frame, start) do
    flush()
    {width, height} = LiveStream.size()
    time = (System.monotonic_time(:millisecond) - start) / 1000

    # A pipeline that is being restarted is the error :freed: this frame is lost, the next is not.
    case MediaPipeline.push(LiveStream.Look, TestScene.frame(width, height, time: time)) do
      :ok -> {:noreply, start}
      {:error, %{reason: :freed}} -> {:noreply, start}
    end
  end

  # On a slow machine, a camera skips frames instead of filming the past.
  defp flush do
    receive do
      :frame -> flush()
    after
      0 -> :ok
    end
  end
end

defmodule LiveStream.Look do
  @moduledoc """
  Chooses the filters for each frame; they can be changed while the stream runs.
  """
  use Dala.Media.MediaPipeline

  @doc "Sets the filters of all frames that follow."
  def set(look, filters) do
    :persistent_term.put({__MODULE__, look}, filters)
  end

  @impl true
  def handle_frame(_frame, filters) do
    {:filter, :persistent_term.get({__MODULE__, __MODULE__}, filters), filters}
  end
end

defmodule LiveStream.Screen do
  @moduledoc """
  Receives frames, keeps the last one, and tells how many there were.
  """
  use GenServer

  require Logger

  def start_link(_opts), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "The last frame, or nil, and the number of frames since the screen was started."
  def last, do: GenServer.call(__MODULE__, :last)

  @doc "Sends `{:frame, number}` to the calling process after each frame."
  def subscribe, do: GenServer.call(__MODULE__, :subscribe)

  @impl true
  def init(nil) do
    {:ok, _timer} = :timer.send_interval(5_000, :report)
    {:ok, %{frame: nil, shown: 0, reported: 0, dropped: 0, subscribers: []}}
  end

  @impl true
  def handle_call(:last, _from, state), do: {:reply, {state.frame, state.shown}, state}

  def handle_call(:subscribe, {pid, _tag}, state) do
    {:reply, :ok, %{state | subscribers: [pid | state.subscribers]}}
  end

  @impl true
  def handle_info({:dala_media_frame, _pipeline, {:ok, frame}}, state) do
    shown = state.shown + 1
    for pid <- state.subscribers, do: send(pid, {:frame, shown})
    {:noreply, %{state | frame: frame, shown: shown}}
  end

  def handle_info({:dala_media_frame, _pipeline, :dropped}, state) do
    {:noreply, %{state | dropped: state.dropped + 1}}
  end

  def handle_info({:dala_media_frame, _pipeline, {:error, error}}, state) do
    Logger.warning(Exception.message(error))
    {:noreply, state}
  end

  def handle_info(:report, state) do
    Logger.info(
      "#{(state.shown - state.reported) / 5} frames per second, #{state.dropped} dropped"
    )

    {:noreply, %{state | reported: state.shown}}
  end
end
