defmodule Dala.Media.TextTest do
  use ExUnit.Case, async: true

  alias Dala.Media.{Image, Text}
  alias Dala.Media.Text.Font

  doctest Dala.Media.Text

  # What can be seen of ASCII and Latin-1; a soft hyphen cannot.
  defp visible,
    do: for(code <- Enum.concat([0x21..0x7E, 0xA1..0xFF]), code != 0xAD, do: <<code::utf8>>)

  test "ASCII and Latin-1 have a glyph each, no two alike" do
    for sign <- [" ", "\u00A0" | visible()], do: assert(Font.has?(sign), sign)
    glyphs = Enum.map(visible(), &Font.rows/1)
    assert glyphs == Enum.uniq(glyphs)

    for rows <- glyphs do
      assert length(rows) == 11
      assert Enum.all?(rows, &(byte_size(&1) == 5))
      assert Enum.join(rows) =~ "1"
    end
  end

  test "small letters are not capitals, and g goes below the line" do
    for letter <- ?a..?z, do: refute(Font.rows(<<letter>>) == Font.rows(<<letter - 32>>))
    # Two rows of accents, seven of a capital, two below.
    assert Font.rows("H") |> Enum.slice(2, 7) |> Enum.all?(&(&1 =~ "1"))
    assert ["00000", "00000"] == Font.rows("H") |> Enum.take(2)
    assert Font.rows("g") |> Enum.take(-2) |> Enum.all?(&(&1 =~ "1"))
  end

  test "accents are over their letters, composed or not, and beyond Latin-1" do
    assert Font.rows("é") == Font.rows("e\u0301")
    assert Enum.drop(Font.rows("É"), 2) == Enum.drop(Font.rows("E"), 2)
    assert Enum.take(Font.rows("É"), 2) == ["00010", "00100"]
    assert Enum.take(Font.rows("ç"), 9) == Enum.take(Font.rows("c"), 9)
    for sign <- ~w(ő ű č ř ž ł ą ę), do: assert(Font.has?(sign), sign)
  end

  test "what the font lacks is a box, also bytes that are no text" do
    box = Font.rows("漢")
    assert Enum.slice(box, 2, 7) == ~w(11111 10001 10001 10001 10001 10001 11111)
    assert Font.rows(<<255>>) == box
    assert %Image{width: 7} = Text.image(<<255>>)
    assert %Image{width: 13} = Text.image("\u2700\xA8")
  end

  test "pixels, with their scale and colours" do
    image = Text.image("i", color: {1, 2, 3}, background: {9, 9, 9})
    assert {image.width, image.height} == {7, 13}
    # The dot of the i: below the margin and the room for accents, in the middle.
    assert binary_part(image.data, 4 * (7 * 3 + 3), 4) == <<1, 2, 3, 255>>
    assert binary_part(image.data, 0, 4) == <<9, 9, 9, 255>>
    twice = Text.image("i", scale: 2, color: {1, 2, 3}, background: {9, 9, 9})
    assert {twice.width, twice.height} == {14, 26}
    assert binary_part(twice.data, 4 * (14 * 7 + 7), 4) == <<1, 2, 3, 255>>
  end

  test "lines are below each other, as wide as the longest" do
    image = Text.image("ab\nc")
    assert {image.width, image.height} == {13, 26}
    first = binary_part(image.data, 0, 4 * 13 * 13)
    assert first == Text.image("ab").data
    assert Text.image("").width == 1
  end
end
