defmodule Dala.Media.ImageTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.Image

  doctest Dala.Media.Image

  defp gradient(width, height) do
    data =
      for y <- 0..(height - 1), x <- 0..(width - 1), into: <<>> do
        <<rem(x * 3, 256), rem(y * 5, 256), rem(x + y, 256), 255 - rem(x, 200)>>
      end

    Image.new(width, height, data)
  end

  setup do
    %{dir: scratch_dir("image")}
  end

  test "a PNG file round-trips exactly", %{dir: dir} do
    image = gradient(123, 45)
    # PNG unless the name says otherwise.
    for name <- ["a.png", "A.PNG", "plain"] do
      path = Path.join(dir, name)
      assert Image.write(image, path) == :ok
      assert <<0x89, "PNG", _::binary>> = File.read!(path)
      assert Image.read(path) == {:ok, image}
    end
  end

  test "a JPEG file is close, and smaller with less quality", %{dir: dir} do
    image = gradient(64, 48)
    path = Path.join(dir, "a.jpg")
    assert Image.write(image, path) == :ok
    assert <<0xFF, 0xD8, _::binary>> = File.read!(path)
    assert {:ok, %Image{width: 64, height: 48} = read} = Image.read(path)

    differences =
      for {got, {want, index}} <-
            Enum.zip(
              :binary.bin_to_list(read.data),
              Enum.with_index(:binary.bin_to_list(image.data))
            ),
          do: abs(got - if(rem(index, 4) == 3, do: 255, else: want))

    assert Enum.max(differences) <= 24
    assert Enum.sum(differences) / length(differences) < 3
    size = File.stat!(path).size
    assert Image.write(image, path, quality: 20) == :ok
    assert File.stat!(path).size < size
    assert Image.write(image, Path.join(dir, "odd.bin"), format: :jpeg, quality: 20) == :ok
    assert File.read!(path) == File.read!(Path.join(dir, "odd.bin"))
  end

  test "a WebP file: lossless, or close and smaller", %{dir: dir} do
    image = gradient(64, 48)
    path = Path.join(dir, "a.webp")
    assert Image.write(image, path, quality: :lossless) == :ok
    assert <<"RIFF", _::32, "WEBP", _::binary>> = File.read!(path)
    assert {:ok, %Image{width: 64, height: 48} = read} = Image.read(path)
    # The colours of fully transparent pixels are not kept.
    for {<<got::binary-4>>, <<want::binary-4>>} <- Enum.zip(pixels(read), pixels(image)) do
      assert got == want or match?({<<_::24, 0>>, <<_::24, 0>>}, {got, want})
    end

    assert Image.write(image, path) == :ok
    size = File.stat!(path).size
    assert {:ok, %Image{width: 64, height: 48}} = Image.read(path)
    assert Image.write(image, path, quality: 20) == :ok
    assert File.stat!(path).size < size

    assert_raise ArgumentError,
                 ~r/quality: :lossless is for format: :webp, got: format: :png/,
                 fn ->
                   Image.encode(image, quality: :lossless)
                 end
  end

  test "a GIF file: its first frame, with transparency" do
    # 2 by 2 pixels 0, 1, 1, 0 of two colours, of which 1 is transparent. The codes have three bits:
    # clear, 0, 1, 1, and 0, which has four as the table has grown to eight strings; then the end.
    control = <<0x21, 0xF9, 4, 1, 0, 0, 1, 0>>
    frame = <<0x2C, 0::32, 2::little-16, 2::little-16, 0, 2, 3, 0x44, 0x02, 0x05, 0, 0x3B>>
    screen = <<"GIF89a", 2::little-16, 2::little-16, 0x80, 0, 0>>
    assert {:ok, image} = Image.decode(screen <> <<9, 8, 7, 1, 2, 3>> <> control <> frame)
    assert image.data == <<9, 8, 7, 255, 0::32, 0::32, 9, 8, 7, 255>>
    assert {:error, error} = Image.decode(screen <> <<9, 8, 7, 1, 2, 3>> <> control)
    assert error.message == "the GIF file is damaged: it ends too early"
  end

  defp pixels(image), do: for(<<pixel::binary-4 <- image.data>>, do: pixel)

  test "a BMP file, rows from the bottom up" do
    header = <<"BM", 70::little-32, 0::32, 54::little-32, 40::little-32, 2::little-32>>
    header = header <> <<2::little-32, 1::little-16, 24::little-16, 0::little-32, 0::size(160)>>
    rows = <<3, 2, 1, 6, 5, 4, 0, 0>> <> <<9, 8, 7, 12, 11, 10, 0, 0>>
    assert {:ok, image} = Image.decode(header <> rows)
    assert image == Image.new(2, 2, <<7, 8, 9, 255, 10, 11, 12, 255, 1, 2, 3, 255, 4, 5, 6, 255>>)
  end

  test "to a buffer and back, without a copy if memory is shared" do
    image = gradient(640, 480)
    buffer = Image.to_buffer(image)
    assert Compute.shape(buffer) == {480, 640, 4}
    assert Compute.read(buffer) == image.data
    assert Image.from_buffer(buffer) == image
    :ok = Compute.run_kernel(:fill, [], buffer, value: 7)
    assert Image.from_buffer(buffer).data == :binary.copy(<<7>>, 640 * 480 * 4)
    assert image == gradient(640, 480)
  end

  test "decoded pixels outlive the file's bytes and are freed with the last reference" do
    {:ok, png} = Image.encode(gradient(500, 400))

    for _ <- 1..20 do
      {:ok, image} = Image.decode(png)
      assert binary_part(image.data, 0, 4) == <<0, 0, 0, 255>>
    end
  end

  test "files that cannot be read or written are named", %{dir: dir} do
    path = Path.join(dir, "missing.png")

    assert_error(
      Image.read(path),
      :invalid_param,
      "cannot read #{path}: no such file or directory"
    )

    assert_error(Image.read(dir), :invalid_param, "cannot read #{dir}: ")

    path = Path.join(dir, "text.png")
    File.write!(path, "this is no picture")

    error =
      assert_error(
        Image.read(path),
        :unsupported,
        "cannot read #{path}: the file is not a PNG, JPEG, WebP, GIF or BMP file"
      )

    assert error.details.path == path

    {:ok, png} = Image.encode(gradient(30, 30))
    File.write!(path, binary_part(png, 0, div(byte_size(png), 2)))

    assert_error(
      Image.read(path),
      :invalid_param,
      "cannot read #{path}: the PNG file is damaged: "
    )

    image = gradient(3, 3)
    path = Path.join([dir, "no", "folder.png"])
    assert_error(Image.write(image, path), :invalid_param, "cannot write #{path}: no such file")
    path = Path.join(dir, "a.gif")

    assert_error(
      Image.write(image, path),
      :unsupported,
      "cannot write #{path}: .gif files are not supported, .png, .jpg and .webp are"
    )

    refute File.exists?(path)
  end

  test "wrong sizes and options" do
    assert_raises(:shape_mismatch, "2 by 2 pixels of RGBA are 16 bytes, the binary has 15", fn ->
      Image.new(2, 2, <<0::120>>)
    end)

    for {width, height} <- [{0, 1}, {1, -1}, {1.5, 2}, {20_000, 20_000}] do
      assert_raises(:invalid_param, "a picture has at least 1 by 1 and at most 134217728", fn ->
        Image.new(width, height, :black)
      end)
    end

    assert_raises(:shape_mismatch, "a picture is a u8 buffer of shape {height, width, 4}", fn ->
      Image.from_buffer(zeros({2, 2, 3}, :u8))
    end)

    assert_raises(:dtype_mismatch, "got f32 of shape {2, 2, 4}", fn ->
      Image.from_buffer(zeros({2, 2, 4}))
    end)

    # A struct that somebody has changed.
    assert_raises(:shape_mismatch, "the binary has 4", fn ->
      Image.encode(%{Image.new(2, 2, :red) | data: <<0, 0, 0, 0>>})
    end)

    image = Image.new(1, 1, :red)

    assert_raise ArgumentError, ~r/format: to be :png, :jpeg or :webp/, fn ->
      Image.encode(image, format: :gif)
    end

    assert_raise ArgumentError, ~r/quality: to be from 1 to 100/, fn ->
      Image.encode(image, quality: 0)
    end

    assert_raise ArgumentError, ~r/unknown keys \[:size\]/, fn -> Image.encode(image, size: 1) end
    assert_raise ArgumentError, ~r/expected the file's bytes/, fn -> Image.decode(:png) end
    wide = Image.new(65_501, 1, :red)

    assert_error(
      Image.encode(wide, format: :jpeg),
      :unsupported,
      "at most 65500 rows and columns"
    )
  end

  describe "sizes" do
    test "one side alone keeps the aspect ratio" do
      image = gradient(40, 30)

      for {opts, size} <- [
            {[width: 20], {20, 15}},
            {[height: 60], {80, 60}},
            {[width: 1], {1, 1}},
            {[width: 7, height: 9], {7, 9}},
            {[width: 40], {40, 30}}
          ] do
        resized = Image.resize(image, opts)
        assert {resized.width, resized.height} == size
      end

      assert Image.resize(image, width: 40) == image
    end

    test "pixels of a smaller image are means" do
      data = for level <- [10, 20, 30, 40, 50, 60, 70, 80], into: <<>>, do: <<level, 0, 255, 128>>
      image = Image.new(4, 2, data)
      assert Image.resize(image, width: 2).data == <<35, 0, 255, 128, 55, 0, 255, 128>>
      nearest = Image.resize(image, width: 2, height: 2, mode: :nearest)
      for <<r, 0, 255, 128 <- nearest.data>>, do: assert(rem(r, 10) == 0)
    end

    test "a thumbnail fits into its box, and is not enlarged" do
      image = gradient(40, 30)

      for {size, opts, expected} <- [
            {20, [], {20, 15}},
            {{20, 5}, [], {7, 5}},
            {100, [], {40, 30}},
            {{10, 10}, [fit: :cover], {10, 10}},
            {{35, 3}, [fit: :cover], {35, 3}},
            {{100, 10}, [fit: :cover], {40, 10}}
          ] do
        small = Image.thumbnail(image, size, opts)
        assert {small.width, small.height} == expected
        assert byte_size(small.data) == 4 * small.width * small.height
      end

      # The middle of it.
      halves = Image.new(4, 1, <<0::128>>)
      bright = %{halves | data: <<0::32, 255, 255, 255, 255, 255, 255, 255, 255, 0::32>>}
      assert Image.thumbnail(bright, {1, 1}, fit: :cover).data in [<<255, 255, 255, 255>>]
    end

    test "a box is cut out, within the image" do
      image = gradient(40, 30)
      cut = Image.crop(image, {10, 20, 5, 4})
      assert {cut.width, cut.height} == {5, 4}

      for y <- 0..3, x <- 0..4 do
        assert binary_part(cut.data, 4 * (5 * y + x), 4) ==
                 binary_part(image.data, 4 * (40 * (20 + y) + 10 + x), 4)
      end

      assert Image.crop(image, {-5, -5, 100, 100}) == image
      assert %{width: 2, height: 1} = Image.crop(image, {0.5, 28.5, 1.0, 0.4})
      assert %{width: 20, height: 8} = Image.crop(image, {15, 10, 10, 4}, margin: 0.5)
    end

    test "what does not fit raises" do
      image = gradient(4, 3)

      assert_raise ArgumentError, ~r/expected width: or height:/, fn ->
        Image.resize(image, [])
      end

      assert_raise ArgumentError, ~r/expected width: and height: to be positive integers/, fn ->
        Image.resize(image, width: 0)
      end

      assert_raise ArgumentError, ~r/expected mode: to be :area, :bilinear or :nearest/, fn ->
        Image.resize(image, width: 2, mode: :best)
      end

      assert_raise ArgumentError, ~r/expected a size in pixels/, fn ->
        Image.thumbnail(image, 1.5)
      end

      assert_raise ArgumentError, ~r/expected fit: to be :contain or :cover/, fn ->
        Image.thumbnail(image, 1, fit: :fill)
      end

      assert_raises(:invalid_param, "the box {4, 0, 2, 2} has no pixel in common", fn ->
        Image.crop(image, {4, 0, 2, 2})
      end)

      assert_raise ArgumentError, ~r/expected a box/, fn -> Image.crop(image, {0, 0, 1}) end
    end
  end

  test "a histogram counts every level" do
    image = gradient(50, 20)
    counts = fn values -> for level <- 0..255, do: Enum.count(values, &(&1 == level)) end
    pixels = for <<r, g, b, a <- image.data>>, do: {r, g, b, a}

    for {channel, index} <- [red: 0, green: 1, blue: 2, alpha: 3] do
      assert Image.histogram(image)[channel] == counts.(Enum.map(pixels, &elem(&1, index)))
    end

    luma = for {r, g, b, _a} <- pixels, do: div(299 * r + 587 * g + 114 * b + 500, 1000)
    assert Image.histogram(image, of: :luma) == counts.(luma)

    assert_raise ArgumentError, ~r/expected of: to be :channels or :luma/, fn ->
      Image.histogram(image, of: :hue)
    end
  end
end
