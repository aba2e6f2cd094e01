defmodule PhotoBoothTest do
  use ExUnit.Case, async: true

  import ExUnit.CaptureIO

  alias Dala.Media.{Image, TestScene}

  test "four pictures below each other, and a caption" do
    photo = Image.new(640, 480, :blue)
    strip = PhotoBooth.strip(photo, "Zoë")
    assert {strip.width, strip.height} == {344, 1060}

    # The first picture is the photo; the paper around it is white.
    assert pixel(strip, 100, 100) == <<0, 0, 255, 255>>
    assert pixel(strip, 5, 100) == <<255, 255, 255, 255>>

    # The caption is black ink, and another caption another strip.
    caption =
      for y <- 1020..1050, x <- 12..100, pixel(strip, x, y) == <<0, 0, 0, 255>>, do: {x, y}

    assert length(caption) in 50..800
    refute PhotoBooth.strip(photo, "Zoe") == strip
  end

  test "the looks differ" do
    photo = Image.new(320, 240, TestScene.frame(320, 240))
    strip = PhotoBooth.strip(photo, "")

    pictures = for index <- 0..3, do: Image.crop(strip, {12, 12 + index * 252, 320, 240}).data

    assert length(Enum.uniq(pictures)) == 4
    assert hd(pictures) == photo.data
  end

  test "from file to file" do
    folder = Path.join(System.tmp_dir!(), "photo_booth_#{System.pid()}")
    File.mkdir_p!(folder)
    on_exit(fn -> File.rm_rf!(folder) end)
    photo = Path.join(folder, "photo.jpg")
    :ok = Image.write(Image.new(640, 480, :red), photo)

    strip = Path.join(folder, "strip.png")
    assert capture_io(fn -> PhotoBooth.main([photo, strip, "Red"]) end) == "written: #{strip}\n"
    assert {:ok, %{width: 344, height: 1060}} = Image.read(strip)
  end

  defp pixel(image, x, y), do: binary_part(image.data, 4 * (image.width * y + x), 4)
end
