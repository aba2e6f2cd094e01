defmodule Dala.ML.Faces do
  @moduledoc """
  Decodes the outputs of a BlazeFace model.

  A face is a map, in pixels of the image:

    * `:label` - `"face"`
    * `:score` - from 0 to 1
    * `:box` - `{x, y, width, height}`, clipped to the image
    * `:keypoints` - a map of `{x, y}` with the keys `:right_eye`, `:left_eye`, `:nose`, `:mouth`,
      `:right_ear` and `:left_ear`, from the person's point of view; they may be outside the image
  """

  alias Dala.Gpu.Compute.{Argument, Buffer}
  alias Dala.ML.{Detection, Geometry, Gpu, Output}

  @keypoints [:right_eye, :left_eye, :nose, :mouth, :right_ear, :left_ear]

  # The grids by the total number of anchors: cells along a side, and anchors per cell.
  @grids %{896 => [{16, 2}, {8, 6}], 2304 => [{48, 1}]}

  @type t :: %{
          label: String.t(),
          score: float(),
          box: Geometry.box(),
          keypoints: %{atom() => {float(), float()}}
        }

  @doc """
  Decodes the outputs of a BlazeFace model, and merges overlapping detections.

  The model returns a score and a row of 16 numbers for each of 896 anchors (two for each of 16 x 16
  cells, then six for each of 8 x 8) or of 2304 anchors (one for each of 48 x 48). The numbers are
  the box's centre and size and six points, in pixels of the input relative to the anchor. The
  outputs are `{1, n, 1}` and `{1, n, 16}`, either whole or split by grid, or together `{1, n, 17}`
  with the score first, in any order.

  Overlapping boxes are averaged, weighted by their scores, instead of dropping all but one.

  `geometry` is that of the model's input, see `Dala.ML.geometry/2`.

  ## Options

    * `:threshold` - the minimum score, 0.5 by default
    * `:iou` - boxes whose intersection over union exceeds this are the same face, 0.3 by default
    * `:max` - the maximum number of faces, 100 by default
    * `:output` - the name of the output `{1, n, 17}` to use, if there are several

  ## Example

      iex> geometry = Dala.ML.Geometry.new({256, 256}, {128, 128}, :letterbox)
      iex> scores = List.duplicate(-100, 895) ++ [4]
      iex> rows = List.duplicate(0, 895 * 16) ++ [-20, 0, 32, 40] ++ List.duplicate(0, 12)
      iex> outputs = [
      ...>   Dala.Gpu.Compute.buffer(scores, {1, 896, 1}),
      ...>   Dala.Gpu.Compute.buffer(rows, {1, 896, 16})
      ...> ]
      iex> [face] = Dala.ML.Faces.decode(outputs, geometry)
      iex> {face.box, face.keypoints.nose, Float.round(face.score, 3)}
      {{168.0, 200.0, 64.0, 56.0}, {240.0, 240.0}, 0.982}
  """
  @spec decode(Gpu.output() | [Gpu.tensor()], Geometry.t(), keyword()) :: [t()]
  def decode(outputs, %Geometry{} = geometry, opts \\ []) do
    opts = Argument.options!(opts, threshold: 0.5, iou: 0.3, max: 100, output: nil)
    threshold = Output.share!(:threshold, opts[:threshold])
    limit = Output.share!(:iou, opts[:iou])
    max = Output.count!(:max, opts[:max])

    {scores, rows} = outputs |> Output.named!() |> parts!(opts[:output])
    anchors = anchors(div(byte_size(rows), 64), geometry.size)

    candidates(scores, rows, anchors, threshold, [])
    |> Enum.sort_by(& &1.score, :desc)
    |> merge(limit, max)
    |> Enum.flat_map(&in_picture(&1, geometry))
  end

  @doc false
  # Whether outputs, as `{name, buffer}`, are those of a face detector: a score and 16 numbers for each
  # anchor, or both together.
  @spec outputs?([{String.t() | nil, Buffer.t()}]) :: boolean()
  def outputs?(named) do
    anchors = fn columns ->
      for {_name, %Buffer{shape: {1, n, ^columns}}} <- named, reduce: 0, do: (sum -> sum + n)
    end

    is_map_key(@grids, anchors.(17)) or
      (is_map_key(@grids, anchors.(16)) and anchors.(1) == anchors.(16))
  end

  # The scores and the rows of all anchors as binaries.
  defp parts!(named, name) do
    together = for {_, %Buffer{shape: {1, n, 17}}} = each <- named, @grids[n], do: each

    if together != [] or name != nil do
      wanted = "{1, 896, 17} or {1, 2304, 17}"

      buffer =
        Output.one!(if(name, do: named, else: together), name, wanted, fn _fits -> true end)

      bytes = buffer |> Output.f32!() |> Buffer.read()
      rows = for <<_score::binary-4, row::binary-64 <- bytes>>, into: <<>>, do: row
      scores = for <<score::binary-4, _row::binary-64 <- bytes>>, into: <<>>, do: score
      {scores, rows} |> known!(named)
    else
      {joined(named, 1), joined(named, 16)} |> known!(named)
    end
  end

  # Joins the parts of all grids, the finest (with the most anchors) first.
  defp joined(named, columns) do
    parts = for {_, %Buffer{shape: {1, n, ^columns}} = buffer} <- named, do: {n, buffer}

    parts
    |> Enum.sort_by(&elem(&1, 0), :desc)
    |> Enum.map_join(fn {_n, buffer} -> buffer |> Output.f32!() |> Buffer.read() end)
  end

  defp known!({scores, rows} = parts, named) do
    count = div(byte_size(scores), 4)

    if byte_size(rows) == 16 * byte_size(scores) and is_map_key(@grids, count) do
      parts
    else
      Output.unfit!(
        "expected {1, n, 1} and {1, n, 16}, together or in parts, or {1, n, 17}, where n is 896 " <>
          "or 2304, got #{Output.list(named)}"
      )
    end
  end

  # Centres in pixels of the input, in the order of the rows.
  defp anchors(count, {width, height}) do
    for {cells, each} <- Map.fetch!(@grids, count),
        y <- 0..(cells - 1),
        x <- 0..(cells - 1),
        _anchor <- 1..each,
        do: {(x + 0.5) * width / cells, (y + 0.5) * height / cells}
  end

  defp candidates(<<>>, <<>>, [], _threshold, found), do: Enum.reverse(found)

  defp candidates(scores, rows, [anchor | anchors], threshold, found) do
    <<score::binary-4, scores::binary>> = scores
    <<row::binary-64, rows::binary>> = rows
    found = candidate(score, row, anchor, threshold) ++ found
    candidates(scores, rows, anchors, threshold, found)
  end

  defp candidate(<<score::float-32-native>>, row, {x, y}, threshold) do
    score = Output.sigmoid(score)
    numbers = if score >= threshold, do: for(<<number::float-32-native <- row>>, do: number)

    case numbers do
      [dx, dy, w, h | points] when length(points) == 12 and w > 0 and h > 0 ->
        corners = [x + dx - w / 2, y + dy - h / 2, x + dx + w / 2, y + dy + h / 2]

        points =
          points |> Enum.chunk_every(2) |> Enum.flat_map(fn [px, py] -> [x + px, y + py] end)

        [%{score: score, numbers: corners ++ points}]

      # The score is too low, the box is empty, or a number is not finite (the comprehension skips
      # it).
      _none ->
        []
    end
  end

  # The score is not a finite number.
  defp candidate(_score, _row, _anchor, _threshold), do: []

  # The best detection and all that overlap it are replaced by their mean, with the best score.
  defp merge([best | _] = found, limit, max) when max > 0 do
    {same, others} = Enum.split_with(found, &(&1 == best or overlap(best, &1) > limit))
    total = same |> Enum.map(& &1.score) |> Enum.sum()

    numbers =
      same
      |> Enum.map(fn face -> Enum.map(face.numbers, &(&1 * face.score)) end)
      |> Enum.zip_with(&(Enum.sum(&1) / total))

    [%{best | numbers: numbers} | merge(others, limit, max - 1)]
  end

  defp merge(_found, _limit, _max), do: []

  defp overlap(a, b), do: Detection.iou(box(a.numbers), box(b.numbers))

  defp box([x1, y1, x2, y2 | _points]), do: {x1, y1, x2 - x1, y2 - y1}

  # A box in the border of the input is outside the image and dropped.
  defp in_picture(%{score: score, numbers: [_, _, _, _ | points] = numbers}, geometry) do
    case Geometry.box(geometry, box(numbers)) do
      {_x, _y, w, h} = box when w > 0 and h > 0 ->
        points = for [x, y] <- Enum.chunk_every(points, 2), do: Geometry.point(geometry, {x, y})
        keypoints = @keypoints |> Enum.zip(points) |> Map.new()
        [%{label: "face", score: score, box: box, keypoints: keypoints}]

      _outside ->
        []
    end
  end
end
