# Prints the nanoseconds that the first prediction of one model takes in this VM, those of the
# second, and the peak of the memory; see models.exs.

alias Dala.Gpu.Compute

shape =
  System.fetch_env!("DALA_BENCH_DIMS")
  |> String.split("x")
  |> Enum.map(&String.to_integer/1)
  |> List.to_tuple()

# Some models leave the size of pictures open, and get ready for one when they are told.
{:ok, model} = Dala.ML.Gpu.load_model(System.fetch_env!("DALA_BENCH_MODEL"), shapes: shape)
input = Compute.buffer_zeros(shape, :f32)

predict = fn ->
  start = System.monotonic_time(:nanosecond)
  {:ok, output} = Dala.ML.Gpu.predict(model, input)
  time = System.monotonic_time(:nanosecond) - start
  # What callers keep of their results is theirs.
  for buffer <- List.wrap(if(is_struct(output), do: output, else: Map.values(output))),
      do: Compute.free(buffer)

  time
end

IO.puts("#{predict.()} #{predict.()} #{Compute.memory_info().peak}")
