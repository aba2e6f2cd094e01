defmodule Bench.Chart do
  # The results as two SVG charts. `render/2` draws a bar per line, its length the speed relative to
  # the peer (an upper bound on time is inverted), and a tick at the target. `summary/2` draws a bar
  # per family and library that it is compared with: the geometric mean of their lines. The scale is
  # logarithmic, so twice as fast and half as fast are equally far from the line in the middle,
  # which is the peer.

  alias Bench.Line

  @width 900
  @label 380
  @row 15
  @top 64
  # Bars are clipped at this ratio; the number next to the bar is exact.
  @range 4.0

  def render(lines, caption) do
    lines = for line <- lines, line.ratio != nil, Line.target(line) != "", do: line
    rows = with_headings(lines)
    height = @top + length(rows) * @row + 16

    """
    <svg xmlns="http://www.w3.org/2000/svg" width="#{@width}" height="#{height}" \
    viewBox="0 0 #{@width} #{height}" font-family="sans-serif" font-size="11">
    <rect width="100%" height="100%" fill="white"/>
    <text x="12" y="20" font-size="15" font-weight="bold">Dala GPU beside its peers</text>
    <text x="12" y="37" fill="#555">#{escape(caption)}. Longer is faster; the short tick is the target.</text>
    #{axis(height)}
    #{rows |> Enum.with_index() |> Enum.map_join("\n", fn {row, index} -> row(row, @top + index * @row) end)}
    </svg>
    """
  end

  def summary(lines, caption) do
    # Lines with an upper bound measure a budget, such as the time of a first call, and have no
    # peer.
    compared = for line <- lines, line.ratio != nil and line.at_least != nil, do: line
    keys = compared |> Enum.map(&{&1.family, &1.peer}) |> Enum.uniq()
    families = for key <- keys, do: Enum.filter(compared, &({&1.family, &1.peer} == key))
    row = 22
    height = @top + length(families) * row + 16

    """
    <svg xmlns="http://www.w3.org/2000/svg" width="#{@width}" height="#{height}" \
    viewBox="0 0 #{@width} #{height}" font-family="sans-serif" font-size="12">
    <rect width="100%" height="100%" fill="white"/>
    <text x="12" y="20" font-size="15" font-weight="bold">Speed relative to other libraries</text>
    <text x="12" y="37" fill="#555">#{escape(caption)}. Geometric mean per family; right of 1 is faster.</text>
    #{axis(height)}
    #{families |> Enum.with_index() |> Enum.map_join("\n", fn {lines, index} -> family(lines, @top + index * row) end)}
    </svg>
    """
  end

  defp family([first | _] = lines, y) do
    speeds = Enum.map(lines, &:math.log(speed(&1)))
    speed = :math.exp(Enum.sum(speeds) / length(speeds))
    [from, to] = Enum.sort([x(1.0), x(speed)])
    label = "#{first.family} (#{length(lines)}) vs #{first.peer}"

    ~s(<text x="#{@label}" y="#{y + 14}" text-anchor="end">#{escape(label)}</text>) <>
      ~s(<rect x="#{from}" y="#{y + 4}" width="#{Float.round(to - from, 1)}" height="13" ) <>
      ~s(fill="#{if speed >= 1, do: "#3f8f5f", else: "#c2703d"}"/>) <>
      ~s(<text x="#{@width - 12}" y="#{y + 14}" text-anchor="end">) <>
      ~s(#{:erlang.float_to_binary(speed, decimals: 2)}</text>)
  end

  defp with_headings(lines) do
    lines
    |> Enum.chunk_by(& &1.family)
    |> Enum.flat_map(fn [first | _] = family -> [first.family | family] end)
  end

  defp axis(height) do
    for mark <- [0.25, 0.5, 1.0, 2.0, 4.0], into: "" do
      x = x(mark)
      color = if mark == 1.0, do: "#333", else: "#ddd"

      ~s(<line x1="#{x}" y1="52" x2="#{x}" y2="#{height - 12}" stroke="#{color}"/>) <>
        ~s(<text x="#{x}" y="49" text-anchor="middle" fill="#777">#{mark}</text>\n)
    end
  end

  defp row(family, y) when is_binary(family) do
    ~s(<text x="12" y="#{y + 11}" font-weight="bold">#{escape(family)}</text>)
  end

  defp row(line, y) do
    speed = speed(line)
    [from, to] = Enum.sort([x(1.0), x(speed)])
    color = if Line.verdict(line) == "ok", do: "#3f8f5f", else: "#c2703d"
    tick = x(wanted(line))

    ~s(<text x="#{@label}" y="#{y + 11}" text-anchor="end">#{escape(line.name)} / ) <>
      ~s(#{escape(line.peer)}</text>) <>
      ~s(<rect x="#{from}" y="#{y + 3}" width="#{Float.round(to - from, 1)}" height="9" fill="#{color}"/>) <>
      ~s(<line x1="#{tick}" y1="#{y + 1}" x2="#{tick}" y2="#{y + 14}" stroke="#000"/>) <>
      ~s(<text x="#{@width - 12}" y="#{y + 11}" text-anchor="end">) <>
      ~s(#{:erlang.float_to_binary(speed * 1.0, decimals: 2)}</text>)
  end

  defp speed(%{at_most: nil, ratio: ratio}), do: ratio
  defp speed(%{ratio: ratio}), do: 1 / ratio
  defp wanted(%{at_most: nil, at_least: least}), do: least
  defp wanted(%{at_most: most}), do: 1 / most

  defp x(speed) do
    bounded = speed |> max(1 / @range) |> min(@range)
    left = @label + 20
    right = @width - 60
    position = (:math.log(bounded) / :math.log(@range) + 1) / 2
    Float.round(left + position * (right - left), 1)
  end

  defp escape(text) do
    text |> String.replace("&", "&amp;") |> String.replace("<", "&lt;")
  end
end
