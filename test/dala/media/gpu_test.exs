defmodule Dala.Media.GpuTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.{Gpu, Image}
  alias Dala.Media.Gpu.{Filter, Processor}

  doctest Dala.Media.Gpu
  doctest Dala.Media.Gpu.Stream
  doctest Dala.Media.Gpu.Filter
  doctest Dala.Media.Gpu.Format

  @width 37
  @height 23

  # Pixels that differ in every channel, and are the same in every run.
  defp picture(width \\ @width, height \\ @height) do
    for y <- 0..(height - 1), x <- 0..(width - 1), into: <<>> do
      <<rem(x * 7 + y * 3, 256), rem(x * y, 256), rem(x + y * 11, 256), 255 - rem(x, 7)>>
    end
  end

  defp pixel(rgba, x, y, width \\ @width), do: binary_part(rgba, 4 * (y * width + x), 4)

  describe "one filter" do
    test "is the kernel of that name" do
      rgba = picture()
      input = Compute.buffer_from_binary(rgba, {@height, @width, 4}, :u8)
      output = zeros({@height, @width, 4}, :u8)

      for {filter, params} <- [
            blur: %{radius: 4, sigma: 2.0},
            sharpen: %{amount: 1.0},
            denoise: %{},
            sepia: %{intensity: 0.5},
            vignette: %{},
            hdr: %{exposure: 1.5},
            edge_detect: %{},
            white_balance: %{temperature: 4000}
          ] do
        assert Compute.run_kernel(filter, [input], output, params) == :ok
        assert Gpu.apply_filter(rgba, @width, @height, filter, params) == Compute.read(output)
      end
    end

    test "changes the size of the frame if it is meant to" do
      rgba = picture()

      cropped = Gpu.apply_filter(rgba, @width, @height, :crop, x: 5, y: 2, width: 10, height: 8)
      assert byte_size(cropped) == 10 * 8 * 4
      assert pixel(cropped, 3, 4, 10) == pixel(rgba, 8, 6)

      turned = Gpu.apply_filter(rgba, @width, @height, :rotate, angle: 90)
      assert byte_size(turned) == byte_size(rgba)
      # Clockwise: the first row becomes the last column.
      assert pixel(turned, @height - 1, 5, @height) == pixel(rgba, 5, 0)

      assert byte_size(Gpu.apply_filter(rgba, @width, @height, :resize, width: 8, height: 4)) ==
               128
    end

    test "takes parameters as a map, a keyword list, or with string keys" do
      rgba = picture()
      expected = Gpu.blur(rgba, @width, @height, radius: 2, sigma: 1.0)
      assert Gpu.blur(rgba, @width, @height, %{radius: 2, sigma: 1.0}) == expected

      assert Gpu.apply_filter(rgba, @width, @height, "blur", %{"radius" => 2, "sigma" => 1.0}) ==
               expected
    end

    test "reports invalid arguments" do
      rgba = picture()

      assert_raises(:unknown_kernel, [":blury", ":blur", ":white_balance"], fn ->
        Gpu.apply_filter(rgba, @width, @height, :blury)
      end)

      assert_raises(:invalid_param, ["radius of blur must be", "got 65"], fn ->
        Gpu.blur(rgba, @width, @height, radius: 65)
      end)

      assert_raises(:unknown_param, ["blur has no parameter size"], fn ->
        Gpu.blur(rgba, @width, @height, size: 3)
      end)

      assert_raises(:shape_mismatch, ["37x23 in rgba has 3404 bytes, got 3403"], fn ->
        Gpu.grayscale(binary_part(rgba, 1, byte_size(rgba) - 1), @width, @height)
      end)

      assert_raises(:invalid_param, ["crop of 30x23 at 10, 0 does not fit"], fn ->
        Gpu.apply_filter(rgba, @width, @height, :crop, x: 10, width: 30, height: 23)
      end)

      assert_raises(:invalid_param, ["lut takes file:"], fn ->
        Gpu.apply_filter(rgba, @width, @height, :lut)
      end)

      assert_raise ArgumentError, ~r/width and height/, fn -> Gpu.grayscale(rgba, 0, 5) end
    end
  end

  describe "a stream" do
    test "runs a list of filters like the filters one by one" do
      rgba = picture()
      {:ok, ctx} = Gpu.start_pipeline(@width, @height)

      filters = [
        {:blur, %{radius: 3, sigma: 1.5}},
        {:sharpen, %{amount: 0.3}},
        {:brightness, %{value: 0.1}},
        {:contrast, value: 0.2},
        :sepia
      ]

      expected =
        Enum.reduce(filters, rgba, fn
          {filter, params}, frame -> Gpu.apply_filter(frame, @width, @height, filter, params)
          filter, frame -> Gpu.apply_filter(frame, @width, @height, filter)
        end)

      for _ <- 1..3, do: assert(Gpu.process_frame(ctx, rgba, filters) == expected)
      assert Gpu.process_frame(ctx, rgba, []) == rgba
    end

    test "follows filters that change the size" do
      rgba = picture()
      {:ok, ctx} = Gpu.start_pipeline(@width, @height)

      result =
        Gpu.process_frame(ctx, rgba, [
          {:rotate, angle: 90},
          {:crop, x: 1, y: 1, width: 10, height: 30},
          :grayscale
        ])

      turned = Gpu.apply_filter(rgba, @width, @height, :rotate, angle: 90)
      crop = [x: 1, y: 1, width: 10, height: 30]
      cropped = Gpu.apply_filter(turned, @height, @width, :crop, crop)
      assert result == Gpu.grayscale(cropped, 10, 30)
    end

    # That nothing is compiled for them is for test/system/frames_test.exs, which runs alone.
    test "uses the parameters of each frame" do
      rgba = picture()
      {:ok, ctx} = Gpu.start_pipeline(@width, @height)
      chain = fn value -> [{:brightness, %{value: value}}, {:contrast, %{value: value / 2}}] end
      assert Gpu.process_frame(ctx, rgba, chain.(0.0)) == rgba

      for i <- 1..20 do
        bright = Gpu.brightness(rgba, @width, @height, i / 40)
        expected = Gpu.contrast(bright, @width, @height, i / 80)
        assert Gpu.process_frame(ctx, rgba, chain.(i / 40)) == expected
      end
    end

    test "sends results as messages, in order" do
      {:ok, ctx} = Gpu.start_pipeline(2, 2, queue: 2)

      refs =
        for i <- 1..10 do
          {:ok, ref} =
            Gpu.process_frame_async(ctx, :binary.copy(<<i, i, i, 255>>, 4), [:grayscale])

          ref
        end

      for {ref, i} <- Enum.with_index(refs, 1) do
        assert_receive {:dala_media_frame, received, {:ok, <<^i, ^i, ^i, 255, _::binary>>}},
                       60_000

        assert received == ref
      end
    end

    test "returns statistics" do
      rgba = picture()
      {:ok, ctx} = Gpu.start_pipeline(@width, @height)
      for _ <- 1..5, do: Gpu.process_frame(ctx, rgba, [{:blur, %{}}, :grayscale])
      stats = Gpu.stats(ctx)
      assert %{frames: 5, dropped: 0, failed: 0, queued: 0} = stats
      assert stats.fps > 0
      assert stats.latency_ms.median > 0
      assert stats.latency_ms.max >= stats.latency_ms.p95
      assert Enum.map(stats.stages, & &1.count) == [5, 5]
      assert Enum.any?(stats.stages, &(&1.name == "blur"))
    end

    test "reports an invalid frame or filter, and keeps running" do
      rgba = picture()
      {:ok, ctx} = Gpu.start_pipeline(@width, @height)

      assert_raises(:shape_mismatch, ["has 3404 bytes, got 0"], fn ->
        Gpu.process_frame(ctx, "", [:grayscale])
      end)

      assert_raises(:unknown_kernel, ["nope"], fn -> Gpu.process_frame(ctx, rgba, [:nope]) end)

      error =
        assert_raises(:invalid_param, ["stage 1: radius of blur"], fn ->
          Gpu.process_frame(ctx, rgba, [:grayscale, {:blur, radius: -1}])
        end)

      assert error.details.stage == 1
      assert Gpu.process_frame(ctx, rgba, [:grayscale]) == Gpu.grayscale(rgba, @width, @height)
      assert %{frames: 1, failed: 1} = Gpu.stats(ctx)
    end

    test "can be stopped" do
      {:ok, ctx} = Gpu.start_pipeline(1, 1)
      assert inspect(ctx) == "#Dala.Media.Gpu.Context<1x1 rgba>"
      assert Gpu.stop_pipeline(ctx) == :ok
      assert Gpu.stop_pipeline(ctx) == :ok
      assert inspect(ctx) == "#Dala.Media.Gpu.Context<1x1 rgba stopped>"

      assert_raises(:freed, "the stream #{inspect(ctx.pid)} is not running", fn ->
        Gpu.process_frame(ctx, <<0, 0, 0, 0>>, [])
      end)
    end

    test "stops when its owner exits" do
      test = self()

      owner =
        spawn(fn ->
          {:ok, ctx} = Gpu.start_pipeline(64, 64)
          Gpu.process_frame(ctx, picture(64, 64), [:grayscale])
          send(test, ctx)
          receive do: (:end -> :ok)
        end)

      assert_receive %{pid: pid}, 60_000
      monitor = Process.monitor(pid)
      send(owner, :end)
      assert_receive {:DOWN, ^monitor, :process, ^pid, _reason}, 60_000
    end
  end

  describe "an overloaded stream" do
    # A chain slow enough that frames pile up behind the first.
    @slow [{:denoise, %{}}, {:blur, %{radius: 60, sigma: 30.0}}]

    defp pile_up(policy, count) do
      {:ok, ctx} = Gpu.start_pipeline(256, 256, queue: 2, on_overload: policy)
      rgba = picture(256, 256)
      Gpu.process_frame(ctx, rgba, @slow)

      refs =
        for _ <- 1..count do
          {:ok, ref} = Gpu.process_frame_async(ctx, rgba, @slow)
          ref
        end

      results =
        for ref <- refs do
          receive do
            {:dala_media_frame, ^ref, {:ok, _frame}} -> :ok
            {:dala_media_frame, ^ref, :dropped} -> :dropped
          after
            60_000 -> flunk("no result")
          end
        end

      {results, Gpu.stats(ctx)}
    end

    test "makes callers wait" do
      assert {results, %{dropped: 0, frames: 13}} = pile_up(:wait, 12)
      assert Enum.uniq(results) == [:ok]
    end

    test "drops the oldest" do
      {results, stats} = pile_up(:drop_oldest, 30)
      assert stats.dropped > 0
      assert stats.dropped + stats.frames == 31
      # The last ones, that nothing came after, are never dropped.
      assert Enum.take(results, -2) == [:ok, :ok]
    end

    test "drops the newest" do
      {results, stats} = pile_up(:drop_newest, 30)
      assert stats.dropped > 0
      # The first is on the device or in the queue, whatever comes later.
      assert hd(results) == :ok
    end
  end

  describe "video formats" do
    test "go in and come out" do
      rgba = :binary.copy(<<180, 60, 90, 255>>, 4 * 4)
      {:ok, to_yuv} = Gpu.start_pipeline(4, 4, output_format: :nv12)
      nv12 = Gpu.process_frame(to_yuv, rgba, [])
      assert byte_size(nv12) == Gpu.Format.bytes(:nv12, 4, 4)

      {:ok, back} = Gpu.start_pipeline(4, 4, format: :nv12, output_format: :rgba)
      <<r, g, b, a, _::binary>> = Gpu.process_frame(back, nv12, [])
      assert abs(r - 180) <= 2 and abs(g - 60) <= 2 and abs(b - 90) <= 2 and a == 255
    end

    test "are filtered like RGBA frames" do
      for format <- [:rgb24, :yuv420p, :nv12] do
        {:ok, ctx} = Gpu.start_pipeline(6, 4, format: format, matrix: :bt709, range: :full)
        frame = :binary.copy(<<128>>, Gpu.Format.bytes(format, 6, 4))
        assert Gpu.process_frame(ctx, frame, [{:blur, %{}}]) == frame
      end
    end
  end

  test "options are checked" do
    for {opts, text} <- [
          {[queue: -1], "queue: to be an integer in 0..1024"},
          {[format: :bgr], "format: to be :rgba"},
          {[on_overload: :explode], "on_overload: to be one of :wait"},
          {[nonsense: 1], "unknown keys"}
        ] do
      assert_raise ArgumentError, ~r/#{text}/, fn -> Gpu.start_pipeline(1, 1, opts) end
    end
  end

  test "every filter has a kernel, is made of kernels, or has a model" do
    kernels = Enum.map(Compute.kernels(), & &1.name)
    others = Map.keys(Filter.by_model()) ++ Map.keys(Filter.composed())
    by_kernel = Filter.names() -- others
    for name <- by_kernel, do: assert(Atom.to_string(name) in kernels)
    assert length(Filter.names()) == length(by_kernel) + 6
  end

  describe "images" do
    defp noise(width, height) do
      :rand.seed(:exsss, {width, height, 7})
      Image.new(width, height, :rand.bytes(4 * width * height))
    end

    test "every filter has a function that gives what apply_filter/5 gives" do
      image = noise(8, 6)
      {:ok, table} = Dala.Media.Lut.parse("LUT_1D_SIZE 2\n0 0 0\n0.5 1 1")

      params = %{
        brightness: %{value: 0.1},
        contrast: %{value: 0.1},
        saturation: %{value: 0.1},
        lut: %{table: table},
        overlay: %{image: image, x: 2},
        blend: %{image: image},
        resize: %{width: 4},
        crop: %{width: 3, height: 2},
        rotate: %{angle: 90},
        affine: %{matrix: [0.5, 0, 1, 0, 0.5, 1]},
        perspective: %{from: [{1, 1}, {6, 0}, {7, 5}, {0, 4}]}
      }

      for name <- Filter.names() -- Map.keys(Filter.by_model()) do
        given = Map.get(params, name, %{})
        result = Gpu.apply_filter(image, name, given)
        assert %Image{} = result
        assert byte_size(result.data) == 4 * result.width * result.height
        assert result.data == Gpu.apply_filter(image.data, 8, 6, name, given)

        arguments =
          case given do
            %{value: value} -> [value]
            _map when name == :grayscale -> []
            _map -> [Map.to_list(given)]
          end

        assert apply(Gpu, name, [image | arguments]) == result, "#{name}"
      end
    end

    test "a list of filters is one command" do
      image = noise(8, 6)
      filters = [{:blur, radius: 2}, {:resize, %{height: 3}}, :sepia]

      expected =
        Enum.reduce(filters, image, fn filter, image -> Gpu.apply_filters(image, [filter]) end)

      assert Gpu.apply_filters(image, filters) == expected
      assert Gpu.apply_filters(image, []) == image
    end

    test "mistakes raise" do
      image = noise(2, 2)

      assert_raises(:unknown_kernel, "there is no filter :nope", fn ->
        Gpu.apply_filter(image, :nope)
      end)

      assert_raises(:invalid_param, "radius of blur", fn -> Gpu.blur(image, radius: -1) end)

      assert_raise ArgumentError, ~r/expected a Dala.Media.Image, got: "rgba"/, fn ->
        Gpu.apply_filter("rgba", :blur)
      end

      assert_raises(:shape_mismatch, "16", fn -> Gpu.blur(%{image | data: <<1, 2, 3>>}) end)

      assert_raises(:invalid_param, "resize takes width:, height: or both", fn ->
        Gpu.resize(image, width: 0)
      end)
    end

    test "opening and closing are erosion and dilation in turn" do
      image = noise(20, 15)
      erode_first = image |> Gpu.erode(radius: 2) |> Gpu.dilate(radius: 2)
      assert Gpu.open(image, radius: 2) == erode_first
      dilate_first = image |> Gpu.dilate() |> Gpu.erode()
      assert Gpu.close(image) == dilate_first

      assert_raises(:unknown_param, "open has no parameter size", fn ->
        Gpu.open(image, size: 1)
      end)

      assert_raises(:invalid_param, "radius of close is an integer from 0 to 64, got: 65", fn ->
        Gpu.close(image, radius: 65)
      end)
    end

    test "affine moves pixels to where the matrix says" do
      image = noise(6, 5)
      moved = Gpu.affine(image, matrix: {1, 0, 2, 0, 1, 1})

      for y <- 0..4, x <- 0..5 do
        expected = if x >= 2 and y >= 1, do: pixel_at(image, x - 2, y - 1), else: <<0::32>>
        assert pixel_at(moved, x, y) == expected
      end

      # A quarter turn, into an image of its own size.
      turned = Gpu.affine(image, matrix: {0, -1, 4, 1, 0, 0}, width: 5, height: 6)
      assert turned == Gpu.rotate(image, angle: 90)
      edge = Gpu.affine(image, matrix: {1, 0, 3, 0, 1, 0}, border: :edge)
      assert pixel_at(edge, 0, 2) == pixel_at(image, 0, 2)
    end

    test "perspective puts points onto points" do
      image = noise(9, 7)
      corners = [{0, 0}, {8, 0}, {8, 6}, {0, 6}]
      assert Gpu.perspective(image, from: corners) == image
      # The matrix says the same as the points.
      assert Gpu.perspective(image, matrix: [1, 0, 0, 0, 1, 0, 0, 0, 1]) == image
      # Corners go to corners, whatever is between.
      from = [{1, 1}, {7, 2}, {6, 6}, {2, 5}]
      seen = Gpu.perspective(image, from: from, width: 9, height: 7)

      for {{x, y}, {to_x, to_y}} <- Enum.zip(from, corners) do
        for {<<got>>, <<want>>} <-
              Enum.zip(bytes(pixel_at(seen, to_x, to_y)), bytes(pixel_at(image, x, y))) do
          assert abs(got - want) <= 1
        end
      end
    end

    test "warps say what is missing or impossible" do
      image = noise(4, 4)

      for {reason, text, filter, params} <- [
            {:invalid_param, "affine takes matrix:, six numbers", :affine, []},
            {:invalid_param, "matrix of affine is six numbers", :affine, [matrix: {1, 2, 3}]},
            {:invalid_param, "matrix of affine has no inverse", :affine,
             [matrix: {1, 1, 0, 1, 1, 0}]},
            {:invalid_param, "perspective takes from:", :perspective, []},
            {:invalid_param, "from of perspective is four points", :perspective,
             [from: [{1, 2}]]},
            {:invalid_param, "no three of which are on a line", :perspective,
             [from: [{0, 0}, {1, 1}, {2, 2}, {0, 3}]]},
            {:unknown_param, "affine has no parameter angle", :affine, [angle: 1]},
            {:invalid_param, "border of warp", :affine,
             [matrix: {1, 0, 0, 0, 1, 0}, border: :mirror]}
          ] do
        assert_raises(reason, text, fn -> Gpu.apply_filter(image, filter, params) end)
      end
    end

    defp pixel_at(image, x, y), do: binary_part(image.data, 4 * (image.width * y + x), 4)
    defp bytes(binary), do: for(<<byte <- binary>>, do: <<byte>>)
  end

  test "the alias has the same functions" do
    assert Processor.__info__(:functions) == Gpu.__info__(:functions)
    assert Processor.grayscale(<<255, 0, 0, 7>>, 1, 1) == <<76, 76, 76, 7>>
  end
end
