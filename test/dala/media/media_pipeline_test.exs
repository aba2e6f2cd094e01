defmodule Dala.Media.MediaPipelineTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.MediaPipeline

  doctest Dala.Media.MediaPipeline

  defmodule Effects do
    use Dala.Media.MediaPipeline

    @impl true
    def handle_frame(<<1, _::binary>> = frame, count), do: {:ok, frame, count + 1}
    def handle_frame(<<2, _::binary>>, count), do: {:drop, count + 1}
    def handle_frame(<<3, _::binary>>, count), do: {:filter, [:no_such_filter], count}
    def handle_frame(_frame, count), do: {:filter, [{:brightness, %{value: 0.2}}], count + 1}
  end

  test "filters, passes on and drops, in order" do
    {:ok, pid} = MediaPipeline.start_link(Effects, 0, width: 1, height: 1)
    for value <- [100, 1, 2, 101, 1], do: :ok = MediaPipeline.push(pid, <<value, 0, 0, 255>>)

    for value <- [151, 1, 152, 1] do
      assert_receive {:dala_media_frame, ^pid, {:ok, <<^value, _::binary>>}}, 60_000
    end

    refute_received {:dala_media_frame, ^pid, _}
    assert %{frames: 2} = MediaPipeline.stats(pid)
    assert MediaPipeline.stop(pid) == :ok
  end

  test "an invalid frame is reported to the pusher, and the process keeps running" do
    {:ok, pid} = MediaPipeline.start_link(Effects, 0, width: 1, height: 1, to: self())
    assert_error(MediaPipeline.push(pid, <<3, 0, 0, 255>>), :unknown_kernel, "no_such_filter")
    assert_error(MediaPipeline.push(pid, <<9>>), :shape_mismatch, "has 4 bytes, got 1")
    :ok = MediaPipeline.push(pid, <<1, 2, 3, 4>>)
    assert_receive {:dala_media_frame, ^pid, {:ok, <<1, 2, 3, 4>>}}, 60_000
  end

  test "needs a size" do
    assert_raise ArgumentError, "expected the option height: of the frames", fn ->
      MediaPipeline.start_link(Effects, 0, width: 1)
    end
  end
end
