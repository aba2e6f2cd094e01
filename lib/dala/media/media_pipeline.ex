defmodule Dala.Media.MediaPipeline do
  @moduledoc """
  A process that receives frames, chooses the filters for each, and passes the results on.

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

  `handle_frame/2` does not wait for the device: it returns the filters, and the next frame may
  arrive while they run. Results are passed on in the order of the frames.

  ## Under a supervisor

  A module that uses this one can be a child, with the options of `start_link/1`:

      children = [
        {Mirror, argument: :horizontal, name: MyApp.Mirror, size: {640, 480}, to: MyApp.Screen}
      ]

  `{Dala.Media.MediaPipeline, module: Mirror, ...}` is the same. `use Dala.Media.MediaPipeline`
  takes `:id`, `:restart` and `:shutdown` for the child specification, as `use GenServer` does; by
  default a pipeline is always restarted.

  The pipeline owns its stream, so neither outlives the other. After a restart, a pipeline has the
  state returned by `c:init/1`, and no frames. If the receiver is not running, results are dropped
  and counted as `:undelivered` in `stats/1`; the pipeline keeps running. See the guide [In your
  supervision tree](supervision.md).
  """

  use GenServer

  alias Dala.Gpu.Compute.{Argument, Error, Server}
  alias Dala.Media.Gpu

  @doc "Returns the initial state."
  @callback init(argument :: term()) :: {:ok, state :: term()} | {:stop, reason :: term()}

  @doc """
  Handles a frame:

    * `{:filter, filters, state}` - run these filters on it and pass the result on
    * `{:ok, frame, state}` - pass this frame on
    * `{:drop, state}` - drop the frame
  """
  @callback handle_frame(frame :: binary(), state :: term()) ::
              {:filter, Gpu.filters(), state :: term()}
              | {:ok, binary(), state :: term()}
              | {:drop, state :: term()}

  defmacro __using__(opts) do
    quote do
      @behaviour Dala.Media.MediaPipeline

      @doc "Returns the child specification of this pipeline; see `Dala.Media.MediaPipeline`."
      @spec child_spec(keyword()) :: Supervisor.child_spec()
      def child_spec(opts) do
        [module: __MODULE__]
        |> Keyword.merge(opts)
        |> Dala.Media.MediaPipeline.child_spec()
        |> Supervisor.child_spec(unquote(opts))
      end

      @doc "Starts this pipeline; see `Dala.Media.MediaPipeline.start_link/1`."
      @spec start_link(keyword()) :: GenServer.on_start()
      def start_link(opts),
        do: Dala.Media.MediaPipeline.start_link(Keyword.put(opts, :module, __MODULE__))

      @impl true
      def init(argument), do: {:ok, argument}

      defoverridable init: 1, child_spec: 1, start_link: 1
    end
  end

  @doc """
  Returns the child specification of a pipeline, with the options of `start_link/1`.

  The id is the option `:id`, by default the name, or the module.

  ## Example

      iex> Dala.Media.MediaPipeline.child_spec(module: MyApp.Mirror, size: {640, 480}).id
      MyApp.Mirror
  """
  @spec child_spec(keyword()) :: Supervisor.child_spec()
  def child_spec(opts) do
    {id, opts} = Keyword.pop(opts, :id, opts[:name] || opts[:module] || __MODULE__)
    %{id: id, start: {__MODULE__, :start_link, [opts]}}
  end

  @doc """
  Starts a pipeline linked to the caller, usually a supervisor.

  ## Options

    * `:module` - the module with the callbacks, required
    * `:argument` - the argument of `c:init/1`, `nil` by default
    * `:size` - `{width, height}` of the frames; or both `:width` and `:height`
    * `:to` - the pid or name of the process that is sent `{:dala_media_frame, pid, {:ok, frame} |
      :dropped | {:error, error}}`; by default the process that pushed the frame
    * `:name` - a name for the process: an atom, `{:global, term}` or `{:via, module, term}`; none
      by default
    * all options of `Dala.Media.Gpu.start_pipeline/3`

  ## Example

      iex> defmodule DocSepia do
      ...>   use Dala.Media.MediaPipeline
      ...>   def handle_frame(_frame, intensity), do: {:filter, [sepia: [intensity: intensity]], intensity}
      ...> end
      iex> {:ok, _supervisor} =
      ...>   Supervisor.start_link([{DocSepia, argument: 0.0, name: DocSepia, size: {1, 1}}],
      ...>     strategy: :one_for_one
      ...>   )
      iex> Dala.Media.MediaPipeline.push(DocSepia, <<1, 2, 3, 4>>)
      :ok
      iex> receive do
      ...>   {:dala_media_frame, _pid, result} -> result
      ...> end
      {:ok, <<1, 2, 3, 4>>}
  """
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(opts) do
    {own, opts} = opts |> Argument.keyword!() |> Keyword.split([:module, :argument])
    start(module!(own[:module]), own[:argument], opts, nil)
  end

  @doc """
  Starts a pipeline linked to the caller.

  ## Options

    * `:width`, `:height` - the size of the frames, required
    * `:to` - the process that is sent `{:dala_media_frame, pid, {:ok, frame} | :dropped | {:error,
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
  def start_link(module, argument, opts),
    do: start(module!(module), argument, Argument.keyword!(opts), self())

  defp start(module, argument, opts, to) do
    {name, opts} = Keyword.split(opts, [:name])
    {own, stream} = Keyword.split(opts, [:size, :width, :height, :to])
    own = %{size: size!(own), to: receiver!(Keyword.get(own, :to, to))}

    case GenServer.start_link(__MODULE__, {module, argument, own, stream}, name) do
      {:error, {:shutdown, %Error{} = error}} -> {:error, error}
      result -> result
    end
  end

  defp module!(module) do
    if is_atom(module) and Code.ensure_loaded?(module) and
         function_exported?(module, :handle_frame, 2),
       do: module,
       else: Argument.refuse!("module: with handle_frame/2", module)
  end

  defp size!(opts) do
    case {opts[:size], opts[:width], opts[:height]} do
      {{width, height}, nil, nil} -> {width, height}
      {nil, nil, _height} -> raise ArgumentError, "expected the option width: of the frames"
      {nil, _width, nil} -> raise ArgumentError, "expected the option height: of the frames"
      {nil, width, height} -> {width, height}
      {size, _, _} -> Argument.refuse!("size: {width, height}, or width: and height:", size)
    end
  end

  defp receiver!(to) do
    if to == nil or Server.server?(to),
      do: to,
      else: Argument.refuse!("to: a process, by its pid or name", to)
  end

  @doc """
  Pushes a frame.

  Returns when the stream has room for it, or immediately if its policy is to drop frames. If the
  pipeline is not running, returns the error `:freed`.
  """
  @spec push(GenServer.server(), binary()) :: :ok | {:error, Error.t()}
  def push(pipeline, frame), do: call(pipeline, {:push, frame})

  @doc """
  Returns the statistics of the stream, as `Dala.Media.Gpu.stats/1` does, and the number of results
  that were `:undelivered` because the receiver was not running.
  """
  @spec stats(GenServer.server()) :: map()
  def stats(pipeline), do: pipeline |> call(:stats) |> Error.value!()

  @doc "Stops the pipeline and its stream. Stopping it twice is allowed."
  @spec stop(GenServer.server()) :: :ok
  def stop(pipeline), do: Server.stop(pipeline, __MODULE__, "media pipeline")

  defp call(pipeline, request), do: Server.call(pipeline, __MODULE__, "media pipeline", request)

  @impl true
  def init({module, argument, %{size: {width, height}, to: to}, stream}) do
    with {:ok, state} <- module.init(argument),
         {:ok, ctx} <- Gpu.start_pipeline(width, height, stream) do
      {:ok,
       %{module: module, state: state, ctx: ctx, to: to, pending: :queue.new(), undelivered: 0}}
    else
      {:stop, reason} -> {:stop, reason}
      {:error, error} -> {:stop, {:shutdown, error}}
    end
  end

  @impl true
  def handle_call({:push, frame}, {pusher, _tag}, pipeline) do
    to = pipeline.to || pusher

    case pipeline.module.handle_frame(frame, pipeline.state) do
      {:filter, filters, state} ->
        {result, pipeline} = filter(frame, filters, to, %{pipeline | state: state})
        {:reply, result, pipeline}

      {:ok, frame, state} ->
        {:reply, :ok, pass_on(queue(%{pipeline | state: state}, {:done, {:ok, frame}, to}))}

      {:drop, state} ->
        {:reply, :ok, %{pipeline | state: state}}
    end
  end

  def handle_call(:stats, _from, pipeline) do
    stats = Map.put(Gpu.stats(pipeline.ctx), :undelivered, pipeline.undelivered)
    {:reply, {:ok, stats}, pipeline}
  end

  @impl true
  def handle_info({:dala_media_frame, ref, result}, pipeline) do
    pending =
      :queue.filter(
        fn
          {:running, ^ref, to} -> [{:done, result, to}]
          other -> [other]
        end,
        pipeline.pending
      )

    {:noreply, pass_on(%{pipeline | pending: pending})}
  end

  def handle_info(_other, pipeline), do: {:noreply, pipeline}

  # An invalid frame or list of filters is an error of the pushing process or of the module: the
  # pushing process gets the error, and the pipeline keeps running.
  defp filter(frame, filters, to, pipeline) do
    {:ok, ref} = Gpu.process_frame_async(pipeline.ctx, frame, filters)
    {:ok, queue(pipeline, {:running, ref, to})}
  rescue
    error in Error -> {{:error, error}, pipeline}
  end

  defp queue(pipeline, entry), do: %{pipeline | pending: :queue.in(entry, pipeline.pending)}

  # Delivers finished frames, up to the first that is not finished.
  defp pass_on(pipeline) do
    case :queue.peek(pipeline.pending) do
      {:value, {:done, result, to}} ->
        delivered? = Server.deliver(to, {:dala_media_frame, self(), result})
        undelivered = if delivered?, do: pipeline.undelivered, else: pipeline.undelivered + 1
        pending = :queue.drop(pipeline.pending)
        pass_on(%{pipeline | pending: pending, undelivered: undelivered})

      _ ->
        pipeline
    end
  end
end
