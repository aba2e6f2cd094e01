defmodule Dala.ML.Pose.Fields do
  @moduledoc false
  # The outputs of PoseNet: fields with a value for each cell of a grid over the input.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.ML.Output

  @keypoints 17
  @strides [1, 2, 4, 8, 16, 32, 64]

  @enforce_keys [
    :width,
    :height,
    :layout,
    :stride,
    :sigmoid?,
    :heat,
    :offsets,
    :forward,
    :backward
  ]
  defstruct @enforce_keys

  @doc "Identifies the outputs by their channels; forward and backward may be nil."
  def new!(named, size, sigmoid?, stride) do
    {layout, {h, w}} = Enum.find_value([:nhwc, :nchw], &grid(named, &1)) || unlike!(named)
    {heat, _name} = field(named, @keypoints, layout, {h, w})
    {offsets, _name} = field(named, 2 * @keypoints, layout, {h, w})

    ways =
      for {name, %{shape: shape} = buffer} <- named,
          dims(shape, layout) == {32, {h, w}},
          do: {name, buffer}

    {forward, backward} =
      case ways do
        [one, two] -> if back?(one) and not back?(two), do: {two, one}, else: {one, two}
        _missing -> {nil, nil}
      end

    %__MODULE__{
      width: w,
      height: h,
      layout: layout,
      stride: strides!(stride, size, {w, h}),
      sigmoid?: sigmoid?,
      heat: heat,
      offsets: offsets,
      forward: bytes(forward),
      backward: bytes(backward)
    }
  end

  # The grid that heatmaps and offsets share in a layout, or nil. Both are needed, because the shape
  # of one alone is ambiguous if the grid has 17 cells along a side.
  defp grid(named, layout) do
    Enum.find_value(named, fn {_name, %{shape: shape}} ->
      with {@keypoints, grid} <- dims(shape, layout),
           {_bytes, _name} <- field(named, 2 * @keypoints, layout, grid),
           do: {layout, grid},
           else: (_other -> nil)
    end)
  end

  defp dims({1, h, w, c}, :nhwc), do: {c, {h, w}}
  defp dims({1, c, h, w}, :nchw), do: {c, {h, w}}
  defp dims(_shape, _layout), do: nil

  defp field(named, channels, layout, grid) do
    Enum.find_value(named, fn {name, %{shape: shape} = buffer} ->
      if dims(shape, layout) == {channels, grid}, do: {bytes({name, buffer}), name}
    end)
  end

  defp bytes(nil), do: nil
  defp bytes({_name, buffer}), do: buffer |> Output.f32!() |> Buffer.read()

  defp back?({name, _buffer}), do: name != nil and name =~ ~r/bwd|backward/i

  @spec unlike!(list()) :: no_return()
  defp unlike!(named) do
    Output.unfit!(
      "expected heatmaps {1, h, w, 17} and offsets {1, h, w, 34}, or {1, c, h, w}, or keypoints " <>
        "{1, 1, 17, 3}, got #{Output.list(named)}"
    )
  end

  # A convolution with stride s has ceil(n / s) cells for n pixels.
  defp strides!(nil, {width, height}, {w, h}), do: {stride(width, w), stride(height, h)}
  defp strides!(stride, _size, _grid) when is_integer(stride) and stride > 0, do: {stride, stride}

  defp strides!(other, _size, _grid) do
    raise ArgumentError,
          "expected output_stride: to be a positive integer, got: #{inspect(other)}"
  end

  defp stride(size, cells) do
    Enum.find(@strides, &(div(size + &1 - 1, &1) == cells)) ||
      max(1, round((size - 1) / max(1, cells - 1)))
  end

  @doc "Returns the score and the position in the input of each keypoint's best cell."
  def highest(fields) do
    for k <- 0..(@keypoints - 1) do
      {_level, cell} =
        for y <- 0..(fields.height - 1), x <- 0..(fields.width - 1), reduce: {nil, {0, 0}} do
          {level, _cell} = best ->
            case heat(fields, {y, x}, k) do
              higher when is_float(higher) and (level == nil or higher > level) ->
                {higher, {y, x}}

              _not_higher ->
                best
            end
        end

      {score(fields, cell, k), place(fields, cell, k)}
    end
  end

  @doc "Returns the raw score of a keypoint at a cell, or nil if it is not a finite number."
  def heat(fields, cell, k), do: at(fields, fields.heat, @keypoints, cell, k)

  @doc "Returns the score of a keypoint at a cell from 0 to 1; 0 if it is not a finite number."
  def score(fields, cell, k) do
    case heat(fields, cell, k) do
      nil -> 0.0
      level -> if fields.sigmoid?, do: Output.sigmoid(level), else: level
    end
  end

  @doc "Returns the position in the input of the keypoint of a cell."
  def place(%{stride: {sx, sy}} = fields, {y, x} = cell, k) do
    {dx, dy} = vector(fields, fields.offsets, 2 * @keypoints, cell, k)
    {x * sx + dx, y * sy + dy}
  end

  @doc "Returns the displacement along an edge of the body at a cell."
  def way(fields, field, cell, edge), do: vector(fields, field, 32, cell, edge)

  @doc "Returns the cell nearest to a position."
  def cell(%{stride: {sx, sy}} = fields, {x, y}),
    do: {near(y / sy, fields.height), near(x / sx, fields.width)}

  defp near(place, cells), do: place |> round() |> max(0) |> min(cells - 1)

  # The first half of the channels is y, the second x.
  defp vector(fields, field, channels, cell, k) do
    dy = at(fields, field, channels, cell, k) || 0.0
    dx = at(fields, field, channels, cell, k + div(channels, 2)) || 0.0
    {dx, dy}
  end

  defp at(%{layout: :nhwc} = fields, bytes, channels, {y, x}, c),
    do: Output.at(bytes, (y * fields.width + x) * channels + c)

  defp at(%{layout: :nchw} = fields, bytes, _channels, {y, x}, c),
    do: Output.at(bytes, (c * fields.height + y) * fields.width + x)
end
