defmodule LiveStreamTest do
  use ExUnit.Case, async: false

  alias LiveStream.{Camera, Look, Screen}

  @bound 60_000

  test "frames arrive, whole" do
    await_frames(3)
    {frame, shown} = Screen.last()
    {width, height} = LiveStream.size()
    assert byte_size(frame) == 4 * width * height
    assert shown >= 3
  end

  test "the filters can be changed while it runs" do
    Look.set(Look, [:grayscale])
    on_exit(fn -> :persistent_term.erase({Look, Look}) end)
    # Frames that were in the pipeline may still have the old filters.
    await_frames(6)
    {<<r, g, b, 255, _rest::binary>>, _shown} = Screen.last()
    assert r == g and g == b
  end

  for process <- [Camera, Look, Screen] do
    test "when #{inspect(process)} is killed, the stream goes on" do
      await_frames(1)
      kill(unquote(process))
      await_frames(3)
    end
  end

  defp await_frames(count) do
    :ok = Screen.subscribe()
    for _ <- 1..count, do: assert_receive({:frame, _number}, @bound)
  end

  # Waits until the supervisor has put another process in its place.
  defp kill(name) do
    pid = Process.whereis(name)
    monitor = Process.monitor(pid)
    Process.exit(pid, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, @bound
    # The supervisor answers after it has restarted the child.
    Supervisor.which_children(LiveStream.Supervisor)
    assert Process.whereis(name) not in [nil, pid]
  end
end
