defmodule Dala.Gpu.Window do
  @moduledoc false
  # A window that shows the frames of a surface, through OTP's :wx.
  #
  # wx is looked up when a window is opened, not at compile time, because it is optional. The
  # process is linked to the surface and reports user actions to it as `{Dala.Gpu.Window, window,
  # {:resized, width, height} | :closed}`.
  #
  # On the device, a frame is scaled to the window, composited over black and converted to RGB; only
  # the result is read back. If frames arrive faster than they can be shown, only the latest is
  # shown.

  alias Dala.Gpu.Compute.{Buffer, Command, Error, Kernel}

  @compile {:no_warn_undefined,
            [:wx, :wxBitmap, :wxFrame, :wxImage, :wxStaticBitmap, :wxTopLevelWindow, :wxWindow]}

  @any_id -1

  @enforce_keys [:surface, :frame, :view, :bitmap, :size]
  # `view` is the control that shows `bitmap`; `picture` is the latest frame, RGBA on the device.
  defstruct [:surface, :frame, :view, :bitmap, :size, :picture]

  @doc "Opens a window whose client area has that size."
  @spec start_link(pos_integer(), pos_integer(), String.t()) :: {:ok, pid()} | {:error, Error.t()}
  def start_link(width, height, title) do
    with :ok <- available() do
      surface = self()
      ref = make_ref()
      pid = spawn_link(fn -> init(surface, ref, width, height, title) end)

      receive do
        {^ref, :ok} -> {:ok, pid}
        {^ref, {:error, error}} -> {:error, error}
        {:EXIT, ^pid, reason} -> unsupported("the window cannot be opened: #{inspect(reason)}")
      end
    end
  end

  @doc "Shows the current content of the buffer."
  @spec show(pid(), Buffer.t()) :: :ok
  def show(window, buffer) do
    # The next command may change the buffer, so the frame is copied, on the device.
    picture = Buffer.zeros(buffer.shape, :u8)
    Command.submit(%{op: :copy_buffer, inputs: [buffer], output: picture})
    send(window, {:show, picture})
    :ok
  end

  @doc "Resizes the client area of the window."
  @spec resize(pid(), pos_integer(), pos_integer()) :: :ok
  def resize(window, width, height) do
    send(window, {:resize, width, height})
    :ok
  end

  @spec close(pid()) :: :ok
  def close(window) do
    send(window, :close)
    :ok
  end

  # wx can terminate the VM if it cannot connect to the display, so the connection is tried first.
  defp available do
    cond do
      not Code.ensure_loaded?(:wx) ->
        unsupported("a window needs OTP's wx, which is not installed: install erlang-wx")

      not match?({:unix, os} when os != :darwin, :os.type()) ->
        :ok

      true ->
        displays =
          for name <- ["WAYLAND_DISPLAY", "DISPLAY"], value = env(name), do: {name, value}

        cond do
          displays == [] ->
            unsupported("a window needs a display: neither DISPLAY nor WAYLAND_DISPLAY is set")

          Enum.any?(displays, &served?/1) ->
            :ok

          true ->
            names = Enum.map_join(displays, " and ", fn {name, value} -> "#{name}=#{value}" end)
            unsupported("a window needs a display: cannot connect to #{names}")
        end
    end
  end

  defp env(name) do
    value = System.get_env(name)
    if value != "", do: value
  end

  defp served?({"WAYLAND_DISPLAY", name}),
    do: connects?({:local, Path.expand(name, env("XDG_RUNTIME_DIR") || "/")}, 0)

  # host:display.screen, with an empty host for this machine
  defp served?({"DISPLAY", name}) do
    case Regex.run(~r/^(?:unix|([^:]*)):(\d+)(?:\.\d+)?$/, name) do
      [_, "", number] ->
        socket = "/tmp/.X11-unix/X#{number}"
        connects?({:local, socket}, 0) or connects?({:local, <<0>> <> socket}, 0)

      [_, host, number] ->
        connects?(String.to_charlist(host), 6000 + String.to_integer(number))

      nil ->
        false
    end
  end

  defp connects?(address, port) do
    case :gen_tcp.connect(address, port, [], 5_000) do
      {:ok, socket} -> :gen_tcp.close(socket) == :ok
      {:error, _reason} -> false
    end
  end

  defp unsupported(message), do: {:error, %Error{reason: :unsupported, message: message}}

  defp init(surface, ref, width, height, title) do
    case open(surface, width, height, title) do
      %__MODULE__{} = state ->
        send(surface, {ref, :ok})
        loop(state)

      {:error, _error} = failed ->
        send(surface, {ref, failed})
    end
  end

  defp open(surface, width, height, title) do
    :wx.new()
    frame = :wxFrame.new(:wx.null(), @any_id, String.to_charlist(title))
    bitmap = bitmap(width, height, :binary.copy(<<0, 0, 0>>, width * height))
    # The only child of a wxFrame always fills it.
    view = :wxStaticBitmap.new(frame, @any_id, bitmap)
    :wxWindow.setClientSize(frame, {width, height})
    :ok = :wxFrame.connect(frame, :close_window)
    :ok = :wxFrame.connect(frame, :size, skip: true)
    true = :wxWindow.show(frame)

    %__MODULE__{
      surface: surface,
      frame: frame,
      view: view,
      bitmap: bitmap,
      size: {width, height}
    }
  rescue
    error -> unsupported("the window cannot be opened: #{Exception.message(error)}")
  end

  defp loop(state) do
    receive do
      {:show, picture} ->
        if state.picture, do: Buffer.free(state.picture)
        loop(paint(%{state | picture: latest(picture)}))

      {:resize, width, height} ->
        :wxWindow.setClientSize(state.frame, {width, height})
        loop(paint(%{state | size: {width, height}}))

      {:wx, _id, _object, _data, event} when elem(event, 0) == :wxSize ->
        loop(follow(state, :wxWindow.getClientSize(state.frame)))

      {:wx, _id, _object, _data, event} when elem(event, 0) == :wxClose ->
        finish(state)
        send(state.surface, {__MODULE__, self(), :closed})

      :close ->
        finish(state)

      _other ->
        loop(state)
    end
  end

  defp latest(picture) do
    receive do
      {:show, newer} ->
        Buffer.free(picture)
        latest(newer)
    after
      0 -> picture
    end
  end

  # A size event that reports the known size was caused by our own resize.
  defp follow(%{size: size} = state, size), do: state

  defp follow(state, {width, height} = size) when width > 0 and height > 0 do
    send(state.surface, {__MODULE__, self(), {:resized, width, height}})
    paint(%{state | size: size})
  end

  defp follow(state, _hidden), do: state

  defp paint(%{picture: nil} = state), do: state

  defp paint(%{size: {width, height}} = state) do
    bitmap = bitmap(width, height, rgb(state.picture, width, height))
    :wxStaticBitmap.setBitmap(state.view, bitmap)
    :wxBitmap.destroy(state.bitmap)
    %{state | bitmap: bitmap}
  end

  defp rgb(picture, width, height) do
    {:ok, scaled} = scaled(picture, width, height)
    opaque = Buffer.zeros({height, width, 3}, :u8)
    :ok = Kernel.run(:flatten, [scaled], opaque)
    pixels = Buffer.read(opaque)
    Buffer.free_many([opaque | if(scaled == picture, do: [], else: [scaled])])
    pixels
  end

  defp scaled(%Buffer{shape: {height, width, 4}} = picture, width, height), do: {:ok, picture}

  defp scaled(picture, width, height) do
    scaled = Buffer.zeros({height, width, 4}, :u8)
    with :ok <- Kernel.run(:resize, [picture], scaled, mode: :bilinear), do: {:ok, scaled}
  end

  defp bitmap(width, height, rgb) do
    image = :wxImage.new(width, height, rgb)
    bitmap = :wxBitmap.new(image)
    :wxImage.destroy(image)
    bitmap
  end

  defp finish(state) do
    if state.picture, do: Buffer.free(state.picture)
    :wxFrame.destroy(state.frame)
    :wx.destroy()
  end
end
