defmodule Dala.Gpu.Color do
  @moduledoc """
  Colours: `{red, green, blue}` or `{red, green, blue, alpha}` of integers from 0 to 255, or one of
  the names `:transparent`, `:black`, `:white`, `:gray`, `:red`, `:green`, `:blue`, `:yellow`,
  `:cyan`, `:magenta` and `:orange`.

  A colour without alpha is opaque (alpha 255).
  """

  @names %{
    transparent: {0, 0, 0, 0},
    black: {0, 0, 0, 255},
    white: {255, 255, 255, 255},
    gray: {128, 128, 128, 255},
    red: {255, 0, 0, 255},
    green: {0, 255, 0, 255},
    blue: {0, 0, 255, 255},
    yellow: {255, 255, 0, 255},
    cyan: {0, 255, 255, 255},
    magenta: {255, 0, 255, 255},
    orange: {255, 165, 0, 255}
  }

  @type t ::
          {byte(), byte(), byte()}
          | {byte(), byte(), byte(), byte()}
          | :transparent
          | :black
          | :white
          | :gray
          | :red
          | :green
          | :blue
          | :yellow
          | :cyan
          | :magenta
          | :orange

  defguardp is_channel(value) when is_integer(value) and value in 0..255

  @doc """
  Returns a colour as `{red, green, blue, alpha}`, or raises `ArgumentError`.

  ## Example

      iex> Dala.Gpu.Color.rgba!({1, 2, 3})
      {1, 2, 3, 255}
  """
  @spec rgba!(t()) :: {byte(), byte(), byte(), byte()}
  def rgba!({r, g, b}) when is_channel(r) and is_channel(g) and is_channel(b), do: {r, g, b, 255}

  def rgba!({r, g, b, a} = color)
      when is_channel(r) and is_channel(g) and is_channel(b) and is_channel(a),
      do: color

  def rgba!(name) when is_map_key(@names, name), do: Map.fetch!(@names, name)

  def rgba!(other) do
    raise ArgumentError,
          "expected a colour such as {255, 128, 0}, {255, 128, 0, 255} or :red, " <>
            "got: #{inspect(other)}"
  end

  @doc """
  Returns the four bytes of a pixel of that colour.

  ## Example

      iex> Dala.Gpu.Color.bytes!(:red)
      <<255, 0, 0, 255>>
  """
  @spec bytes!(t()) :: <<_::32>>
  def bytes!(color) do
    {r, g, b, a} = rgba!(color)
    <<r, g, b, a>>
  end
end
