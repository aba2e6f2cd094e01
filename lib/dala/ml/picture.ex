defmodule Dala.ML.Picture do
  @moduledoc false
  # Converts the images that the functions of Dala.ML accept to a buffer and its size.

  alias Dala.Gpu.Compute.{Buffer, NxBridge}
  alias Dala.Media.Image

  @doc "Returns the buffer, `{width, height}`, and additional parameters for the kernel."
  def open!(%Image{width: width, height: height} = image, from) do
    none!(from, "an image")
    {Image.to_buffer(image), {width, height}, %{}}
  end

  def open!({rgba, width, height}, from) when is_binary(rgba) do
    none!(from, "{rgba, width, height}")
    open!(Image.new(width, height, rgba), nil)
  end

  def open!(%Buffer{shape: shape} = buffer, from) when tuple_size(shape) in [2, 3] do
    none!(from, "a buffer of shape #{inspect(shape)}")
    {buffer, {elem(shape, 1), elem(shape, 0)}, %{}}
  end

  def open!(%Buffer{shape: {_count}} = buffer, from) do
    {width, height} = size!(from, "a flat buffer")
    {buffer, {width, height}, %{width: width, height: height}}
  end

  def open!(%{__struct__: Nx.Tensor} = tensor, from), do: open!(NxBridge.from_nx(tensor), from)

  def open!(bytes, from) when is_binary(bytes) do
    size!(from, "a binary")
    open!(Buffer.from_binary(bytes, {byte_size(bytes)}, :u8), from)
  end

  def open!(other, _from) do
    raise ArgumentError,
          "expected a Dala.Media.Image, {rgba, width, height}, a buffer or tensor of shape " <>
            "{h, w, c}, or a binary with from: {width, height}, got: #{inspect(other, limit: 5)}"
  end

  @doc "Checks a width and height."
  def size!({width, height}, _what)
      when is_integer(width) and is_integer(height) and width > 0 and height > 0,
      do: {width, height}

  def size!(nil, what),
    do: raise(ArgumentError, "#{what} needs the option from: {width, height}")

  def size!(other, _what) do
    raise ArgumentError,
          "expected {width, height} as positive integers, got: #{inspect(other)}"
  end

  defp none!(nil, _what), do: :ok

  defp none!(from, what) do
    raise ArgumentError,
          "from: is only for binaries and flat buffers, #{what} has a size; " <>
            "got from: #{inspect(from)}"
  end
end
