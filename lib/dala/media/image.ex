defmodule Dala.Media.Image do
  @moduledoc """
  An image: its size, and its pixels as RGBA with 8 bits per channel.

  `data` has the pixels row by row from the top left, 4 bytes each: red, green, blue and alpha,
  where alpha 255 is opaque and alpha is not premultiplied.

  `read/1` and `decode/1` accept all kinds of PNG, JPEG and BMP files: grey, palette, 16 bits
  (rounded to 8), interlaced, progressive, CMYK. A JPEG is rotated upright according to its Exif
  data. Samples are returned as stored; colour profiles are not applied. A damaged or truncated file
  is an error.

  A small file can hold a large image, so its dimensions are checked before memory is allocated.
  More than 67 108 864 pixels (8192 by 8192, 256 MiB of RGBA) are an error unless `:max_pixels`
  allows them, up to 134 217 728. An image that would exceed `memory_limit` is the error
  `:out_of_memory`. Decoding takes the memory of the image and a few rows, and for a progressive
  JPEG up to 6 more bytes per pixel.

  PNG, JPEG and WebP require libpng, libjpeg-turbo and libwebp, which are opened at first use. No
  device is needed.

  ## Example

      iex> image = Dala.Media.Image.new(2, 1, <<255, 0, 0, 255, 0, 0, 255, 128>>)
      #Dala.Media.Image<2x1 8 B>
      iex> {:ok, png} = Dala.Media.Image.encode(image)
      iex> Dala.Media.Image.decode(png) == {:ok, image}
      true
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, Kernel, Native, RegularFile, Runtime}
  alias Dala.Gpu.PictureFile

  @max_pixels 134_217_728
  @usual_pixels 67_108_864

  @enforce_keys [:width, :height, :data]
  defstruct [:width, :height, :data]

  @type t :: %__MODULE__{width: pos_integer(), height: pos_integer(), data: binary()}

  @doc """
  Creates an image from pixels, or filled with one colour.

  ## Parameters

    * `width`, `height` - at least 1 each
    * `data` - `width * height * 4` bytes, or a colour; see `Dala.Media.Color`

  ## Example

      iex> Dala.Media.Image.new(2, 1, {255, 128, 0}).data
      <<255, 128, 0, 255, 255, 128, 0, 255>>
  """
  @spec new(pos_integer(), pos_integer(), binary() | Dala.Media.Color.t()) :: t()
  def new(width, height, data) do
    check_size!(width, height)
    %__MODULE__{width: width, height: height, data: pixels!(data, width, height)}
  end

  @doc """
  Reads a PNG, JPEG, WebP, GIF or BMP file. Of an animation, it is the first frame.

  ## Options

    * `:max_pixels` - the maximum number of pixels, 67 108 864 by default, at most 134 217 728

  ## Example

      iex> {:error, error} = Dala.Media.Image.read("no/such/picture.png")
      iex> error.message
      "cannot read no/such/picture.png: no such file or directory"
  """
  @spec read(Path.t(), keyword()) :: {:ok, t()} | {:error, Error.t()}
  def read(path, opts \\ []) do
    path = Argument.path!(path)
    most = max_pixels!(opts)

    # No format takes more than 8 bytes per pixel; the rest is for metadata.
    case RegularFile.read(path, 8 * most + 64 * 1024 * 1024) do
      {:ok, bytes} ->
        with {:error, error} <- decode(bytes, opts) do
          {:error,
           %{
             error
             | message: "cannot read #{path}: #{error.message}",
               details: Map.put(error.details, :path, path)
           }}
        end

      {:error, reason} ->
        {:error, PictureFile.error("read", path, reason, RegularFile.explain(reason))}
    end
  end

  @doc """
  Writes an image to a file: PNG, or JPEG if the name ends in `.jpg` or `.jpeg`, or WebP if it ends in
  `.webp`.

  ## Options

    * `:format` - `:png`, `:jpeg` or `:webp`, by default according to the extension
    * `:quality` - of a JPEG or WebP, from 1 to 100, 90 by default; `:lossless` for a WebP

  JPEG has no alpha channel; alpha is dropped. A WebP does not keep the colours of pixels that are
  fully transparent.

  ## Example

      iex> path = Path.join(System.tmp_dir!(), "dala_image_doc.png")
      iex> image = Dala.Media.Image.new(8, 8, {0, 0, 255})
      iex> Dala.Media.Image.write(image, path)
      :ok
      iex> Dala.Media.Image.read(path) == {:ok, image}
      true
      iex> File.rm!(path)
      :ok
  """
  @spec write(t(), Path.t(), keyword()) :: :ok | {:error, Error.t()}
  def write(image, path, opts \\ []) do
    {width, height, pixels} = rgba!(image)
    PictureFile.write(pixels, width, height, path, opts)
  end

  @doc """
  Decodes the bytes of a PNG, JPEG, WebP, GIF or BMP file. Of an animation, it is the first frame.

  ## Options

    * `:max_pixels` - the maximum number of pixels, 67 108 864 by default, at most 134 217 728

  ## Example

      iex> {:error, error} = Dala.Media.Image.decode("%PDF-1.7...")
      iex> {error.reason, error.message}
      {:unsupported, "the file is not a PNG, JPEG, WebP, GIF or BMP file"}
  """
  @spec decode(binary(), keyword()) :: {:ok, t()} | {:error, Error.t()}
  def decode(bytes, opts \\ [])

  def decode(bytes, opts) when is_binary(bytes) do
    most = max_pixels!(opts)
    limit = Runtime.memory_limit()

    with {:ok, {width, height, data}} <-
           Runtime.collecting(fn -> Native.image_decode(bytes, most, limit) end) do
      {:ok, %__MODULE__{width: width, height: height, data: data}}
    end
  end

  def decode(other, _opts) do
    raise ArgumentError, "expected the file's bytes as a binary, got: #{inspect(other)}"
  end

  @doc """
  Encodes an image as the bytes of a PNG, JPEG or WebP file.

  ## Options

    * `:format` - `:png` (the default), `:jpeg` or `:webp`
    * `:quality` - of a JPEG or WebP, from 1 to 100, 90 by default; `:lossless` for a WebP

  ## Example

      iex> image = Dala.Media.Image.new(8, 8, {0, 0, 255})
      iex> {:ok, <<0xFF, 0xD8, _rest::binary>>} = Dala.Media.Image.encode(image, format: :jpeg)
      iex> {:ok, webp} = Dala.Media.Image.encode(image, format: :webp, quality: :lossless)
      iex> Dala.Media.Image.decode(webp) == {:ok, image}
      true
  """
  @spec encode(t(), keyword()) :: {:ok, binary()} | {:error, Error.t()}
  def encode(image, opts \\ []) do
    {width, height, pixels} = rgba!(image)
    PictureFile.encode(pixels, width, height, opts)
  end

  @doc """
  Reads a `:u8` buffer of shape `{height, width, 4}` as an image, without a copy if the device
  allows it.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer([255, 0, 0, 255], {1, 1, 4}, :u8)
      iex> Dala.Media.Image.from_buffer(buffer)
      #Dala.Media.Image<1x1 4 B>
  """
  @spec from_buffer(Buffer.t()) :: t()
  def from_buffer(%Buffer{shape: {height, width, 4}, dtype: :u8} = buffer)
      when height > 0 and width > 0 do
    %__MODULE__{width: width, height: height, data: Buffer.read(buffer)}
  end

  def from_buffer(%Buffer{shape: shape, dtype: dtype}) do
    raise %Error{
      reason: if(dtype == :u8, do: :shape_mismatch, else: :dtype_mismatch),
      message:
        "a picture is a u8 buffer of shape {height, width, 4}, got #{dtype} of shape " <>
          inspect(shape)
    }
  end

  def from_buffer(other), do: Argument.refuse!("a buffer", other)

  @doc """
  Creates a `:u8` buffer of shape `{height, width, 4}` from an image, without a copy if the device
  allows it.

  ## Example

      iex> Dala.Media.Image.to_buffer(Dala.Media.Image.new(3, 2, {0, 0, 0}))
      #Dala.Gpu.Compute.Buffer<u8[2][3][4] 24 B>
  """
  @spec to_buffer(t()) :: Buffer.t()
  def to_buffer(image) do
    {width, height, pixels} = rgba!(image)
    Buffer.from_binary(pixels, {height, width, 4}, :u8)
  end

  @doc """
  Gives an image another size.

  With one side alone the other follows, so that the aspect ratio stays; with both, the image is
  stretched.

  ## Options

    * `:width`, `:height` - of the result; one of them is enough
    * `:mode` - `:area`, `:bilinear` or `:nearest`; by default `:area` where both sides shrink, each
      pixel being the mean of what it covers, and `:bilinear` elsewhere

  ## Example

      iex> image = Dala.Media.Image.new(1600, 1200, :gray)
      iex> Dala.Media.Image.resize(image, width: 800)
      #Dala.Media.Image<800x600 1.8 MiB>
  """
  @spec resize(t(), keyword()) :: t()
  def resize(image, opts) do
    {width, height, _pixels} = rgba!(image)
    opts = Argument.options!(opts, width: nil, height: nil, mode: nil)
    size = new_size!({width, height}, {opts[:width], opts[:height]})
    resized(image, size, mode!(opts[:mode], {width, height}, size))
  end

  @doc """
  Gives a small image: all of it within a box of that size, in proportion, and never larger than it
  was.

  ## Options

    * `:fit` - `:contain` (the default): all of the image, of which one side may be shorter than that
      of the box; or `:cover`: the middle of the image, which fills the box

  ## Example

      iex> image = Dala.Media.Image.new(1600, 1200, :gray)
      iex> Dala.Media.Image.thumbnail(image, 160)
      #Dala.Media.Image<160x120 75 KiB>
      iex> Dala.Media.Image.thumbnail(image, {100, 100}, fit: :cover)
      #Dala.Media.Image<100x100 39.1 KiB>
  """
  @spec thumbnail(t(), pos_integer() | {pos_integer(), pos_integer()}, keyword()) :: t()
  def thumbnail(image, size, opts \\ []) do
    {width, height, _pixels} = rgba!(image)
    {most_width, most_height} = box_size!(size)

    case Argument.options!(opts, fit: :contain)[:fit] do
      :contain ->
        scale = Enum.min([most_width / width, most_height / height, 1])
        shrunk(image, {side(width * scale), side(height * scale)})

      :cover ->
        scale = min(max(most_width / width, most_height / height), 1)
        {w, h} = {min(side(width * scale), most_width), min(side(height * scale), most_height)}
        part = {min(w / scale, width), min(h / scale, height)}
        image |> middle(part) |> shrunk({w, h})

      other ->
        Argument.refuse!("fit: to be :contain or :cover", other)
    end
  end

  @doc """
  Cuts a box out of an image, such as the box of a detection: `{x, y, width, height}`.

  Numbers that are not whole are rounded outwards. What reaches beyond the image is
  left out; a box that has no pixel in common with the image raises `Dala.Gpu.Compute.Error`.

  ## Options

    * `:margin` - how much more is cut out on each side, as a part of the box's width and height, 0 by
      default

  ## Example

      iex> image = Dala.Media.Image.new(640, 480, :gray)
      iex> Dala.Media.Image.crop(image, {100.5, 80.2, 50.0, 60.0})
      #Dala.Media.Image<51x61 12.2 KiB>
      iex> Dala.Media.Image.crop(image, {600, 400, 100, 100}, margin: 0.5)
      #Dala.Media.Image<90x130 45.7 KiB>
  """
  @spec crop(t(), {number(), number(), number(), number()}, keyword()) :: t()
  def crop(image, box, opts \\ []) do
    {width, height, _pixels} = rgba!(image)
    margin = Argument.options!(opts, margin: 0)[:margin]
    unless is_number(margin), do: Argument.refuse!("margin: to be a number", margin)
    {x, y, w, h} = box!(box)
    {left, right} = limits(x - margin * w, x + w + margin * w, width)
    {top, bottom} = limits(y - margin * h, y + h + margin * h, height)

    if left >= right or top >= bottom do
      raise %Error{
        reason: :invalid_param,
        message:
          "the box #{Argument.show(box)} has no pixel in common with an image of #{width} by " <>
            "#{height}"
      }
    end

    cut(image, {left, top, right - left, bottom - top})
  end

  @doc """
  Counts how often each of the 256 levels occurs in an image.

  ## Options

    * `:of` - `:channels` (the default), which gives a map with a list for each of `:red`, `:green`,
      `:blue` and `:alpha`; or `:luma`, which gives the list of the BT.601 luma

  ## Example

      iex> image = Dala.Media.Image.new(4, 2, {255, 0, 1})
      iex> %{red: red, blue: blue} = Dala.Media.Image.histogram(image)
      iex> {List.last(red), Enum.take(blue, 3)}
      {8, [0, 8, 0]}
      iex> image |> Dala.Media.Image.histogram(of: :luma) |> Enum.at(76)
      8
  """
  @spec histogram(t(), keyword()) :: %{atom() => [non_neg_integer()]} | [non_neg_integer()]
  def histogram(image, opts \\ []) do
    picture = to_buffer(image)

    case Argument.options!(opts, of: :channels)[:of] do
      :channels ->
        counts = run!(:histogram, picture, Buffer.zeros({4, 256}, :u32), %{})
        lists = counts |> Buffer.read_list() |> Enum.chunk_every(256)
        [:red, :green, :blue, :alpha] |> Enum.zip(lists) |> Map.new()

      :luma ->
        :histogram |> run!(picture, Buffer.zeros({256}, :u32), %{of: :luma}) |> Buffer.read_list()

      other ->
        Argument.refuse!("of: to be :channels or :luma", other)
    end
  end

  defp new_size!(_size, {nil, nil}), do: raise(ArgumentError, "expected width: or height:")

  defp new_size!({width, height}, {new_width, nil}) when is_integer(new_width) and new_width > 0,
    do: {new_width, side(height * new_width / width)}

  defp new_size!({width, height}, {nil, new_height})
       when is_integer(new_height) and new_height > 0,
       do: {side(width * new_height / height), new_height}

  defp new_size!(_size, {width, height})
       when is_integer(width) and is_integer(height) and width > 0 and height > 0,
       do: {width, height}

  defp new_size!(_size, given),
    do: Argument.refuse!("width: and height: to be positive integers", given)

  defp side(length), do: max(round(length), 1)

  defp mode!(nil, {width, height}, {new_width, new_height}),
    do: if(new_width <= width and new_height <= height, do: :area, else: :bilinear)

  defp mode!(mode, _from, _to) when mode in [:area, :bilinear, :nearest], do: mode

  defp mode!(other, _from, _to),
    do: Argument.refuse!("mode: to be :area, :bilinear or :nearest", other)

  defp box_size!(side) when is_integer(side) and side > 0, do: {side, side}

  defp box_size!({width, height} = size)
       when is_integer(width) and is_integer(height) and width > 0 and height > 0,
       do: size

  defp box_size!(other), do: Argument.refuse!("a size in pixels, or {width, height}", other)

  defp box!({x, y, w, h} = box)
       when is_number(x) and is_number(y) and is_number(w) and is_number(h) and w >= 0 and h >= 0,
       do: box

  defp box!(other), do: Argument.refuse!("a box {x, y, width, height}", other)

  defp limits(from, to, extent), do: {max(floor(from), 0), min(ceil(to), extent)}

  # The part of that size around the centre, of whole pixels.
  defp middle(%{width: width, height: height} = image, {part_width, part_height}) do
    {w, h} = {side(part_width), side(part_height)}
    cut(image, {div(width - w, 2), div(height - h, 2), w, h})
  end

  defp cut(%{width: width, height: height} = image, {0, 0, width, height}), do: image

  defp cut(image, {x, y, width, height}) do
    output = Buffer.zeros({height, width, 4}, :u8)
    from_buffer(run!(:crop, to_buffer(image), output, %{x: x, y: y}))
  end

  defp shrunk(image, size), do: resized(image, size, :area)

  defp resized(%{width: width, height: height} = image, {width, height}, _mode), do: image

  defp resized(image, {width, height}, mode) do
    check_size!(width, height)
    output = Buffer.zeros({height, width, 4}, :u8)
    from_buffer(run!(:resize, to_buffer(image), output, %{mode: mode}))
  end

  defp run!(kernel, input, output, params) do
    with {:error, error} <- Kernel.run(kernel, [input], output, params), do: raise(error)
    output
  end

  # The fields of a struct that somebody made by hand may be anything.
  defp rgba!(image) do
    %{width: width, height: height, data: data} =
      Argument.struct!(image, __MODULE__, "a Dala.Media.Image")

    check_size!(width, height)
    {width, height, pixels!(data, width, height)}
  end

  defp max_pixels!(opts) do
    opts = Argument.options!(opts, max_pixels: @usual_pixels)
    Argument.integer!(:max_pixels, opts[:max_pixels], 1..@max_pixels)
  end

  defp check_size!(width, height)
       when is_integer(width) and is_integer(height) and width > 0 and height > 0 and
              width * height <= @max_pixels,
       do: :ok

  defp check_size!(width, height) do
    raise %Error{
      reason: :invalid_param,
      message:
        "a picture has at least 1 by 1 and at most #{@max_pixels} pixels, got #{inspect(width)} " <>
          "by #{inspect(height)}"
    }
  end

  defp pixels!(data, width, height)
       when is_binary(data) and byte_size(data) == width * height * 4,
       do: data

  defp pixels!(data, width, height) when is_binary(data) do
    raise %Error{
      reason: :shape_mismatch,
      message:
        "#{width} by #{height} pixels of RGBA are #{width * height * 4} bytes, the binary has " <>
          "#{byte_size(data)}"
    }
  end

  defp pixels!(color, width, height),
    do: :binary.copy(Dala.Media.Color.bytes!(color), width * height)

  defimpl Dala.Gpu.Picture do
    def rgba(%{width: width, height: height, data: data}), do: {width, height, data}
  end

  defimpl Inspect do
    alias Dala.Gpu.Compute.Bytes

    def inspect(%{width: width, height: height, data: data}, _opts) when is_binary(data),
      do: "#Dala.Media.Image<#{width}x#{height} #{Bytes.format(byte_size(data))}>"

    def inspect(image, opts), do: Inspect.Any.inspect(image, opts)
  end
end
