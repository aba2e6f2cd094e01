defmodule Dala.Gpu.Surface do
  @moduledoc false
  # The process behind a surface; `Dala.Gpu` is its public face.
  #
  # It owns the buffer with the pixels and submits all drawing, so that commands are queued in the
  # order in which they arrive. It never waits for the device: a command's end comes as a message,
  # and whoever asked for a finished frame gets the reply then. Callers that want the pixels wait
  # for them themselves.
  #
  # It is linked to its creator and traps exits, so that it ends with the creator, however that
  # ends, and frees the buffer on the way. The link is made here, not by `start_link`, for which
  # the end of the creator would be an error to log.

  use GenServer, restart: :temporary

  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Native}
  alias Dala.Gpu.Window
  alias Dala.Media.Image

  @enforce_keys [:creator, :buffer]
  defstruct [
    :creator,
    :buffer,
    # The message that the latest command will answer with; nil when it has.
    :last,
    # An error of a queued command that nobody has heard of yet.
    :failure,
    :window,
    frame: 0,
    # What to do when a command is done: by the reference of its message, latest first.
    waiting: %{},
    # Processes to tell of frames, with the monitors on them.
    subscribers: %{}
  ]

  @max_pixels 134_217_728

  @spec start_link(term(), term(), keyword()) :: {:ok, pid()} | {:error, Error.t()}
  def start_link(width, height, opts) do
    with :ok <- check_size(width, height) do
      case GenServer.start(__MODULE__, {self(), width, height, opts}) do
        {:ok, surface} -> {:ok, surface}
        {:error, {:shutdown, %Error{} = error}} -> {:error, error}
      end
    end
  end

  @doc "Asks a surface; one that is gone is the error `:freed`."
  @spec call(pid(), term()) :: term()
  def call(surface, request) do
    surface |> check!() |> GenServer.call(request, :infinity)
  catch
    :exit, _reason ->
      {:error,
       %Error{
         reason: :freed,
         message: "the surface #{inspect(surface)} has been destroyed",
         details: %{surface: surface}
       }}
  end

  @spec stop(pid()) :: :ok
  def stop(surface) do
    surface |> check!() |> GenServer.stop(:normal)
  catch
    :exit, _reason -> :ok
  end

  # Another process would be ended by what it does not understand, or never answer.
  defp check!(surface) when is_pid(surface) do
    if :proc_lib.translate_initial_call(surface) == {__MODULE__, :init, 1} or gone?(surface),
      do: surface,
      else: Argument.refuse!("a surface", surface)
  end

  defp check!(other), do: Argument.refuse!("a surface, which is a process", other)

  defp gone?(surface), do: node(surface) == node() and not Process.alive?(surface)

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
      Process.link(creator)
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

  # The content as of now; the caller waits until it is there.
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
    for pid <- Enum.uniq([state.creator | Map.keys(state.subscribers)]) do
      send(pid, {:dala_gpu_window, self(), event})
    end

    {:noreply, if(event == :closed, do: %{state | window: nil}, else: state)}
  end

  def handle_info({:EXIT, creator, reason}, %{creator: creator} = state) do
    {:stop, {:shutdown, reason}, state}
  end

  # A window that fails takes nothing else with it.
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

  # A call that is wrong is refused at once; the rest is told by message.
  defp submit(state, kernel, inputs, output, params) do
    ref = make_ref()

    case Native.submit(:run_kernel, kernel, inputs, output, params, {:reply, ref}) do
      {:ok, _id} ->
        {:ok, %{state | last: ref}}

      {:full, id} ->
        _ = Command.wait(id)
        submit(state, kernel, inputs, output, params)

      {:wait, ready} ->
        Command.prepared(ready)
        submit(state, kernel, inputs, output, params)

      {:error, _error} = refused ->
        refused
    end
  end

  # All commands write to the same buffer: when the last one is done, all are.
  defp when_done(%{last: nil} = state, action), do: action.(state)

  defp when_done(state, action) do
    %{state | waiting: Map.update(state.waiting, state.last, [action], &[action | &1])}
  end

  defp note(state, {:error, error}), do: %{state | failure: state.failure || error}
  defp note(state, _result), do: state

  # The first error since the last answer, if there was one.
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

  # A binary becomes the buffer, without a copy where the device allows that.
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

  defp put_pixels(state, %Image{width: width, height: height, data: data}) do
    case state.buffer.shape do
      {^height, ^width, 4} -> put_pixels(state, data)
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
