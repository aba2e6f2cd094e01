defmodule Dala.ML.Classification do
  @moduledoc """
  Decodes the output of a classifier.
  """

  alias Dala.Gpu.Compute.Argument
  alias Dala.ML.{Gpu, Output}

  @type class :: %{label: term(), index: non_neg_integer(), score: number() | atom()}

  @doc """
  Returns the most likely classes, most likely first.

  The output has one score per class: `{classes}`, `{1, classes}` or `{1, classes, 1, 1}`. For
  several rows, `{n, classes}`, returns one list per row. If there are several outputs, in a list or
  a map by name, the one with this shape is used.

  ## Options

    * `:k` - the number of classes, 5 by default
    * `:labels` - a list of names; a class without a name has its index as label
    * `:softmax` - whether to apply a softmax to the scores, `true` by default; `false` for models
      that end in a softmax
    * `:output` - the name of the output to use

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

  # The last axis with more than one element; only the batch axis may precede it.
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
