defmodule Bench.Models do
  # The first prediction of a model in a fresh VM, whose kernels were compiled before, and the most
  # memory that a VM needed to load the model and predict. A quick run looks at one model.

  alias Bench.Line

  @native Path.expand("../../_build/bench/dala_bench", __DIR__)
  @limit_ms 100
  # A model that is slow at any time says nothing about the first.
  @slow_ms 50

  def family, do: "model"

  def workloads(options) do
    [{"first prediction", fn -> first(options) end}, {"memory", fn -> memory(options) end}]
  end

  defp first(options) do
    for model <- models(options), run(model).later < @slow_ms * 1.0e6 do
      first = Line.median(for _vm <- 1..3, do: run(model).first)

      %Line{
        name: model.name,
        peer: "#{@limit_ms} ms",
        ours: first,
        theirs: @limit_ms * 1.0e6,
        ratio: first / (@limit_ms * 1.0e6),
        at_most: 1.0
      }
    end
  end

  # The weights, and twice what the largest layer reads and writes.
  defp memory(options) do
    for model <- models(options) do
      peak = run(model).peak
      limit = model.weights + 2 * model.layer

      %Line{
        name: model.name,
        peer: "limit",
        ours: peak,
        theirs: limit,
        ratio: peak / limit,
        at_most: 1.0,
        unit: :bytes
      }
    end
  end

  defp models(options) do
    {output, 0} = System.cmd(@native, ["--write-models"])

    models =
      for line <- String.split(output, "\n", trim: true) do
        [name, path, dims, weights, layer] = String.split(line, "\t")
        [weights, layer] = Enum.map([weights, layer], &String.to_integer/1)
        %{name: name, path: path, dims: dims, weights: weights, layer: layer}
      end

    if options.quick, do: Enum.take(models, 1), else: models
  end

  defp run(model) do
    ebin = Path.join(Mix.Project.app_path(), "ebin")
    args = ["-pa", ebin, "-e", "Code.require_file(#{inspect(__DIR__ <> "/models_vm.exs")})"]
    env = [{"DALA_BENCH_MODEL", model.path}, {"DALA_BENCH_DIMS", model.dims}]
    {output, 0} = System.cmd("elixir", args, env: env)
    numbers = output |> String.split("\n", trim: true) |> List.last() |> String.split()
    [first, later, peak] = Enum.map(numbers, &String.to_integer/1)
    %{first: first, later: later, peak: peak}
  end
end
