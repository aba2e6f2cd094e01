defmodule Dala.System.FramesTest do
  # A long stream of frames.
  use Dala.Test.GpuCase, async: false

  alias Dala.Media.Gpu

  @moduletag timeout: 300_000

  @frames 10_000
  @watched 1_000

  test "memory stays as it is, and nothing is allocated after the second frame" do
    {:ok, ctx} = Gpu.start_pipeline(160, 120)
    frames = for i <- 0..7, do: :binary.copy(<<i * 30, 255 - i * 30, i * 10, 255>>, 160 * 120)

    filters = fn i ->
      [{:blur, %{radius: 2}}, {:brightness, %{value: rem(i, 10) / 20}}, :sepia]
    end

    # A frame lives while it is referenced, which ends here after its turn.
    run = fn i ->
      result = Gpu.process_frame(ctx, Enum.at(frames, rem(i, 8)), filters.(i))
      assert byte_size(result) == 160 * 120 * 4
      :erlang.garbage_collect()
    end

    run.(1)
    run.(2)
    before = {Compute.counters(), Compute.memory_info()}

    for i <- 3..(@frames - @watched), do: run.(i)
    # Longer than a time slice of the system.
    assert watch_schedulers(30, fn -> for i <- 1..@watched, do: run.(i) end) == []

    {counters, memory} = {Compute.counters(), Compute.memory_info()}
    {counters_before, memory_before} = before
    assert counters.allocations == counters_before.allocations
    assert counters.compiled == counters_before.compiled
    assert memory.in_use == memory_before.in_use
    assert Gpu.stats(ctx).frames >= @frames

    if Compute.device_info().zero_copy do
      assert counters.bytes_in == counters_before.bytes_in
      assert counters.bytes_out == counters_before.bytes_out
    end
  end
end
