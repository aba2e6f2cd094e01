defmodule Dala.ML.PreprocessTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.Image
  alias Dala.ML
  alias Dala.ML.Geometry

  doctest Dala.ML
  doctest Dala.ML.Geometry

  @compile {:no_warn_undefined, [Nx]}
  @mean {0.485, 0.456, 0.406}
  @std {0.229, 0.224, 0.225}

  # Pixels that differ in every channel.
  defp picture(width, height) do
    data =
      for y <- 0..(height - 1), x <- 0..(width - 1), into: <<>> do
        <<rem(x * 37 + y * 11, 256), rem(x * y * 5, 256), rem(x * 3 + y * 71, 256), rem(x, 5)>>
      end

    Image.new(width, height, data)
  end

  # The mean of the area of the image that each pixel of the input covers, in doubles.
  defp reference(image, {width, height}, {x0, y0, w, h}, normal) do
    for c <- 0..2, y <- 0..(height - 1), x <- 0..(width - 1) do
      parts =
        for {i, down} <- weights(y, height, y0, h), {j, across} <- weights(x, width, x0, w) do
          down * across * :binary.at(image.data, 4 * (i * image.width + j) + c)
        end

      normal.(Enum.sum(parts), c)
    end
  end

  defp weights(o, out, from, extent) do
    {first, last} = {from + o * extent / out, from + (o + 1) * extent / out}

    for i <- from..(from + extent - 1), (share = min(last, i + 1) - max(first, i)) > 0 do
      {i, share / (last - first)}
    end
  end

  test "an image is downscaled, normalized and split into planes" do
    image = picture(40, 30)

    for {normalize, normal} <- [
          {:raw, fn x, _c -> x end},
          {:unit, fn x, _c -> x / 255 end},
          {:signed_unit, fn x, _c -> x / 127.5 - 1 end},
          {:imagenet, fn x, c -> (x / 255 - elem(@mean, c)) / elem(@std, c) end},
          {true, fn x, c -> (x / 255 - elem(@mean, c)) / elem(@std, c) end},
          {{0.5, {0.25, 0.5, 2}}, fn x, c -> (x / 255 - 0.5) / elem({0.25, 0.5, 2}, c) end}
        ] do
      input = ML.preprocess(image, size: {7, 9}, normalize: normalize)
      assert input.shape == {1, 3, 9, 7}
      want = reference(image, {7, 9}, {0, 0, 40, 30}, normal)
      assert_close(Compute.read_list(input), want, 1.0e-4)
    end
  end

  test "nhwc has the same pixels" do
    image = picture(20, 12)
    planes = Compute.read_list(ML.preprocess(image, size: {5, 4}))
    pixels = ML.preprocess(image, size: {5, 4}, layout: :nhwc)
    assert pixels.shape == {1, 4, 5, 3}

    assert Compute.read_list(pixels) ==
             planes |> Enum.chunk_every(20) |> Enum.zip_with(& &1) |> List.flatten()
  end

  test "the geometry agrees with the kernel" do
    for {w, h} <- [{40, 30}, {30, 40}, {31, 7}, {5, 33}, {8, 8}], size <- [{12, 10}, {9, 16}] do
      image = picture(w, h)
      {to_w, to_h} = size
      opts = [size: size, fit: :crop, normalize: :raw]
      geometry = ML.geometry(image, opts)
      {x0, y0, from_w, from_h} = geometry.from
      assert geometry.to == {0, 0, to_w, to_h}

      # Cropping first has the same result.
      rows =
        for y <- y0..(y0 + from_h - 1),
            do: binary_part(image.data, 4 * (y * w + x0), 4 * from_w)

      cut = Image.new(from_w, from_h, IO.iodata_to_binary(rows))

      assert Compute.read(ML.preprocess(image, opts)) ==
               Compute.read(ML.preprocess(cut, size: size, normalize: :raw))

      # And so does a border around what was made smaller.
      opts = [size: size, fit: :letterbox, normalize: :raw, border: 7]
      geometry = ML.geometry(image, opts)
      {to_x, to_y, in_w, in_h} = geometry.to
      small = ML.preprocess(image, size: {in_w, in_h}, normalize: :raw)
      small = small |> Compute.read_list() |> List.to_tuple()

      want =
        for c <- 0..2, y <- 0..(to_h - 1), x <- 0..(to_w - 1) do
          if y in to_y..(to_y + in_h - 1) and x in to_x..(to_x + in_w - 1),
            do: elem(small, (c * in_h + y - to_y) * in_w + x - to_x),
            else: 7.0
        end

      assert_close(Compute.read_list(ML.preprocess(image, opts)), want, 1.0e-4)
    end
  end

  test "points map back to the image" do
    for fit <- [:stretch, :letterbox, :crop], picture <- [{640, 360}, {100, 333}] do
      geometry = Geometry.new(picture, {224, 160}, fit)
      {x, y, w, h} = geometry.from
      {to_x, to_y, to_w, to_h} = geometry.to
      assert Geometry.point(geometry, {to_x, to_y}) == {x * 1.0, y * 1.0}

      assert Geometry.point(geometry, {to_x + to_w, to_y + to_h}) ==
               {(x + w) * 1.0, (y + h) * 1.0}

      assert Geometry.box(geometry, {to_x, to_y, to_w, to_h}) ==
               {x * 1.0, y * 1.0, w * 1.0, h * 1.0}
    end
  end

  test "every kind of image" do
    image = picture(6, 4)
    opts = [size: {3, 3}]
    want = Compute.read(ML.preprocess(image, opts))
    buffer = Image.to_buffer(image)
    flat = Compute.buffer_from_binary(image.data, {96}, :u8)
    rgb = for <<rgb::binary-3, _a <- image.data>>, into: <<>>, do: rgb

    for {source, more} <- [
          {{image.data, 6, 4}, []},
          {buffer, []},
          {image.data, [from: {6, 4}]},
          {flat, [from: {6, 4}]},
          {rgb, [from: {6, 4}]}
        ] do
      assert Compute.read(ML.preprocess(source, opts ++ more)) == want
      assert ML.geometry(source, opts ++ more).picture == {6, 4}
    end

    floats = zeros({4, 6, 4})
    :ok = Compute.run_kernel(:cast, [buffer], floats)
    :ok = Compute.scale(floats, 1 / 255, floats)

    assert_close(
      Compute.read_list(ML.preprocess(floats, opts)),
      Compute.read_list(ML.preprocess(image, opts)),
      1.0e-5
    )
  end

  test "several images of different sizes in one input" do
    pictures = [picture(6, 4), picture(9, 13), picture(3, 3)]

    for layout <- [:nchw, :nhwc] do
      opts = [size: {5, 4}, fit: :letterbox, layout: layout]
      batch = ML.preprocess(pictures, opts)
      assert elem(batch.shape, 0) == 3

      assert Compute.read(batch) ==
               Enum.map_join(pictures, &Compute.read(ML.preprocess(&1, opts)))

      assert ML.geometry(pictures, opts) == Enum.map(pictures, &ML.geometry(&1, opts))
    end

    assert ML.preprocess([]).shape == {0, 3, 224, 224}
  end

  test "a stage of a pipeline, as a camera's frame goes to a network" do
    image = picture(64, 48)
    camera = Image.to_buffer(image)
    preprocessed = zeros({1, 3, 224, 224})

    pipeline =
      Compute.pipeline()
      |> Compute.pipeline_add(%{
        op: :run_kernel,
        kernel: :preprocess,
        inputs: [camera],
        output: preprocessed,
        params: %{normalize: true, size: {224, 224}}
      })

    assert Compute.pipeline_run(pipeline) == :ok
    assert Compute.read(preprocessed) == Compute.read(ML.preprocess(image))
  end

  if Code.ensure_loaded?(Nx) do
    test "tensors in and out" do
      image = picture(6, 4)
      tensor = image.data |> Nx.from_binary(:u8) |> Nx.reshape({4, 6, 4})
      got = ML.preprocess(tensor, size: {3, 3}, as: :nx)
      assert Nx.shape(got) == {1, 3, 3, 3}
      assert Nx.to_binary(got) == Compute.read(ML.preprocess(image, size: {3, 3}))
    end
  end

  test "invalid options" do
    image = picture(4, 4)

    for {text, picture, opts} <- [
          {"a binary needs the option from: {width, height}", image.data, []},
          {"expected {width, height} as positive integers, got: {0, 4}", image, [size: {0, 4}]},
          {"expected {width, height} as positive integers, got: 224", image, [size: 224]},
          {"from: is only for binaries and flat buffers, an image has a size; got from: {4, 4}",
           image, [from: {4, 4}]},
          {"expected fit: to be :stretch or :letterbox or :crop, got: :cover", image,
           [fit: :cover]},
          {"expected layout: to be :nchw or :nhwc, got: :hwc", image, [layout: :hwc]},
          {"expected as: to be :buffer or :nx, got: :list", image, [as: :list]},
          {"expected normalize: to be :imagenet, :unit, :signed_unit, :raw or {mean, std}, got: " <>
             ":caffe", image, [normalize: :caffe]},
          {"expected a Dala.Media.Image, {rgba, width, height}, a buffer or tensor of shape " <>
             "{h, w, c}, or a binary with from: {width, height}, got: :photo", :photo, []}
        ] do
      assert_raise ArgumentError, text, fn -> ML.preprocess(picture, opts) end
    end

    assert_raises(:shape_mismatch, "has 64 elements, expected 3 x 4 pixels", fn ->
      ML.preprocess(image.data, from: {3, 4})
    end)

    assert_raises(:shape_mismatch, "{4, 4, 2}", fn -> ML.preprocess(zeros({4, 4, 2}, :u8)) end)
    assert_raises(:dtype_mismatch, "s32, expected", fn -> ML.preprocess(zeros({4, 4}, :s32)) end)

    assert_raises(:invalid_param, "border of preprocess must be", fn ->
      ML.preprocess(image, border: 256)
    end)
  end
end
