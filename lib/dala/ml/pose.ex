defmodule Dala.ML.Pose do
  @moduledoc """
  How people in a picture stand, from the outputs of a PoseNet or MoveNet model.

  A pose is a map, in the picture's own pixels:

    * `:score` - the mean of the keypoints' scores
    * `:keypoints` - a list of 17 maps `%{name:, score:, x:, y:}`, from `"nose"` to `"right_ankle"`,
      left and right being those of the person; see `names/0`
    * `:box` - the smallest box `{x, y, width, height}` around the keypoints that are sure, `nil`
      when none is
  """

  alias Dala.Gpu.Compute.{Argument, Buffer}
  alias Dala.ML.{Geometry, Gpu, Output}
  alias Dala.ML.Pose.{Fields, Tree}

  @names ~w(nose left_eye right_eye left_ear right_ear left_shoulder right_shoulder left_elbow
            right_elbow left_wrist right_wrist left_hip right_hip left_knee right_knee left_ankle
            right_ankle)

  @type keypoint :: %{name: String.t(), score: float(), x: float(), y: float()}
  @type t :: %{score: float(), keypoints: [keypoint()], box: Geometry.box() | nil}

  @doc """
  Lists the names of the keypoints, in their order.

  ## Example

      iex> Enum.take(Dala.ML.Pose.names(), 3)
      ["nose", "left_eye", "right_eye"]
  """
  @spec names() :: [String.t()]
  def names, do: @names

  @doc """
  Reads the outputs of a model: one pose, or with `mode: :multi` a list of them, surest first.

  PoseNet gives, for each cell of a grid, 17 scores (heatmaps), 34 numbers from the cell to the
  keypoint (first all y, then all x), and twice 32 for the way from one keypoint to the next along
  the body and back. They are `{1, h, w, c}` or `{1, c, h, w}`, in any order, but for the two of 32:
  the one whose name has "bwd", or else the second, leads back. MoveNet gives `{1, 1, 17, 3}`: y, x
  and score of each keypoint.

  With `mode: :single`, each keypoint is where its score is highest, so that the picture should show
  one person. With `mode: :multi`, keypoints that are surer than their neighbours start poses, surest
  first, and the others are found along the body from there.

  `geometry` is that of the model's input, see `Dala.ML.geometry/2`.

  ## Options

    * `:mode` - `:single` (the default) or `:multi`
    * `:threshold` - the least score of keypoints that the box is drawn around, and with `:multi` of
      those that start a pose, 0.5 by default
    * `:sigmoid` - whether PoseNet's scores are still to be taken through the sigmoid, `true` by
      default
    * `:output_stride` - how many pixels of the input a cell is wide; by default the power of two
      that fits
    * `:max` - with `:multi`, how many poses at most, 5 by default
    * `:radius` - with `:multi`, keypoints of the same name that are closer than this in the input
      are the same, 20 pixels by default

  ## Example

      iex> geometry = Dala.ML.Geometry.new({64, 64}, {32, 32}, :stretch)
      iex> heatmaps = Dala.Gpu.Compute.buffer(List.duplicate(0, 68), {1, 2, 2, 17})
      iex> offsets = Dala.Gpu.Compute.buffer(List.duplicate(3, 136), {1, 2, 2, 34})
      iex> pose = Dala.ML.Pose.decode([heatmaps, offsets], geometry)
      iex> {pose.score, hd(pose.keypoints), pose.box}
      {0.5, %{name: "nose", score: 0.5, x: 6.0, y: 6.0}, {6.0, 6.0, 0.0, 0.0}}
  """
  @spec decode(Gpu.output() | [Gpu.tensor()], Geometry.t(), keyword()) :: t() | [t()]
  def decode(outputs, %Geometry{} = geometry, opts \\ []) do
    opts =
      Argument.options!(opts,
        mode: :single,
        threshold: 0.5,
        sigmoid: true,
        output_stride: nil,
        max: 5,
        radius: 20
      )

    mode = Output.choice!(:mode, opts[:mode], [:single, :multi])
    threshold = Output.share!(:threshold, opts[:threshold])
    sigmoid? = Output.choice!(:sigmoid, opts[:sigmoid], [true, false])
    max = Output.count!(:max, opts[:max])
    radius = radius!(opts[:radius])
    named = Output.named!(outputs)

    case {mode, movenet(named)} do
      {:single, nil} ->
        named
        |> Fields.new!(geometry.size, sigmoid?, opts[:output_stride])
        |> Fields.highest()
        |> pose(geometry, threshold)

      {:multi, nil} ->
        named
        |> Fields.new!(geometry.size, sigmoid?, opts[:output_stride])
        |> Tree.poses(threshold, radius, max)
        |> Enum.map(fn {score, points} -> %{pose(points, geometry, threshold) | score: score} end)
        |> Enum.sort_by(& &1.score, :desc)

      {:single, buffer} ->
        buffer |> points(geometry.size) |> pose(geometry, threshold)

      {:multi, _buffer} ->
        raise ArgumentError, "mode: :multi is for PoseNet; the output is that of one pose"
    end
  end

  defp movenet(named),
    do: Enum.find_value(named, fn {_, buffer} -> buffer.shape == {1, 1, 17, 3} && buffer end)

  defp points(buffer, {width, height}) do
    bytes = buffer |> Output.f32!() |> Buffer.read()

    for <<row::binary-12 <- bytes>> do
      case row do
        <<y::float-32-native, x::float-32-native, score::float-32-native>> ->
          {score, {x * width, y * height}}

        _no_numbers ->
          {0.0, {0.0, 0.0}}
      end
    end
  end

  defp pose(points, geometry, threshold) do
    keypoints =
      for {name, {score, point}} <- Enum.zip(@names, points) do
        {x, y} = Geometry.point(geometry, point)
        %{name: name, score: score, x: x, y: y}
      end

    score = (keypoints |> Enum.map(& &1.score) |> Enum.sum()) / length(keypoints)
    %{score: score, keypoints: keypoints, box: box(keypoints, threshold)}
  end

  defp box(keypoints, threshold) do
    case Enum.filter(keypoints, &(&1.score >= threshold)) do
      [] ->
        nil

      sure ->
        {left, right} = sure |> Enum.map(& &1.x) |> Enum.min_max()
        {top, bottom} = sure |> Enum.map(& &1.y) |> Enum.min_max()
        {left, top, right - left, bottom - top}
    end
  end

  defp radius!(radius) when is_number(radius) and radius >= 0, do: radius

  defp radius!(other) do
    raise ArgumentError, "expected radius: to be at least 0, got: #{inspect(other)}"
  end
end
