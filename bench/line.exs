defmodule Bench.Line do
  # One workload beside one peer. Times are nanoseconds. `ratio` is how many times as fast as the
  # peer we are; where the target is a bound on time instead (`at_most`), it is our time by theirs.
  # Where the unit is bytes, these stand in place of times.

  @enforce_keys [:peer]
  defstruct [
    :family,
    :name,
    :peer,
    :ours,
    :theirs,
    :ratio,
    at_least: nil,
    at_most: nil,
    scratch: 0,
    unit: :time,
    problem: nil
  ]

  # Beyond the buffers involved.
  @most_scratch 16 * 1024 * 1024

  # What dala_bench writes; see bench/harness.hpp.
  def parse(text) do
    [family, name, peer, ours, theirs, ratio, at_least, scratch, state] = String.split(text, "\t")

    %__MODULE__{
      family: family,
      name: name,
      peer: peer,
      ours: number(ours),
      theirs: number(theirs),
      ratio: number(ratio),
      at_least: number(at_least),
      scratch: String.to_integer(scratch),
      problem: if(state != "ok", do: state)
    }
  end

  defp number("-"), do: nil

  defp number(text) do
    {number, ""} = Float.parse(text)
    number
  end

  def verdict(%{problem: problem}) when problem != nil, do: problem
  def verdict(%{ratio: nil}), do: "no peer"
  def verdict(%{scratch: scratch}) when scratch > @most_scratch, do: "#{mib(scratch)} of scratch"
  # To the two digits that are shown: the third is noise.
  def verdict(%{at_least: least} = line) when least != nil, do: judge(rounded(line) >= least)
  def verdict(%{at_most: most} = line) when most != nil, do: judge(rounded(line) <= most)
  def verdict(_line), do: ""

  defp judge(true), do: "ok"
  defp judge(false), do: "short"
  defp rounded(line), do: Float.round(line.ratio * 1.0, 2)

  def good?(line), do: verdict(line) in ["ok", ""]

  def format(line, options) do
    title = String.pad_trailing("#{line.family} #{line.name}", 44)
    mark = if options.quick, do: " (quick)", else: ""

    "#{title}#{pad(amount(line, line.ours), 10)}  #{pad(line.peer, 12)}" <>
      "#{pad(amount(line, line.theirs), 10)}" <>
      "#{pad(ratio(line), 8)} #{pad(target(line), 9)}  #{verdict(line)}#{mark}"
  end

  def target(%{at_least: least}) when least != nil, do: ">= #{digits(least)}"
  def target(%{at_most: most}) when most != nil, do: "<= #{digits(most)}"
  def target(_line), do: ""

  defp pad(text, width), do: String.pad_leading(text, width)

  defp ratio(%{ratio: nil}), do: "-"
  defp ratio(%{ratio: ratio}), do: digits(ratio) <> "x"

  defp digits(number), do: :erlang.float_to_binary(number * 1.0, decimals: 2)

  defp amount(%{unit: :bytes}, bytes), do: "#{digits(bytes / 1024 / 1024)} MiB"
  defp amount(_line, time), do: time(time)

  def time(nil), do: "-"
  def time(ns) when ns < 1.0e6, do: "#{:erlang.float_to_binary(ns / 1.0e3, decimals: 1)} us"
  def time(ns), do: "#{:erlang.float_to_binary(ns / 1.0e6, decimals: 2)} ms"

  defp mib(bytes), do: "#{div(bytes, 1024 * 1024)} MiB"

  # The median time of that many calls.
  def median_time(call, calls) do
    median(
      for _call <- 1..calls do
        start = System.monotonic_time(:nanosecond)
        call.()
        System.monotonic_time(:nanosecond) - start
      end
    )
  end

  def median(values) do
    sorted = Enum.sort(values)
    count = length(sorted)
    (Enum.at(sorted, div(count - 1, 2)) + Enum.at(sorted, div(count, 2))) / 2
  end
end
