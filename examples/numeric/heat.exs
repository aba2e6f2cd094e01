# The heat equation on a plate: a custom kernel for one step, a pipeline that runs ten thousand times
# with its two buffers swapped in between, and a picture of the temperatures. Run it with
#
#     mix run examples/numeric/heat.exs [picture.png] [steps]

defmodule Heat do
  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Kernel, Pipeline}
  alias Dala.Media.Image

  @size 256

  def run(path, steps) do
    register()
    plate = Compute.buffer_from_binary(start(), {@size, @size}, :f32)
    other = Compute.buffer_zeros({@size, @size}, :f32)

    # The rim keeps its temperature, so the plate nears the one solution that fits it.
    pipeline = Pipeline.run_kernel(Pipeline.new(), :heat_step, [plate], other, rate: 0.24)

    # Each step reads what the one before has written; the last result is in `other`.
    {microseconds, :ok} =
      :timer.tc(fn -> Pipeline.run(pipeline, times: steps, swap: [{plate, other}]) end)

    picture = Compute.buffer_zeros({@size, @size, 4}, :u8)
    :ok = Compute.run_kernel(:heat_colours, [other], picture)
    :ok = Image.write(Image.from_buffer(picture), path)

    mean = Compute.buffer_zeros({}, :f32)
    :ok = Compute.run_kernel(:reduce_mean, [other], mean)
    [mean] = Compute.read_list(mean)
    IO.puts("#{steps} steps in #{div(microseconds, 1000)} ms")
    IO.puts("mean temperature #{Float.round(mean, 2)}")
    IO.puts("wrote #{path}")
  end

  # 100 degrees along the upper edge, 0 along the others, and inside.
  defp start do
    for y <- 0..(@size - 1), _x <- 0..(@size - 1), into: <<>> do
      <<if(y == 0, do: 100.0, else: 0.0)::float-32-native>>
    end
  end

  defp register do
    :ok =
      Kernel.register(
        :heat_step,
        """
        __kernel void heat_step(__global const float *input, __global float *output, float rate,
                                int width, int height) {
          int x = get_global_id(0), y = get_global_id(1);
          if (x >= width || y >= height) return;
          int at = y * width + x;
          float t = input[at];
          if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
            t += rate * (input[at - 1] + input[at + 1] + input[at - width] + input[at + width]
                         - 4 * t);
          }
          output[at] = t;
        }
        """,
        inputs: 1,
        params: [:rate]
      )

    :ok =
      Kernel.register(
        :heat_colours,
        """
        __kernel void heat_colours(__global const float *input, int input_width, int input_height,
                                   __global uchar *output, int width, int height, int channels) {
          int x = get_global_id(0), y = get_global_id(1);
          if (x >= min(width, input_width) || y >= min(height, input_height)) return;
          float t = clamp(input[y * input_width + x] / 100, 0.0f, 1.0f);
          // Black, red, yellow, white, with lines of equal temperature.
          float line = fabs(t * 10 - rint(t * 10)) < 0.03f ? 0.6f : 1.0f;
          float4 colour = (float4)(clamp(3 * t, 0.0f, 1.0f), clamp(3 * t - 1, 0.0f, 1.0f),
                                   clamp(3 * t - 2, 0.0f, 1.0f), 1) * 255 * line;
          colour.w = 255;
          for (int c = 0; c < channels; ++c)
            output[(y * width + x) * channels + c] =
                (uchar)(c == 0 ? colour.x : c == 1 ? colour.y : c == 2 ? colour.z : colour.w);
        }
        """,
        inputs: 1
      )
  end
end

{path, steps} =
  case System.argv() do
    [path, steps] -> {path, String.to_integer(steps)}
    [path] -> {path, 10_000}
    [] -> {"heat.png", 10_000}
  end

Heat.run(path, steps)
