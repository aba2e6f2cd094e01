defmodule Dala.ML.Detection.Heads do
  @moduledoc false
  # The raw heads of YOLOv5: for every cell of a grid and every anchor a row of logits: the position
  # of the box within the cell, its size relative to the anchor, the objectness, and a score per
  # class. With s the sigmoid, in pixels of the input:
  #
  #   centre = (2 s - 1/2 + cell) * stride      size = (2 s)^2 * anchor

  alias Dala.Gpu.Compute.Buffer
  alias Dala.ML.Output

  # The anchors for 640 x 640, shared by all sizes of YOLOv5.
  @anchors [
    [{10, 13}, {16, 30}, {33, 23}],
    [{30, 61}, {62, 45}, {59, 119}],
    [{116, 90}, {156, 198}, {373, 326}]
  ]

  @doc "Returns the boxes of all heads with scores above the threshold, in pixels of the input."
  def candidates(named, size, anchors, threshold) do
    anchors = anchors!(anchors)
    count = anchors |> hd() |> length()

    heads = for {_name, buffer} <- named, head = head(buffer, count, size), do: {head, buffer}

    if length(heads) != length(anchors) do
      Output.unfit!(
        "expected #{length(anchors)} outputs {1, a, h, w, 5 + classes}, " <>
          "{1, a * (5 + classes), h, w} or {1, h, w, a * (5 + classes)} with a = #{count} anchors " <>
          "and #{inspect(size)} a multiple of {w, h}, got #{Output.list(named)}"
      )
    end

    heads
    |> Enum.sort_by(fn {head, _buffer} -> head.stride end)
    |> Enum.zip(anchors)
    |> Enum.flat_map(fn {{head, buffer}, anchors} ->
      buffer
      |> rows(head)
      |> walk(4 * head.columns, 0, {head, List.to_tuple(anchors), threshold}, [])
    end)
  end

  # The layout of a buffer as a head, or nil.
  defp head(%Buffer{shape: {1, count, h, w, columns}}, count, size),
    do: head(:anchors_first, count, {columns, h, w}, size)

  defp head(%Buffer{shape: {1, a, b, c}}, count, size) do
    head(:nchw, count, {div(a, count), b, c}, size, rem(a, count)) ||
      head(:nhwc, count, {div(c, count), a, b}, size, rem(c, count))
  end

  defp head(_buffer, _count, _size), do: nil

  defp head(order, count, dims, size, rest \\ 0)

  defp head(order, count, {columns, h, w}, {width, height}, 0)
       when columns > 5 and h > 0 and w > 0 and rem(width, w) == 0 and
              rem(height, h) == 0 and div(width, w) == div(height, h),
       do: %{order: order, count: count, columns: columns, h: h, w: w, stride: div(width, w)}

  defp head(_order, _count, _dims, _size, _rest), do: nil

  defp rows(buffer, %{order: :nchw} = head) do
    buffer = Output.f32!(buffer)
    split = {head.count, head.columns, head.h, head.w}
    rows = {head.count, head.h, head.w, head.columns}

    :reshape
    |> Output.run!(buffer, split, :f32)
    |> then(&Output.run!(:transpose, &1, rows, :f32, %{axes: [0, 2, 3, 1]}))
    |> Buffer.read()
  end

  defp rows(buffer, _head), do: buffer |> Output.f32!() |> Buffer.read()

  defp walk(<<>>, _bytes, _index, _context, found), do: Enum.reverse(found)

  defp walk(rows, bytes, index, context, found) do
    <<row::binary-size(bytes), rest::binary>> = rows
    walk(rest, bytes, index + 1, context, candidate(row, index, context) ++ found)
  end

  defp candidate(
         <<x::float-32-native, y::float-32-native, w::float-32-native, h::float-32-native,
           sure::float-32-native, scores::binary>>,
         index,
         {head, anchors, threshold}
       ) do
    sure = Output.sigmoid(sure)

    with true <- sure >= threshold,
         {class, score} <- best(scores, 0, nil),
         score when score >= threshold <- sure * Output.sigmoid(score) do
      {anchor, row, column} = place(head, index)
      {anchor_w, anchor_h} = elem(anchors, anchor)
      x = (2 * Output.sigmoid(x) - 0.5 + column) * head.stride
      y = (2 * Output.sigmoid(y) - 0.5 + row) * head.stride
      w = anchor_w * :math.pow(2 * Output.sigmoid(w), 2)
      h = anchor_h * :math.pow(2 * Output.sigmoid(h), 2)
      [%{index: class, score: score, box: {x - w / 2, y - h / 2, w, h}}]
    else
      _unsure -> []
    end
  end

  # The row contains NaN or infinity.
  defp candidate(_row, _index, _context), do: []

  defp place(%{order: :nhwc} = head, index),
    do: {rem(index, head.count), div(index, head.count * head.w), column(index, head)}

  defp place(head, index),
    do: {div(index, head.h * head.w), rem(div(index, head.w), head.h), rem(index, head.w)}

  defp column(index, head), do: index |> div(head.count) |> rem(head.w)

  defp best(<<>>, _index, best), do: best

  defp best(<<number::float-32-native, rest::binary>>, index, nil),
    do: best(rest, index + 1, {index, number})

  defp best(<<number::float-32-native, rest::binary>>, index, {_class, highest})
       when number > highest,
       do: best(rest, index + 1, {index, number})

  defp best(<<_number::binary-4, rest::binary>>, index, best), do: best(rest, index + 1, best)

  defp anchors!(nil), do: @anchors

  defp anchors!(anchors) do
    rows? = is_list(anchors) and anchors != [] and Enum.all?(anchors, &(is_list(&1) and &1 != []))
    even? = rows? and anchors |> Enum.map(&length/1) |> Enum.uniq() |> length() == 1

    sizes? =
      even? and
        Enum.all?(List.flatten(anchors), fn anchor ->
          match?({w, h} when is_number(w) and is_number(h) and w > 0 and h > 0, anchor)
        end)

    if sizes? do
      anchors
    else
      raise ArgumentError,
            "expected anchors: to be a list for each head, that of the finest grid first, with " <>
              "as many {width, height} each, got: #{inspect(anchors)}"
    end
  end
end
