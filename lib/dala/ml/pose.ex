defmodule Dala.ML.Pose do
  @moduledoc """
  Decodes the outputs of pose estimators: PoseNet and MoveNet.

  A pose is a map, in pixels of the image:

    * `:score` - the mean of the keypoints' scores
    * `:keypoints` - a list of 17 maps `%{name:, score:, x:, y:}`, from `"nose"` to `"right_ankle"`,
      with left and right from the person's point of view; see `names/0`
    * `:box` - the bounding box `{x, y, width, height}` of the keypoints above the threshold, or
      `nil` if there are none
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
  Decodes the outputs of a model: one pose, or with `mode: :multi` a list of them, highest score
  first.

  PoseNet returns, for each cell of a grid, 17 scores (heatmaps), 34 offsets from the cell to the
  keypoint (first all y, then all x), and two displacement fields of 32 channels from one keypoint
  to the next along the body, forward and backward. Their shapes are `{1, h, w, c}` or
  `{1, c, h, w}`, in any order; the backward displacements are the output whose name contains "bwd",
  or else the second one of 32 channels. MoveNet returns `{1, 1, 17, 3}`: y, x and score of each
  keypoint.

  With `mode: :single`, each keypoint is at its highest score, so the image should show one person.
  With `mode: :multi`, local maxima of the scores start poses, highest first, and the other
  keypoints are found from there along the displacements.

  `geometry` is that of the model's input, see `Dala.ML.geometry/2`.

  ## Options

    * `:mode` - `:single` (the default) or `:multi`
    * `:threshold` - the minimum score of keypoints in the bounding box, and with `:multi` of those
      that start a pose, 0.5 by default
    * `:sigmoid` - whether to apply the sigmoid to PoseNet's scores, `true` by default
    * `:output_stride` - the width of a cell in pixels of the input; by default the power of two
      that matches
    * `:max` - with `:multi`, the maximum number of poses, 5 by default
    * `:radius` - with `:multi`, keypoints of the same name closer than this, in pixels of the
      input, are the same keypoint, 20 by default

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
        raise ArgumentError, "mode: :multi is only for PoseNet; the output has a single pose"
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
