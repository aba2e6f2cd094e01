defmodule Dala.ML.Detection.Boxes do
  @moduledoc false
  # Outputs of models that include non-maximum suppression: boxes {1, n, 4} as corners, scores and
  # classes {1, n}, and usually the number of valid boxes. The leading 1 may be missing.
  #
  # Files list the outputs in different orders and with arbitrary names. Scores and classes have the
  # same shape and are distinguished by their values: classes are integers.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.ML.Output

  @doc """
  Returns the boxes with a score of at least the threshold, in pixels of the input. `order` is `:xy`
  or `:yx`, the order of corner coordinates; `names` is the order of scores and classes if their
  values are ambiguous; `scale` is the factor for boxes.
  """
  def candidates(named, order, names, {scale_x, scale_y}, threshold) do
    {boxes, scores, classes, count} = parts!(named, names)

    [Enum.chunk_every(boxes, 4), scores, classes]
    |> Enum.zip()
    |> Enum.take(count)
    |> Enum.flat_map(fn {corners, score, class} ->
      with true <- is_float(score) and score >= threshold and is_float(class) and class >= 0,
           [a, b, c, d] <- Enum.filter(corners, &is_float/1),
           {x1, y1, x2, y2} <- if(order == :xy, do: {a, b, c, d}, else: {b, a, d, c}),
           true <- x2 > x1 and y2 > y1 do
        box = {x1 * scale_x, y1 * scale_y, (x2 - x1) * scale_x, (y2 - y1) * scale_y}
        [%{index: round(class), score: score, box: box}]
      else
        _none -> []
      end
    end)
  end

  defp parts!(named, names) do
    with [{boxes, count}] <- boxes(named),
         others = for({_name, buffer} <- named, buffer != boxes, do: buffer),
         {[a, b], counts} <- columns(others, count),
         {:ok, kept} <- kept(counts, count) do
      {scores, classes} = told_apart(numbers(a), numbers(b), names)
      {numbers(boxes), scores, classes, kept}
    else
      _unlike ->
        Output.unfit!(
          "expected outputs {1, n, 4}, {1, n}, {1, n} and {1}, which are boxes, scores, classes " <>
            "and their count, got #{Output.list(named)}"
        )
    end
  end

  # The scores of four boxes have the same shape as one box without the leading 1.
  defp boxes(named) do
    with [] <- for({_name, %Buffer{shape: {1, n, 4}} = buffer} <- named, do: {buffer, n}),
         do: for({_name, %Buffer{shape: {n, 4}} = buffer} <- named, do: {buffer, n})
  end

  # The two outputs with one number per box; for a single box, the count has that shape, too.
  defp columns(others, count) do
    {columns, counts} = Enum.split_with(others, &(&1.shape in [{1, count}, {count}]))
    {extra, columns} = {Enum.drop(columns, 2), Enum.take(columns, 2)}
    {columns, counts ++ extra}
  end

  defp kept([], count), do: {:ok, count}

  defp kept([%Buffer{shape: shape} = buffer], _count) when shape in [{}, {1}, {1, 1}] do
    case numbers(buffer) do
      [count] when is_float(count) and count >= 0 -> {:ok, round(count)}
      _no_number -> :error
    end
  end

  defp kept(_others, _count), do: :error

  defp told_apart(a, b, names) do
    case {whole?(a), whole?(b)} do
      {true, false} -> {b, a}
      {false, true} -> {a, b}
      _either when names == :scores_first -> {a, b}
      _either -> {b, a}
    end
  end

  defp whole?(numbers), do: Enum.all?(numbers, &(is_float(&1) and &1 == Float.round(&1)))

  defp numbers(buffer), do: buffer |> Output.f32!() |> Buffer.read_list()
end
