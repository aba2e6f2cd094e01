defmodule Bench.Pipeline do
  # Ten pointwise stages as one pipeline beside a single one, on 16M floats.

  alias Bench.Line
  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Buffer, Pipeline}

  @count 16 * 1024 * 1024
  @kernels [:relu, :neg, :abs, :neg, :relu, :abs, :neg, :relu, :abs, :neg]

  def family, do: "pipeline"

  def workloads(options), do: [{"10 pointwise stages f32 16M", fn -> [measure(options)] end}]

  defp measure(options) do
    input = Compute.buffer_zeros({@count}, :f32)
    output = Compute.buffer_zeros({@count}, :f32)
    one = pipeline([:relu], input, output)
    ten = pipeline(@kernels, input, output)
    for pipeline <- [one, ten], do: run(pipeline)
    rounds = if options.quick, do: 5, else: 15
    times = for _round <- 1..rounds, do: {time(ten), time(one)}
    {tens, ones} = Enum.unzip(times)

    %Line{
      peer: "one stage",
      ours: Line.median(tens),
      theirs: Line.median(ones),
      ratio: Line.median(for {ten, one} <- times, do: ten / one),
      at_most: 2.5
    }
  end

  defp pipeline(kernels, input, output) do
    {last, first} = List.pop_at(kernels, -1)

    {pipeline, from} =
      Enum.reduce(first, {Pipeline.new(), input}, fn kernel, {pipeline, from} ->
        to = intermediate()
        {Pipeline.add(pipeline, stage(kernel, from, to)), to}
      end)

    Pipeline.add(pipeline, stage(last, from, output))
  end

  defp stage(kernel, from, to), do: %{op: :run_kernel, kernel: kernel, inputs: [from], output: to}

  # Private to the pipeline where there is such a thing.
  defp intermediate do
    if function_exported?(Pipeline, :temporary, 2) do
      apply(Pipeline, :temporary, [{@count}, :f32])
    else
      Buffer.zeros({@count}, :f32)
    end
  end

  defp run(pipeline), do: :ok = Pipeline.run(pipeline)

  defp time(pipeline) do
    {microseconds, :ok} = :timer.tc(fn -> run(pipeline) end)
    microseconds * 1000
  end
end
