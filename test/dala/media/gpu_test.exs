defmodule Dala.Media.GpuTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Media.Gpu
  alias Dala.Media.Gpu.{Filter, Processor}

  doctest Dala.Media.Gpu
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

    test "changes the size where that is its purpose" do
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

    test "takes its parameters as a map, a keyword list, or with text for names" do
      rgba = picture()
      expected = Gpu.blur(rgba, @width, @height, radius: 2, sigma: 1.0)
      assert Gpu.blur(rgba, @width, @height, %{radius: 2, sigma: 1.0}) == expected

      assert Gpu.apply_filter(rgba, @width, @height, "blur", %{"radius" => 2, "sigma" => 1.0}) ==
               expected
    end

    test "says what is wrong, and with what" do
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
    test "runs a list of filters as if one after the other" do
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
    test "uses other numbers, frame by frame" do
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

    test "gives results to messages, in order" do
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

    test "tells how it is doing" do
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

    test "is refused with the frame's or filter's problem, and goes on" do
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

    test "is over when it is stopped" do
      {:ok, ctx} = Gpu.start_pipeline(1, 1)
      assert inspect(ctx) == "#Dala.Media.Gpu.Context<1x1 rgba>"
      assert Gpu.stop_pipeline(ctx) == :ok
      assert Gpu.stop_pipeline(ctx) == :ok
      assert inspect(ctx) == "#Dala.Media.Gpu.Context<1x1 rgba stopped>"

      assert_raises(:freed, "the pipeline has been stopped", fn ->
        Gpu.process_frame(ctx, <<0, 0, 0, 0>>, [])
      end)
    end

    test "ends with the process that started it" do
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

    test "lets callers wait" do
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

    test "are filtered as pictures" do
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

  test "every filter has a kernel, or a model" do
    kernels = Enum.map(Compute.kernels(), & &1.name)
    by_kernel = Filter.names() -- Map.keys(Filter.by_model())
    for name <- by_kernel, do: assert(Atom.to_string(name) in kernels)
    assert length(Filter.names()) == length(by_kernel) + 2
  end

  test "the long name is the same module" do
    assert Processor.grayscale(<<255, 0, 0, 7>>, 1, 1) == <<76, 76, 76, 7>>
  end
end
