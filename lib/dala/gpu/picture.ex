defprotocol Dala.Gpu.Picture do
  @moduledoc """
  A protocol for structs that hold an image, which `Dala.Gpu.set_pixels/2` accepts besides binaries
  and buffers.

  `Dala.Media.Image` implements it. An application can implement it for its own structs.
  """

  @doc "Returns the width, the height and the pixels: RGBA, 8 bits per channel, rows from the top."
  @spec rgba(t()) :: {pos_integer(), pos_integer(), binary()}
  def rgba(picture)
end
