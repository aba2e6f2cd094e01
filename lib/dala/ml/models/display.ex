defmodule Dala.ML.Models.Display do
  @moduledoc false
  # Shows the progress of an installation: a progress bar on a terminal, otherwise a line for each
  # quarter.

  alias Dala.Gpu.Compute.Bytes

  @bar 30

  @type t :: %{terminal?: boolean(), shown: :counters.counters_ref()}

  @spec start() :: t()
  def start, do: %{terminal?: match?({:ok, _columns}, :io.columns()), shown: :counters.new(1, [])}

  @doc "Shows an event of `Dala.ML.Models.install/2`."
  @spec event(t(), term()) :: :ok
  def event(_display, {:fetch, what, nil}), do: IO.puts("  from #{what}")

  def event(_display, {:fetch, what, bytes}),
    do: IO.puts("  from #{what}, #{Bytes.format(bytes)}")

  def event(_display, {:locked, name, who}),
    do: IO.puts("  waiting: #{who} is installing #{name} as well")

  def event(%{terminal?: true} = display, {:waiting, seconds}),
    do: move(display, "  npm: #{seconds} s")

  def event(%{terminal?: true} = display, {:progress, bytes, total}),
    do: move(display, "  " <> progress(bytes, total))

  def event(display, {:progress, bytes, total}) when is_integer(total) and total > 0 do
    quarter = div(4 * bytes, total)

    if quarter > :counters.get(display.shown, 1) do
      :counters.put(display.shown, 1, quarter)
      IO.puts("  " <> progress(bytes, total))
    end

    :ok
  end

  def event(_display, _other), do: :ok

  @doc "Ends the line of the progress bar."
  @spec stop(t()) :: :ok
  def stop(%{terminal?: true} = display) do
    if :counters.get(display.shown, 1) > 0, do: IO.puts("")
    :ok
  end

  def stop(_display), do: :ok

  @doc "Formats rows as a table with aligned columns."
  @spec table([[String.t()]]) :: String.t()
  def table(rows) do
    widths = rows |> Enum.zip() |> Enum.map(&(&1 |> Tuple.to_list() |> longest()))

    Enum.map_join(rows, "\n", fn row ->
      row
      |> Enum.zip(widths)
      |> Enum.map_join("  ", fn {cell, width} -> String.pad_trailing(cell, width) end)
      |> String.trim_trailing()
    end)
  end

  defp longest(cells), do: cells |> Enum.map(&String.length/1) |> Enum.max()

  defp move(display, line) do
    :counters.put(display.shown, 1, 1)
    IO.write("\r" <> String.pad_trailing(line, 70))
  end

  defp progress(bytes, nil), do: Bytes.format(bytes)

  defp progress(bytes, total) do
    full = div(@bar * bytes, total)
    bar = String.duplicate("#", full) <> String.duplicate(".", @bar - full)
    "[#{bar}] #{Bytes.format(bytes)} of #{Bytes.format(total)}"
  end
end
