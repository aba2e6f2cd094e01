defmodule Dala.ML.Detection do
  @moduledoc """
  Decodes the outputs of object detectors.

  A detection is a map: `:label`, `:index` of the class, `:score` from 0 to 1, and `:box`, which is
  `{x, y, width, height}` in pixels of the image, clipped to the image.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer}
  alias Dala.ML.{Geometry, Gpu, Output}
  alias Dala.ML.Detection.{Boxes, Heads}

  @formats [:yolo_v5, :yolo_v8, :yolo_heads, :boxes, :ssd]

  @type t :: %{label: term(), index: non_neg_integer(), score: float(), box: Geometry.box()}

  @doc """
  Decodes the outputs of a detector, and applies non-maximum suppression.

  `geometry` is that of the model's input, see `Dala.ML.geometry/2`. Several outputs are a list, or
  a map by name.

  ## Options

    * `:format` - the format of the outputs, by default `:yolo_v5`:
      * `:yolo_v5` - `{1, n, 5 + classes}`: the box's centre and size, the objectness, and a score
        per class; the score of a detection is the product of the two
      * `:yolo_v8` - `{1, 4 + classes, n}`: the same without objectness, transposed
      * `:yolo_heads` - the raw heads of YOLOv5, one output per grid: `{1, a, h, w, 5 + classes}`,
        `{1, a * (5 + classes), h, w}` or `{1, h, w, a * (5 + classes)}`, with a anchors
      * `:boxes` - of a model that includes non-maximum suppression: boxes `{1, n, 4}` as left, top,
        right and bottom, scores `{1, n}`, classes `{1, n}`, and optionally their count, `{1}`
      * `:ssd` - the same with top, left, bottom and right, in the order of TensorFlow Lite: boxes,
        classes, scores, count
    * `:scale` - the unit of boxes: `:pixels` of the input, the default for the YOLO formats, or
      `:unit`, fractions of the input, the default for `:boxes` and `:ssd`
    * `:anchors` - for `:yolo_heads`, a list per grid, the finest first, of `{width, height}` in
      pixels; YOLOv5's by default
    * `:threshold` - the minimum score, 0.25 by default
    * `:iou` - the maximum intersection over union of two detections, 0.45 by default; see `nms/2`.
      Not used for `:boxes` and `:ssd`
    * `:nms` - `:per_class` (the default), or `:agnostic`, which also compares boxes of different
      classes
    * `:max` - the maximum number of detections, 300 by default
    * `:labels` - a list of class names
    * `:output` - for `:yolo_v5` and `:yolo_v8`, the name of the output to use; by default the one
      with the expected shape

  ## Example

      iex> geometry = Dala.ML.Geometry.new({640, 480}, {320, 320}, :letterbox)
      iex> output = Dala.Gpu.Compute.buffer([160, 160, 20, 10, 0.5, 0.5, 1], {1, 1, 7})
      iex> Dala.ML.Detection.decode(output, geometry, labels: ["cat", "dog"])
      [%{label: "dog", index: 1, score: 0.5, box: {300.0, 230.0, 40.0, 20.0}}]
  """
  @spec decode(Gpu.output() | [Gpu.tensor()], Geometry.t(), keyword()) :: [t()]
  def decode(outputs, %Geometry{} = geometry, opts \\ []) do
    opts =
      Argument.options!(opts,
        format: :yolo_v5,
        scale: nil,
        anchors: nil,
        threshold: 0.25,
        iou: 0.45,
        nms: :per_class,
        max: 300,
        labels: nil,
        output: nil
      )

    format = Output.choice!(:format, opts[:format], @formats)
    threshold = Output.share!(:threshold, opts[:threshold])
    labels = Output.labels!(opts[:labels])
    scale = scale!(opts[:scale], format, geometry.size)

    found =
      case format do
        :yolo_heads ->
          Heads.candidates(Output.named!(outputs), geometry.size, opts[:anchors], threshold)

        :boxes ->
          Boxes.candidates(Output.named!(outputs), :xy, :scores_first, scale, threshold)

        :ssd ->
          Boxes.candidates(Output.named!(outputs), :yx, :classes_first, scale, threshold)

        yolo ->
          {rows, columns} = rows!(outputs, opts[:output], yolo)
          rows |> candidates(columns * 4, {yolo, threshold, scale}, [])
      end

    found
    |> kept(format, Keyword.take(opts, [:iou, :nms, :max]))
    |> Enum.flat_map(&in_picture(&1, geometry, labels))
  end

  defp scale!(nil, format, size) when format in [:boxes, :ssd], do: size
  defp scale!(nil, _format, _size), do: {1, 1}

  defp scale!(scale, format, size) do
    case Output.choice!(:scale, scale, [:pixels, :unit]) do
      :pixels -> {1, 1}
      :unit when format == :yolo_heads -> raise ArgumentError, "scale: is not for :yolo_heads"
      :unit -> size
    end
  end

  # These models include non-maximum suppression.
  defp kept(found, format, opts) when format in [:boxes, :ssd] do
    found |> Enum.sort_by(& &1.score, :desc) |> Enum.take(Output.count!(:max, opts[:max]))
  end

  defp kept(found, _format, opts), do: nms(found, opts)

  @doc """
  Applies non-maximum suppression; returns the remaining detections, highest score first.

  A detection is dropped if the intersection over union of its box and a box with a higher score
  exceeds `:iou`. Detections are maps with a `:score`, a `:box`, and an `:index` unless `nms:` is
  `:agnostic`.

  ## Options

    * `:iou` - 0.45 by default
    * `:nms` - `:per_class` (the default) or `:agnostic`
    * `:max` - the maximum number of detections, 300 by default

  ## Example

      iex> a = %{index: 0, score: 0.8, box: {0, 0, 10, 10}}
      iex> b = %{index: 0, score: 0.9, box: {1, 0, 10, 10}}
      iex> c = %{index: 1, score: 0.7, box: {0, 0, 10, 10}}
      iex> Dala.ML.Detection.nms([a, b, c]) == [b, c]
      true
      iex> Dala.ML.Detection.nms([a, b, c], nms: :agnostic) == [b]
      true
  """
  @spec nms([detection], keyword()) :: [detection] when detection: map()
  def nms(detections, opts \\ []) do
    opts = Argument.options!(opts, iou: 0.45, nms: :per_class, max: 300)
    limit = Output.share!(:iou, opts[:iou])
    max = Output.count!(:max, opts[:max])
    agnostic? = Output.choice!(:nms, opts[:nms], [:per_class, :agnostic]) == :agnostic

    same? = fn a, b ->
      (agnostic? or a.index == b.index) and iou(a.box, b.box) > limit
    end

    detections |> Enum.sort_by(& &1.score, :desc) |> keep(same?, max)
  end

  defp keep([best | rest], same?, max) when max > 0,
    do: [best | rest |> Enum.reject(&same?.(best, &1)) |> keep(same?, max - 1)]

  defp keep(_rest, _same?, _max), do: []

  @doc """
  Returns the intersection over union of two boxes.

  ## Example

      iex> Dala.ML.Detection.iou({0, 0, 2, 2}, {1, 0, 2, 2})
      0.3333333333333333
  """
  @spec iou(Geometry.box(), Geometry.box()) :: float()
  def iou({ax, ay, aw, ah}, {bx, by, bw, bh}) do
    width = max(min(ax + aw, bx + bw) - max(ax, bx), 0)
    height = max(min(ay + ah, by + bh) - max(ay, by), 0)
    union = aw * ah + bw * bh - width * height
    if union > 0, do: width * height / union, else: 0.0
  end

  # A binary of rows, one per box, and the number of floats in a row.
  defp rows!(outputs, name, format) do
    wanted = wanted(format)
    buffer = outputs |> Output.one!(name, wanted, &fits?(&1, format)) |> Output.f32!()
    if fits?(buffer, format), do: rows(buffer, format), else: Output.mismatch!(buffer, wanted)
  end

  defp wanted(:yolo_v5), do: "{1, n, 5 + classes} of yolo_v5"
  defp wanted(:yolo_v8), do: "{1, 4 + classes, n} of yolo_v8"

  defp fits?(%Buffer{shape: {1, _n, columns}}, :yolo_v5), do: columns > 5
  defp fits?(%Buffer{shape: {1, columns, _n}}, :yolo_v8), do: columns > 4
  defp fits?(_buffer, _format), do: false

  defp rows(%Buffer{shape: {1, _n, columns}} = buffer, :yolo_v5),
    do: {Buffer.read(buffer), columns}

  defp rows(%Buffer{shape: {1, columns, n}} = buffer, :yolo_v8) do
    rows = Output.run!(:transpose, buffer, {1, n, columns}, :f32, %{axes: [0, 2, 1]})
    {Buffer.read(rows), columns}
  end

  # Boxes in pixels of the input. Rows with NaN or infinity in the box are skipped.
  defp candidates(<<>>, _bytes, _context, found), do: Enum.reverse(found)

  defp candidates(rows, bytes, context, found) do
    <<row::binary-size(bytes), rest::binary>> = rows
    candidates(rest, bytes, context, List.wrap(candidate(row, context)) ++ found)
  end

  defp candidate(
         <<box::binary-16, sure::float-32-native, scores::binary>>,
         {:yolo_v5, threshold, _scale} = context
       )
       when sure >= threshold and sure <= 1.0e6,
       do: boxed(box, best(scores, 0, nil, 0.0), sure, context)

  defp candidate(<<box::binary-16, scores::binary>>, {:yolo_v8, _threshold, _scale} = context),
    do: boxed(box, best(scores, 0, nil, 0.0), 1.0, context)

  defp candidate(_row, _context), do: nil

  defp boxed(
         <<x::float-32-native, y::float-32-native, w::float-32-native, h::float-32-native>>,
         {index, score},
         sure,
         {_format, threshold, {scale_x, scale_y}}
       )
       when index != nil and score * sure >= threshold and w > 0 and h > 0 do
    box = {(x - w / 2) * scale_x, (y - h / 2) * scale_y, w * scale_x, h * scale_y}
    %{index: index, score: score * sure, box: box}
  end

  defp boxed(_box, _best, _sure, _context), do: nil

  defp best(<<>>, _index, best, score), do: {best, score}

  defp best(<<number::float-32-native, rest::binary>>, index, _best, score) when number > score,
    do: best(rest, index + 1, index, number)

  defp best(<<_number::binary-4, rest::binary>>, index, best, score),
    do: best(rest, index + 1, best, score)

  # A box in the border of the input is outside the image and dropped.
  defp in_picture(%{box: box} = detection, geometry, labels) do
    case Geometry.box(geometry, box) do
      {_x, _y, w, h} = box when w > 0 and h > 0 ->
        label = Output.label(labels, detection.index)
        [%{label: label, index: detection.index, score: detection.score, box: box}]

      _outside ->
        []
    end
  end
end
