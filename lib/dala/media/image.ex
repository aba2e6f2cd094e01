defmodule Dala.Media.Image do
  @moduledoc """
  A picture: its size, and its pixels as RGBA with 8 bits per channel.

  `data` holds the pixels row by row from the top left, 4 bytes each: red, green, blue and alpha,
  where alpha 255 is opaque and colours are not premultiplied.

  `read/1` and `decode/1` take PNG, JPEG and BMP files, whichever kind: grey, palette, 16 bits (which
  are rounded to 8), interlaced, progressive, CMYK. A JPEG is turned upright as its Exif data
  says. Samples are given as they are in the file; colour profiles are not applied. A file that is
  damaged or ends too early is an error, and so is one of more than 134 217 728 pixels.

  PNG and JPEG need libpng and libjpeg-turbo, which are opened at first use; no device is needed.

  ## Example

      iex> image = Dala.Media.Image.new(2, 1, <<255, 0, 0, 255, 0, 0, 255, 128>>)
      #Dala.Media.Image<2x1 8 B>
      iex> {:ok, png} = Dala.Media.Image.encode(image)
      iex> Dala.Media.Image.decode(png) == {:ok, image}
      true
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, Native}

  @max_pixels 134_217_728
  @extensions %{"" => :png, ".png" => :png, ".jpg" => :jpeg, ".jpeg" => :jpeg, ".jpe" => :jpeg}

  @enforce_keys [:width, :height, :data]
  defstruct [:width, :height, :data]

  @type t :: %__MODULE__{width: pos_integer(), height: pos_integer(), data: binary()}

  @doc """
  Makes a picture of the given pixels, or of one colour.

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
  Reads a PNG, JPEG or BMP file.

  ## Example

      iex> {:error, error} = Dala.Media.Image.read("no/such/picture.png")
      iex> error.message
      "cannot read no/such/picture.png: no such file or directory"
  """
  @spec read(Path.t()) :: {:ok, t()} | {:error, Error.t()}
  def read(path) do
    path = Argument.path!(path)

    case File.read(path) do
      {:ok, bytes} ->
        with {:error, error} <- decode(bytes) do
          {:error,
           %{
             error
             | message: "cannot read #{path}: #{error.message}",
               details: Map.put(error.details, :path, path)
           }}
        end

      {:error, reason} ->
        {:error, file_error("read", path, reason)}
    end
  end

  @doc """
  Writes a picture to a file: PNG, or JPEG when the name ends in `.jpg` or `.jpeg`.

  ## Options

    * `:format` - `:png` or `:jpeg`, by default what the name says
    * `:quality` - of a JPEG, from 1 to 100, 90 by default

  JPEG has no alpha: it is dropped, and the colours stay.

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
    path = Argument.path!(path)

    with {:ok, opts} <- format_of(path, Argument.keyword!(opts)),
         {:ok, bytes} <- encode(image, opts),
         {:error, reason} <- File.write(path, bytes) do
      {:error, file_error("write", path, reason)}
    end
  end

  @doc """
  Gives the picture in the bytes of a PNG, JPEG or BMP file.

  ## Example

      iex> {:error, error} = Dala.Media.Image.decode("GIF89a...")
      iex> {error.reason, error.message}
      {:unsupported, "the file is none of PNG, JPEG and BMP"}
  """
  @spec decode(binary()) :: {:ok, t()} | {:error, Error.t()}
  def decode(bytes) when is_binary(bytes) do
    with {:ok, {width, height, data}} <- Native.image_decode(bytes) do
      {:ok, %__MODULE__{width: width, height: height, data: data}}
    end
  end

  def decode(other) do
    raise ArgumentError, "expected the file's bytes as a binary, got: #{inspect(other)}"
  end

  @doc """
  Gives the bytes of a PNG or JPEG file of the picture.

  ## Options

    * `:format` - `:png` (the default) or `:jpeg`
    * `:quality` - of a JPEG, from 1 to 100, 90 by default

  ## Example

      iex> image = Dala.Media.Image.new(8, 8, {0, 0, 255})
      iex> {:ok, <<0xFF, 0xD8, _rest::binary>>} = Dala.Media.Image.encode(image, format: :jpeg)
  """
  @spec encode(t(), keyword()) :: {:ok, binary()} | {:error, Error.t()}
  def encode(image, opts \\ []) do
    %{width: width, height: height, data: data} = check!(image)
    opts = Argument.options!(opts, format: :png, quality: 90)
    format = format!(opts[:format])
    quality = Argument.integer!(:quality, opts[:quality], 1..100)
    check_size!(width, height)
    Native.image_encode(pixels!(data, width, height), width, height, format, quality)
  end

  @doc """
  Reads a `:u8` buffer of shape `{height, width, 4}` as a picture, without a copy where the device
  allows that.

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
  Gives a `:u8` buffer of shape `{height, width, 4}` with the picture, without a copy where the
  device allows that.

  ## Example

      iex> Dala.Media.Image.to_buffer(Dala.Media.Image.new(3, 2, {0, 0, 0}))
      #Dala.Gpu.Compute.Buffer<u8[2][3][4] 24 B>
  """
  @spec to_buffer(t()) :: Buffer.t()
  def to_buffer(image) do
    %{width: width, height: height, data: data} = check!(image)
    check_size!(width, height)
    Buffer.from_binary(pixels!(data, width, height), {height, width, 4}, :u8)
  end

  defp check!(image), do: Argument.struct!(image, __MODULE__, "a Dala.Media.Image")

  defp format_of(path, opts) do
    extension = path |> Path.extname() |> String.downcase()

    case {Keyword.has_key?(opts, :format), @extensions} do
      {true, _} ->
        {:ok, opts}

      {false, %{^extension => format}} ->
        {:ok, Keyword.put(opts, :format, format)}

      _ ->
        {:error,
         %Error{
           reason: :unsupported,
           message:
             "cannot write #{path}: #{extension} files are not supported, .png and .jpg are",
           details: %{path: path}
         }}
    end
  end

  defp file_error(verb, path, reason) do
    %Error{
      reason: :invalid_param,
      message: "cannot #{verb} #{path}: #{:file.format_error(reason)}",
      details: %{path: path, posix: reason}
    }
  end

  defp format!(format) when format in [:png, :jpeg], do: format

  defp format!(other) do
    raise ArgumentError, "expected format: to be :png or :jpeg, got: #{inspect(other)}"
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

  defimpl Inspect do
    alias Dala.Gpu.Compute.Bytes

    def inspect(%{width: width, height: height, data: data}, _opts) when is_binary(data),
      do: "#Dala.Media.Image<#{width}x#{height} #{Bytes.format(byte_size(data))}>"

    def inspect(image, opts), do: Inspect.Any.inspect(image, opts)
  end
end
