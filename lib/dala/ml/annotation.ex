defmodule Dala.ML.Annotation do
  @moduledoc """
  Draws the results of `Dala.ML` tasks onto the image.

      {:ok, faces} = Dala.ML.faces(model, image)
      Dala.Media.Image.write(Dala.ML.Annotation.draw(image, faces), "faces.png")
  """

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Argument, Buffer}
  alias Dala.Media.{Color, Image, Text}
  alias Dala.ML.Segmentation

  @colors [
    {255, 64, 64},
    {64, 200, 64},
    {64, 128, 255},
    {255, 180, 0},
    {200, 64, 255},
    {0, 200, 200}
  ]

  # The pairs of keypoints that are connected by a line.
  @bones [
    {"left_shoulder", "right_shoulder"},
    {"left_shoulder", "left_elbow"},
    {"left_elbow", "left_wrist"},
    {"right_shoulder", "right_elbow"},
    {"right_elbow", "right_wrist"},
    {"left_shoulder", "left_hip"},
    {"right_shoulder", "right_hip"},
    {"left_hip", "right_hip"},
    {"left_hip", "left_knee"},
    {"left_knee", "left_ankle"},
    {"right_hip", "right_knee"},
    {"right_knee", "right_ankle"},
    {"nose", "left_eye"},
    {"nose", "right_eye"},
    {"left_eye", "left_ear"},
    {"right_eye", "right_ear"}
  ]

  @doc """
  Returns a copy of the image with a result drawn onto it.

  Detections and faces are drawn as boxes with labels and scores, keypoints of faces and poses as
  points and lines, a segmentation as colours, and classes as lines of text.

  ## Options

    * `:threshold` - the minimum score of the keypoints of a pose to draw, 0.5 by default
    * `:alpha` - the opacity of a segmentation's colours, from 0 to 1, 0.5 by default

  ## Example

      iex> white = Dala.Media.Image.new(64, 48, :white)
      iex> found = [%{label: "cat", score: 0.9, box: {10.0, 20.0, 30.0, 20.0}}]
      iex> marked = Dala.ML.Annotation.draw(white, found)
      iex> binary_part(marked.data, 4 * (64 * 39 + 20), 4)
      <<255, 64, 64, 255>>
  """
  @spec draw(Image.t(), map() | [map()], keyword()) :: Image.t()
  def draw(image, result, opts \\ []) do
    opts = Argument.options!(opts, threshold: 0.5, alpha: 0.5)
    # The bytes of the image do not change, because buffers are copy-on-write.
    canvas = Image.to_buffer(image)
    size = max(1, round(max(image.width, image.height) / 320))
    add(result, canvas, size, opts)
    Image.from_buffer(canvas)
  end

  defp add([%{box: {_, _, _, _}} | _] = found, canvas, size, opts) do
    if Enum.any?(found, &is_list(&1[:keypoints])),
      do: Enum.each(found, &pose(&1, canvas, size, opts)),
      else: boxes(found, canvas, size)
  end

  defp add([%{keypoints: points} | _] = poses, canvas, size, opts) when is_list(points),
    do: Enum.each(poses, &pose(&1, canvas, size, opts))

  defp add([%{label: _, score: _} | _] = classes, canvas, size, _opts) do
    for {class, index} <- Enum.with_index(classes),
        do: text(canvas, caption(class), {4, 4 + index * 11 * size}, size, {0, 0, 0})
  end

  defp add([], _canvas, _size, _opts), do: :ok
  defp add(%{keypoints: _} = pose, canvas, size, opts), do: pose(pose, canvas, size, opts)

  defp add(%{classes: _} = segmentation, canvas, _size, opts) do
    colors = [:transparent]
    mask = Segmentation.mask(segmentation, colors: colors)
    run!(:overlay, [canvas, Image.to_buffer(mask)], canvas, %{alpha: opts[:alpha]})
  end

  defp add(other, _canvas, _size, _opts),
    do: Argument.refuse!("the result of a task of Dala.ML", other)

  defp boxes(found, canvas, size) do
    for {thing, index} <- Enum.with_index(found) do
      color = Enum.at(@colors, rem(thing[:index] || index, length(@colors)))
      {x, y, w, h} = box = whole(thing.box)
      outline(canvas, box, size, color)
      if is_map(thing[:keypoints]), do: points(canvas, Map.values(thing.keypoints), size, color)
      height = 9 * size
      text(canvas, caption(thing), {x, if(y >= height, do: y - height, else: y)}, size, color)
      {w, h}
    end
  end

  defp pose(%{keypoints: keypoints}, canvas, size, opts) do
    sure = for point <- keypoints, point.score >= opts[:threshold], do: {point.name, place(point)}
    sure = Map.new(sure)

    for {from, to} <- @bones, a = sure[from], b = sure[to] do
      thick_line(canvas, a, b, size, {255, 220, 0})
    end

    points(canvas, Map.values(sure), size, {255, 64, 64})
  end

  defp outline(canvas, {x, y, w, h}, size, color) do
    rect(canvas, {x, y, w, size}, color)
    rect(canvas, {x, y + h - size, w, size}, color)
    rect(canvas, {x, y, size, h}, color)
    rect(canvas, {x + w - size, y, size, h}, color)
  end

  defp points(canvas, places, size, color) do
    for {x, y} <- places do
      rect(canvas, {round(x) - 2 * size, round(y) - 2 * size, 4 * size + 1, 4 * size + 1}, :black)
      rect(canvas, {round(x) - size, round(y) - size, 2 * size + 1, 2 * size + 1}, color)
    end
  end

  defp thick_line(canvas, {x0, y0}, {x1, y1}, size, color) do
    for dx <- 0..size, dy <- 0..size do
      run!(:draw_line, [], canvas, %{
        x0: round(x0) + dx,
        y0: round(y0) + dy,
        x1: round(x1) + dx,
        y1: round(y1) + dy,
        color: Color.rgba!(color)
      })
    end
  end

  defp rect(canvas, {x, y, width, height}, color) do
    run!(:fill_rect, [], canvas, %{
      x: x,
      y: y,
      width: max(width, 0),
      height: max(height, 0),
      color: Color.rgba!(color)
    })
  end

  defp text(canvas, text, {x, y}, size, background) do
    label = Text.image(text, scale: size, background: background)
    run!(:overlay, [canvas, Image.to_buffer(label)], canvas, %{x: x, y: y})
  end

  defp caption(%{label: label, score: score}) when is_number(score),
    do: "#{label} #{round(100 * score)}%"

  defp caption(%{label: label}), do: "#{label}"

  defp place(%{x: x, y: y}), do: {x, y}

  defp whole({x, y, w, h}) do
    {left, top} = {floor(x), floor(y)}
    {left, top, ceil(x + w) - left, ceil(y + h) - top}
  end

  defp run!(kernel, inputs, %Buffer{} = canvas, params) do
    with {:error, error} <- Compute.run_kernel(kernel, inputs, canvas, params), do: raise(error)
  end
end
