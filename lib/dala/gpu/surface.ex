defmodule Dala.Gpu.Surface do
  @moduledoc """
  A surface as a child of a supervisor.

      children = [
        {Dala.Gpu.Surface, name: MyApp.Screen, size: {640, 480}}
      ]

      Supervisor.start_link(children, strategy: :one_for_one)
      Dala.Gpu.clear(MyApp.Screen, :black)

  All functions of `Dala.Gpu` accept the name. After a restart, a surface is transparent black and
  has no subscribers; while it is not running, calls fail with the error `:freed`.

  `Dala.Gpu.create_surface/3` creates a surface that belongs to the calling process instead.

  ## Options

    * `:size` - `{width, height}` in pixels, required
    * `:name` - a name for the process: an atom, `{:global, term}` or `{:via, module, term}`; none
      by default
    * `:id` - the id of the child specification, by default the name, or this module
    * `:display` and `:title` - as for `Dala.Gpu.create_surface/3`. Window events are sent to
      subscribers
  """

  # The process owns the buffer with the pixels and submits all drawing, so that commands are queued
  # in the order in which they arrive. It never waits for the device: completion arrives as a
  # message, upon which the caller of present/1 gets its reply. Callers that read the pixels wait
  # for them in their own process.
  #
  # A surface started by create_surface/3 is linked to its creator and traps exits, so that it stops
  # when the creator exits, for whatever reason, and frees the buffer. Its supervisor does not
  # restart it.

  use GenServer

  @behaviour Dala.Gpu.Compute.Sink

  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Native, Runtime, Server}
  alias Dala.Gpu.Window

  @enforce_keys [:buffer]
  defstruct [
    :creator,
    :buffer,
    # The reference of the latest command's completion message; nil once it has arrived.
    :last,
    # The first error of a queued command that has not been reported yet.
    :failure,
    :window,
    frame: 0,
    # Functions to call when a command completes, by the reference of its message, latest first.
    waiting: %{},
    # The pids of subscribers and their monitors.
    subscribers: %{}
  ]

  @max_pixels 134_217_728

  @doc """
  Returns the child specification of a surface; see the options above.

  ## Example

      iex> Dala.Gpu.Surface.child_spec(name: MyApp.Screen, size: {640, 480}).id
      MyApp.Screen
  """
  @spec child_spec(keyword()) :: Supervisor.child_spec()
  def child_spec(opts) do
    {id, opts} = Keyword.pop(opts, :id, opts[:name] || __MODULE__)
    %{id: id, start: {__MODULE__, :start_link, [opts]}}
  end

  @doc """
  Starts a surface linked to the calling process, usually a supervisor; see the options above.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.Surface.start_link(size: {64, 48})
      iex> Dala.Gpu.width(surface)
      64
  """
  @spec start_link(keyword()) :: {:ok, pid()} | {:error, Error.t() | {:already_started, pid()}}
  def start_link(opts) do
    {own, opts} = opts |> Argument.keyword!() |> Keyword.split([:name, :size])

    case own[:size] do
      {width, height} -> start_named(width, height, options!(opts), Keyword.take(own, [:name]))
      other -> Argument.refuse!("size: {width, height} of the surface", other)
    end
  end

  @doc false
  # Starts a surface that stops when its creator exits.
  @spec create(pid(), term(), term(), keyword()) :: {:ok, pid()} | {:error, Error.t()}
  def create(creator, width, height, opts) do
    opts = options!(opts)

    with :ok <- check_size(width, height), :ok <- Runtime.ensure() do
      arguments = [creator, width, height, opts]
      Dala.Gpu.Supervisor.start_temporary(Dala.Gpu.Surfaces, __MODULE__, arguments)
    end
  end

  @doc false
  @spec start_link(pid(), pos_integer(), pos_integer(), keyword()) :: GenServer.on_start()
  def start_link(creator, width, height, opts),
    do: GenServer.start_link(__MODULE__, {creator, width, height, opts})

  defp start_named(width, height, opts, name) do
    with :ok <- check_size(width, height), :ok <- Runtime.ensure() do
      case GenServer.start_link(__MODULE__, {nil, width, height, opts}, name) do
        {:error, {:shutdown, %Error{} = error}} -> {:error, error}
        result -> result
      end
    end
  end

  defp options!(opts) do
    opts = Argument.options!(opts, display: nil, title: "Dala")

    unless opts[:display] in [nil, :window] do
      raise ArgumentError, "expected display: to be :window, got: #{inspect(opts[:display])}"
    end

    unless is_binary(opts[:title]) do
      raise ArgumentError, "expected title: to be a string, got: #{inspect(opts[:title])}"
    end

    opts
  end

  @doc false
  # Calls a surface; one that is not running is the error `:freed`.
  @spec call(GenServer.server(), term()) :: term()
  def call(surface, request), do: Server.call(surface, __MODULE__, "surface", request)

  @doc false
  @spec stop(GenServer.server()) :: :ok
  def stop(surface), do: Server.stop(surface, __MODULE__, "surface")

  @impl Dala.Gpu.Compute.Sink
  def run_kernel(surface, kernel, inputs, output, params),
    do: call(surface, {:run, kernel, inputs, output, params})

  @doc false
  @spec check_size(term(), term()) :: :ok | {:error, Error.t()}
  def check_size(width, height)
      when is_integer(width) and is_integer(height) and width > 0 and height > 0 and
             width * height <= @max_pixels,
      do: :ok

  def check_size(width, height) do
    {:error,
     %Error{
       reason: :invalid_param,
       message:
         "a surface has at least 1 by 1 and at most #{@max_pixels} pixels, got " <>
           "#{inspect(width)} by #{inspect(height)}",
       details: %{width: width, height: height}
     }}
  end

  @impl true
  def init({creator, width, height, opts}) do
    Process.flag(:trap_exit, true)

    with {:ok, buffer} <- allocate(fn -> Buffer.zeros({height, width, 4}, :u8) end),
         {:ok, window} <- open(opts[:display], width, height, opts[:title]) do
      if creator, do: Process.link(creator)
      {:ok, %__MODULE__{creator: creator, buffer: buffer, window: window}}
    else
      {:error, error} -> {:stop, {:shutdown, error}}
    end
  end

  @impl true
  def handle_call({:draw, kernel, params}, _from, state) do
    reply(submit(state, kernel, [], state.buffer.ref, params), state)
  end

  def handle_call({:set_pixels, pixels}, _from, state) do
    reply(put_pixels(state, pixels), state)
  end

  # A snapshot of the current content; the caller waits for it.
  def handle_call(:read, _from, state) do
    {height, width, 4} = state.buffer.shape
    {:reply, {:ok, {width, height, Buffer.start_read(state.buffer)}}, state}
  end

  def handle_call(:size, _from, state) do
    {height, width, 4} = state.buffer.shape
    {:reply, {:ok, {width, height}}, state}
  end

  def handle_call({:resize, width, height}, _from, state) do
    result =
      with :ok <- check_size(width, height),
           {:ok, buffer} <- allocate(fn -> Buffer.zeros({height, width, 4}, :u8) end) do
        Buffer.free(state.buffer)
        if state.window, do: Window.resize(state.window, width, height)
        {:ok, %{state | buffer: buffer}}
      end

    reply(result, state)
  end

  def handle_call({:run, kernel, inputs, output, params}, from, state) do
    result =
      with :ok <- check_output(state, output),
           {:ok, state} <- submit(state, kernel, inputs, output, params),
           do: submit(state, "reshape", [output], state.buffer.ref, %{})

    case result do
      {:ok, state} -> {:noreply, when_done(state, &answer(&1, from))}
      {:error, _error} = failed -> {:reply, failed, state}
    end
  end

  def handle_call(:present, from, state) do
    {:noreply, when_done(state, &present(&1, from))}
  end

  def handle_call({:subscribe, pid}, _from, state) do
    subscribers = Map.put_new_lazy(state.subscribers, pid, fn -> Process.monitor(pid) end)
    {:reply, :ok, %{state | subscribers: subscribers}}
  end

  def handle_call({:unsubscribe, pid}, _from, state), do: {:reply, :ok, forget(state, pid)}

  @impl true
  def handle_info({ref, result}, state) when is_reference(ref) do
    state = if ref == state.last, do: %{state | last: nil}, else: state
    {actions, waiting} = Map.pop(state.waiting, ref, [])
    state = %{note(state, result) | waiting: waiting}
    {:noreply, actions |> Enum.reverse() |> Enum.reduce(state, & &1.(&2))}
  end

  def handle_info({:DOWN, _monitor, :process, pid, _reason}, state) do
    {:noreply, forget(state, pid)}
  end

  def handle_info({Window, window, event}, %{window: window} = state) do
    for pid <- Enum.uniq(List.wrap(state.creator) ++ Map.keys(state.subscribers)) do
      send(pid, {:dala_gpu_window, self(), event})
    end

    {:noreply, if(event == :closed, do: %{state | window: nil}, else: state)}
  end

  def handle_info({:EXIT, creator, reason}, %{creator: creator} = state) when creator != nil do
    {:stop, {:shutdown, reason}, state}
  end

  # A window that crashes does not affect the surface.
  def handle_info({:EXIT, window, _reason}, %{window: window} = state) do
    handle_info({Window, window, :closed}, state)
  end

  def handle_info(_message, state), do: {:noreply, state}

  @impl true
  def terminate(_reason, state) do
    if state.window, do: Window.close(state.window)
    Buffer.free(state.buffer)
  end

  defp reply({:ok, state}, _old), do: {:reply, :ok, state}
  defp reply({:error, _error} = failed, state), do: {:reply, failed, state}

  # An invalid call is refused immediately; errors on the device are reported by message.
  defp submit(state, kernel, inputs, output, params) do
    ref = make_ref()

    with {:ok, _id} <- Native.submit(:run_kernel, kernel, inputs, output, params, {:reply, ref}) do
      Command.take_turn()
      {:ok, %{state | last: ref}}
    end
  end

  # All commands write to the same buffer, so all have finished when the last one has.
  defp when_done(%{last: nil} = state, action), do: action.(state)

  defp when_done(state, action) do
    %{state | waiting: Map.update(state.waiting, state.last, [action], &[action | &1])}
  end

  defp note(state, {:error, error}), do: %{state | failure: state.failure || error}
  defp note(state, _result), do: state

  # Replies with the first error since the last reply, if there was one.
  defp answer(state, from) do
    GenServer.reply(from, if(state.failure, do: {:error, state.failure}, else: :ok))
    %{state | failure: nil}
  end

  defp present(%{failure: nil} = state, from) do
    frame = state.frame + 1
    if state.window, do: Window.show(state.window, state.buffer)
    for {pid, _monitor} <- state.subscribers, do: send(pid, {:dala_gpu_frame, self(), frame})
    answer(%{state | frame: frame}, from)
  end

  defp present(state, from), do: answer(state, from)

  # The binary becomes the buffer, without a copy if the device allows it.
  defp put_pixels(state, pixels) when is_binary(pixels) do
    wanted = Buffer.size(state.buffer)

    if byte_size(pixels) == wanted do
      with {:ok, buffer} <-
             allocate(fn -> Buffer.from_binary(pixels, state.buffer.shape, :u8) end) do
        Buffer.free(state.buffer)
        {:ok, %{state | buffer: buffer}}
      end
    else
      wrong_size(state, "#{byte_size(pixels)} bytes")
    end
  end

  defp put_pixels(state, {width, height, rgba}) do
    case state.buffer.shape do
      {^height, ^width, 4} -> put_pixels(state, rgba)
      _other -> wrong_size(state, "a picture of #{width} by #{height} pixels")
    end
  end

  defp put_pixels(state, %Buffer{ref: ref}) do
    with :ok <- check_output(state, ref),
         do: submit(state, "reshape", [ref], state.buffer.ref, %{})
  end

  defp check_output(state, ref) do
    wanted = Buffer.size(state.buffer)

    with {:ok, {dims, dtype}} <- Native.buffer_type(ref) do
      cond do
        dtype != :u8 ->
          {:error,
           %Error{reason: :dtype_mismatch, message: "a surface takes u8 buffers, got #{dtype}"}}

        Enum.product(dims) != wanted ->
          wrong_size(state, "a buffer of shape #{inspect(List.to_tuple(dims))}")

        true ->
          :ok
      end
    end
  end

  defp wrong_size(state, given) do
    {height, width, 4} = state.buffer.shape

    {:error,
     %Error{
       reason: :shape_mismatch,
       message:
         "the surface has #{width} by #{height} pixels of RGBA, #{width * height * 4} bytes, " <>
           "got #{given}"
     }}
  end

  defp forget(state, pid) do
    {monitor, subscribers} = Map.pop(state.subscribers, pid)
    if monitor, do: Process.demonitor(monitor, [:flush])
    %{state | subscribers: subscribers}
  end

  defp open(nil, _width, _height, _title), do: {:ok, nil}
  defp open(:window, width, height, title), do: Window.start_link(width, height, title)

  defp allocate(create) do
    {:ok, create.()}
  rescue
    error in Error -> {:error, error}
  end
end
