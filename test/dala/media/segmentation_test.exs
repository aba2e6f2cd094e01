defmodule Dala.Media.SegmentationTest do
  # The filters that find a person, with a model of the tests' own in place of the installed one.
  # Not async: where models are is a setting of the whole VM.

  use Dala.Test.GpuCase, async: false

  alias Dala.Media.{Gpu, Image}
  alias Dala.Test.StandIns

  @red <<255, 0, 0, 255>>
  @blue <<0, 0, 255, 255>>

  setup do
    %{dir: StandIns.models_dir()}
  end

  defp install(dir), do: File.write!(Path.join(dir, "deeplab.onnx"), StandIns.deeplab())

  # The left half red, the right half blue.
  defp frame, do: :binary.copy(:binary.copy(@red, 32) <> :binary.copy(@blue, 32), 48)

  defp pixel(rgba, x, y), do: binary_part(rgba, 4 * (64 * y + x), 4)

  defp filter(name, params), do: Gpu.apply_filter(frame(), 64, 48, name, params)

  test "the background is replaced, and the person is unchanged", %{dir: dir} do
    install(dir)
    green = filter(:background_replace, color: {0, 255, 0}, softness: 0)
    assert {pixel(green, 2, 5), pixel(green, 60, 40)} == {@red, <<0, 255, 0, 255>>}

    picture = Image.new(64, 48, {9, 8, 7})
    assert pixel(filter(:background_replace, image: picture), 60, 40) == <<9, 8, 7, 255>>
    small = Image.new(5, 5, {9, 8, 7})
    assert pixel(filter(:background_replace, image: small), 60, 40) == <<9, 8, 7, 255>>

    blurred = filter(:background_replace, blur: 20)
    assert pixel(blurred, 2, 5) == @red
    assert <<r, 0, b, 255>> = pixel(blurred, 40, 40)
    assert r > 0 and b > 0
    assert blurred == filter(:background_replace, %{"blur" => 20})
  end

  test "edges have the requested softness", %{dir: dir} do
    install(dir)

    shades = fn params ->
      rgba = filter(:segmentation, [style: :mask] ++ params)
      for x <- 0..63, <<level, level, level, 255>> = pixel(rgba, x, 20), uniq: true, do: level
    end

    # A pixel of the mask is four of the frame.
    hard = shades.(softness: 0)
    assert length(hard) == 6 and hd(hard) == 255 and List.last(hard) == 0
    soft = shades.(softness: 2)
    assert length(soft) > 12 and soft == Enum.sort(soft, :desc)
  end

  test "styles of segmentation, and other classes", %{dir: dir} do
    install(dir)
    shown = filter(:segmentation, %{softness: 0})
    assert pixel(shown, 2, 5) == @red
    assert <<gray, gray, gray, 255>> = pixel(shown, 60, 5)
    cut = filter(:segmentation, style: :cutout, softness: 0)
    assert {pixel(cut, 2, 5), pixel(cut, 60, 5)} == {@red, <<0, 0, 255, 0>>}
    none = filter(:segmentation, style: :mask, class: "cat")
    assert none == :binary.copy(<<0, 0, 0, 255>>, 64 * 48)
  end

  test "in a stream, among other filters, with the model loaded once", %{dir: dir} do
    install(dir)
    {:ok, ctx} = Gpu.start_pipeline(64, 48)

    chain = [
      {:flip, %{direction: :horizontal}},
      {:background_replace, %{color: :white, softness: 0}},
      :grayscale
    ]

    first = Gpu.process_frame(ctx, frame(), chain)

    assert {pixel(first, 2, 5), pixel(first, 60, 5)} ==
             {<<255, 255, 255, 255>>, <<76, 76, 76, 255>>}

    compiled = Compute.counters().compiled
    for _ <- 1..3, do: assert(Gpu.process_frame(ctx, frame(), chain) == first)
    assert Compute.counters().compiled == compiled
    assert :ok = Gpu.stop_pipeline(ctx)
  end

  test "without the model, both errors say how to install it", %{dir: dir} do
    for name <- [:segmentation, :background_replace] do
      assert_raises(
        :model_not_found,
        ["not found in #{dir}, ", "`mix dala.models install deeplab`"],
        fn ->
          filter(name, %{})
        end
      )
    end

    {:ok, ctx} = Gpu.start_pipeline(64, 48)

    assert_raises(:model_not_found, "mix dala.models install deeplab", fn ->
      Gpu.process_frame(ctx, frame(), [:segmentation])
    end)

    assert Gpu.process_frame(ctx, frame(), [{:brightness, %{value: 0}}]) == frame()
  end

  test "parameters that are not known or out of range", %{dir: dir} do
    install(dir)

    for {name, params, reason, text} <- [
          {:segmentation, [style: :glow], :invalid_param,
           "is :highlight, :mask or :cutout, got: :glow"},
          {:segmentation, [blur: 3], :unknown_param, "segmentation has no parameter blur"},
          {:segmentation, [class: "unicorn"], :invalid_param,
           "there is no class \"unicorn\"; the classes are background, aer"},
          {:segmentation, [softness: 17], :invalid_param,
           "softness of segmentation is an integer from 0 to 16, got: 17"},
          {:background_replace, [blur: 0], :invalid_param,
           "blur of background_replace is an integer from 1 to 64"},
          {:background_replace, [blur: 3, color: :red], :invalid_param,
           "takes one of blur:, color: and image:, got: blur:, color:"},
          {:background_replace, [color: "pink"], :invalid_param, "expected a colour such as"},
          {:background_replace, [image: "me.png"], :invalid_param,
           "is a Dala.Media.Image, got: \"me.png\""}
        ],
        do: assert_raises(reason, text, fn -> filter(name, params) end)
  end
end
