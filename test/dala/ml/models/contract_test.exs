defmodule Dala.ML.Models.ContractTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.Image
  alias Dala.ML
  alias Dala.ML.Models
  alias Dala.ML.Models.Registry
  alias Dala.Test.OnnxFile

  # A model of that name whose scores are the means of the three colours of its input, and zeros.
  defp load_classifier(classes) do
    bytes =
      OnnxFile.model(
        [
          {"GlobalAveragePool", ["x"], ["means"]},
          {"Flatten", ["means"], ["flat"], [axis: 1]},
          {"Concat", ["flat", "zeros"], ["y"], [axis: 1]}
        ],
        [{"x", :f32, [1, 3, 224, 224]}],
        [{"y", :f32, [1, classes]}],
        constants: [{"zeros", {:f32, [1, classes - 3], f32(List.duplicate(0.0, classes - 3))}}]
      )

    dir = scratch_dir("models")
    File.write!(Path.join(dir, "mobilenet_v2.onnx"), bytes)
    assert {:ok, model} = ML.Gpu.load_model(:mobilenet_v2, models_dir: dir)
    model
  end

  # Red in the middle, where the crop is, and green to both sides.
  defp picture do
    row =
      Enum.map_join([{50, {0, 255, 0}}, {100, {255, 0, 0}}, {50, {0, 255, 0}}], fn
        {count, {r, g, b}} -> :binary.copy(<<r, g, b, 255>>, count)
      end)

    Image.new(200, 100, :binary.copy(row, 100))
  end

  test "a model loaded by name needs no options" do
    levels = [(1 - 0.485) / 0.229, -0.456 / 0.224, -0.406 / 0.225]
    powers = Enum.map(levels, &:math.exp/1)
    model = load_classifier(1000)
    assert {:ok, [first | rest]} = ML.classify(model, picture())
    assert {first.label, length(rest)} == {"tench", 4}
    assert_close([first.score], [hd(powers) / (Enum.sum(powers) + 997)], 1.0e-4)

    # Options override the contract.
    opts = [fit: :stretch, normalize: :unit, softmax: false, labels: ~w(red green blue), k: 2]
    assert {:ok, [%{label: label, score: score}, _other]} = ML.classify(model, picture(), opts)
    assert label in ["red", "green"]
    assert_close([score], [0.5], 1.0e-2)
  end

  test "the labels match the model's number of classes" do
    assert {:ok, [%{label: "background"} | _rest]} = ML.classify(load_classifier(1001), picture())
  end

  test "a file loaded by path has none" do
    assert {:ok, %{contract: nil}} = ML.Gpu.load_model("examples/double.onnx")
    assert Models.contract(:gpt, "gpt.onnx") == nil
  end

  test "every contract's options are valid options of its task" do
    picture = Image.new(8, 6, {1, 2, 3})

    for entry <- Registry.all(), {format, contract} <- entry.contracts do
      assert format in [:onnx, :tflite, :tfjs]
      {width, height} = contract.input[:size]
      layout = contract.input[:layout]
      shape = if layout == :nchw, do: {1, 3, height, width}, else: {1, height, width, 3}
      assert ML.preprocess(picture, contract.input).shape == shape

      # Unknown options raise before the outputs are read, which are invalid for every task.
      error =
        assert_raise Error, fn ->
          decode(contract, [zeros({7, 7, 7, 7, 7})], ML.geometry(picture, contract.input))
        end

      assert error.reason == :shape_mismatch
    end
  end

  defp decode(%{task: task, output: output}, outputs, geometry) do
    output = if output[:labels], do: Keyword.put(output, :labels, ["a"]), else: output

    case task do
      :classify -> ML.Classification.top_k(outputs, output)
      :detect -> ML.Detection.decode(outputs, geometry, output)
      :faces -> ML.Faces.decode(outputs, geometry, output)
      :pose -> ML.Pose.decode(outputs, geometry, output)
      :segment -> ML.Segmentation.decode(outputs, geometry, output)
    end
  end

  test "thresholds are those that the models were made for" do
    {:ok, yolo} = Registry.fetch(:yolo_v5)
    for {_format, contract} <- yolo.contracts, do: assert(contract.output[:threshold] == 0.25)
    for {_format, contract} <- yolo.contracts, do: assert(contract.output[:iou] == 0.45)
    {:ok, blazeface} = Registry.fetch(:blazeface)
    for {_format, contract} <- blazeface.contracts, do: assert(contract.output[:threshold] == 0.5)
  end
end
