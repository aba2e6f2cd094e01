defmodule Dala.Test.XScreen do
  @moduledoc false
  # A virtual screen, and as much of the X protocol as it takes to look at the windows on it, to
  # resize them and to close them as a user does: https://www.x.org/releases/current/doc/xproto.

  import Dala.Test.GpuCase, only: [eventually: 1]
  import ExUnit.Assertions

  @enforce_keys [:display, :socket, :root]
  defstruct [:display, :socket, :root]

  @bound 60_000
  @viewable 2
  @wm_name 39

  @doc "Starts Xvfb, which ends with the calling process, and connects to it."
  def start do
    # Xvfb itself tells which display is free. It ends when its input does.
    command =
      "Xvfb -displayfd 1 -screen 0 800x600x24 -nolisten tcp -terminate 2>/dev/null & " <>
        "server=$!; cat >/dev/null; kill $server"

    port = Port.open({:spawn_executable, "/bin/sh"}, [:binary, args: ["-c", command]])

    number =
      receive do
        {^port, {:data, text}} -> String.trim(text)
      after
        @bound -> flunk("Xvfb did not start")
      end

    {:ok, socket} =
      :gen_tcp.connect({:local, "/tmp/.X11-unix/X#{number}"}, 0, [:binary, active: false])

    :ok = :gen_tcp.send(socket, <<?l, 0, 11::little-16, 0::64>>)
    <<1, _, _::32, words::little-16>> = recv(socket, 8)

    <<_::128, vendor::little-16, _::16, _screens, formats, _::80, rest::binary>> =
      recv(socket, words * 4)

    skipped = div(vendor + 3, 4) * 4 + formats * 8
    <<_::binary-size(skipped), root::little-32, _::binary>> = rest
    %__MODULE__{display: ":#{number}", socket: socket, root: root}
  end

  @doc "Waits for the window with that title to be shown."
  def await_window(screen, title) do
    eventually(fn ->
      Enum.find(
        children(screen, screen.root),
        &(name(screen, &1) == title and viewable?(screen, &1))
      )
    end)
  end

  @doc "The windows with that title that are shown."
  def shown?(screen, title) do
    Enum.any?(
      children(screen, screen.root),
      &(name(screen, &1) == title and viewable?(screen, &1))
    )
  end

  @doc "The width and height of a window."
  def size(screen, window) do
    <<_::128, width::little-16, height::little-16, _::binary>> =
      ask(screen, 14, <<window::little-32>>)

    {width, height}
  end

  @doc """
  Returns the screen content of the window, as RGB, or `:gone` if the window has another size by the
  time the server reads it.
  """
  def screenshot(screen, window) do
    {width, height} = size(screen, window)
    area = <<0::32, width::little-16, height::little-16, 0xFFFFFFFF::little-32>>

    with <<_::192, _::64, pixels::binary>> <-
           ask(screen, 73, 2, <<window::little-32, area::binary>>) do
      {width, height, for(<<b, g, r, _ <- pixels>>, into: <<>>, do: <<r, g, b>>)}
    end
  end

  @doc "Gives a window another size, as a window manager does."
  def resize(screen, window, width, height) do
    tell(screen, 12, 0, <<window::little-32, 12::little-32, width::little-32, height::little-32>>)
  end

  @doc "Asks a window to close, as its close button does."
  def close(screen, window) do
    protocols = atom(screen, "WM_PROTOCOLS")
    delete = atom(screen, "WM_DELETE_WINDOW")

    event = <<33, 32, 0::16, window::little-32, protocols::little-32, delete::little-32, 0::128>>

    tell(screen, 25, 0, <<window::little-32, 0::32, event::binary>>)
  end

  defp children(screen, window) do
    <<_::64, _::64, count::little-16, _::112, windows::binary>> =
      ask(screen, 15, <<window::little-32>>)

    for <<child::little-32 <- binary_part(windows, 0, count * 4)>>, do: child
  end

  # A window may disappear while it is being queried.
  defp viewable?(screen, window) do
    case ask(screen, 3, <<window::little-32>>) do
      <<_::208, state, _::binary>> -> state == @viewable
      :gone -> false
    end
  end

  defp name(screen, window) do
    case ask(screen, 20, <<window::little-32, @wm_name::little-32, 0::64, 64::little-32>>) do
      <<_::128, length::little-32, _::96, value::binary>> -> binary_part(value, 0, length)
      :gone -> nil
    end
  end

  defp atom(screen, name) do
    padding = rem(4 - rem(byte_size(name), 4), 4) * 8

    <<_::64, atom::little-32, _::binary>> =
      ask(screen, 16, <<byte_size(name)::little-16, 0::16, name::binary, 0::size(padding)>>)

    atom
  end

  defp ask(screen, opcode, detail \\ 0, body) do
    tell(screen, opcode, detail, body)
    answer(screen)
  end

  defp tell(screen, opcode, detail, body) do
    words = 1 + div(byte_size(body), 4)
    :ok = :gen_tcp.send(screen.socket, [<<opcode, detail, words::little-16>>, body])
  end

  # A reply is 32 bytes and perhaps more, an error just that; events were not asked for.
  defp answer(screen) do
    case recv(screen.socket, 32) do
      <<1, _, _::16, words::little-32, _::binary>> = head when words > 0 ->
        head <> recv(screen.socket, words * 4)

      <<1, _::binary>> = whole ->
        whole

      <<0, _::binary>> ->
        :gone

      _event ->
        answer(screen)
    end
  end

  defp recv(socket, size) do
    {:ok, bytes} = :gen_tcp.recv(socket, size, @bound)
    bytes
  end
end
