defmodule Dala.Media.Gpu.Matrix do
  @moduledoc false
  # Matrices of warps: 3 by 3 numbers, row by row, that map the position {x, y, 1} in one picture to
  # a position in another.

  @type t :: [float()]
  @type point :: {number(), number()}

  @doc "Returns the inverse, or `:error` for a singular matrix."
  @spec inverse(t()) :: {:ok, t()} | :error
  def inverse([a, b, c, d, e, f, g, h, i]) do
    # A determinant that is small compared with its terms is zero up to rounding errors.
    terms = [a * e * i, -a * f * h, b * f * g, -b * d * i, c * d * h, -c * e * g]
    determinant = Enum.sum(terms)

    if abs(determinant) <= 1.0e-12 * (terms |> Enum.map(&abs/1) |> Enum.sum()) do
      :error
    else
      {:ok,
       for cofactor <- [
             e * i - f * h,
             c * h - b * i,
             b * f - c * e,
             f * g - d * i,
             a * i - c * g,
             c * d - a * f,
             d * h - e * g,
             b * g - a * h,
             a * e - b * d
           ] do
         cofactor / determinant
       end}
    end
  end

  @doc """
  Returns the matrix that maps four points to four others, or `:error` if there is none, such as for
  points of which three are collinear.
  """
  @spec through([point()], [point()]) :: {:ok, t()} | :error
  def through(from, to) do
    # By way of the unit square with the corners (0, 0), (1, 0), (1, 1) and (0, 1).
    with {:ok, of_from} <- of_square(from),
         {:ok, of_to} <- of_square(to),
         {:ok, to_square} <- inverse(of_from),
         {:ok, _back} <- inverse(of_to) do
      {:ok, product(of_to, to_square)}
    end
  end

  defp of_square([{x0, y0}, {x1, y1}, {x2, y2}, {x3, y3}]) do
    {dx1, dx2, sx} = {x1 - x2, x3 - x2, x0 - x1 + x2 - x3}
    {dy1, dy2, sy} = {y1 - y2, y3 - y2, y0 - y1 + y2 - y3}
    determinant = dx1 * dy2 - dx2 * dy1
    size = Enum.max(Enum.map([dx1, dx2, dy1, dy2], &abs/1))

    if abs(determinant) <= 1.0e-12 * size * size do
      :error
    else
      g = (sx * dy2 - dx2 * sy) / determinant
      h = (dx1 * sy - sx * dy1) / determinant

      {:ok,
       [x1 - x0 + g * x1, x3 - x0 + h * x3, x0] ++
         [y1 - y0 + g * y1, y3 - y0 + h * y3, y0] ++ [g, h, 1.0]}
    end
  end

  defp product(a, b) do
    rows = Enum.chunk_every(a, 3)
    columns = b |> Enum.chunk_every(3) |> Enum.zip_with(& &1)
    for row <- rows, column <- columns, do: row |> Enum.zip_with(column, &*/2) |> Enum.sum()
  end
end
