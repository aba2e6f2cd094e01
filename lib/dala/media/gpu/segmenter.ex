defmodule Dala.Media.Gpu.Segmenter do
  @moduledoc false
  # Which pixels of a frame show a person, or another class, as stages of a chain: the installed
  # deeplab runs in the same command as the filters around it. It is loaded at first use, and kept.
  #
  # The stages make a mask that is black where the class is, with soft edges; the kernel `matte`
  # lays it over the frame.

  alias Dala.Gpu.Compute.{Buffer, Error}
  alias Dala.ML.{Geometry, Gpu}
  alias Dala.Media.Gpu.Filter

  @kernel "deeplab of filters"
  @key {__MODULE__, :loaded}

  @doc """
  Gives the stages that make the mask of a frame of that size, and the parameters by which `matte`
  finds the frame in it. Raises `:model_not_found` when the model is not installed.
  """
  @spec mask!(Filter.size(), String.t(), non_neg_integer()) :: {[Filter.stage()], map()}
  def mask!(frame, class, softness) do
    %{model: model} = loaded = loaded!()
    index = index!(model.contract.output[:labels], class)
    input = Keyword.merge(model.contract.input, fixed(model))
    {width, height} = input[:size]
    shape = if input[:layout] == :nchw, do: {1, 3, height, width}, else: {1, height, width, 3}
    {shape_out, dtype_out} = output!(loaded, shape)
    {classes, {h, w}, dtype} = classes!(shape_out, dtype_out, input[:layout])

    stages =
      preprocess(input, shape, hd(model.inputs).dtype) ++
        [stage(@kernel, shape_out, dtype_out)] ++
        classes ++ black(index, {1, h, w}, dtype) ++ soft({h, w}, softness)

    {stages, region(Geometry.new(frame, input[:size], input[:fit]), {w, h})}
  end

  @doc "A stage that works on what the one before it made, and on buffers."
  @spec stage(atom() | String.t(), tuple(), Buffer.dtype(), map(), [Buffer.t()]) :: Filter.stage()
  def stage(kernel, shape, dtype, params \\ %{}, extra \\ []),
    do: %{kernel: kernel, inputs: [:last | extra], params: params, shape: shape, dtype: dtype}

  # One model for all, for as long as it is the one that is installed.
  defp loaded! do
    path = Error.value!(Gpu.Models.find(:deeplab, nil))
    version = {path, File.stat!(path).mtime}

    :global.trans(
      {@key, self()},
      fn ->
        case :persistent_term.get(@key, nil) do
          %{version: ^version} = loaded ->
            loaded

          _none_or_another ->
            model = Error.value!(Gpu.load_model(:deeplab, as: @kernel))
            loaded = %{version: version, model: model, outputs: %{}}
            :persistent_term.put(@key, loaded)
            loaded
        end
      end,
      [node()]
    )
  end

  # Shapes of outputs are known once the model has run, which also prepares it for the next time.
  defp output!(loaded, shape) do
    case loaded.outputs do
      %{^shape => output} ->
        output

      _unknown ->
        zeros = Buffer.zeros(shape, hd(loaded.model.inputs).dtype)
        output = Error.value!(Gpu.predict(loaded.model, zeros))
        known = {output.shape, output.dtype}
        :persistent_term.put(@key, put_in(loaded.outputs[shape], known))
        known
    end
  end

  # The size that the model's file insists on.
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

    # Models that take integers take levels from 0 to 255, rounded.
    if dtype == :f32 do
      [first]
    else
      half = Buffer.new([0.5], {1})
      first = %{first | params: %{params | normalize: :raw}}
      [first, stage(:elementwise_add, shape, :f32, %{}, [half]), stage(:cast, shape, dtype)]
    end
  end

  # What makes a class of each place out of scores, where the model has not done that.
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

  # |class - wanted|, cut at 1, is 0 where it is the one, and 1 elsewhere.
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

  # Which part of the mask is the frame, in the mask's own pixels.
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
