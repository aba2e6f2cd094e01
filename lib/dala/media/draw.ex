defmodule Dala.Media.Draw do
  @moduledoc """
  Drawing on images: boxes, lines, circles and short texts.

      iex> image = Dala.Media.Image.new(64, 48, :white)
      iex> image = Dala.Media.Draw.box(image, {8, 8, 32, 24}, color: :red, thickness: 2)
      iex> Dala.Media.Draw.circle(image, {24, 20}, 6, color: :blue, fill: true)
      #Dala.Media.Image<64x48 12 KiB>

  Each function returns a new image; `shapes/2` draws many shapes at once, which is faster than one
  call for each. Shapes are clipped to the image. A translucent colour (see `Dala.Media.Color`) is
  blended over the image. Coordinates are numbers, and are rounded to the nearest pixel.
  """

  alias Dala.Gpu.Compute.{Argument, Kernel}
  alias Dala.Media.{Color, Image, Text}

  @farthest 1_000_000_000

  @type point :: {number(), number()}
  @type box :: {number(), number(), number(), number()}

  @type shape ::
          {:box, box(), keyword()}
          | {:line, point(), point(), keyword()}
          | {:circle, point(), number(), keyword()}
          | {:text, String.t(), point(), keyword()}

  @doc """
  Draws the outline of a box `{x, y, width, height}`, or fills it.

  ## Options

    * `:color` - `:red` by default
    * `:thickness` - of the outline, which is inside of the box, 1 by default
    * `:fill` - `true` fills the box; `false` by default

  ## Example

      iex> black = Dala.Media.Image.new(3, 3, :black)
      iex> image = Dala.Media.Draw.box(black, {0, 0, 3, 3}, color: :white)
      iex> binary_part(image.data, 4 * 4, 4)
      <<0, 0, 0, 255>>
  """
  @spec box(Image.t(), box(), keyword()) :: Image.t()
  def box(image, box, opts \\ []), do: shapes(image, [{:box, box, opts}])

  @doc """
  Draws a line from one point to another, both included.

  ## Options

    * `:color` - `:red` by default
    * `:thickness` - 1 by default

  ## Example

      iex> black = Dala.Media.Image.new(3, 1, :black)
      iex> Dala.Media.Draw.line(black, {1, 0}, {2, 0}, color: :white).data
      <<0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255>>
  """
  @spec line(Image.t(), point(), point(), keyword()) :: Image.t()
  def line(image, from, to, opts \\ []), do: shapes(image, [{:line, from, to, opts}])

  @doc """
  Draws a circle around a centre, or fills it.

  ## Options

    * `:color` - `:red` by default
    * `:thickness` - of the outline, inwards, 1 by default
    * `:fill` - `true` fills the circle; `false` by default

  ## Example

      iex> black = Dala.Media.Image.new(3, 3, :black)
      iex> image = Dala.Media.Draw.circle(black, {1, 1}, 1, color: :white)
      iex> for <<r, _g, _b, _a <- image.data>>, do: div(r, 255)
      [1, 1, 1, 1, 0, 1, 1, 1, 1]
  """
  @spec circle(Image.t(), point(), number(), keyword()) :: Image.t()
  def circle(image, centre, radius, opts \\ []),
    do: shapes(image, [{:circle, centre, radius, opts}])

  @doc """
  Draws a short text whose top left corner is at a point; `Dala.Media.Text` describes the font.

  ## Options

    * `:scale`, `:color`, `:background` - those of `Dala.Media.Text.image/2`; the background is
      `:transparent` by default

  ## Example

      iex> white = Dala.Media.Image.new(64, 16, :white)
      iex> Dala.Media.Draw.text(white, "CAT 97%", {4, 4}, color: :black) == white
      false
  """
  @spec text(Image.t(), String.t(), point(), keyword()) :: Image.t()
  def text(image, text, at, opts \\ []), do: shapes(image, [{:text, text, at, opts}])

  @doc """
  Draws a list of shapes: tuples of a function's name and its arguments.

  ## Example

      iex> image = Dala.Media.Image.new(64, 48, :white)
      iex> Dala.Media.Draw.shapes(image, [
      ...>   {:box, {8, 8, 32, 24}, color: :red},
      ...>   {:line, {0, 0}, {63, 47}, thickness: 3},
      ...>   {:circle, {24, 20}, 6, fill: true},
      ...>   {:text, "HERE", {8, 36}, color: :black}
      ...> ])
      #Dala.Media.Image<64x48 12 KiB>
  """
  @spec shapes(Image.t(), [shape()]) :: Image.t()
  def shapes(image, shapes) when length(shapes) >= 0 do
    # All shapes are checked before the first is drawn. Copy-on-write keeps the image's own bytes
    # unchanged.
    calls = Enum.flat_map(shapes, &calls!/1)
    canvas = Image.to_buffer(image)
    for {kernel, extra, params} <- calls, do: run!(kernel, extra, canvas, params)
    Image.from_buffer(canvas)
  end

  def shapes(_image, other), do: Argument.refuse!("a list of shapes", other)

  # The kernel calls that draw a shape: a kernel, an image besides the canvas, and parameters.
  defp calls!({:box, box, opts}) do
    {x, y, width, height} = box!(box)
    opts = Argument.options!(opts, color: :red, thickness: 1, fill: false)
    color = color!(opts)
    thickness = thickness!(opts)

    # The parts of an outline do not overlap, so that a translucent colour is even.
    parts =
      if flag!(:fill, opts) or 2 * thickness >= min(width, height) do
        [{x, y, width, height}]
      else
        between = height - 2 * thickness

        [
          {x, y, width, thickness},
          {x, y + height - thickness, width, thickness},
          {x, y + thickness, thickness, between},
          {x + width - thickness, y + thickness, thickness, between}
        ]
      end

    for {x, y, width, height} <- parts do
      {:fill_rect, nil, %{x: x, y: y, width: width, height: height, color: color}}
    end
  end

  # A thick line is several adjacent lines along one axis, as many as give its thickness across.
  defp calls!({:line, from, to, opts}) do
    {x0, y0} = point!(from)
    {x1, y1} = point!(to)
    opts = Argument.options!(opts, color: :red, thickness: 1)
    color = color!(opts)
    {dx, dy} = {abs(x1 - x0), abs(y1 - y0)}
    slant = if dx == 0 and dy == 0, do: 1, else: :math.sqrt(dx * dx + dy * dy) / max(dx, dy)
    count = max(round(thickness!(opts) * slant), 1)
    first = -div(count - 1, 2)

    for shift <- first..(first + count - 1) do
      {right, down} = if dx >= dy, do: {0, shift}, else: {shift, 0}

      {:draw_line, nil,
       %{x0: x0 + right, y0: y0 + down, x1: x1 + right, y1: y1 + down, color: color}}
    end
  end

  defp calls!({:circle, centre, radius, opts}) do
    {x, y} = point!(centre)

    unless is_number(radius) and radius >= 0 and radius <= @farthest,
      do: Argument.refuse!("a radius from 0 to #{@farthest}", radius)

    opts = Argument.options!(opts, color: :red, thickness: 1, fill: false)
    circle = %{x: x, y: y, radius: round(radius), color: color!(opts)}
    thickness = thickness!(opts)
    circle = if flag!(:fill, opts), do: circle, else: Map.put(circle, :thickness, thickness)
    [{:draw_circle, nil, circle}]
  end

  defp calls!({:text, text, at, opts}) do
    {x, y} = point!(at)
    opts = Keyword.put_new(Argument.keyword!(opts), :background, :transparent)
    [{:overlay, Text.image(text, opts), %{x: x, y: y}}]
  end

  defp calls!(other) do
    Argument.refuse!("a shape such as {:box, {x, y, width, height}, color: :red}", other)
  end

  defp run!(kernel, image, canvas, params) do
    inputs = if image, do: [canvas, Image.to_buffer(image)], else: []
    with {:error, error} <- Kernel.run(kernel, inputs, canvas, params), do: raise(error)
  end

  defp color!(opts), do: opts[:color] |> Color.rgba!() |> Tuple.to_list()

  defp thickness!(opts), do: Argument.integer!(:thickness, opts[:thickness], 1..1000)

  defp flag!(name, opts) do
    if is_boolean(opts[name]),
      do: opts[name],
      else: Argument.refuse!("#{name}: to be true or false", opts[name])
  end

  defp point!({x, y})
       when is_number(x) and is_number(y) and abs(x) < @farthest and abs(y) < @farthest,
       do: {round(x), round(y)}

  defp point!(other),
    do: Argument.refuse!("a point {x, y} of numbers below #{@farthest}", other)

  defp box!({x, y, width, height})
       when is_number(x) and is_number(y) and is_number(width) and is_number(height) and
              abs(x) < @farthest and abs(y) < @farthest and width >= 0 and height >= 0 and
              width <= @farthest and height <= @farthest do
    {left, top} = {round(x), round(y)}
    {left, top, round(x + width) - left, round(y + height) - top}
  end

  defp box!(other), do: Argument.refuse!("a box {x, y, width, height}", other)
end
