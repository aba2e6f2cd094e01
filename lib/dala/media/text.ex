defmodule Dala.Media.Text do
  @moduledoc """
  Short texts as pictures, to label things with: capitals, digits and a few signs, 5 by 7 pixels
  each. Small letters are shown as capitals, and a character that the font lacks as a box.
  """

  alias Dala.Gpu.Compute.Argument
  alias Dala.Media.{Color, Image}

  # Seven rows of five pixels, from the top.
  @glyphs %{
    " " => "00000 00000 00000 00000 00000 00000 00000",
    "A" => "01110 10001 10001 11111 10001 10001 10001",
    "B" => "11110 10001 10001 11110 10001 10001 11110",
    "C" => "01110 10001 10000 10000 10000 10001 01110",
    "D" => "11110 10001 10001 10001 10001 10001 11110",
    "E" => "11111 10000 10000 11110 10000 10000 11111",
    "F" => "11111 10000 10000 11110 10000 10000 10000",
    "G" => "01110 10001 10000 10111 10001 10001 01111",
    "H" => "10001 10001 10001 11111 10001 10001 10001",
    "I" => "01110 00100 00100 00100 00100 00100 01110",
    "J" => "00111 00010 00010 00010 00010 10010 01100",
    "K" => "10001 10010 10100 11000 10100 10010 10001",
    "L" => "10000 10000 10000 10000 10000 10000 11111",
    "M" => "10001 11011 10101 10101 10001 10001 10001",
    "N" => "10001 11001 10101 10101 10011 10001 10001",
    "O" => "01110 10001 10001 10001 10001 10001 01110",
    "P" => "11110 10001 10001 11110 10000 10000 10000",
    "Q" => "01110 10001 10001 10001 10101 10010 01101",
    "R" => "11110 10001 10001 11110 10100 10010 10001",
    "S" => "01111 10000 10000 01110 00001 00001 11110",
    "T" => "11111 00100 00100 00100 00100 00100 00100",
    "U" => "10001 10001 10001 10001 10001 10001 01110",
    "V" => "10001 10001 10001 10001 01010 01010 00100",
    "W" => "10001 10001 10001 10101 10101 11011 10001",
    "X" => "10001 10001 01010 00100 01010 10001 10001",
    "Y" => "10001 10001 01010 00100 00100 00100 00100",
    "Z" => "11111 00001 00010 00100 01000 10000 11111",
    "0" => "01110 10001 10011 10101 11001 10001 01110",
    "1" => "00100 01100 00100 00100 00100 00100 01110",
    "2" => "01110 10001 00001 00110 01000 10000 11111",
    "3" => "11110 00001 00001 01110 00001 00001 11110",
    "4" => "00010 00110 01010 10010 11111 00010 00010",
    "5" => "11111 10000 11110 00001 00001 10001 01110",
    "6" => "00110 01000 10000 11110 10001 10001 01110",
    "7" => "11111 00001 00010 00100 00100 01000 01000",
    "8" => "01110 10001 10001 01110 10001 10001 01110",
    "9" => "01110 10001 10001 01111 00001 00010 01100",
    "." => "00000 00000 00000 00000 00000 01100 01100",
    "," => "00000 00000 00000 00000 01100 00100 01000",
    ":" => "00000 01100 01100 00000 01100 01100 00000",
    "-" => "00000 00000 00000 11111 00000 00000 00000",
    "_" => "00000 00000 00000 00000 00000 00000 11111",
    "+" => "00000 00100 00100 11111 00100 00100 00000",
    "/" => "00001 00001 00010 00100 01000 10000 10000",
    "%" => "11001 11010 00010 00100 01000 01011 10011",
    "(" => "00010 00100 01000 01000 01000 00100 00010",
    ")" => "01000 00100 00010 00010 00010 00100 01000",
    "'" => "00100 00100 01000 00000 00000 00000 00000"
  }
  @unknown "11111 10001 10001 10001 10001 10001 11111"

  @doc """
  Renders a text as an image, with a margin of one font pixel around it.

  ## Options

    * `:scale` - the size of a font pixel in image pixels, 1 by default
    * `:color` - the colour of the text, `:white` by default; see `Dala.Media.Color`
    * `:background` - the colour of the background, `:black` by default

  ## Example

      iex> Dala.Media.Text.image("CAT 97%", scale: 2)
      #Dala.Media.Image<86x18 6 KiB>
  """
  @spec image(String.t(), keyword()) :: Image.t()
  def image(text, opts \\ [])

  def image(text, opts) when is_binary(text) do
    opts = Argument.options!(opts, scale: 1, color: :white, background: :black)
    scale = scale!(opts[:scale])
    ink = opts[:color] |> Color.bytes!() |> :binary.copy(scale)
    paper = opts[:background] |> Color.bytes!() |> :binary.copy(scale)
    glyphs = for sign <- String.graphemes(String.upcase(text)), do: rows(sign)
    blank = List.duplicate("0", 6 * length(glyphs) + 1) |> Enum.join()

    lines =
      for row <- 0..6 do
        "0" <> Enum.map_join(glyphs, fn glyph -> Enum.at(glyph, row) <> "0" end)
      end

    data =
      for line <- [blank] ++ lines ++ [blank], into: <<>> do
        row = for <<pixel <- line>>, into: <<>>, do: if(pixel == ?1, do: ink, else: paper)
        :binary.copy(row, scale)
      end

    Image.new(scale * (6 * length(glyphs) + 1), scale * 9, data)
  end

  def image(other, _opts), do: Argument.refuse!("the text as a string", other)

  defp rows(sign), do: @glyphs |> Map.get(sign, @unknown) |> String.split()

  defp scale!(scale) when is_integer(scale) and scale in 1..64, do: scale

  defp scale!(other) do
    raise ArgumentError, "expected scale: to be an integer from 1 to 64, got: #{inspect(other)}"
  end
end
