defmodule PhotoBooth do
  @moduledoc """
  Four looks of a photo on one strip, with a caption.
  """

  alias Dala.Media.{Draw, Gpu, Image, TestScene}

  # The size of a picture on the strip, the margin around it, and the room for the caption.
  @width 320
  @height 240
  @margin 12
  @caption 40

  @doc "The looks of the strip, from the top: a name, and the filters that make it."
  def looks do
    [
      {"as it was", []},
      {"crisp", [:auto_white_balance, {:sharpen, %{amount: 0.6}}]},
      {"old", [{:sepia, %{intensity: 0.9}}, {:vignette, %{intensity: 0.7}}]},
      {"drawn", [{:denoise, %{}}, :edge_detect, {:contrast, %{value: 1.5}}]}
    ]
  end

  @doc "Reads a photo, or draws one, and writes the strip. Stops the program on an error."
  def main(args) do
    {photo, path, caption} =
      case args do
        [] -> {{:ok, drawn()}, "strip.png", "Hello!"}
        [file] -> {Image.read(file), "strip.png", Path.basename(file)}
        [file, path] -> {Image.read(file), path, Path.basename(file)}
        [file, path, caption] -> {Image.read(file), path, caption}
      end

    with {:ok, photo} <- photo,
         :ok <- Image.write(strip(photo, caption), path) do
      IO.puts("written: #{path}")
    else
      {:error, error} ->
        IO.puts(:stderr, Exception.message(error))
        System.halt(1)
    end
  end

  @doc "The strip as an image."
  def strip(photo, caption) do
    small = Image.thumbnail(photo, {@width, @height}, fit: :cover)
    pictures = for {_name, filters} <- looks(), do: look(small, filters)
    paper = Image.new(@width + 2 * @margin, height(length(pictures)), :white)

    paper =
      pictures
      |> Enum.with_index()
      |> Enum.reduce(paper, fn {picture, index}, paper ->
        y = @margin + index * (@height + @margin)
        Gpu.apply_filter(paper, :overlay, image: picture, x: @margin, y: y)
      end)

    Draw.text(paper, caption, {@margin, paper.height - @caption}, color: :black, scale: 2)
  end

  defp look(image, []), do: image
  defp look(image, filters), do: Gpu.apply_filters(image, filters)

  defp height(pictures), do: @margin + pictures * (@height + @margin) + @caption

  defp drawn, do: Image.new(960, 720, TestScene.frame(960, 720))
end
