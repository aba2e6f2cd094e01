defmodule Dala.Media.Color do
  @moduledoc """
  The colours of images, which are those of surfaces: see `Dala.Gpu.Color`.
  """

  alias Dala.Gpu.Color

  @type t :: Color.t()

  @doc """
  Returns a colour as `{red, green, blue, alpha}`, or raises `ArgumentError`.

  ## Example

      iex> Dala.Media.Color.rgba!({1, 2, 3})
      {1, 2, 3, 255}
  """
  @spec rgba!(t()) :: {byte(), byte(), byte(), byte()}
  defdelegate rgba!(color), to: Color

  @doc """
  Returns the four bytes of a pixel of that colour.

  ## Example

      iex> Dala.Media.Color.bytes!(:red)
      <<255, 0, 0, 255>>
  """
  @spec bytes!(t()) :: <<_::32>>
  defdelegate bytes!(color), to: Color
end
