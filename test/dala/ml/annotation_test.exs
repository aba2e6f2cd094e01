defmodule Dala.ML.AnnotationTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.Image
  alias Dala.ML.Annotation

  doctest Dala.ML.Annotation

  defp white, do: Image.new(100, 80, :white)
  defp pixel(image, x, y), do: binary_part(image.data, 4 * (100 * y + x), 4)

  defp changed(image) do
    for y <- 0..79, x <- 0..99, pixel(image, x, y) != <<255, 255, 255, 255>>, do: {x, y}
  end

  test "boxes with a label above them, or inside if there is no room" do
    before = white()

    drawn =
      Annotation.draw(before, [
        %{label: "cat", index: 0, score: 0.5, box: {20.4, 30.0, 40.0, 20.2}}
      ])

    for place <- [{20, 40}, {60, 40}, {40, 30}, {40, 50}],
        {x, y} = place,
        do: assert(pixel(drawn, x, y) == <<255, 64, 64, 255>>)

    assert pixel(drawn, 40, 40) == <<255, 255, 255, 255>>
    assert {21, 21} in changed(drawn)
    # The original image is unchanged.
    assert before == white()
    high = Annotation.draw(white(), [%{label: "cat", score: 0.5, box: {0.0, 2.0, 40.0, 40.0}}])
    assert pixel(high, 0, 2) == <<255, 64, 64, 255>>
  end

  test "faces with their points, also beyond the edges" do
    face = %{
      label: "face",
      score: 0.9,
      box: {50.0, 40.0, 30.0, 30.0},
      keypoints: %{nose: {65.0, 55.0}, mouth: {500.0, -7.0}}
    }

    assert pixel(Annotation.draw(white(), [face]), 65, 55) == <<255, 64, 64, 255>>
  end

  test "poses, above the threshold" do
    point = fn name, x, y, score -> %{name: name, x: x, y: y, score: score} end

    pose = %{
      score: 0.5,
      box: nil,
      keypoints: [
        point.("left_shoulder", 70.0, 20.0, 0.9),
        point.("right_shoulder", 30.0, 20.0, 0.9),
        point.("left_elbow", 70.0, 60.0, 0.1)
      ]
    }

    drawn = Annotation.draw(white(), pose)
    assert pixel(drawn, 50, 20) == <<255, 220, 0, 255>>
    assert pixel(drawn, 70, 20) == <<255, 64, 64, 255>>
    assert pixel(drawn, 70, 40) == <<255, 255, 255, 255>>
    assert Annotation.draw(white(), [pose]) == drawn
    assert pixel(Annotation.draw(white(), pose, threshold: 0.05), 70, 40) == <<255, 220, 0, 255>>
  end

  test "segmentations by colour, classes as text, and nothing" do
    classes = :binary.copy(<<0>>, 100 * 40) <> :binary.copy(<<15>>, 100 * 40)
    drawn = Annotation.draw(white(), %{width: 100, height: 80, classes: classes, areas: []})
    assert pixel(drawn, 50, 10) == <<255, 255, 255, 255>>
    # Half of PASCAL's {192, 128, 128}.
    assert pixel(drawn, 50, 60) in [<<223, 191, 191, 255>>, <<224, 192, 192, 255>>]

    assert changed(Annotation.draw(white(), [%{label: "tabby", index: 281, score: 0.61}])) != []
    assert Annotation.draw(white(), []) == white()
  end
end
