defmodule Dala.ML.DetectionTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.ML.{Detection, Geometry}

  doctest Dala.ML.Detection

  @geometry Geometry.new({200, 100}, {100, 100}, :letterbox)

  # Rows of {cx, cy, w, h, sure, scores}, in pixels of an input of 100 x 100.
  @rows [
    [50, 50, 20, 10, 0.9, 0.1, 0.8],
    [51, 50, 20, 10, 0.8, 0.1, 0.8],
    [50, 50, 20, 10, 0.7, 0.9, 0.1],
    [20, 30, 8, 8, 0.9, 0.2, 0.2],
    [2, 40, 10, 20, 1.0, 0.6, 0.0],
    [50, 5, 10, 10, 1.0, 1.0, 0.0]
  ]

  defp v5(rows), do: Compute.buffer(List.flatten(rows), {1, length(rows), length(hd(rows))})

  defp v8(rows) do
    rows =
      for [x, y, w, h, sure | scores] <- rows, do: [x, y, w, h | Enum.map(scores, &(&1 * sure))]

    columns = Enum.zip_with(rows, & &1)
    Compute.buffer(List.flatten(columns), {1, length(columns), length(rows)})
  end

  test "boxes in the image, one per object, without those in the border" do
    for {output, format} <- [{v5(@rows), :yolo_v5}, {v8(@rows), :yolo_v8}] do
      got = Detection.decode(output, @geometry, format: format, labels: ["cat", "dog"])
      assert Enum.map(got, & &1.label) == ["dog", "cat", "cat"]
      assert Enum.map(got, & &1.index) == [1, 0, 0]
      assert_close(Enum.map(got, & &1.score), [0.72, 0.63, 0.6], 1.0e-6)

      # The image is 100 x 50 at (0, 25) of the input.
      assert Enum.map(got, & &1.box) == [
               {80.0, 40.0, 40.0, 20.0},
               {80.0, 40.0, 40.0, 20.0},
               {0.0, 10.0, 14.0, 40.0}
             ]
    end
  end

  test "classes together, fewer, surer" do
    output = v5(@rows)
    scores = fn opts -> output |> Detection.decode(@geometry, opts) |> Enum.map(& &1.score) end
    assert_close(scores.(nms: :agnostic), [0.72, 0.6], 1.0e-6)
    assert_close(scores.(threshold: 0.7), [0.72], 1.0e-6)
    assert_close(scores.(iou: 1), [0.72, 0.64, 0.63, 0.6], 1.0e-6)
    # The best one is in the border.
    assert_close(scores.(max: 2), [0.72], 1.0e-6)
  end

  test "rows with NaN or infinity are skipped" do
    rows = [
      [:nan, 50, 20, 10, 0.9, 0.1, 0.8],
      [50, 50, :infinity, 10, 0.9, 0.1, 0.8],
      [50, 50, 20, 10, :nan, 0.1, 0.8],
      [50, 50, 20, 10, 0.9, :nan, 0.8],
      [50, 50, 20, 10, 0.9, :nan, :nan],
      [50, 50, -20, 10, 0.9, 0.1, 0.8]
    ]

    assert [%{index: 1}] = Detection.decode(v5(rows), @geometry)
  end

  test "no detections" do
    assert Detection.decode(zeros({1, 0, 7}), @geometry) == []
    assert Detection.decode(zeros({1, 10, 7}), @geometry) == []
    assert Detection.nms([]) == []
  end

  test "suppression agrees with comparing all pairs" do
    :rand.seed(:exsss, {1, 2, 3})

    boxes =
      for _ <- 1..200 do
        box = {:rand.uniform(50), :rand.uniform(50), :rand.uniform(30), :rand.uniform(30)}
        %{index: :rand.uniform(3), score: :rand.uniform(), box: box}
      end

    for limit <- [0.2, 0.5], nms <- [:per_class, :agnostic] do
      kept = Detection.nms(boxes, iou: limit, nms: nms)
      rivals = fn a, b -> nms == :agnostic or a.index == b.index end

      for a <- boxes do
        beaten? =
          Enum.any?(kept, fn b ->
            b.score > a.score and rivals.(a, b) and pixel_iou(a.box, b.box) > limit
          end)

        assert a in kept != beaten?
      end
    end
  end

  # By counting pixels.
  defp pixel_iou(a, b) do
    [a, b] =
      for {x, y, w, h} <- [a, b],
          do: MapSet.new(for i <- x..(x + w - 1), j <- y..(y + h - 1), do: {i, j})

    MapSet.size(MapSet.intersection(a, b)) / MapSet.size(MapSet.union(a, b))
  end

  test "boxes from 0 to 1" do
    rows = for [x, y, w, h | rest] <- @rows, do: [x / 100, y / 100, w / 100, h / 100 | rest]

    for {output, format} <- [{v5(rows), :yolo_v5}, {v8(rows), :yolo_v8}] do
      got = Detection.decode(output, @geometry, format: format, scale: :unit)
      want = Detection.decode(v5(@rows), @geometry)

      assert_close(
        Enum.flat_map(got, &Tuple.to_list(&1.box)),
        Enum.flat_map(want, &Tuple.to_list(&1.box)),
        1.0e-4
      )
    end
  end

  test "of several outputs the one that fits, or the named one" do
    boxes = v5(@rows)
    outputs = %{"heat" => zeros({1, 3, 4, 4, 7}), "boxes" => boxes}
    want = Detection.decode(boxes, @geometry)
    assert length(want) == 3
    assert Detection.decode(outputs, @geometry) == want
    assert Detection.decode(Map.values(outputs), @geometry) == want
    assert Detection.decode(outputs, @geometry, output: :boxes) == want

    assert_raises(
      :shape_mismatch,
      ~s(several outputs have shape {1, n, 5 + classes} of yolo_v5: "a" {1, 6, 7}, ) <>
        ~s("b" {1, 6, 7}; select one with output:),
      fn -> Detection.decode(%{a: boxes, b: boxes}, @geometry) end
    )

    assert_raises(
      :shape_mismatch,
      "no output has shape {1, n, 5 + classes} of yolo_v5: {1, 4}, {3}; select one with output:",
      fn -> Detection.decode([zeros({1, 4}), zeros({3})], @geometry) end
    )
  end

  describe "raw heads" do
    @size {64, 32}
    @grids [{8, 4, 8}, {16, 2, 4}, {32, 1, 2}]
    @anchors [[{6, 5}, {10, 12}], [{20, 10}, {8, 30}], [{40, 30}, {64, 20}]]

    defp logit(p), do: :math.log(p / (1 - p))

    # The row of a box at a cell: the inverse of the sigmoid.
    defp raw({cx, cy, w, h}, {stride, row, column}, {anchor_w, anchor_h}, sure, scores) do
      [
        logit((cx / stride - column + 0.5) / 2),
        logit((cy / stride - row + 0.5) / 2),
        logit(:math.sqrt(w / anchor_w) / 2),
        logit(:math.sqrt(h / anchor_h) / 2),
        logit(sure) | Enum.map(scores, &logit/1)
      ]
    end

    # All heads in one of the layouts; the rows are by {stride, anchor, row, column}.
    defp heads(rows, layout) do
      for {stride, h, w} <- @grids do
        at = fn a, y, x, c ->
          rows |> Map.get({stride, a, y, x}, List.duplicate(-20, 7)) |> Enum.at(c)
        end

        {order, shape} =
          case layout do
            :anchors ->
              {for(a <- 0..1, y <- 0..(h - 1), x <- 0..(w - 1), c <- 0..6, do: at.(a, y, x, c)),
               {1, 2, h, w, 7}}

            :nchw ->
              {for(a <- 0..1, c <- 0..6, y <- 0..(h - 1), x <- 0..(w - 1), do: at.(a, y, x, c)),
               {1, 14, h, w}}

            :nhwc ->
              {for(y <- 0..(h - 1), x <- 0..(w - 1), a <- 0..1, c <- 0..6, do: at.(a, y, x, c)),
               {1, h, w, 14}}
          end

        Compute.buffer(order, shape)
      end
    end

    test "in every layout and order" do
      geometry = Geometry.new({64, 32}, @size, :stretch)

      rows = %{
        {8, 1, 2, 5} => raw({45, 19, 9, 14}, {8, 2, 5}, {10, 12}, 0.9, [0.1, 0.8]),
        {16, 0, 0, 3} => raw({50, 9, 20, 12}, {16, 0, 3}, {20, 10}, 0.8, [0.95, 0.2]),
        {32, 1, 0, 0} => raw({20, 16, 30, 20}, {32, 0, 0}, {64, 20}, 0.95, [0.2, 0.4]),
        {32, 0, 0, 1} => raw({20, 16, 30, 20}, {32, 0, 1}, {40, 30}, 0.2, [0.9, 0.9])
      }

      for layout <- [:anchors, :nchw, :nhwc] do
        [fine, middle, coarse] = heads(rows, layout)
        opts = [format: :yolo_heads, anchors: @anchors, threshold: 0.3, labels: ["a", "b"]]
        got = Detection.decode([coarse, fine, zeros({1, 9, 7}), middle], geometry, opts)
        assert Enum.map(got, & &1.label) == ["a", "b", "b"]
        assert_close(Enum.map(got, & &1.score), [0.76, 0.72, 0.38], 1.0e-5)

        assert_close(
          Enum.flat_map(got, &Tuple.to_list(&1.box)),
          [40, 3, 20, 12, 40.5, 12, 9, 14, 5, 6, 30, 20],
          1.0e-4
        )
      end
    end

    test "the anchors of YOLOv5, at the middle of a cell" do
      geometry = Geometry.new({64, 64}, {64, 64}, :stretch)
      middle = [0, 0, 0, 0, 20, 20]
      none = List.duplicate(-20, 6)

      outputs =
        for {cells, anchor} <- [{64, 2}, {16, 0}, {4, 1}] do
          side = round(:math.sqrt(cells))

          rows =
            for a <- 0..2,
                i <- 0..(cells - 1),
                do: if({a, i} == {anchor, 0}, do: middle, else: none)

          Compute.buffer(List.flatten(rows), {1, 3, side, side, 6})
        end

      got = Detection.decode(outputs, geometry, format: :yolo_heads, iou: 1)
      # Cut at the edges: the centres are 4, 8 and 16.
      assert got |> Enum.map(& &1.box) |> Enum.sort() ==
               [{0.0, 0.0, 20.5, 15.5}, {0.0, 0.0, 23.0, 38.5}, {0.0, 0.0, 64.0, 64.0}]
    end

    test "that do not fit" do
      geometry = Geometry.new({64, 64}, {64, 64}, :stretch)

      assert_raises(
        :shape_mismatch,
        ["expected 3 outputs {1, a, h, w, 5 + classes}", "a = 3 anchors", "got {1, 3, 8, 8, 6}"],
        fn -> Detection.decode(zeros({1, 3, 8, 8, 6}), geometry, format: :yolo_heads) end
      )

      assert_raise ArgumentError, ~r/expected anchors: to be a list for each head/, fn ->
        Detection.decode(zeros({1, 3, 8, 8, 6}), geometry,
          format: :yolo_heads,
          anchors: [[{1, 2}], []]
        )
      end
    end
  end

  describe "models that include non-maximum suppression" do
    @corners [[0.2, 0.4, 0.6, 0.8], [0.0, 0.25, 1.0, 0.5], [0.1, 0.1, 0.1, 0.4], [0, 0, 1, 1]]
    @numbers [0.9, 0.8, 0.7, 0.6]
    @classes [2, 0, 1, 1]

    test "boxes, scores, classes and count, in any order" do
      geometry = Geometry.new({200, 100}, {100, 100}, :stretch)
      boxes = Compute.buffer(List.flatten(@corners), {1, 4, 4})
      scores = Compute.buffer(@numbers, {1, 4})
      classes = Compute.buffer(@classes, {1, 4})
      count = Compute.buffer([3], {1})

      for outputs <- [
            [boxes, classes, scores, count],
            [scores, boxes, count, classes],
            %{d: classes, c: scores, b: count, a: boxes}
          ] do
        # The third has no height, and the fourth does not count.
        assert [first, second] = Detection.decode(outputs, geometry, format: :ssd)
        assert {first.index, second.index} == {2, 0}
        assert_close([first.score, second.score], [0.9, 0.8])
        assert_close(Tuple.to_list(first.box), [80, 20, 80, 40])
        assert_close(Tuple.to_list(second.box), [50, 0, 50, 100])

        assert [first, _second] = Detection.decode(outputs, geometry, format: :boxes)
        assert_close(Tuple.to_list(first.box), [40, 40, 80, 40])
      end
    end

    test "without the batch and the count, in pixels, whole numbers only" do
      geometry = Geometry.new({200, 100}, {100, 100}, :stretch)
      boxes = Compute.buffer([10, 20, 30, 60], {1, 4})
      one = Compute.buffer([1], {1})
      three = Compute.buffer([3], {1}, :s64)
      opts = [scale: :pixels, labels: ["a", "b", "c", "d"]]

      for {outputs, format, box} <- [
            {[boxes, one, three], :boxes, {20.0, 20.0, 40.0, 40.0}},
            {[boxes, three, one], :ssd, {40.0, 10.0, 80.0, 20.0}}
          ] do
        assert Detection.decode(outputs, geometry, [format: format] ++ opts) ==
                 [%{label: "d", index: 3, score: 1.0, box: box}]
      end
    end

    test "that are something else" do
      for outputs <- [
            zeros({1, 4, 4}),
            [zeros({1, 4, 4}), zeros({1, 4})],
            [zeros({1, 4, 4}), zeros({1, 4}), zeros({1, 4}), zeros({7})],
            [zeros({1, 4, 4}), zeros({1, 3}), zeros({1, 3}), zeros({1})]
          ] do
        assert_raises(:shape_mismatch, "expected outputs {1, n, 4}, {1, n}, {1, n} and {1}", fn ->
          Detection.decode(outputs, @geometry, format: :ssd)
        end)
      end
    end
  end

  test "invalid options" do
    output = v5(@rows)

    for {text, opts} <- [
          {"expected format: to be :yolo_v5 or :yolo_v8 or :yolo_heads or :boxes or :ssd, got: " <>
             ":detr", [format: :detr]},
          {"expected scale: to be :pixels or :unit, got: :percent", [scale: :percent]},
          {"scale: is not for :yolo_heads", [format: :yolo_heads, scale: :unit]},
          {"the model has no output \"boxes\"; its outputs are {1, 6, 7}", [output: "boxes"]},
          {"expected threshold: to be from 0 to 1, got: 2", [threshold: 2]},
          {"expected iou: to be from 0 to 1, got: -1", [iou: -1]},
          {"expected nms: to be :per_class or :agnostic, got: :soft", [nms: :soft]},
          {"expected max: to be a positive integer, got: 0", [max: 0]},
          {"expected labels: to be a list, got: \"cat\"", [labels: "cat"]}
        ] do
      assert_raise ArgumentError, text, fn -> Detection.decode(output, @geometry, opts) end
    end

    assert_raises(
      :shape_mismatch,
      "the output has shape {2, 3, 7}, expected {1, n, 5 + classes} of yolo_v5",
      fn -> Detection.decode(zeros({2, 3, 7}), @geometry) end
    )

    assert_raises(:shape_mismatch, "expected {1, 4 + classes, n} of yolo_v8", fn ->
      Detection.decode(zeros({1, 4, 7}), @geometry, format: :yolo_v8)
    end)
  end
end
