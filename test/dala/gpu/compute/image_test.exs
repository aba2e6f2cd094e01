defmodule Dala.Gpu.Compute.ImageTest do
  use Dala.Test.GpuCase, async: true

  # An image in which no two rows or columns are equal.
  defp picture(height, width, channels) do
    for y <- 1..height, x <- 1..width, c <- 1..channels, into: <<>> do
      <<rem(y * 53 + x * 29 + x * y * c * 7, 256)>>
    end
  end

  test "a chain of filters as a pipeline gives what the filters give one by one" do
    frame = Compute.buffer_from_binary(picture(24, 32, 4), {24, 32, 4}, :u8)
    [blurred, sharpened, piped] = for _ <- 1..3, do: zeros({24, 32, 4}, :u8)

    stage = fn kernel, from, to, params ->
      %{op: :run_kernel, kernel: kernel, inputs: [from], output: to, params: params}
    end

    assert :ok = Compute.run_kernel(:blur, [frame], blurred, %{radius: 3, sigma: 1.5})
    assert :ok = Compute.run_kernel(:sharpen, [blurred], sharpened, %{amount: 0.5})

    pipeline =
      Compute.pipeline()
      |> Compute.pipeline_add(stage.(:blur, frame, piped, %{radius: 3, sigma: 1.5}))
      |> Compute.pipeline_add(stage.(:sharpen, piped, piped, %{amount: 0.5}))

    assert :ok = Compute.pipeline_run(pipeline)
    assert Compute.read(piped) == Compute.read(sharpened)
    refute Compute.read(piped) == Compute.read(frame)
  end

  test "a frame that starts anywhere in a binary" do
    bytes = picture(9, 70, 4)
    whole = Compute.buffer_from_binary(bytes, {9, 70, 4}, :u8)

    for {kernel, params} <- [
          blur: %{radius: 9, sigma: 4},
          sharpen: %{},
          denoise: %{},
          beauty: %{},
          edge_detect: %{},
          resize: %{}
        ] do
      [expected, output] = for _ <- 1..2, do: zeros({9, 70, 4}, :u8)
      assert :ok = Compute.run_kernel(kernel, [whole], expected, params)

      for shift <- 1..3 do
        <<_::binary-size(shift), frame::binary>> =
          :binary.copy(<<0::size(shift)-unit(8), bytes::binary>>)

        shifted = Compute.buffer_from_binary(frame, {9, 70, 4}, :u8)
        assert :ok = Compute.run_kernel(kernel, [shifted], output, params)
        assert Compute.read(output) == Compute.read(expected)
      end
    end
  end

  test "errors name what was expected and what was given" do
    image = zeros({4, 6, 3}, :u8)

    for {kernel, input, params, reason, text} <- [
          {:blur, image, %{radius: 65}, :invalid_param,
           "radius of blur must be an integer between 0 and 64, got 65"},
          {:blur, image, %{sigma: 0}, :invalid_param, "sigma of blur must be a number above 0"},
          {:sharpen, image, %{amount: -1}, :invalid_param,
           "amount of sharpen must be a number between 0 and 4, got -1"},
          {:denoise, zeros({72}, :u8), %{}, :shape_mismatch,
           "input 0 of denoise has shape {72}, expected {h, w} or {h, w, c}, or the parameters " <>
             "width and height"},
          {:edge_detect, zeros({72}, :u8), %{width: 5, height: 4}, :shape_mismatch,
           "input 0 of edge_detect has 72 elements, expected 5 x 4 pixels of 1, 3 or 4 channels"},
          {:beauty, zeros({4, 6}, :u8), %{}, :shape_mismatch, "expected 3 or 4 channels"}
        ] do
      assert_error(Compute.run_kernel(kernel, [input], input, params), reason, text)
    end
  end
end
