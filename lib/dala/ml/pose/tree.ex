defmodule Dala.ML.Pose.Tree do
  @moduledoc false
  # Poses of several people: starting from a local maximum of a keypoint's score, the other
  # keypoints are found along the edges of the body, by PoseNet's displacement for each edge.

  alias Dala.ML.Output
  alias Dala.ML.Pose.Fields

  # Pairs of keypoints, in the order of the channels.
  @edges [
    {0, 1},
    {1, 3},
    {0, 2},
    {2, 4},
    {0, 5},
    {5, 7},
    {7, 9},
    {5, 11},
    {11, 13},
    {13, 15},
    {0, 6},
    {6, 8},
    {8, 10},
    {6, 12},
    {12, 14},
    {14, 16}
  ]
  @indexed Enum.with_index(@edges)
  @keypoints 17
  @refinements 2

  @doc "Returns `{score, points}` of each pose, in the order of their root keypoints' scores."
  def poses(%Fields{forward: nil}, _threshold, _radius, _max) do
    Output.unfit!("mode: :multi needs two outputs with 32 channels besides heatmaps and offsets")
  end

  def poses(fields, threshold, radius, max) do
    fields
    |> roots(threshold)
    |> Enum.reduce_while([], fn {_score, k, cell}, poses ->
      cond do
        length(poses) == max -> {:halt, poses}
        taken?(poses, k, Fields.place(fields, cell, k), radius) -> {:cont, poses}
        true -> {:cont, [scored(grown(fields, k, cell), poses, radius) | poses]}
      end
    end)
    |> Enum.reverse()
  end

  # Keypoints above the threshold whose score is a maximum among the eight cells around them.
  defp roots(fields, threshold) do
    for y <- 0..(fields.height - 1),
        x <- 0..(fields.width - 1),
        k <- 0..(@keypoints - 1),
        score = Fields.score(fields, {y, x}, k),
        score >= threshold,
        highest_around?(fields, {y, x}, k) do
      {score, k, {y, x}}
    end
    |> Enum.sort_by(&elem(&1, 0), :desc)
  end

  defp highest_around?(fields, {y, x} = cell, k) do
    level = Fields.heat(fields, cell, k)

    Enum.all?(
      for j <- max(y - 1, 0)..min(y + 1, fields.height - 1),
          i <- max(x - 1, 0)..min(x + 1, fields.width - 1) do
        other = Fields.heat(fields, {j, i}, k)
        other == nil or other <= level
      end
    )
  end

  # All keypoints from one of them: up the tree to its root, then down to the leaves.
  defp grown(fields, k, cell) do
    found = %{k => {Fields.score(fields, cell, k), Fields.place(fields, cell, k)}}

    found =
      for {{parent, child}, edge} <- Enum.reverse(@indexed), reduce: found do
        found -> follow(found, fields, fields.backward, edge, child, parent)
      end

    for {{parent, child}, edge} <- @indexed, reduce: found do
      found -> follow(found, fields, fields.forward, edge, parent, child)
    end
  end

  defp follow(found, fields, field, edge, from, to)
       when is_map_key(found, from) and not is_map_key(found, to) do
    {_score, {x, y} = place} = found[from]
    {dx, dy} = Fields.way(fields, field, Fields.cell(fields, place), edge)

    place =
      for _step <- 1..@refinements, reduce: {x + dx, y + dy} do
        place -> Fields.place(fields, Fields.cell(fields, place), to)
      end

    Map.put(found, to, {Fields.score(fields, Fields.cell(fields, place), to), place})
  end

  defp follow(found, _fields, _field, _edge, _from, _to), do: found

  # Keypoints that belong to an earlier pose do not count.
  defp scored(found, poses, radius) do
    points = for k <- 0..(@keypoints - 1), do: Map.fetch!(found, k)

    own =
      for {{score, place}, k} <- Enum.with_index(points),
          not taken?(poses, k, place, radius),
          do: score

    {Enum.sum(own) / @keypoints, points}
  end

  defp taken?(poses, k, {x, y}, radius) do
    Enum.any?(poses, fn {_score, points} ->
      {_score, {px, py}} = Enum.at(points, k)
      (px - x) * (px - x) + (py - y) * (py - y) <= radius * radius
    end)
  end
end
