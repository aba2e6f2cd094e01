defmodule Dala.Test.SmallNetwork do
  @moduledoc false
  # A small classifier with a bit of everything: a stem, a depthwise and a pointwise convolution
  # with a shortcut, a matrix product.

  alias Dala.Test.OnnxFile

  @doc "The bytes of its ONNX file. Input `{batch, 3, 32, 32}`, output `{batch, 10}`."
  def onnx do
    OnnxFile.model(
      [
        {"Conv", ["x", "w1", "b1"], ["c1"],
         kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1]},
        {"Relu", ["c1"], ["r1"]},
        {"Conv", ["r1", "w2"], ["c2"], kernel_shape: [3, 3], pads: [1, 1, 1, 1], group: 24},
        {"Relu", ["c2"], ["r2"]},
        {"Conv", ["r2", "w3"], ["c3"], kernel_shape: [1, 1]},
        {"Add", ["c3", "r1"], ["a"]},
        {"GlobalAveragePool", ["a"], ["p"]},
        {"Flatten", ["p"], ["f"]},
        {"Gemm", ["f", "w4"], ["g"]},
        {"Softmax", ["g"], ["y"]}
      ],
      [{"x", :f32, ["batch", 3, 32, 32]}],
      [{"y", :f32, ["batch", 10]}],
      constants: [
        {"w1", {:f32, [24, 3, 3, 3], random(24 * 27, 1)}},
        {"b1", {:f32, [24], random(24, 2)}},
        {"w2", {:f32, [24, 1, 3, 3], random(24 * 9, 3)}},
        {"w3", {:f32, [24, 24, 1, 1], random(24 * 24, 4)}},
        {"w4", {:f32, [24, 10], random(240, 5)}}
      ]
    )
  end

  @doc "An input of the shape, different for every seed."
  def input(shape, seed), do: random(Tuple.product(shape), seed)

  defp random(count, seed) do
    state = :rand.seed_s(:exsss, seed)

    {bytes, _state} =
      Enum.map_reduce(1..count, state, fn _index, state ->
        {number, state} = :rand.uniform_s(state)
        {<<2 * number - 1::float-32-native>>, state}
      end)

    IO.iodata_to_binary(bytes)
  end
end
