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

  test "boxes in the picture, one for each thing, those in the border left out" do
    for {output, format} <- [{v5(@rows), :yolo_v5}, {v8(@rows), :yolo_v8}] do
      got = Detection.decode(output, @geometry, format: format, labels: ["cat", "dog"])
      assert Enum.map(got, & &1.label) == ["dog", "cat", "cat"]
      assert Enum.map(got, & &1.index) == [1, 0, 0]
      assert_close(Enum.map(got, & &1.score), [0.72, 0.63, 0.6], 1.0e-6)

      # The picture is 100 x 50 at (0, 25) of the input.
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

  test "what is no number is no detection" do
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

  test "nothing there" do
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

  test "what is wrong is said" do
    output = v5(@rows)

    for {text, opts} <- [
          {"expected format: to be :yolo_v5 or :yolo_v8, got: :ssd", [format: :ssd]},
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
