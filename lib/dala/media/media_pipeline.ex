defmodule Dala.Media.MediaPipeline do
  @moduledoc """
  A process that gets frames, decides what to do with each, and passes them on.

      defmodule Mirror do
        use Dala.Media.MediaPipeline

        @impl true
        def init(direction), do: {:ok, direction}

        @impl true
        def handle_frame(_frame, direction) do
          {:filter, [{:flip, %{direction: direction}}], direction}
        end
      end

      {:ok, pid} = Dala.Media.MediaPipeline.start_link(Mirror, :horizontal, width: 640, height: 480)
      Dala.Media.MediaPipeline.push(pid, rgba)

      receive do
        {:dala_media_frame, ^pid, {:ok, mirrored}} -> mirrored
      end

  `handle_frame/2` does not wait for the device: it names the filters, and the next frame may come
  while they run. Frames are passed on in the order in which they came.
  """

  use GenServer

  alias Dala.Gpu.Compute.{Argument, Error}
  alias Dala.Media.Gpu

  @doc "Gives the state to begin with."
  @callback init(argument :: term()) :: {:ok, state :: term()} | {:stop, reason :: term()}

  @doc """
  Decides about a frame:

    * `{:filter, filters, state}` - run these filters on it and pass the result on
    * `{:ok, frame, state}` - pass that frame on
    * `{:drop, state}` - pass nothing on
  """
  @callback handle_frame(frame :: binary(), state :: term()) ::
              {:filter, Gpu.filters(), state :: term()}
              | {:ok, binary(), state :: term()}
              | {:drop, state :: term()}

  defmacro __using__(_opts) do
    quote do
      @behaviour Dala.Media.MediaPipeline

      @impl true
      def init(argument), do: {:ok, argument}

      defoverridable init: 1
    end
  end

  @doc """
  Starts the process, linked to the caller.

  ## Options

    * `:width`, `:height` - of the frames, required
    * `:to` - the process that gets `{:dala_media_frame, pid, {:ok, frame} | :dropped | {:error,
      error}}`, the caller by default
    * `:name` - a name for the process
    * all options of `Dala.Media.Gpu.start_pipeline/3`

  ## Example

      iex> defmodule DocGray do
      ...>   use Dala.Media.MediaPipeline
      ...>   def handle_frame(_frame, state), do: {:filter, [:grayscale], state}
      ...> end
      iex> {:ok, pid} = Dala.Media.MediaPipeline.start_link(DocGray, nil, width: 1, height: 1)
      iex> Dala.Media.MediaPipeline.push(pid, <<255, 0, 0, 9>>)
      :ok
      iex> receive do
      ...>   {:dala_media_frame, ^pid, result} -> result
      ...> end
      {:ok, <<76, 76, 76, 9>>}
  """
  @spec start_link(module(), term(), keyword()) :: GenServer.on_start()
  def start_link(module, argument, opts) do
    {name, opts} = opts |> Argument.keyword!() |> Keyword.split([:name])
    {own, stream} = Keyword.split(opts, [:width, :height, :to])
    own = Argument.options!(own, [:width, :height, to: self()])

    for key <- [:width, :height], not Keyword.has_key?(own, key) do
      raise ArgumentError, "expected #{key}: of the frames"
    end

    GenServer.start_link(__MODULE__, {module, argument, own, stream}, name)
  end

  @doc """
  Hands a frame over.

  Returns when the stream has room for it, or at once when its policy is to drop frames.
  """
  @spec push(GenServer.server(), binary()) :: :ok | {:error, Error.t()}
  def push(pipeline, frame), do: GenServer.call(pipeline, {:push, frame}, :infinity)

  @doc "Tells how the stream is doing; see `Dala.Media.Gpu.stats/1`."
  @spec stats(GenServer.server()) :: map()
  def stats(pipeline), do: GenServer.call(pipeline, :stats)

  @doc "Ends the process and its stream."
  @spec stop(GenServer.server()) :: :ok
  def stop(pipeline), do: GenServer.stop(pipeline)

  @impl true
  def init({module, argument, own, stream}) do
    with {:ok, state} <- module.init(argument),
         {:ok, ctx} <- Gpu.start_pipeline(own[:width], own[:height], stream) do
      {:ok, %{module: module, state: state, ctx: ctx, to: own[:to], pending: :queue.new()}}
    else
      {:stop, reason} -> {:stop, reason}
      {:error, error} -> {:stop, error}
    end
  end

  @impl true
  def handle_call({:push, frame}, _from, pipeline) do
    case pipeline.module.handle_frame(frame, pipeline.state) do
      {:filter, filters, state} ->
        {result, pipeline} = filter(frame, filters, %{pipeline | state: state})
        {:reply, result, pipeline}

      {:ok, frame, state} ->
        {:reply, :ok, pass_on(queue(%{pipeline | state: state}, {:done, {:ok, frame}}))}

      {:drop, state} ->
        {:reply, :ok, %{pipeline | state: state}}
    end
  end

  def handle_call(:stats, _from, pipeline), do: {:reply, Gpu.stats(pipeline.ctx), pipeline}

  @impl true
  def handle_info({:dala_media_frame, ref, result}, pipeline) do
    pending =
      :queue.filter(
        fn
          {:running, ^ref} -> [{:done, result}]
          other -> [other]
        end,
        pipeline.pending
      )

    {:noreply, pass_on(%{pipeline | pending: pending})}
  end

  def handle_info(_other, pipeline), do: {:noreply, pipeline}

  # A frame or a list of filters that is wrong is the pusher's or the module's mistake; the
  # pusher is told, and the process goes on.
  defp filter(frame, filters, pipeline) do
    {:ok, ref} = Gpu.process_frame_async(pipeline.ctx, frame, filters)
    {:ok, queue(pipeline, {:running, ref})}
  rescue
    error in Error -> {{:error, error}, pipeline}
  end

  defp queue(pipeline, entry), do: %{pipeline | pending: :queue.in(entry, pipeline.pending)}

  # Everything that is done, up to the first frame that is not.
  defp pass_on(pipeline) do
    case :queue.peek(pipeline.pending) do
      {:value, {:done, result}} ->
        send(pipeline.to, {:dala_media_frame, self(), result})
        pass_on(%{pipeline | pending: :queue.drop(pipeline.pending)})

      _ ->
        pipeline
    end
  end
end
