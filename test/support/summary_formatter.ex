defmodule Dala.Test.SummaryFormatter do
  @moduledoc false
  # Names every skipped test, with its reason, and every failed one again at the end of the run,
  # where a log that was cut still has them.

  use GenServer

  @impl true
  def init(_opts), do: {:ok, %{skipped: [], failed: []}}

  @impl true
  def handle_cast({:test_finished, %ExUnit.Test{state: {:skipped, reason}} = test}, tests) do
    {:noreply, Map.update!(tests, :skipped, &["#{title(test)}: #{reason}" | &1])}
  end

  def handle_cast({:test_finished, %ExUnit.Test{state: {:failed, failures}} = test}, tests) do
    number = length(tests.failed) + 1
    plain = fn _key, text -> text end
    text = ExUnit.Formatter.format_test_failure(test, failures, number, 98, plain)
    {:noreply, Map.update!(tests, :failed, &[String.trim(text) | &1])}
  end

  def handle_cast({:suite_finished, _times}, tests) do
    list("Skipped", tests.skipped)
    list("Failed", tests.failed)
    {:noreply, tests}
  end

  def handle_cast(_event, tests), do: {:noreply, tests}

  defp title(test), do: "#{inspect(test.module)} #{test.name}"

  defp list(_heading, []), do: :ok

  defp list(heading, lines),
    do: IO.puts("\n#{heading}:\n" <> (lines |> Enum.sort() |> Enum.map_join("\n", &("  " <> &1))))
end
