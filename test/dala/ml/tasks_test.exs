defmodule Dala.ML.TasksTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.Image
  alias Dala.ML
  alias Dala.Test.OnnxFile

  defp load!(nodes, input, output, constants \\ []) do
    bytes = OnnxFile.model(nodes, [input], [output], constants: constants)
    assert {:ok, model} = ML.Gpu.load_model({:binary, bytes})
    model
  end

  # Left half red, right half blue.
  defp image(width, height) do
    row =
      :binary.copy(<<255, 0, 0, 255>>, div(width, 2)) <>
        :binary.copy(<<0, 0, 255, 255>>, div(width, 2))

    Image.new(width, height, :binary.copy(row, height))
  end

  test "classify: a model that gives the mean of each colour, at its own size" do
    model =
      load!(
        [{"GlobalAveragePool", ["x"], ["y"]}],
        {"x", :f32, [1, 3, 8, 6]},
        {"y", :f32, [1, 3, 1, 1]}
      )

    red = Image.new(20, 10, {255, 0, 51})
    opts = [normalize: :unit, softmax: false, labels: ["red", "green", "blue"], k: 2]
    assert {:ok, [first, second]} = ML.classify(model, red, opts)
    assert {first.label, second.label} == {"red", "blue"}
    assert_close([first.score, second.score], [1.0, 0.2], 1.0e-5)

    assert_error(ML.classify(model, red, size: {4, 4}), :shape_mismatch, ~s(input "x"))
    assert_error(ML.classify(model, zeros({4, 4}, :s32)), :dtype_mismatch, "expected u8 or f32")

    assert_raise ArgumentError, ~r/unknown keys \[:labls\]/, fn ->
      ML.classify(model, red, labls: [])
    end
  end

  test "segment: a model that gives its input, pixel by pixel" do
    model =
      load!([{"Identity", ["x"], ["y"]}], {"x", :f32, [1, 3, 8, 8]}, {"y", :f32, [1, 3, 8, 8]})

    assert {:ok, found} =
             ML.segment(model, image(12, 4),
               labels: ["red", "green", "blue"],
               fit: :letterbox,
               normalize: :unit
             )

    assert found.classes == :binary.copy(<<0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2>>, 4)
    assert [%{label: "red", pixels: 24}, %{label: "blue", pixels: 24}] = found.areas
  end

  test "segment: the output has the layout of the input" do
    shape = [1, 8, 8, 3]
    model = load!([{"Identity", ["x"], ["y"]}], {"x", :f32, shape}, {"y", :f32, shape})
    assert {:ok, found} = ML.segment(model, image(8, 8), normalize: :unit)
    assert found.classes == :binary.copy(<<0, 0, 0, 0, 2, 2, 2, 2>>, 8)
  end

  test "detect: a model that always sees the same" do
    row = for x <- [32.0, 32.0, 16.0, 8.0, 1.0, 0.5], into: <<>>, do: <<x::float-32-native>>

    model =
      load!(
        [
          {"ReduceMax", ["x"], ["top"], [keepdims: 1]},
          {"Reshape", ["top", "shape"], ["one"]},
          {"Mul", ["one", "row"], ["y"]}
        ],
        {"x", :f32, [1, 3, 64, 64]},
        {"y", :f32, [1, 1, 6]},
        [
          {"row", {:f32, [1, 1, 6], row}},
          {"shape", {:i64, [3], <<1::64-native, 1::64-native, 1::64-native>>}}
        ]
      )

    assert {:ok, [found]} = ML.detect(model, image(128, 64), labels: ["thing"])
    assert found.label == "thing"
    assert_close([found.score | Tuple.to_list(found.box)], [0.5, 48.0, 24.0, 32.0, 16.0], 1.0e-4)
  end
end
