defmodule Dala.Gpu.Compute.Remote.CommandsTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute.Remote.Commands

  defp failed(message), do: {:error, %Error{reason: :device_lost, message: message}}

  test "commands are pending, then done or failed" do
    [one, two] = for _ <- 1..2, do: Commands.issue(self())
    assert two > one
    assert Commands.remote?(one)
    refute Commands.remote?(0x7FFFFFFFFFFFFFFF)
    assert Commands.find(one) == {:pending, self()}
    Commands.finish(one, :ok)
    Commands.finish(two, failed("lost"))
    assert Commands.find(one) == :ok
    assert Commands.find(two) == failed("lost")
    assert Commands.find(two + 1_000_000) == :unknown
  end

  test "what failed commands leave behind is bounded" do
    ids =
      for n <- 1..3000, do: Commands.issue(self()) |> tap(&Commands.finish(&1, failed("#{n}")))

    assert Commands.find(List.last(ids)) == failed("3000")
    kept = Enum.count(ids, &(Commands.find(&1) != :ok))
    assert kept <= 1024
    assert :ets.info(Commands, :size) < 2000
  end
end
