defmodule Dala.ML.TasksTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.Image
  alias Dala.ML
  alias Dala.Test.OnnxFile

  defp load!(nodes, input, outputs, constants \\ []) do
    bytes = OnnxFile.model(nodes, [input], List.wrap(outputs), constants: constants)
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

  test "classify: a model that returns the mean of each channel, at its fixed size" do
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

  test "segment: a model that returns its input" do
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

  test "detect: a model with constant outputs" do
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

  # A model that returns these numbers plus the minimum level of the image.
  defp constant!(size, outputs) do
    nodes = for {name, _shape, _numbers} <- outputs, do: {"Add", ["least", "#{name}_"], [name]}

    load!(
      [{"ReduceMin", ["x"], ["least"], [keepdims: 0]} | nodes],
      {"x", :f32, [1, size, size, 3]},
      for({name, shape, _numbers} <- outputs, do: {name, :f32, shape}),
      for({name, shape, numbers} <- outputs, do: {"#{name}_", {:f32, shape, f32(numbers)}})
    )
  end

  test "faces: a model with constant outputs" do
    # The last anchor is in the middle of the last cell, at 120.
    scores = List.duplicate(-50.0, 895) ++ [2.0]

    rows =
      List.duplicate(0.0, 895 * 16) ++ [-40.0, -56.0, 32.0, 16.0] ++ List.duplicate(-60.0, 12)

    model = constant!(128, [{"rows", [1, 896, 16], rows}, {"scores", [1, 896, 1], scores}])
    black = Image.new(512, 256, {0, 0, 0})
    assert {:ok, [face]} = ML.faces(model, black, normalize: :raw)
    assert_close(Tuple.to_list(face.box), [256, 96, 128, 64])
    assert face.keypoints.mouth == {240.0, 112.0}
    assert_close([face.score], [1 / (1 + :math.exp(-2))])
    # With -1 on top, as black is by default, it is less sure.
    assert {:ok, [[less], [less]]} = ML.faces(model, [black, black])
    assert_close([less.score], [1 / (1 + :math.exp(-1))])
  end

  test "a named model is for one task and an error for the others" do
    folder = scratch_dir("models")
    File.write!(Path.join(folder, "blazeface.onnx"), Dala.Test.StandIns.blazeface())
    {:ok, model} = ML.Gpu.load_model(:blazeface, models_dir: folder)
    picture = Image.new(8, 8, {0, 0, 0})
    assert {:ok, [_face]} = ML.faces(model, picture)

    for {task, call} <- [
          classify: &ML.classify/2,
          detect: &ML.detect/2,
          pose: &ML.pose/2,
          segment: &ML.segment/2
        ] do
      error = assert_error(call.(model, picture), :unsupported)

      assert error.message ==
               "blazeface is a model for another task: use it with Dala.ML.faces/3, not with " <>
                 "Dala.ML.#{task}/3"

      assert error.details.task == :faces
    end
  end

  test "classify says that a face detector is one, also when it was loaded from a file" do
    path = Path.join(scratch_dir("models"), "faces.onnx")
    File.write!(path, Dala.Test.StandIns.blazeface())
    {:ok, model} = ML.Gpu.load_model(path)

    error =
      assert_error(ML.classify(model, Image.new(8, 8, :black), normalize: :raw), :unsupported)

    assert error.message =~ "the outputs of this model, "
    assert error.message =~ "{1, 896, 16}"

    assert error.message =~
             "are those of a face detector: Dala.ML.faces/3 takes it, Dala.ML.classify/3 does not"

    assert error.details.task == :faces
  end

  test "pose: a model that always sees the same" do
    heat = for i <- 0..8, _k <- 0..16, do: if(i == 5, do: 3.0, else: 0.0)
    offsets = List.duplicate(4.0, 9 * 34)
    model = constant!(33, [{"offsets", [1, 3, 3, 34], offsets}, {"heat", [1, 3, 3, 17], heat}])
    assert {:ok, pose} = ML.pose(model, Image.new(66, 66, {0, 0, 0}), normalize: :raw)
    assert Enum.uniq(for point <- pose.keypoints, do: {point.x, point.y}) == [{72.0, 40.0}]
    assert_close([pose.score], [1 / (1 + :math.exp(-3))])
  end

  describe "several outputs" do
    setup do
      %{
        model:
          load!(
            [{"GlobalAveragePool", ["x"], ["means"]}, {"Identity", ["x"], ["map"]}],
            {"x", :f32, ["n", 3, 4, 4]},
            [{"means", :f32, ["n", 3, 1, 1]}, {"map", :f32, ["n", 3, 4, 4]}]
          )
      }
    end

    test "each task selects its own output", %{model: model} do
      opts = [normalize: :unit]
      assert {:ok, [%{index: 0} | _]} = ML.classify(model, Image.new(4, 4, {9, 3, 1}), opts)

      # Both outputs are scores at places.
      assert_error(ML.segment(model, image(4, 4), opts), :shape_mismatch, [
        ~s(several outputs have shape {1, classes, h, w}, or {1, h, w} of integers: "means" {1, 3, 1, 1}),
        ~s("map" {1, 3, 4, 4}; select one with output:)
      ])

      assert {:ok, found} = ML.segment(model, image(4, 4), [output: "map"] ++ opts)
      assert found.classes == :binary.copy(<<0, 0, 2, 2>>, 4)

      assert_error(ML.detect(model, image(4, 4)), :shape_mismatch, "no output has shape")

      assert_raise ArgumentError,
                   ~r/the model has no output "mask"; its outputs are "means"/,
                   fn ->
                     ML.segment(model, image(4, 4), output: "mask")
                   end
    end

    test "a list of images as one batch", %{model: model} do
      pictures = [Image.new(4, 4, {200, 3, 1}), Image.new(5, 7, {1, 2, 100}), image(8, 4)]
      opts = [normalize: :raw, softmax: false, k: 1]
      assert {:ok, rows} = ML.classify(model, pictures, opts)

      assert for([%{index: index}] <- rows, do: index) == [0, 2, 0]
      assert_close(for([%{score: score}] <- rows, do: score), [200, 100, 127.5], 1.0e-5)
      assert {:ok, [one]} = ML.classify(model, [hd(pictures)], opts)
      assert one == hd(rows)
      assert ML.classify(model, []) == {:ok, []}

      assert {:ok, maps} = ML.segment(model, pictures, output: "map", normalize: :unit)
      assert Enum.map(maps, &{&1.width, &1.height}) == [{4, 4}, {5, 7}, {8, 4}]
      assert List.last(maps).classes == :binary.copy(<<0, 0, 0, 0, 2, 2, 2, 2>>, 4)
    end
  end

  test "a list of images one by one, if the model takes one" do
    model =
      load!([{"Identity", ["x"], ["y"]}], {"x", :f32, [1, 3, 2, 2]}, {"y", :f32, [1, 3, 2, 2]})

    pictures = [Image.new(2, 2, {9, 3, 1}), Image.new(2, 2, {1, 3, 9})]
    assert {:ok, [a, b]} = ML.segment(model, pictures, normalize: :unit)
    assert {a.classes, b.classes} == {<<0, 0, 0, 0>>, <<2, 2, 2, 2>>}

    fixed =
      load!([{"Identity", ["x"], ["y"]}], {"x", :f32, [3, 3, 2, 2]}, {"y", :f32, [3, 3, 2, 2]})

    assert_error(ML.segment(fixed, pictures), :shape_mismatch, "{2, 3, 2, 2}, the model takes")

    merged =
      load!(
        [{"ReduceMean", ["x"], ["y"], [axes: [0, 2, 3], keepdims: 0]}],
        {"x", :f32, ["n", 3, 2, 2]},
        {"y", :f32, [3]}
      )

    assert_error(ML.classify(merged, pictures, size: {2, 2}), :shape_mismatch, [
      ~s(the output "y" has shape {3}, expected 2 as its first dimension)
    ])
  end

  test "a model that takes bytes gets levels, rounded" do
    model =
      load!(
        [{"Cast", ["x"], ["y"], [to: 1]}],
        {"x", :u8, [1, 1, 1, 3]},
        {"y", :f32, [1, 1, 1, 3]}
      )

    # The means are 0.75, 1.25 and 200.
    picture = {<<0, 1, 200, 255, 1, 1, 200, 255, 1, 1, 200, 255, 1, 2, 200, 255>>, 2, 2}
    assert {:ok, classes} = ML.classify(model, picture, softmax: false)
    assert Enum.map(classes, &{&1.index, &1.score}) == [{2, 200.0}, {0, 1.0}, {1, 1.0}]
  end
end
