defmodule Bench.Report do
  # What a run says before, after and on disk.

  alias Bench.{Chart, Json, Line}

  def heading(options) do
    kind = if options.quick, do: "Quick run: few rounds, not for the record.\n", else: ""

    "#{kind}#{machine()}, #{date()}\n" <>
      "Medians; the ratio is how many times as fast as the peer (<=: our time by the peer's).\n"
  end

  def summary(lines) do
    counts = Enum.frequencies_by(lines, &kind/1)
    ok = Map.get(counts, :ok, 0)
    scratch = lines |> Enum.map(& &1.scratch) |> Enum.max(fn -> 0 end)

    "\n#{ok} of #{length(lines)} lines reach their target, #{Map.get(counts, :short, 0)} fall " <>
      "short, #{Map.get(counts, :no_peer, 0)} have no peer here. " <>
      "The most scratch memory of any was #{Float.round(scratch / 1024 / 1024, 1)} MiB of 16."
  end

  defp kind(line) do
    cond do
      Line.good?(line) -> :ok
      Line.verdict(line) == "no peer" -> :no_peer
      true -> :short
    end
  end

  def json(lines, options) do
    Json.encode(%{
      machine: machine(),
      date: date(),
      quick: options.quick,
      only: options.only,
      lines:
        for line <- lines do
          line
          |> Map.from_struct()
          |> Map.delete(:problem)
          |> Map.put(:verdict, Line.verdict(line))
        end
    }) <> "\n"
  end

  def chart(lines), do: Chart.render(lines, "#{machine()}, #{date()}")
  def summary_chart(lines), do: Chart.summary(lines, "#{machine()}, #{date()}")

  def machine do
    name =
      with {:ok, info} <- File.read("/proc/cpuinfo"),
           [_, name] <- Regex.run(~r/^model name\s*: (.*)$/m, info) do
        name
      else
        _ -> to_string(:erlang.system_info(:system_architecture))
      end

    "#{name}, #{System.schedulers_online()} threads"
  end

  defp date, do: Date.to_iso8601(Date.utc_today())
end
