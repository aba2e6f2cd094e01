# Draws a picture on a surface and saves it. Run it with
#
#     mix run examples/surface.exs [picture.png]

defmodule Sunset do
  alias Dala.Gpu
  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.Kernel

  @width 640
  @height 480
  @horizon 320

  def run(path) do
    {:ok, surface} = Gpu.create_surface(@width, @height)
    sky(surface)
    sun(surface)
    sea(surface)
    rays(surface)
    :ok = Gpu.present(surface)
    :ok = Gpu.snapshot(surface, path)
    IO.puts("wrote #{@width} by #{@height} pixels to #{path}")
  end

  # A custom kernel; its result does not leave the device.
  defp sky(surface) do
    :ok =
      Kernel.register(
        :sunset,
        """
        __kernel void sunset(__global uchar *output, int width, int height) {
          int x = get_global_id(0), y = get_global_id(1);
          if (x >= width || y >= height) return;
          float t = (float)y / height;
          vstore4(convert_uchar4_sat((float4)(60 + 190 * t, 40 + 90 * t, 120 - 60 * t, 255)),
                  y * width + x, output);
        }
        """,
        inputs: 0
      )

    output = Compute.buffer_zeros({@height, @width, 4}, :u8)
    :ok = Compute.run_to_surface(:sunset, [], output, surface, %{})
  end

  # Rows of a half circle.
  defp sun(surface) do
    for y <- 0..110 do
      half = round(:math.sqrt(110 * 110 - y * y))
      row = @horizon - 1 - y
      :ok = Gpu.fill_rect(surface, 320 - half, row, 2 * half, 1, {255, 220 - y, 90})
    end
  end

  defp sea(surface) do
    :ok = Gpu.fill_rect(surface, 0, @horizon, @width, @height - @horizon, {10, 30, 70, 220})

    for y <- 0..150//10 do
      half = 110 - div(y, 3)
      :ok = Gpu.fill_rect(surface, 320 - half, @horizon + y, 2 * half, 4, {255, 190, 90, 120})
    end
  end

  # The rays extend past the edges, where drawing is clipped.
  defp rays(surface) do
    for angle <- 10..170//10 do
      {x, y} = {:math.cos(angle * :math.pi() / 180), :math.sin(angle * :math.pi() / 180)}
      from = {320 + round(130 * x), @horizon - round(130 * y)}
      to = {320 + round(900 * x), @horizon - round(900 * y)}

      :ok =
        Gpu.draw_line(
          surface,
          elem(from, 0),
          elem(from, 1),
          elem(to, 0),
          elem(to, 1),
          {255, 240, 200, 90}
        )
    end
  end
end

path = List.first(System.argv()) || Path.join(System.tmp_dir!(), "surface.png")
Sunset.run(path)
