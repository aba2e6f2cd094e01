# Bodies that attract each other, by a custom kernel that adds up all pairs: how well their energy is
# kept tells how good the steps are. Run it with
#
#     mix run examples/numeric/n_body.exs [bodies] [steps]

defmodule NBody do
  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Kernel, Pipeline}

  @time 0.002
  @softening 0.01

  def run(bodies, steps) do
    register()
    # Places and speeds, four numbers each; all masses are 1 / bodies. The motion is of the bodies
    # against each other, so it does not matter that the whole cloud drifts.
    places = Compute.buffer_zeros({bodies, 4}, :f32)
    speeds = Compute.buffer_zeros({bodies, 4}, :f32)
    pulls = Compute.buffer_zeros({bodies, 4}, :f32)
    :ok = Compute.run_kernel(:random_normal, [], places, %{seed: 1})
    :ok = Compute.run_kernel(:random_normal, [], speeds, %{seed: 2, std: 0.3})
    flatten = Compute.buffer([1, 1, 1, 0], {4})
    :ok = Compute.run_kernel(:elementwise_mul, [places, flatten], places)
    :ok = Compute.run_kernel(:elementwise_mul, [speeds, flatten], speeds)
    :ok = Compute.run_kernel(:pull, [places], pulls, %{softening: @softening})

    # Leapfrog: half a push, a move, the new pull, half a push.
    pipeline =
      Pipeline.new()
      |> Pipeline.run_kernel(:drift, [speeds, pulls], speeds, t: @time / 2)
      |> Pipeline.run_kernel(:drift, [places, speeds], places, t: @time)
      |> Pipeline.run_kernel(:pull, [places], pulls, softening: @softening)
      |> Pipeline.run_kernel(:drift, [speeds, pulls], speeds, t: @time / 2)

    before = energy(places, speeds, bodies)

    {microseconds, :ok} =
      :timer.tc(fn -> Enum.each(1..steps, fn _ -> :ok = Pipeline.run(pipeline) end) end)

    later = energy(places, speeds, bodies)
    pairs = bodies * bodies * steps / max(microseconds, 1)
    IO.puts("#{steps} steps of #{bodies} bodies in #{div(microseconds, 1000)} ms")
    IO.puts("#{round(pairs)} million pairs a second")
    IO.puts("energy #{Float.round(before, 5)}, then #{Float.round(later, 5)}")
    IO.puts("relative change #{:io_lib.format("~.2e", [abs((later - before) / before)])}")
  end

  defp energy(places, speeds, bodies) do
    potentials = Compute.buffer_zeros({bodies}, :f32)
    :ok = Compute.run_kernel(:potential, [places], potentials, %{softening: @softening})
    squares = Compute.buffer_zeros({bodies, 4}, :f32)
    :ok = Compute.run_kernel(:elementwise_mul, [speeds, speeds], squares)
    # Each pair is counted twice, and motion has half the square of its speed.
    (sum(squares) / 2 + sum(potentials) / 2) / bodies
  end

  defp sum(buffer) do
    total = Compute.buffer_zeros({}, :f32)
    :ok = Compute.run_kernel(:reduce_sum, [buffer], total)
    [total] = Compute.read_list(total)
    total
  end

  defp register do
    :ok = Kernel.elementwise(:drift, "x + t * y", inputs: 2, params: [:t])

    for {name, output, result} <- [
          {:pull, "float4", "sum += d * (r * r * r);"},
          {:potential, "float", "sum -= r;"}
        ] do
      :ok =
        Kernel.register(
          name,
          """
          __kernel void #{name}(__global const float4 *places, int places_n,
                                __global #{output} *output, int n, float softening) {
            int i = get_global_id(0);
            if (i >= n || i >= places_n) return;
            float4 own = places[i];
            #{output} sum = 0;
            for (int j = 0; j < places_n; ++j) {
              if (j == i) continue;
              float4 d = places[j] - own;
              float r = rsqrt(dot(d, d) + softening * softening);
              #{result}
            }
            output[i] = sum / places_n;
          }
          """,
          inputs: 1,
          params: [:softening]
        )
    end
  end
end

case System.argv() do
  [bodies, steps] -> NBody.run(String.to_integer(bodies), String.to_integer(steps))
  [] -> NBody.run(4096, 100)
end
