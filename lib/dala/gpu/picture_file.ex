defmodule Dala.Gpu.PictureFile do
  @moduledoc false
  # Encodes and writes PNG, JPEG and WebP files.

  alias Dala.Gpu.Compute.{Argument, Error, Native}

  @extensions %{
    "" => :png,
    ".png" => :png,
    ".jpg" => :jpeg,
    ".jpeg" => :jpeg,
    ".jpe" => :jpeg,
    ".webp" => :webp
  }

  # What the native function takes for it.
  @lossless 0

  @doc "Writes RGBA pixels to a file; by default the extension determines the format."
  @spec write(binary(), pos_integer(), pos_integer(), Path.t(), keyword()) ::
          :ok | {:error, Error.t()}
  def write(rgba, width, height, path, opts) do
    path = Argument.path!(path)

    with {:ok, opts} <- format_of(path, Argument.keyword!(opts)),
         {:ok, bytes} <- encode(rgba, width, height, opts),
         {:error, reason} <- File.write(path, bytes) do
      {:error, error("write", path, reason, :file.format_error(reason))}
    end
  end

  @doc "Encodes RGBA pixels as the bytes of a file."
  @spec encode(binary(), pos_integer(), pos_integer(), keyword()) ::
          {:ok, binary()} | {:error, Error.t()}
  def encode(rgba, width, height, opts) do
    opts = Argument.options!(opts, format: :png, quality: 90)
    format = format!(opts[:format])
    quality = quality!(format, opts[:quality])
    Native.image_encode(rgba, width, height, format, quality)
  end

  @doc "Returns the error for a file that cannot be read or written."
  @spec error(String.t(), Path.t(), atom(), iodata()) :: Error.t()
  def error(verb, path, reason, why) do
    %Error{
      reason: :invalid_param,
      message: "cannot #{verb} #{path}: #{why}",
      details: %{path: path, posix: reason}
    }
  end

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
             "cannot write #{path}: #{extension} files are not supported, .png, .jpg and .webp are",
           details: %{path: path}
         }}
    end
  end

  defp format!(format) when format in [:png, :jpeg, :webp], do: format

  defp format!(other) do
    raise ArgumentError, "expected format: to be :png, :jpeg or :webp, got: #{inspect(other)}"
  end

  defp quality!(:webp, :lossless), do: @lossless

  defp quality!(format, :lossless) do
    raise ArgumentError,
          "quality: :lossless is for format: :webp, got: format: #{inspect(format)}"
  end

  defp quality!(_format, quality), do: Argument.integer!(:quality, quality, 1..100)
end
