defmodule Dala.ML.Classification do
  @moduledoc """
  What a picture shows, from the output of a classifier.
  """

  alias Dala.Gpu.Compute.Argument
  alias Dala.ML.{Gpu, Output}

  @type class :: %{label: term(), index: non_neg_integer(), score: number() | atom()}

  @doc """
  Gives the likeliest classes, likeliest first.

  The output has one score per class: `{classes}`, `{1, classes}` or `{1, classes, 1, 1}`. One of
  several rows, `{n, classes}`, gives one list per row. Of several outputs, in a list or a map by
  name, the one that has this shape is read.

  ## Options

    * `:k` - how many, 5 by default
    * `:labels` - a list of names; without, and beyond it, the label is the index
    * `:softmax` - whether the scores are to be made probabilities, `true` by default; `false` for
      models that end in a softmax of their own
    * `:output` - the name of the output to read

  ## Example

      iex> output = Dala.Gpu.Compute.buffer([0.0, :math.log(3)], {1, 2})
      iex> [first | _] = Dala.ML.Classification.top_k(output, labels: ["cat", "dog"])
      iex> {first.label, first.index, Float.round(first.score, 5)}
      {"dog", 1, 0.75}
  """
  @spec top_k(Gpu.output() | [Gpu.tensor()], keyword()) :: [class()] | [[class()]]
  def top_k(output, opts \\ []) do
    opts = Argument.options!(opts, k: 5, labels: nil, softmax: true, output: nil)
    k = Output.count!(:k, opts[:k])
    labels = Output.labels!(opts[:labels])
    buffer = output |> Output.one!(opts[:output], "{n, classes}", &class_axis/1) |> Output.f32!()
    axis = class_axis(buffer) || Output.mismatch!(buffer, "{n, classes}")

    scores =
      if Output.choice!(:softmax, opts[:softmax], [true, false]),
        do: Output.run!(:softmax, buffer, buffer.shape, :f32, %{axis: axis}),
        else: buffer

    case Gpu.top_k(scores, k: k) do
      [row | _] = rows when is_list(row) -> Enum.map(rows, &classes(&1, labels))
      row -> classes(row, labels)
    end
  end

  defp classes(row, labels) do
    for {score, index} <- row,
        do: %{label: Output.label(labels, index), index: index, score: score}
  end

  # The last axis with more than one element; there may be one in front of it, that of the batch.
  defp class_axis(%{shape: shape}) do
    dims = shape |> Tuple.to_list() |> Enum.with_index() |> Enum.reject(&match?({1, _}, &1))

    case dims do
      [] when tuple_size(shape) > 0 -> tuple_size(shape) - 1
      [{count, axis}] when count > 0 -> axis
      [{_rows, _}, {count, axis}] when count > 0 -> axis
      _ -> nil
    end
  end
end
