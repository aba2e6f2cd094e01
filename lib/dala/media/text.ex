defmodule Dala.Media.Text do
  @moduledoc """
  Short texts as pictures, to label things with.

  Letters are 5 by 7 pixels, with two rows above for the accents of capitals and two rows below the
  line. The font has ASCII, Latin-1, and accented letters of other European languages, such as `ő` and
  `č`; any other character is shown as a box. A line break starts a new line.
  """

  alias Dala.Gpu.Compute.Argument
  alias Dala.Media.{Color, Image}
  alias Dala.Media.Text.Font

  @doc """
  Renders a text as an image, with a margin of one font pixel around it.

  ## Options

    * `:scale` - the size of a font pixel in image pixels, 1 by default
    * `:color` - the colour of the text, `:white` by default; see `Dala.Media.Color`
    * `:background` - the colour of the background, `:black` by default

  ## Example

      iex> Dala.Media.Text.image("CAT 97%", scale: 2)
      #Dala.Media.Image<86x26 8.7 KiB>
      iex> Dala.Media.Text.image("Crème brûlée\\n6 €").height
      26
  """
  @spec image(String.t(), keyword()) :: Image.t()
  def image(text, opts \\ [])

  def image(text, opts) when is_binary(text) do
    opts = Argument.options!(opts, scale: 1, color: :white, background: :black)
    scale = scale!(opts[:scale])
    ink = opts[:color] |> Color.bytes!() |> :binary.copy(scale)
    paper = opts[:background] |> Color.bytes!() |> :binary.copy(scale)
    lines = for line <- String.split(text, ["\r\n", "\n"]), do: signs(line)
    columns = lines |> Enum.map(&length/1) |> Enum.max()
    {width, height} = Font.size()

    data =
      for line <- lines, row <- rows(line, columns, {width, height}), into: <<>> do
        pixels = for <<pixel <- row>>, into: <<>>, do: if(pixel == ?1, do: ink, else: paper)
        :binary.copy(pixels, scale)
      end

    across = scale * ((width + 1) * columns + 1)
    Image.new(across, scale * (height + 2) * length(lines), data)
  end

  def image(other, _opts), do: Argument.refuse!("the text as a string", other)

  # `String.graphemes/1` raises for some invalid text.
  defp signs(line) do
    if String.valid?(line), do: String.graphemes(line), else: String.codepoints(line)
  end

  # The rows of a line, padded to a number of columns, with a margin above and below.
  defp rows(signs, columns, {width, height}) do
    glyphs = Enum.map(signs, &Font.rows/1)
    gap = String.duplicate("0", (width + 1) * (columns - length(signs)))
    blank = String.duplicate("0", (width + 1) * columns + 1)

    lines =
      for row <- 0..(height - 1) do
        "0" <> Enum.map_join(glyphs, &(Enum.at(&1, row) <> "0")) <> gap
      end

    [blank] ++ lines ++ [blank]
  end

  defp scale!(scale) when is_integer(scale) and scale in 1..64, do: scale

  defp scale!(other) do
    raise ArgumentError, "expected scale: to be an integer from 1 to 64, got: #{inspect(other)}"
  end
end
