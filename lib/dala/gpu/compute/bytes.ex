defmodule Dala.Gpu.Compute.Bytes do
  @moduledoc false

  @units ~w(B KiB MiB GiB TiB)

  @doc """
  Formats a number of bytes with a unit and at most one decimal.

  ## Example

      iex> Enum.map([12, 1536, 262_144], &Dala.Gpu.Compute.Bytes.format/1)
      ["12 B", "1.5 KiB", "256 KiB"]
  """
  @spec format(non_neg_integer()) :: String.t()
  def format(bytes) when is_integer(bytes) and bytes >= 0, do: format(bytes, @units)

  defp format(amount, [_unit, next | units]) when amount >= 1024,
    do: format(amount / 1024, [next | units])

  defp format(amount, [unit | _units]) do
    rounded = Float.round(amount / 1, 1)
    number = if rounded == trunc(rounded), do: trunc(rounded), else: rounded
    "#{number} #{unit}"
  end
end
