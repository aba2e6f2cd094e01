defmodule Dala.ML.TfliteTest do
  # TFLite files from Elixir: inputs and outputs of quantized models, and tasks that use them.
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute
  alias Dala.ML
  alias Dala.ML.Gpu
  alias Dala.Media.Image
  alias Dala.ML.Models.Labels
  alias Dala.Test.TfliteFile

  @f32 0
  @i32 2
  @u8 3
  @i8 9
  @mul 18
  @mean 40

  # y = 2 * x in steps of a half, from 0 to 127.5
  defp double do
    TfliteFile.model(
      [
        {"x", [1, 3], @u8, [scale: {0.5, 0}]},
        {"two", [1], @f32, [data: <<2.0::float-little-32>>]},
        {"y", [1, 3], @u8, [scale: {0.5, 0}]}
      ],
      [{@mul, [0, 1], [2], %{}}],
      [0],
      [2]
    )
  end

  # The mean of each channel of an image of 2 by 2, in steps of 1 / 256.
  defp colours(type, scale, zero_point) do
    TfliteFile.model(
      [
        {"picture", [1, 2, 2, 3], type, [scale: {scale, zero_point}]},
        {"axes", [2], @i32, [data: <<1::little-32, 2::little-32>>]},
        {"scores", [1, 3], @u8, [scale: {1 / 256, 0}]}
      ],
      [{@mean, [0, 1], [2], %{}}],
      [0],
      [2]
    )
  end

  test "the example model is what the tests write" do
    if System.get_env("DALA_UPDATE_GUIDES") == "1",
      do: File.write!("examples/double.tflite", double())

    assert File.read!("examples/double.tflite") == double()
  end

  test "a quantized model takes and returns integers, with their quantization" do
    assert {:ok, model} = Gpu.load_model("examples/double.tflite")
    assert inspect(model) == "#Dala.ML.Gpu.Model<double: x u8[1][3] -> y u8[1][3]>"
    assert [%{quantization: %{scale: 0.5, zero_point: 0}, type: :u8}] = model.inputs
    assert %{producer: "dala tests", outputs: [output]} = Gpu.model_info(model)
    assert output.quantization == %{scale: 0.5, zero_point: 0}
    assert {:ok, output} = Gpu.predict(model, Compute.buffer([10, 21, 200], {1, 3}, :u8))
    assert Compute.read_list(output) == [20, 42, 255]
  end

  test "float models have no quantization" do
    assert {:ok, %{inputs: [%{quantization: nil}]}} = Gpu.load_model("examples/double.onnx")
  end

  test "images go in as levels, and real numbers come out" do
    picture = Image.new(8, 8, {255, 128, 0})

    for {type, scale, zero_point} <- [{@u8, 1 / 256, 0}, {@i8, 1 / 256, -128}] do
      assert {:ok, model} = Gpu.load_model({:binary, colours(type, scale, zero_point)})
      assert {:ok, classes} = ML.classify(model, picture, softmax: false, k: 3)
      assert Enum.map(classes, & &1.index) == [0, 1, 2]
      assert Enum.map(classes, & &1.score) == [255 / 256, 0.5, 0.0]
    end
  end

  test "an invalid or truncated file is an error" do
    cut = binary_part(double(), 0, 100)

    assert_error(Gpu.load_model({:binary, cut}), :invalid_model, [
      "the file is truncated or damaged: invalid offset"
    ])
  end

  test "labels attached to a file" do
    path = Path.join(scratch_dir("labels"), "labelled.tflite")
    File.write!(path, double() <> archive("labels.txt", "cat\ndog\r\nfish", byte_size(double())))
    assert Labels.attached(path) == %{"labels.txt" => ["cat", "dog", "fish"]}
    assert {:ok, _model} = Gpu.load_model(path)
    File.write!(path, double() <> archive("picture.png", "no text", byte_size(double())))
    assert Labels.attached(path) == %{}
  end

  # An archive of one file whose offsets count from the beginning of the file it is appended to.
  defp archive(name, text, before) do
    {:ok, {_name, zip}} = :zip.create(~c"archive", [{to_charlist(name), text}], [:memory])
    size = byte_size(zip) - 22
    <<body::binary-size(size), tail::binary-size(16), directory::little-32, comment::16>> = zip
    <<files::binary-size(directory), entry::binary-size(42), 0::32, rest::binary>> = body
    moved = files <> entry <> <<before::little-32>> <> rest
    moved <> tail <> <<directory + before::little-32, comment::16>>
  end
end
