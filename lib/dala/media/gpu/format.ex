defmodule Dala.Media.Gpu.Format do
  @moduledoc """
  The pixel formats of frames.

  | Format | Bytes of a frame |
  |---|---|
  | `:rgba` | red, green, blue, alpha for each pixel, row by row |
  | `:rgb24` | red, green, blue for each pixel |
  | `:yuv420p` | a Y plane, a U plane and a V plane; U and V have half the width and height |
  | `:nv12` | a Y plane, and a plane of interleaved U and V of half the width and height |

  Half of an odd width or height is rounded up.
  """

  alias Dala.Gpu.Compute.Error

  @formats [:rgba, :rgb24, :yuv420p, :nv12]

  @type t :: :rgba | :rgb24 | :yuv420p | :nv12

  @doc """
  Returns the number of bytes of a frame.

  ## Example

      iex> Dala.Media.Gpu.Format.bytes(:nv12, 640, 480)
      460800
  """
  @spec bytes(t(), pos_integer(), pos_integer()) :: pos_integer()
  def bytes(:rgba, width, height), do: 4 * width * height
  def bytes(:rgb24, width, height), do: 3 * width * height

  def bytes(_yuv, width, height),
    do: width * height + 2 * div(width + 1, 2) * div(height + 1, 2)

  @doc false
  @spec shape(t(), pos_integer(), pos_integer()) :: tuple()
  def shape(:rgba, width, height), do: {height, width, 4}
  def shape(:rgb24, width, height), do: {height, width, 3}
  def shape(yuv, width, height), do: {bytes(yuv, width, height)}

  @doc false
  @spec check!(term(), atom()) :: t()
  def check!(format, _option) when format in @formats, do: format

  def check!(other, option) do
    raise ArgumentError,
          "expected #{option}: to be #{Enum.map_join(@formats, ", ", &inspect/1)}, " <>
            "got: #{inspect(other)}"
  end

  @doc false
  # Checks that a frame has the expected size.
  @spec check_frame(term(), t(), {pos_integer(), pos_integer()}) :: :ok | {:error, Error.t()}
  def check_frame(frame, format, {width, height}) do
    expected = bytes(format, width, height)

    cond do
      is_binary(frame) and byte_size(frame) == expected ->
        :ok

      is_binary(frame) ->
        {:error,
         %Error{
           reason: :shape_mismatch,
           message:
             "a frame of #{width}x#{height} in #{format} has #{expected} bytes, " <>
               "got #{byte_size(frame)}"
         }}

      true ->
        {:error,
         %Error{
           reason: :invalid_param,
           message: "a frame is a binary, got: #{inspect(frame, limit: 5)}"
         }}
    end
  end
end
