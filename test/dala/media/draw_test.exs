defmodule Dala.Media.DrawTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.{Draw, Image, Text}

  doctest Dala.Media.Draw

  # The pixels that were drawn on, as a set of places.
  defp drawn(before, image) do
    for y <- 0..(image.height - 1),
        x <- 0..(image.width - 1),
        at = 4 * (image.width * y + x),
        binary_part(before.data, at, 4) != binary_part(image.data, at, 4),
        into: MapSet.new(),
        do: {x, y}
  end

  defp black(width, height), do: Image.new(width, height, :black)

  defp places(width, height, inside) do
    for y <- 0..(height - 1), x <- 0..(width - 1), inside.(x, y), into: MapSet.new(), do: {x, y}
  end

  test "boxes, outlined and filled" do
    image = black(12, 9)

    for {thickness, fill} <- [{1, false}, {2, false}, {3, false}, {1, true}] do
      got = Draw.box(image, {2, 1, 7, 6}, color: :white, thickness: thickness, fill: fill)

      expected =
        places(12, 9, fn x, y ->
          distance = Enum.min([x - 2, 8 - x, y - 1, 6 - y])
          distance >= 0 and (fill or distance < thickness)
        end)

      assert drawn(image, got) == expected
    end

    # Coordinates are rounded, and what is outside is left out.
    assert Draw.box(image, {1.6, 0.7, 6.9, 6.1}) == Draw.box(image, {2, 1, 7, 6})
    assert drawn(image, Draw.box(image, {-5, -5, 100, 100})) == MapSet.new()
  end

  test "a colour that is not opaque is even along an outline" do
    white = Image.new(10, 10, :white)
    got = Draw.box(white, {1, 1, 8, 8}, color: {0, 0, 0, 51}, thickness: 2)
    assert Enum.uniq(for <<r, _g, _b, a <- got.data>>, do: {r, a}) == [{255, 255}, {204, 255}]
    got = Draw.line(white, {1, 1}, {8, 4}, color: {0, 0, 0, 51}, thickness: 4)
    assert Enum.uniq(for <<r, _g, _b, a <- got.data>>, do: {r, a}) == [{255, 255}, {204, 255}]
  end

  test "circles, outlined and filled" do
    image = black(15, 13)

    for {radius, thickness, fill} <- [{0, 1, false}, {4, 1, false}, {5, 3, false}, {6, 1, true}] do
      got = Draw.circle(image, {7, 6}, radius, color: :white, thickness: thickness, fill: fill)

      expected =
        places(15, 13, fn x, y ->
          distance = :math.sqrt((x - 7) ** 2 + (y - 6) ** 2)
          hole = if fill, do: -1, else: radius - thickness
          distance < radius + 0.5 and (hole < 0 or distance > hole + 0.5)
        end)

      assert drawn(image, got) == expected
    end
  end

  test "lines, thin and thick" do
    image = black(20, 20)
    thin = Draw.line(image, {2, 3}, {17, 3}, color: :white)
    assert drawn(image, thin) == places(20, 20, fn x, y -> y == 3 and x in 2..17 end)
    thick = Draw.line(image, {5, 2}, {5, 17}, color: :white, thickness: 3)
    assert drawn(image, thick) == places(20, 20, fn x, y -> x in 4..6 and y in 2..17 end)
    # Aslant, the width across the line is the thickness, to half a pixel.
    slanted = Draw.line(image, {2, 2}, {17, 17}, color: :white, thickness: 4)

    for {x, y} <- drawn(image, slanted), do: assert(abs(x - y) / :math.sqrt(2) <= 2.5)
    count = MapSet.size(drawn(image, slanted))
    assert_in_delta count, 4 * 15 * :math.sqrt(2), 20
    assert Draw.line(image, {3, 3}, {3, 3}, thickness: 1) == Draw.circle(image, {3, 3}, 0)
  end

  test "texts are those of Dala.Media.Text" do
    image = black(60, 30)
    label = Text.image("AB1", color: :yellow, background: :transparent, scale: 2)
    got = Draw.text(image, "AB1", {3, 2}, color: :yellow, scale: 2)

    for y <- 0..(label.height - 1), x <- 0..(label.width - 1) do
      sign = binary_part(label.data, 4 * (label.width * y + x), 4)
      there = binary_part(got.data, 4 * (60 * (y + 2) + x + 3), 4)
      assert there == if(sign == <<255, 255, 0, 255>>, do: sign, else: <<0, 0, 0, 255>>)
    end
  end

  test "many shapes at once are what one after the other gives" do
    image = black(30, 30)
    one_by_one = image |> Draw.box({1, 1, 20, 20}, color: :green) |> Draw.circle({9, 9}, 5)
    shapes = [{:box, {1, 1, 20, 20}, color: :green}, {:circle, {9, 9}, 5, []}]
    assert Draw.shapes(image, shapes) == one_by_one
    assert Draw.shapes(image, []) == image
    assert image == black(30, 30)
  end

  test "mistakes raise, and nothing is drawn" do
    image = black(4, 4)

    for {text, call} <- [
          {"expected a box {x, y, width, height}", fn -> Draw.box(image, {1, 2, 3}) end},
          {"expected a point {x, y}", fn -> Draw.line(image, {1, 2}, 3) end},
          {"expected a point {x, y}", fn -> Draw.line(image, {1, 2}, {1, 2.0e9}) end},
          {"expected a radius from 0 to", fn -> Draw.circle(image, {1, 2}, -1) end},
          {"expected thickness: to be from 1 to 1000",
           fn -> Draw.box(image, {0, 0, 1, 1}, thickness: 0) end},
          {"expected fill: to be true or false",
           fn -> Draw.box(image, {0, 0, 1, 1}, fill: :yes) end},
          {"expected a colour", fn -> Draw.box(image, {0, 0, 1, 1}, color: :pinkish) end},
          {"unknown keys", fn -> Draw.line(image, {0, 0}, {1, 1}, fill: true) end},
          {"expected a shape", fn -> Draw.shapes(image, [{:star, {1, 1}, []}]) end},
          {"expected a list of shapes", fn -> Draw.shapes(image, :box) end},
          {"expected a Dala.Media.Image", fn -> Draw.shapes("rgba", []) end}
        ] do
      assert_raise ArgumentError, ~r/#{Regex.escape(text)}/, call
    end
  end
end
