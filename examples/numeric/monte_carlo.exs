# The price of an option by simulation, beside the closed formula of Black and Scholes. The numbers
# of each run continue those of the run before, so the result does not depend on how many of them fit
# into memory. Run it with
#
#     mix run examples/numeric/monte_carlo.exs [millions of paths]

defmodule MonteCarlo do
  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.Kernel

  @spot 100.0
  @strike 105.0
  @rate 0.02
  @volatility 0.25
  @years 1.0
  @batch 1_048_576

  def run(batches) do
    # What the option is worth in the end, for a normal number x.
    :ok =
      Kernel.elementwise(:payoff, "fmax(spot * exp(drift + spread * x) - strike, 0)",
        params: [:spot, :strike, :drift, :spread]
      )

    params = %{
      spot: @spot,
      strike: @strike,
      drift: (@rate - @volatility * @volatility / 2) * @years,
      spread: @volatility * :math.sqrt(@years)
    }

    numbers = Compute.buffer_zeros({@batch}, :f32)
    payoffs = Compute.buffer_zeros({@batch}, :f32)
    squares = Compute.buffer_zeros({@batch}, :f32)

    {microseconds, sums} =
      :timer.tc(fn ->
        for batch <- 0..(batches - 1) do
          offset = batch * @batch
          :ok = Compute.run_kernel(:random_normal, [], numbers, %{seed: 2024, offset: offset})
          :ok = Compute.run_kernel(:payoff, [numbers], payoffs, params)
          :ok = Compute.run_kernel(:elementwise_mul, [payoffs, payoffs], squares)
          {mean(payoffs), mean(squares)}
        end
      end)

    mean = Enum.sum(Enum.map(sums, &elem(&1, 0))) / batches
    square = Enum.sum(Enum.map(sums, &elem(&1, 1))) / batches
    discount = :math.exp(-@rate * @years)
    error = discount * :math.sqrt((square - mean * mean) / (batches * @batch))
    IO.puts("#{batches * @batch} paths in #{div(microseconds, 1000)} ms")
    IO.puts("price #{Float.round(discount * mean, 4)}, give or take #{Float.round(error, 4)}")
    IO.puts("by the formula #{Float.round(formula(), 4)}")
  end

  defp mean(buffer) do
    result = Compute.buffer_zeros({}, :f32)
    :ok = Compute.run_kernel(:reduce_mean, [buffer], result)
    [mean] = Compute.read_list(result)
    mean
  end

  defp formula do
    spread = @volatility * :math.sqrt(@years)
    d1 = (:math.log(@spot / @strike) + (@rate + @volatility * @volatility / 2) * @years) / spread
    @spot * normal(d1) - @strike * :math.exp(-@rate * @years) * normal(d1 - spread)
  end

  defp normal(x), do: (1 + :math.erf(x / :math.sqrt(2))) / 2
end

case System.argv() do
  [batches] -> MonteCarlo.run(String.to_integer(batches))
  [] -> MonteCarlo.run(64)
end
