# Prints the nanoseconds that the first call of one kernel takes in this VM; see first_call.exs.

alias Dala.Gpu.Compute

name = System.fetch_env!("DALA_BENCH_KERNEL")
kernel = Enum.find(Compute.kernels(), &(&1.name == name))
params = for %{required: true} = param <- kernel.params, into: %{}, do: {param.name, 1}
input_type = if :f32 in kernel.dtypes, do: :f32, else: hd(kernel.dtypes)

# One element everywhere satisfies every shape rule, given the right rank; a call that is refused
# has compiled nothing.
candidates =
  for shape <- [{1, 1}, {1, 1, 1, 1}, {1, 1, 4}, {1, 1, 3}],
      output_shape <- [shape, {1}],
      output_type <- [input_type, :s64, :u8] do
    inputs = for _input <- 1..kernel.inputs//1, do: Compute.buffer_zeros(shape, input_type)
    {inputs, Compute.buffer_zeros(output_shape, output_type)}
  end

time =
  Enum.find_value(candidates, fn {inputs, output} ->
    start = System.monotonic_time(:nanosecond)

    if Compute.run_kernel(name, inputs, output, params) == :ok do
      System.monotonic_time(:nanosecond) - start
    end
  end)

# Some want shapes that fit each other.
IO.puts(time || "none")
