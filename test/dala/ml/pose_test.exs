defmodule Dala.ML.PoseTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.ML.{Geometry, Pose}

  doctest Dala.ML.Pose

  @edges [
    {"nose", "left_eye"},
    {"left_eye", "left_ear"},
    {"nose", "right_eye"},
    {"right_eye", "right_ear"},
    {"nose", "left_shoulder"},
    {"left_shoulder", "left_elbow"},
    {"left_elbow", "left_wrist"},
    {"left_shoulder", "left_hip"},
    {"left_hip", "left_knee"},
    {"left_knee", "left_ankle"},
    {"nose", "right_shoulder"},
    {"right_shoulder", "right_elbow"},
    {"right_elbow", "right_wrist"},
    {"right_shoulder", "right_hip"},
    {"right_hip", "right_knee"},
    {"right_knee", "right_ankle"}
  ]

  # A person: where each keypoint is, from the nose, in pixels of the input.
  @body %{
    "nose" => {0, 0},
    "left_eye" => {18, -17},
    "right_eye" => {-18, -17},
    "left_ear" => {35, -3},
    "right_ear" => {-35, -3},
    "left_shoulder" => {34, 40},
    "right_shoulder" => {-34, 40},
    "left_elbow" => {50, 80},
    "right_elbow" => {-50, 80},
    "left_wrist" => {50, 120},
    "right_wrist" => {-50, 120},
    "left_hip" => {20, 130},
    "right_hip" => {-20, 130},
    "left_knee" => {20, 175},
    "right_knee" => {-20, 175},
    "left_ankle" => {20, 215},
    "right_ankle" => {-20, 215}
  }

  @stride 16
  @cells 21
  @size 1 + 16 * 20

  defp at({x, y}, name) do
    {dx, dy} = @body[name]
    {x + dx, y + dy}
  end

  defp cell({x, y}), do: {round(y / @stride), round(x / @stride)}

  # What PoseNet gives for people at these places, each %{nose, surest}: score 3 at every keypoint's
  # cell, and at the surest that much; -5 elsewhere. Fields hold in the cells of keypoints only.
  defp outputs(people) do
    names = Pose.names()
    blank = %{heat: %{}, offsets: %{}, forward: %{}, backward: %{}}

    fields =
      for {nose, {surest, level}} <- people, reduce: blank do
        fields ->
          fields =
            for {name, k} <- Enum.with_index(names), reduce: fields do
              fields ->
                {x, y} = at(nose, name)
                {row, column} = cell({x, y})
                score = if name == surest, do: level, else: 3

                fields
                |> put_in([:heat, {row, column, k}], score)
                |> put_in([:offsets, {row, column, k}], y - row * @stride)
                |> put_in([:offsets, {row, column, k + 17}], x - column * @stride)
            end

          for {{parent, child}, edge} <- Enum.with_index(@edges), reduce: fields do
            fields ->
              {px, py} = at(nose, parent)
              {cx, cy} = at(nose, child)
              {prow, pcolumn} = cell({px, py})
              {crow, ccolumn} = cell({cx, cy})

              fields
              |> put_in([:forward, {prow, pcolumn, edge}], cy - py)
              |> put_in([:forward, {prow, pcolumn, edge + 16}], cx - px)
              |> put_in([:backward, {crow, ccolumn, edge}], py - cy)
              |> put_in([:backward, {crow, ccolumn, edge + 16}], px - cx)
          end
      end

    [
      {"heat", fields.heat, 17, -5},
      {"offsets", fields.offsets, 34, 0},
      {"fwd", fields.forward, 32, 0},
      {"bwd", fields.backward, 32, 0}
    ]
  end

  defp buffers(outputs, :nhwc) do
    for {name, numbers, channels, rest} <- outputs do
      list =
        for y <- 0..(@cells - 1),
            x <- 0..(@cells - 1),
            c <- 0..(channels - 1),
            do: Map.get(numbers, {y, x, c}, rest)

      {name, Compute.buffer(list, {1, @cells, @cells, channels})}
    end
  end

  defp buffers(outputs, :nchw) do
    for {name, numbers, channels, rest} <- outputs do
      list =
        for c <- 0..(channels - 1),
            y <- 0..(@cells - 1),
            x <- 0..(@cells - 1),
            do: Map.get(numbers, {y, x, c}, rest)

      {name, Compute.buffer(list, {1, channels, @cells, @cells})}
    end
  end

  defp sigmoid(x), do: 1 / (1 + :math.exp(-x))

  defp assert_pose(pose, nose, scale) do
    for keypoint <- pose.keypoints do
      {x, y} = at(nose, keypoint.name)
      assert_close([keypoint.x, keypoint.y], [x * scale, y * scale], 1.0e-4)
    end

    assert Enum.map(pose.keypoints, & &1.name) == Pose.names()
  end

  @nose {150, 60}

  test "one pose, in either layout, with outputs in any order" do
    geometry = Geometry.new({2 * @size, 2 * @size}, {@size, @size}, :stretch)
    outputs = outputs(%{@nose => {"nose", 4}})

    for layout <- [:nhwc, :nchw],
        order <- [& &1, &Enum.reverse/1, &Enum.take(&1, 2), &Map.new/1] do
      pose = outputs |> buffers(layout) |> order.() |> Pose.decode(geometry)
      assert_pose(pose, @nose, 2)
      assert_close([pose.score], [(16 * sigmoid(3) + sigmoid(4)) / 17], 1.0e-6)
      assert_close([hd(pose.keypoints).score], [sigmoid(4)], 1.0e-6)
      # From the right elbow to the left one, and from the eyes to the ankles.
      assert_close(Tuple.to_list(pose.box), [200, 86, 200, 464], 1.0e-4)
    end

    sure = outputs |> buffers(:nhwc) |> Pose.decode(geometry, threshold: 0.97)
    assert_close(Tuple.to_list(sure.box), [300, 120, 0, 0], 1.0e-4)
    assert Pose.decode(buffers(outputs, :nhwc), geometry, threshold: 0.99).box == nil
    assert Pose.decode(buffers(outputs, :nhwc), geometry, sigmoid: false).score > 3
  end

  test "the stride follows from the shapes, unless it is given" do
    for {size, cells, stride} <- [
          {257, 17, 16},
          {256, 16, 16},
          {257, 9, 32},
          {353, 23, 16},
          {385, 49, 8}
        ] do
      heat =
        for i <- 0..(cells * cells - 1), c <- 0..16, do: if(i == cells + 2, do: c / 17, else: -9)

      outputs = [Compute.buffer(heat, {1, cells, cells, 17}), zeros({1, cells, cells, 34})]
      geometry = Geometry.new({size, size}, {size, size}, :stretch)
      pose = Pose.decode(outputs, geometry)
      assert Enum.uniq(Enum.map(pose.keypoints, &{&1.x, &1.y})) == [{2.0 * stride, 1.0 * stride}]
      given = Pose.decode(outputs, geometry, output_stride: 5)
      assert {hd(given.keypoints).x, hd(given.keypoints).y} == {10.0, 5.0}
    end
  end

  test "several poses, each from its best keypoint" do
    geometry = Geometry.new({@size, @size}, {@size, @size}, :stretch)
    other = {240, 84}
    people = %{@nose => {"left_ankle", 4}, other => {"right_wrist", 6}}

    for layout <- [:nhwc, :nchw], order <- [& &1, &Enum.reverse/1, &Map.new/1] do
      outputs = people |> outputs() |> buffers(layout) |> order.()
      assert [first, second] = Pose.decode(outputs, geometry, mode: :multi)
      assert_pose(first, other, 1)
      assert_pose(second, @nose, 1)
      assert_close([first.score], [(16 * sigmoid(3) + sigmoid(6)) / 17], 1.0e-6)
      assert [only] = Pose.decode(outputs, geometry, mode: :multi, max: 1)
      assert_pose(only, other, 1)
      # No keypoint has such a score.
      assert Pose.decode(outputs, geometry, mode: :multi, threshold: 0.999) == []
    end

    # So close that all keypoints of one are taken by the other.
    outputs = people |> outputs() |> buffers(:nhwc)
    assert [_one] = Pose.decode(outputs, geometry, mode: :multi, radius: 200)
  end

  test "without names, the second displacement field is the backward one" do
    geometry = Geometry.new({@size, @size}, {@size, @size}, :stretch)
    outputs = %{@nose => {"left_ankle", 4}} |> outputs() |> buffers(:nhwc)
    assert [pose] = outputs |> Enum.map(&elem(&1, 1)) |> Pose.decode(geometry, mode: :multi)
    assert_pose(pose, @nose, 1)
  end

  test "MoveNet's keypoints" do
    geometry = Geometry.new({400, 200}, {192, 192}, :letterbox)
    rows = for k <- 0..16, do: [0.5, k / 17, 0.9 - k / 100]
    output = Compute.buffer(List.flatten(rows), {1, 1, 17, 3})
    pose = Pose.decode(output, geometry)

    for {keypoint, k} <- Enum.with_index(pose.keypoints) do
      assert_close([keypoint.x, keypoint.y, keypoint.score], [400 * k / 17, 100, 0.9 - k / 100])
    end

    assert_close([pose.score], [0.82], 1.0e-5)

    assert_raise ArgumentError, ~r/mode: :multi is only for PoseNet/, fn ->
      Pose.decode(output, geometry, mode: :multi)
    end
  end

  test "NaN and infinity score 0" do
    geometry = Geometry.new({32, 32}, {32, 32}, :stretch)
    heat = Compute.buffer(List.duplicate(:nan, 68), {1, 2, 2, 17})
    offsets = Compute.buffer(List.duplicate(:infinity, 136), {1, 2, 2, 34})
    pose = Pose.decode([heat, offsets], geometry)
    assert pose.score == 0.0
    assert pose.box == nil
    assert hd(pose.keypoints) == %{name: "nose", score: 0.0, x: 0.0, y: 0.0}
  end

  test "outputs that do not match" do
    geometry = Geometry.new({32, 32}, {32, 32}, :stretch)

    assert_raises(
      :shape_mismatch,
      ["expected heatmaps {1, h, w, 17} and offsets {1, h, w, 34}", "got {1, 2, 2, 17}"],
      fn -> Pose.decode(zeros({1, 2, 2, 17}), geometry) end
    )

    outputs = [zeros({1, 2, 2, 17}), zeros({1, 2, 2, 34})]

    assert_raises(:shape_mismatch, "mode: :multi needs two outputs with 32 channels", fn ->
      Pose.decode(outputs, geometry, mode: :multi)
    end)

    for {text, opts} <- [
          {"expected mode: to be :single or :multi, got: :many", [mode: :many]},
          {"expected radius: to be at least 0, got: -1", [radius: -1]},
          {"expected output_stride: to be a positive integer, got: 0.5", [output_stride: 0.5]},
          {"expected sigmoid: to be true or false, got: 1", [sigmoid: 1]}
        ] do
      assert_raise ArgumentError, text, fn -> Pose.decode(outputs, geometry, opts) end
    end
  end
end
