defmodule Dala.ML.Geometry do
  @moduledoc """
  The mapping between an image and the input of a network.

    * `:picture` - width and height of the image
    * `:size` - width and height of the network's input
    * `:from` - the region of the image that is used: `{x, y, width, height}`
    * `:to` - the corresponding region of the input

  Coordinates are in pixels from the top left corner; the centre of the first pixel is at 0.5.
  """

  # `new/3` must match c_src/kernels/image/resample/preprocess.cpp, which does the same integer
  # arithmetic.

  @enforce_keys [:picture, :size, :from, :to]
  defstruct [:picture, :size, :from, :to]

  @type size :: {pos_integer(), pos_integer()}
  @type box :: {number(), number(), number(), number()}
  @type t :: %__MODULE__{picture: size(), size: size(), from: box(), to: box()}

  @doc """
  Fits an image into an input, as `Dala.ML.preprocess/2` does.

  `fit` is `:stretch`, `:letterbox` or `:crop`.

  ## Example

      iex> geometry = Dala.ML.Geometry.new({640, 480}, {320, 320}, :letterbox)
      iex> {geometry.from, geometry.to}
      {{0, 0, 640, 480}, {0, 40, 320, 240}}
      iex> Dala.ML.Geometry.new({640, 480}, {224, 224}, :crop).from
      {80, 0, 480, 480}
  """
  @spec new(size(), size(), :stretch | :letterbox | :crop) :: t()
  def new({width, height} = picture, {to_width, to_height} = size, fit) do
    wide? = width * to_height >= height * to_width

    {{w, h}, {to_w, to_h}} =
      case {fit, wide?} do
        {:stretch, _} -> {picture, size}
        {:letterbox, true} -> {picture, {to_width, rounded(height * to_width, width)}}
        {:letterbox, false} -> {picture, {rounded(width * to_height, height), to_height}}
        {:crop, true} -> {{rounded(height * to_width, to_height), height}, size}
        {:crop, false} -> {{width, rounded(width * to_height, to_width)}, size}
      end

    %__MODULE__{
      picture: picture,
      size: size,
      from: {div(width - w, 2), div(height - h, 2), w, h},
      to: {div(to_width - to_w, 2), div(to_height - to_h, 2), to_w, to_h}
    }
  end

  defp rounded(numerator, denominator),
    do: max(1, div(2 * numerator + denominator, 2 * denominator))

  @doc """
  Maps a point in the input to the image; the result may be outside the image.

  ## Example

      iex> geometry = Dala.ML.Geometry.new({640, 480}, {320, 320}, :letterbox)
      iex> Dala.ML.Geometry.point(geometry, {160, 160})
      {320.0, 240.0}
  """
  @spec point(t(), {number(), number()}) :: {float(), float()}
  def point(%__MODULE__{from: {x0, y0, w, h}, to: {to_x, to_y, to_w, to_h}}, {x, y}),
    do: {x0 + (x - to_x) * w / to_w, y0 + (y - to_y) * h / to_h}

  @doc """
  Maps a box in the input, `{x, y, width, height}`, to the image, and clips it to the image.

  ## Example

      iex> geometry = Dala.ML.Geometry.new({640, 480}, {320, 320}, :letterbox)
      iex> Dala.ML.Geometry.box(geometry, {-10, 40, 20, 30})
      {0.0, 0.0, 20.0, 60.0}
  """
  @spec box(t(), box()) :: {float(), float(), float(), float()}
  def box(%__MODULE__{picture: {width, height}} = geometry, {x, y, w, h}) do
    {left, top} = point(geometry, {x, y})
    {right, bottom} = point(geometry, {x + w, y + h})
    left = within(left, width)
    top = within(top, height)
    {left, top, within(right, width) - left, within(bottom, height) - top}
  end

  defp within(place, extent), do: place |> max(0.0) |> min(extent * 1.0)
end
