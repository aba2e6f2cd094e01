defmodule Dala.ML.Segmentation do
  @moduledoc """
  Decodes the output of a semantic segmentation model.

  A segmentation is a map:

    * `:width`, `:height` - the size of the image
    * `:classes` - a binary with one byte per pixel, row by row: the index of its class
    * `:areas` - the classes that occur, largest first, as maps of `:label`, `:index`, `:pixels` and
      `:share` of the image
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error}
  alias Dala.Media.{Color, Image}
  alias Dala.ML.{Geometry, Gpu, Output}

  @type area :: %{label: term(), index: byte(), pixels: pos_integer(), share: float()}
  @type t :: %{
          width: pos_integer(),
          height: pos_integer(),
          classes: binary(),
          areas: [area()]
        }

  @doc """
  Decodes the output of a model: the class with the highest score at every pixel.

  The output is `{1, classes, h, w}` with a score per class, `{1, h, w, classes}` with
  `layout: :nhwc`, or `{1, h, w}` with class indices. There can be up to 256 classes. `geometry` is
  that of the model's input, see `Dala.ML.geometry/2`; each pixel of the image gets the class of its
  position in the output. If there are several outputs, in a list or a map by name, the one with
  such a shape is used.

  ## Options

    * `:layout` - `:nchw` (the default) or `:nhwc`
    * `:labels` - a list of class names
    * `:outside` - the class of pixels outside the model's input, with `fit: :crop`; 0 by default
    * `:output` - the name of the output to use

  ## Example

      iex> geometry = Dala.ML.Geometry.new({4, 2}, {2, 2}, :stretch)
      iex> output = Dala.Gpu.Compute.buffer([0, 0.9, 0, 0.8, 0.5, 0.5, 0.5, 0.5], {1, 2, 2, 2})
      iex> found = Dala.ML.Segmentation.decode(output, geometry, labels: ["wall", "door"])
      iex> found.classes
      <<1, 1, 0, 0, 1, 1, 0, 0>>
      iex> hd(found.areas)
      %{label: "wall", index: 0, pixels: 4, share: 0.5}
  """
  @spec decode(Gpu.output() | [Gpu.tensor()], Geometry.t(), keyword()) :: t()
  def decode(output, %Geometry{} = geometry, opts \\ []) do
    opts = Argument.options!(opts, layout: :nchw, labels: nil, outside: 0, output: nil)
    layout = Output.choice!(:layout, opts[:layout], [:nchw, :nhwc])
    labels = Output.labels!(opts[:labels])
    outside = class!(opts[:outside])
    buffer = Output.one!(output, opts[:output], wanted(layout), &fits?/1)
    %{shape: {height, width}} = map = class_map!(buffer, layout)
    rows = rows_in_picture(Buffer.read(map), {width, height}, geometry, outside)
    {picture_width, picture_height} = geometry.picture

    %{
      width: picture_width,
      height: picture_height,
      classes: IO.iodata_to_binary(rows),
      areas: areas(rows, labels, picture_width * picture_height)
    }
  end

  @doc """
  Renders a segmentation as a `Dala.Media.Image` with a colour for each class.

  ## Options

    * `:colors` - a list of colours by class, see `Dala.Media.Color`; other classes have the colours
      of the PASCAL VOC palette, in which class 0 is black
    * `:alpha` - the alpha of colours that have none, from 0 to 255, 255 by default

  ## Example

      iex> found = %{width: 2, height: 1, classes: <<0, 1>>, areas: []}
      iex> Dala.ML.Segmentation.mask(found, alpha: 128).data
      <<0, 0, 0, 128, 128, 0, 0, 128>>
      iex> Dala.ML.Segmentation.mask(found, colors: [:white, {1, 2, 3, 4}]).data
      <<255, 255, 255, 255, 1, 2, 3, 4>>
  """
  @spec mask(t(), keyword()) :: Image.t()
  def mask(%{width: width, height: height, classes: classes}, opts \\ []) do
    opts = Argument.options!(opts, colors: [], alpha: 255)
    palette = palette(opts[:colors], Argument.integer!(:alpha, opts[:alpha], 0..255))
    data = for <<class <- classes>>, into: <<>>, do: elem(palette, class)
    Image.new(width, height, data)
  end

  defp wanted(:nchw), do: "{1, classes, h, w}, or {1, h, w} of integers"
  defp wanted(:nhwc), do: "{1, h, w, classes}, or {1, h, w} of integers"

  defp fits?(%Buffer{shape: {1, a, b, c}}), do: a > 0 and b > 0 and c > 0

  defp fits?(%Buffer{shape: {1, h, w}, dtype: dtype}),
    do: dtype in [:s32, :s64, :u32, :u8] and h > 0 and w > 0

  defp fits?(_buffer), do: false

  # Class indices as u8 of shape {h, w}.
  defp class_map!(buffer, layout) do
    if fits?(buffer), do: classes!(buffer, layout), else: Output.mismatch!(buffer, wanted(layout))
  end

  defp classes!(%Buffer{shape: {1, classes, h, w}} = scores, :nchw),
    do: highest!(scores, 1, classes, {h, w})

  defp classes!(%Buffer{shape: {1, h, w, classes}} = scores, :nhwc),
    do: highest!(scores, 3, classes, {h, w})

  defp classes!(%Buffer{shape: {1, h, w}} = map, _layout) do
    for kernel <- [:reduce_min, :reduce_max],
        class = peak(map, kernel),
        class not in 0..255,
        do: no_class!(class)

    as_bytes(map, {h, w})
  end

  defp highest!(_scores, _axis, classes, _size) when classes > 256, do: no_class!(classes - 1)

  defp highest!(scores, axis, _classes, {h, w} = size),
    do: :argmax |> Output.run!(scores, {1, h, w}, :s32, %{axis: axis}) |> as_bytes(size)

  defp as_bytes(map, {h, w} = size) do
    bytes = Output.run!(:cast, map, {1, h, w}, :u8)
    Output.run!(:reshape, bytes, size, :u8)
  end

  defp peak(map, kernel) do
    [value] = kernel |> Output.run!(map, {}, map.dtype) |> Buffer.read_list()
    value
  end

  defp no_class!(class) do
    raise %Error{
      reason: :unsupported,
      message: "a segmentation has classes 0 to 255, the output has class #{class}",
      details: %{}
    }
  end

  # One binary per row of the image. Rows that map to the same row of the output share one term.
  defp rows_in_picture(map, {width, height}, geometry, outside) do
    {x0, y0, from_w, from_h} = geometry.from
    {to_x, to_y, to_w, to_h} = geometry.to
    {size_w, size_h} = geometry.size
    {picture_w, picture_h} = geometry.picture
    columns = places(picture_w, {x0, from_w}, {to_x, to_w}, size_w, width)
    empty = :binary.copy(<<outside>>, picture_w)

    {rows, _last} =
      picture_h
      |> places({y0, from_h}, {to_y, to_h}, size_h, height)
      |> Enum.map_reduce({nil, empty}, fn
        same, {same, row} -> {row, {same, row}}
        nil, _last -> {empty, {nil, empty}}
        y, _last -> map |> binary_part(y * width, width) |> row(columns, outside) |> kept(y)
      end)

    rows
  end

  defp kept(row, y), do: {row, {y, row}}

  defp row(line, columns, outside) do
    for column <- columns, into: <<>> do
      <<if(column, do: :binary.at(line, column), else: outside)>>
    end
  end

  # For each pixel along an axis the position of its centre in the output, or nil outside the
  # region: to + (p + 1/2 - from) * to_extent / from_extent, scaled from the input's to the output's
  # extent. In units of 1 / (2 * from_extent * size) it is an integer.
  defp places(picture, {from, from_extent}, {to, to_extent}, size, extent) do
    for p <- 0..(picture - 1) do
      if p >= from and p < from + from_extent do
        place = 2 * to * from_extent + (2 * (p - from) + 1) * to_extent
        min(div(place * extent, 2 * from_extent * size), extent - 1)
      end
    end
  end

  defp areas(rows, labels, total) do
    rows
    |> Enum.chunk_by(& &1)
    |> Enum.reduce(%{}, fn [row | _] = alike, counts ->
      times = length(alike)

      for <<class <- row>>, reduce: counts do
        counts -> Map.update(counts, class, times, &(&1 + times))
      end
    end)
    |> Enum.sort_by(fn {class, pixels} -> {-pixels, class} end)
    |> Enum.map(fn {class, pixels} ->
      label = Output.label(labels, class)
      %{label: label, index: class, pixels: pixels, share: pixels / total}
    end)
  end

  defp palette(colors, alpha) do
    given = for color <- colors, do: color |> with_alpha(alpha) |> Color.bytes!()
    rest = for class <- length(given)..255//1, do: voc_color(class, alpha)
    List.to_tuple(given ++ rest)
  end

  defp with_alpha({r, g, b}, alpha), do: {r, g, b, alpha}
  defp with_alpha(color, _alpha), do: color

  # Bit 3 * step + channel of the class is bit 7 - step of the channel.
  defp voc_color(class, alpha) do
    [r, g, b] =
      for channel <- 0..2 do
        for step <- 0..2, reduce: 0 do
          level ->
            bit = class |> Bitwise.bsr(3 * step + channel) |> Bitwise.band(1)
            level + Bitwise.bsl(bit, 7 - step)
        end
      end

    <<r, g, b, alpha>>
  end

  defp class!(class) when is_integer(class) and class in 0..255, do: class

  defp class!(other) do
    raise ArgumentError, "expected outside: to be a class from 0 to 255, got: #{inspect(other)}"
  end
end
