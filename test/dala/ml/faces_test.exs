defmodule Dala.ML.FacesTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.ML.{Faces, Geometry}

  doctest Dala.ML.Faces

  @points %{
    right_eye: {-8, -6},
    left_eye: {8, -5},
    nose: {1, 2},
    mouth: {0, 9},
    right_ear: {-14, -2},
    left_ear: {15, -1}
  }
  @order [:right_eye, :left_eye, :nose, :mouth, :right_ear, :left_ear]

  # The centre of anchor i of an input of `size` pixels, by the strides of the model.
  defp anchor(i, 896, size) when i < 512, do: centre(div(i, 2), 16, div(size, 16))
  defp anchor(i, 896, size), do: centre(div(i - 512, 6), 8, div(size, 8))
  defp anchor(i, 2304, 192), do: centre(i, 48, 4)

  defp centre(cell, cells, stride),
    do: {rem(cell, cells) * stride + stride / 2, div(cell, cells) * stride + stride / 2}

  # A row that puts a face with its points there, in pixels of the input.
  defp row(i, count, size, {cx, cy, w, h}) do
    {x, y} = anchor(i, count, size)

    points =
      Enum.flat_map(@order, fn name ->
        {dx, dy} = @points[name]
        [cx + dx - x, cy + dy - y]
      end)

    [cx - x, cy - y, w, h | points]
  end

  # Scores and rows of all anchors; faces are %{anchor => {score, box}}.
  defp all(count, size, faces) do
    for i <- 0..(count - 1) do
      case faces do
        %{^i => {score, box}} -> {score, row(i, count, size, box)}
        _ -> {-100, List.duplicate(0, 16)}
      end
    end
  end

  defp buffers(rows) do
    {scores, rows} = Enum.unzip(rows)

    {Compute.buffer(scores, {1, length(scores), 1}),
     Compute.buffer(List.flatten(rows), {1, length(rows), 16})}
  end

  defp together(rows) do
    numbers = Enum.flat_map(rows, fn {score, row} -> [score | row] end)
    Compute.buffer(numbers, {1, length(rows), 17})
  end

  defp sigmoid(x), do: 1 / (1 + :math.exp(-x))

  test "every arrangement of the outputs, every size of the input" do
    for {count, size, i, j} <- [
          {896, 128, 137, 700},
          {896, 256, 137, 700},
          {2304, 192, 1000, 2303}
        ] do
      # The image is twice as wide as it is high: it is centred in the input.
      geometry = Geometry.new({4 * size, 2 * size}, {size, size}, :letterbox)
      third = size / 3
      half = size / 2
      rows = all(count, size, %{i => {2, {third, half, 20, 24}}, j => {1, {90, half, 10, 10}}})
      {scores, regressors} = buffers(rows)

      parted =
        if count == 896 do
          {fine, coarse} = Enum.split(rows, 512)
          {fine_scores, fine_rows} = buffers(fine)
          {coarse_scores, coarse_rows} = buffers(coarse)

          [
            [fine_scores, coarse_scores, fine_rows, coarse_rows],
            [coarse_rows, fine_scores, fine_rows, coarse_scores]
          ]
        else
          []
        end

      for outputs <-
            [[scores, regressors], %{a: regressors, b: scores}, together(rows)] ++ parted do
        assert [first, second] = Faces.decode(outputs, geometry)
        assert first.label == "face"
        assert_close([first.score, second.score], [sigmoid(2), sigmoid(1)], 1.0e-6)
        # Four pixels of the image are one of the input, below a border of a quarter.
        {x, y} = {4 * third, 4 * (half - size / 4)}
        assert_close(Tuple.to_list(first.box), [x - 40, y - 48, 80, 96], 1.0e-4)

        for {name, {dx, dy}} <- @points do
          assert_close(Tuple.to_list(first.keypoints[name]), [x + 4 * dx, y + 4 * dy], 1.0e-4)
        end
      end
    end
  end

  test "boxes of one face are averaged by their scores" do
    geometry = Geometry.new({128, 128}, {128, 128}, :stretch)
    a = {40, 40, 20, 20}
    b = {44, 42, 20, 24}
    apart = {100, 100, 20, 20}
    rows = all(896, 128, %{10 => {1, a}, 300 => {3, b}, 800 => {2, apart}})
    assert [first, second] = Faces.decode(together(rows), geometry)
    {wa, wb} = {sigmoid(1), sigmoid(3)}
    mean = fn x, y -> (wa * x + wb * y) / (wa + wb) end

    assert_close(
      Tuple.to_list(first.box),
      [mean.(30, 34), mean.(30, 30), 20, mean.(20, 24)],
      1.0e-5
    )

    assert_close(Tuple.to_list(first.keypoints.nose), [mean.(41, 45), mean.(42, 44)], 1.0e-5)
    assert_close([first.score, second.score], [wb, sigmoid(2)], 1.0e-6)
    assert_close(Tuple.to_list(second.box), [90, 90, 20, 20], 1.0e-5)

    # Their overlap is 16 x 20 of 400 + 480 - 320.
    assert length(Faces.decode(together(rows), geometry, iou: 0.56)) == 2
    assert length(Faces.decode(together(rows), geometry, iou: 0.58)) == 3
    assert length(Faces.decode(together(rows), geometry, max: 1)) == 1
    assert length(Faces.decode(together(rows), geometry, threshold: 0.9)) == 1
  end

  test "at the edge, in the border, not there, not a number" do
    geometry = Geometry.new({128, 64}, {128, 128}, :letterbox)

    rows =
      all(896, 128, %{
        5 => {1.0e9, {2, 64, 20, 20}},
        600 => {2, {64, 10, 20, 20}},
        601 => {2, {64, 64, 0, 20}},
        602 => {:nan, {100, 64, 10, 20}},
        603 => {3, {100, 64, :nan, 20}}
      })

    assert [%{score: 1.0, box: {0.0, 22.0, 12.0, 20.0}}] = Faces.decode(together(rows), geometry)
    assert Faces.decode(together(all(896, 128, %{})), geometry) == []
  end

  test "outputs that do not match" do
    geometry = Geometry.new({128, 128}, {128, 128}, :stretch)

    for outputs <- [
          zeros({1, 897, 17}),
          [zeros({1, 896, 1}), zeros({1, 512, 16})],
          [zeros({1, 896, 16})],
          [zeros({1, 896, 1}), zeros({1, 896, 1}), zeros({1, 896, 16})]
        ] do
      assert_raises(
        :shape_mismatch,
        "expected {1, n, 1} and {1, n, 16}, together or in parts, or {1, n, 17}, where n is 896",
        fn -> Faces.decode(outputs, geometry) end
      )
    end

    faces = together(all(2304, 192, %{7 => {5, {40, 40, 20, 20}}}))
    outputs = %{"face" => faces, "person" => zeros({1, 2304, 17})}
    geometry = Geometry.new({192, 192}, {192, 192}, :stretch)

    assert_raises(
      :shape_mismatch,
      ~s(several outputs have shape {1, 896, 17} or {1, 2304, 17}: "face" {1, 2304, 17}, "person"),
      fn -> Faces.decode(outputs, geometry) end
    )

    assert [_face] = Faces.decode(outputs, geometry, output: "face")

    assert_raise ArgumentError, "expected iou: to be from 0 to 1, got: 30", fn ->
      Faces.decode(faces, geometry, iou: 30)
    end
  end
end
