defmodule Dala.ML.SegmentationTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.ML.{Geometry, Segmentation}

  doctest Dala.ML.Segmentation

  # Distinct scores of three classes, as a function of {class, y, x}.
  defp scores(height, width) do
    for c <- 0..2, y <- 0..(height - 1), x <- 0..(width - 1), do: rem(c * 7 + y * 5 + x * 11, 13)
  end

  defp winner(scores, height, width, y, x) do
    Enum.max_by(0..2, fn c -> Enum.at(scores, (c * height + y) * width + x) end)
  end

  test "each pixel has the class of its position in the output" do
    {height, width} = {5, 6}
    scores = scores(height, width)
    planes = Compute.buffer(scores, {1, 3, height, width})
    pixels = scores |> Enum.chunk_every(height * width) |> Enum.zip_with(& &1) |> List.flatten()
    pixels = Compute.buffer(pixels, {1, height, width, 3})

    for fit <- [:stretch, :letterbox, :crop], {w, h} = picture <- [{17, 9}, {4, 11}, {6, 5}] do
      geometry = Geometry.new(picture, {12, 10}, fit)
      {x0, y0, from_w, from_h} = geometry.from
      {to_x, to_y, to_w, to_h} = geometry.to

      want =
        for y <- 0..(h - 1), x <- 0..(w - 1) do
          if x in x0..(x0 + from_w - 1) and y in y0..(y0 + from_h - 1) do
            column = floor((to_x + (x + 0.5 - x0) * to_w / from_w) * width / 12)
            row = floor((to_y + (y + 0.5 - y0) * to_h / from_h) * height / 10)
            winner(scores, height, width, row, column)
          else
            9
          end
        end

      found = Segmentation.decode(planes, geometry, outside: 9)
      assert :binary.bin_to_list(found.classes) == want
      assert {found.width, found.height} == picture
      frequencies = Enum.frequencies(want)
      assert Map.new(found.areas, &{&1.index, &1.pixels}) == frequencies
      assert Enum.sum(Enum.map(found.areas, & &1.share)) |> Float.round(9) == 1.0

      assert Enum.sort_by(found.areas, & &1.pixels, :desc) |> hd() |> Map.get(:pixels) ==
               hd(found.areas).pixels

      assert Segmentation.decode(pixels, geometry, layout: :nhwc, outside: 9) == found
    end
  end

  test "outputs that are class indices" do
    geometry = Geometry.new({2, 2}, {2, 2}, :stretch)

    for dtype <- [:s32, :s64, :u32, :u8] do
      map = Compute.buffer([0, 255, 3, 3], {1, 2, 2}, dtype)
      assert Segmentation.decode(map, geometry).classes == <<0, 255, 3, 3>>
    end
  end

  test "colours of the palette" do
    found = %{width: 4, height: 1, classes: <<0, 2, 15, 255>>, areas: []}

    assert Segmentation.mask(found).data ==
             <<0, 0, 0, 255, 0, 128, 0, 255, 192, 128, 128, 255, 224, 224, 192, 255>>
  end

  test "invalid options" do
    geometry = Geometry.new({2, 2}, {2, 2}, :stretch)

    assert_raises(:shape_mismatch, "expected {1, classes, h, w}, or {1, h, w} of integers", fn ->
      Segmentation.decode(zeros({2, 3, 4, 4}), geometry)
    end)

    for {map, class} <- [
          {zeros({1, 300, 1, 1}), 299},
          {Compute.buffer([256], {1, 1, 1}, :s32), 256},
          {Compute.buffer([-1], {1, 1, 1}, :s32), -1}
        ] do
      assert_raises(
        :unsupported,
        "a segmentation has classes 0 to 255, the output has class #{class}",
        fn -> Segmentation.decode(map, geometry) end
      )
    end

    assert_raise ArgumentError, "expected alpha: to be from 0 to 255, got: 300", fn ->
      Segmentation.mask(%{width: 1, height: 1, classes: <<0>>, areas: []}, alpha: 300)
    end
  end
end
