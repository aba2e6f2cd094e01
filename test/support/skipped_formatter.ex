defmodule Dala.Test.SkippedFormatter do
  @moduledoc false
  # Names every skipped test, with its reason, at the end of the run.

  use GenServer

  @impl true
  def init(_opts), do: {:ok, []}

  @impl true
  def handle_cast({:test_finished, %ExUnit.Test{state: {:skipped, reason}} = test}, skipped) do
    {:noreply, ["#{inspect(test.module)} #{test.name}: #{reason}" | skipped]}
  end

  def handle_cast({:suite_finished, _times}, skipped) do
    unless skipped == [] do
      IO.puts("\nSkipped:\n" <> (skipped |> Enum.sort() |> Enum.map_join("\n", &("  " <> &1))))
    end

    {:noreply, skipped}
  end

  def handle_cast(_event, skipped), do: {:noreply, skipped}
end
