defmodule Dala.ML.Segmentation.Stages do
  @moduledoc false
  # Segments a frame as stages of a chain of filters: the installed deeplab model runs in the same
  # command as the filters around it. It is loaded at first use and cached.

  @behaviour Dala.Media.Gpu.Segmenter

  import Dala.Media.Gpu.Segmenter, only: [stage: 3, stage: 4, stage: 5]

  alias Dala.Gpu.Compute.{Buffer, Error}
  alias Dala.ML.Geometry
  alias Dala.ML.Gpu.ModelCache

  @kernel "deeplab of filters"

  # Raises `:model_not_found` if the model is not installed.
  @impl true
  def mask!(frame, class, softness) do
    model = Error.value!(ModelCache.fetch(:deeplab, @kernel))
    index = index!(model.contract.output[:labels], class)
    input = Keyword.merge(model.contract.input, fixed(model))
    {width, height} = input[:size]
    shape = if input[:layout] == :nchw, do: {1, 3, height, width}, else: {1, height, width, 3}
    {shape_out, dtype_out} = Error.value!(ModelCache.output(model, shape))
    {classes, {h, w}, dtype} = classes!(shape_out, dtype_out, input[:layout])

    stages =
      preprocess(input, shape, hd(model.inputs).dtype) ++
        [stage(@kernel, shape_out, dtype_out)] ++
        classes ++ black(index, {1, h, w}, dtype) ++ soft({h, w}, softness)

    {stages, region(Geometry.new(frame, input[:size], input[:fit]), {w, h})}
  end

  # The size that the model's file fixes.
  defp fixed(%{inputs: [%{shape: shape} | _]}) do
    case shape do
      {_batch, 3, h, w} when is_integer(h) and is_integer(w) -> [size: {w, h}, layout: :nchw]
      {_batch, h, w, 3} when is_integer(h) and is_integer(w) -> [size: {w, h}, layout: :nhwc]
      _free -> []
    end
  end

  defp preprocess(input, shape, dtype) do
    params = Map.new(Keyword.take(input, [:fit, :border, :layout, :normalize]))
    first = %{kernel: :preprocess, inputs: [:frame], params: params, shape: shape, dtype: :f32}

    # Integer inputs are levels from 0 to 255; adding 0.5 before the truncating cast rounds.
    if dtype == :f32 do
      [first]
    else
      half = Buffer.new([0.5], {1})
      first = %{first | params: %{params | normalize: :raw}}
      [first, stage(:elementwise_add, shape, :f32, %{}, [half]), stage(:cast, shape, dtype)]
    end
  end

  # The stages that turn scores into class indices, unless the model returns indices.
  defp classes!({1, h, w}, dtype, _layout) when dtype in [:s32, :s64, :u32, :u8],
    do: {[stage(:cast, {1, h, w}, :s32)], {h, w}, :s32}

  defp classes!({1, _classes, h, w}, _dtype, :nchw),
    do: {[stage(:argmax, {1, h, w}, :s32, %{axis: 1})], {h, w}, :s32}

  defp classes!({1, h, w, _classes}, _dtype, :nhwc),
    do: {[stage(:argmax, {1, h, w}, :s32, %{axis: 3})], {h, w}, :s32}

  defp classes!(shape, _dtype, _layout) do
    raise %Error{
      reason: :shape_mismatch,
      message: "the output of deeplab has shape #{inspect(shape)}, expected one of a segmentation"
    }
  end

  # min(|class - index|, 1) is 0 for the wanted class and 1 elsewhere.
  defp black(index, shape, dtype) do
    {1, h, w} = shape

    [
      stage(:elementwise_sub, shape, dtype, %{}, [Buffer.new([index], {1}, dtype)]),
      stage(:abs, shape, dtype),
      stage(:clamp, shape, dtype, %{min: 0, max: 1}),
      stage(:scalar_mul, shape, dtype, %{scalar: 255}),
      stage(:cast, shape, :u8),
      stage(:reshape, {h, w}, :u8)
    ]
  end

  defp soft(_shape, 0), do: []

  defp soft(shape, softness),
    do: [stage(:blur, shape, :u8, %{radius: 2 * softness, sigma: softness * 1.0})]

  # The region of the mask that corresponds to the frame, in pixels of the mask.
  defp region(%Geometry{size: {input_w, input_h}, to: {x, y, w, h}}, {width, height}) do
    {sx, sy} = {width / input_w, height / input_h}
    %{x: x * sx, y: y * sy, region_width: w * sx, region_height: h * sy}
  end

  defp index!(labels, class) do
    Enum.find_index(labels, &(&1 == to_string(class))) ||
      raise %Error{
        reason: :invalid_param,
        message: "there is no class #{inspect(class)}; the classes are #{Enum.join(labels, ", ")}"
      }
  end
end
