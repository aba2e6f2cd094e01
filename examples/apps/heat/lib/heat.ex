defmodule Heat do
  @moduledoc """
  Two small computations on the device, and their times.
  """

  alias Heat.{Line, Plate}

  @doc "Runs both and prints what came out."
  def main do
    plate = Plate.new(512, 512, {256, 256, 1.0e6})
    # The first run compiles the kernel.
    Plate.run(plate, 2)
    {micros, plate} = :timer.tc(fn -> Plate.run(plate, 1_000) end)
    IO.puts("1,000 steps on 512 x 512 points: #{div(micros, 1000)} ms")
    IO.puts("the warmest point has #{Float.round(Plate.warmest(plate), 3)} degrees")

    points = for i <- 1..10_000, do: {i / 1_000, 3 + 0.5 * i / 1_000 + :math.sin(i)}
    {a, b} = Line.fit(points)
    IO.puts("the line through 10,000 points: y = #{Float.round(a, 3)} + #{Float.round(b, 3)} x")
  end
end

defmodule Heat.Plate do
  @moduledoc """
  The temperature of a plate. In each step a point moves towards the mean of its neighbours; no heat
  passes the edge.
  """

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Kernel, Pipeline}

  @enforce_keys [:step, :back, :now, :next]
  defstruct @enforce_keys

  @source """
  // out = in + rate * (left + right + up + down - 4 * in); beyond the edge is the edge itself.
  __kernel void heat_step(__global const float *input, __global float *output, float rate,
                          int width, int height) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    const int at = y * width + x;
    const float here = input[at];
    const float left = x > 0 ? input[at - 1] : here;
    const float right = x < width - 1 ? input[at + 1] : here;
    const float up = y > 0 ? input[at - width] : here;
    const float down = y < height - 1 ? input[at + width] : here;
    output[at] = here + rate * (left + right + up + down - 4.0f * here);
  }
  """

  @doc "A cold plate with one warm point `{x, y, degrees}`."
  def new(width, height, {x, y, degrees}) do
    :ok = Kernel.register(:heat_step, @source, inputs: 1, params: [:rate])

    cells =
      for row <- 0..(height - 1), column <- 0..(width - 1) do
        if {column, row} == {x, y}, do: degrees, else: 0.0
      end

    now = Compute.buffer(cells, {height, width})
    next = Compute.buffer_zeros({height, width})

    %__MODULE__{
      step: Pipeline.run_kernel(Pipeline.new(), :heat_step, [now], next, rate: 0.2),
      back: Pipeline.copy(Pipeline.new(), next, now),
      now: now,
      next: next
    }
  end

  @doc "Runs a number of steps."
  def run(%__MODULE__{} = plate, steps) do
    # Between two steps, the result becomes the input. After the last one it is copied there.
    :ok = Pipeline.run(plate.step, times: steps, swap: [{plate.now, plate.next}])
    :ok = Pipeline.run(plate.back)
    plate
  end

  @doc "The temperatures, row by row."
  def temperatures(%__MODULE__{now: now}), do: Compute.read_list(now)

  @doc "The highest temperature, found on the device."
  def warmest(%__MODULE__{now: now}) do
    highest = Compute.buffer_zeros({1})
    :ok = Compute.run_kernel(:reduce_max, [now], highest)
    [value] = Compute.read_list(highest)
    value
  end
end

defmodule Heat.Line do
  @moduledoc """
  The line y = a + b x with the least squares, by the normal equations: (XᵀX) [a, b] = Xᵀy.
  """

  alias Dala.Gpu.Compute

  @doc "Returns `{a, b}` for a list of points `{x, y}`."
  def fit(points) do
    n = length(points)
    # Sums of many products: doubles keep their digits.
    x = Compute.buffer(Enum.flat_map(points, fn {x, _y} -> [1.0, x] end), {n, 2}, :f64)
    y = Compute.buffer(Enum.map(points, &elem(&1, 1)), {n, 1}, :f64)

    transposed = Compute.buffer_zeros({2, n}, :f64)
    products = Compute.buffer_zeros({2, 2}, :f64)
    right = Compute.buffer_zeros({2, 1}, :f64)
    :ok = Compute.run_kernel(:transpose, [x], transposed)
    :ok = Compute.matmul(transposed, x, products)
    :ok = Compute.matmul(transposed, y, right)

    # Two unknowns are solved by hand.
    [n_sum, x_sum, _x_sum, xx_sum] = Compute.read_list(products)
    [y_sum, xy_sum] = Compute.read_list(right)
    determinant = n_sum * xx_sum - x_sum * x_sum
    a = (y_sum * xx_sum - x_sum * xy_sum) / determinant
    b = (n_sum * xy_sum - x_sum * y_sum) / determinant
    {a, b}
  end
end
