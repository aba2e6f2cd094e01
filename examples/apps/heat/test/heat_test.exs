defmodule HeatTest do
  use ExUnit.Case, async: true

  alias Heat.{Line, Plate}

  test "the plate is that of the same steps in Elixir" do
    {width, height} = {7, 5}
    plate = width |> Plate.new(height, {2, 1, 100.0}) |> Plate.run(6)

    start =
      for y <- 0..4,
          x <- 0..6,
          into: %{},
          do: {{x, y}, if({x, y} == {2, 1}, do: 100.0, else: 0.0)}

    expected = Enum.reduce(1..6, start, fn _step, cells -> step(cells) end)

    for {value, index} <- Enum.with_index(Plate.temperatures(plate)) do
      assert_in_delta value, expected[{rem(index, width), div(index, width)}], 1.0e-4
    end
  end

  test "heat is conserved, and evens out" do
    plate = 16 |> Plate.new(16, {0, 15, 256.0}) |> Plate.run(4_000)
    assert_in_delta Enum.sum(Plate.temperatures(plate)), 256.0, 0.01
    for value <- Plate.temperatures(plate), do: assert_in_delta(value, 1.0, 0.01)
    assert_in_delta Plate.warmest(plate), Enum.max(Plate.temperatures(plate)), 0.0
  end

  test "a line without noise is found as it is" do
    {a, b} = Line.fit(for x <- 1..1_000, do: {x / 10, 4 - 0.25 * x / 10})
    assert_in_delta a, 4.0, 1.0e-9
    assert_in_delta b, -0.25, 1.0e-9
  end

  test "the best line is that of the textbook's formula" do
    points = for x <- 1..500, do: {x / 50, :math.sin(x) + x / 100}
    {xs, ys} = Enum.unzip(points)
    {mean_x, mean_y} = {Enum.sum(xs) / 500, Enum.sum(ys) / 500}
    covariance = for({x, y} <- points, do: (x - mean_x) * (y - mean_y)) |> Enum.sum()
    slope = covariance / (for(x <- xs, do: (x - mean_x) * (x - mean_x)) |> Enum.sum())
    {a, b} = Line.fit(points)
    assert_in_delta b, slope, 1.0e-9
    assert_in_delta a, mean_y - slope * mean_x, 1.0e-9
  end

  defp step(cells) do
    Map.new(cells, fn {{x, y} = at, here} ->
      around =
        for {dx, dy} <- [{-1, 0}, {1, 0}, {0, -1}, {0, 1}],
            do: Map.get(cells, {x + dx, y + dy}, here)

      {at, here + 0.2 * (Enum.sum(around) - 4 * here)}
    end)
  end
end
