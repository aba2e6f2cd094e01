# k-means on a million points of 16 dimensions, out of built-in kernels: an iteration is a pipeline
# that stays on the device. Run it with
#
#     mix run examples/numeric/k_means.exs [points] [iterations]

defmodule KMeans do
  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.Pipeline

  @dimensions 16
  @clusters 8

  def run(count, iterations) do
    points = points(count)
    squares = Compute.buffer_zeros({count, @dimensions}, :f32)
    :ok = Compute.run_kernel(:elementwise_mul, [points, points], squares)
    mean_square = mean(squares) * @dimensions

    # The first points are the guess. Where two of them are of one cluster, two other clusters share
    # a centre in the end.
    centres = Compute.buffer_zeros({@clusters, @dimensions}, :f32)
    :ok = Compute.run_kernel(:slice, [points], centres)
    best = Compute.buffer_zeros({}, :f32)
    pipeline = iteration(points, centres, best, count)

    {microseconds, distances} =
      :timer.tc(fn ->
        for _run <- 1..iterations do
          :ok = Pipeline.run(pipeline)
          [best] = Compute.read_list(best)
          # |x - c|^2 = |x|^2 - 2 (x c - |c|^2 / 2)
          mean_square - 2 * best
        end
      end)

    Enum.each(distances, &IO.puts("mean square distance #{Float.round(&1, 3)}"))
    IO.puts("#{iterations} iterations on #{count} points in #{div(microseconds, 1000)} ms")
  end

  # Points around as many places as there are clusters, at a distance of 1 in each dimension.
  defp points(count) do
    places = Compute.buffer_zeros({@clusters, @dimensions}, :f32)
    labels = Compute.buffer_zeros({count}, :s32)
    noise = Compute.buffer_zeros({count, @dimensions}, :f32)
    points = Compute.buffer_zeros({count, @dimensions}, :f32)
    :ok = Compute.run_kernel(:random_uniform, [], places, %{seed: 3, min: -10, max: 10})
    :ok = Compute.run_kernel(:random_integer, [], labels, %{seed: 4, max: @clusters - 1})
    :ok = Compute.run_kernel(:random_normal, [], noise, %{seed: 5})
    :ok = Compute.run_kernel(:take, [places, labels], points, %{axis: 0})
    :ok = Compute.run_kernel(:elementwise_add, [points, noise], points)
    points
  end

  defp iteration(points, centres, best, count) do
    zeros = Compute.buffer_zeros({@clusters, @dimensions}, :f32)
    least = Compute.buffer([1.0], {1})
    squares = Pipeline.temporary({@clusters, @dimensions})
    norms = Pipeline.temporary({@clusters})
    halves = Pipeline.temporary({@clusters})
    scores = Pipeline.temporary({count, @clusters})
    nearest = Pipeline.temporary({count, 1}, :s32)
    highest = Pipeline.temporary({count})
    sums = Pipeline.temporary({@clusters, @dimensions})
    counts = Pipeline.temporary({@clusters}, :u32)
    column = Pipeline.temporary({@clusters, 1}, :u32)
    sizes = Pipeline.temporary({@clusters, 1})
    divisors = Pipeline.temporary({@clusters, 1})

    Pipeline.new()
    |> Pipeline.run_kernel(:elementwise_mul, [centres, centres], squares)
    |> Pipeline.run_kernel(:reduce_sum, [squares], norms, axis: 1)
    |> Pipeline.run_kernel(:scalar_mul, [norms], halves, scalar: -0.5)
    |> Pipeline.run_kernel(:matmul, [points, centres, halves], scores, transpose_b: true)
    |> Pipeline.run_kernel(:argmax, [scores], nearest, axis: 1)
    |> Pipeline.run_kernel(:reduce_max, [scores], highest, axis: 1)
    |> Pipeline.run_kernel(:reduce_mean, [highest], best)
    |> Pipeline.run_kernel(:scatter_add, [zeros, nearest, points], sums)
    |> Pipeline.run_kernel(:bincount, [nearest], counts)
    |> Pipeline.run_kernel(:reshape, [counts], column)
    |> Pipeline.run_kernel(:cast, [column], sizes)
    |> Pipeline.run_kernel(:elementwise_max, [sizes, least], divisors)
    |> Pipeline.run_kernel(:elementwise_div, [sums, divisors], centres)
  end

  defp mean(buffer) do
    result = Compute.buffer_zeros({}, :f32)
    :ok = Compute.run_kernel(:reduce_mean, [buffer], result)
    [mean] = Compute.read_list(result)
    mean
  end
end

case System.argv() do
  [count, iterations] -> KMeans.run(String.to_integer(count), String.to_integer(iterations))
  [] -> KMeans.run(1_000_000, 10)
end
