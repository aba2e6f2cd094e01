# `make bench`: runs the native workloads and those of the VM, prints one line each, keeps the
# results, and ends with 1 when a target was missed.
#
#   mix run bench/run.exs [--quick] [--only <part of a name>]
#
# A whole run (neither option) also renews bench/results, which the README shows.

for file <-
      ~w(line json chart report beam/call_cost beam/first_call beam/frames beam/models beam/nx) ++
        ~w(beam/pipeline) do
  Code.require_file("#{file}.exs", __DIR__)
end

defmodule Bench.Run do
  alias Bench.{CallCost, FirstCall, Frames, Line, Models, Pipeline, Report}
  alias Bench.Nx, as: NxWork

  @results Path.expand("results", __DIR__)
  @native Path.expand("../_build/bench/dala_bench", __DIR__)

  def main(args) do
    {options, [], []} = OptionParser.parse(args, strict: [quick: :boolean, only: :string])
    options = Map.new(Keyword.validate!(options, quick: false, only: ""))
    IO.puts(Report.heading(options))

    lines =
      native(options, []) ++
        placement(options) ++
        Enum.flat_map([CallCost, Pipeline, Frames, FirstCall, NxWork, Models], &beam(&1, options))

    if lines == [], do: raise("no workload has #{inspect(options.only)} in its name")
    IO.puts(Report.summary(lines))
    File.mkdir_p!("_build/bench")
    File.write!("_build/bench/results.json", Report.json(lines, options))

    if not options.quick and options.only == "" do
      File.mkdir_p!(@results)
      File.write!(Path.join(@results, "results.json"), Report.json(lines, options))
      File.write!(Path.join(@results, "chart.svg"), Report.chart(lines))
      File.write!(Path.join(@results, "summary.svg"), Report.summary_chart(lines))
    end

    if Enum.all?(lines, &Line.good?/1), do: :ok, else: System.halt(1)
  end

  defp native(options, env) do
    args = if(options.quick, do: ["--quick"], else: []) ++ ["--only", options.only]

    port =
      Port.open({:spawn_executable, @native}, [
        :binary,
        :exit_status,
        line: 1000,
        args: args,
        env: env
      ])

    native_lines(port, options, [])
  end

  defp native_lines(port, options, lines) do
    receive do
      {^port, {:data, {:eol, text}}} ->
        line = Line.parse(text)
        IO.puts(Line.format(line, options))
        native_lines(port, options, [line | lines])

      {^port, {:exit_status, 0}} ->
        Enum.reverse(lines)

      {^port, {:exit_status, status}} ->
        raise "dala_bench ended with #{status}"
    end
  end

  # What it brings that every thread of the device has a CPU of its own: the same workloads with
  # and without. There is no target; placement helps small kernels most.
  defp placement(%{only: only}) when only not in ["", "placement"], do: []

  defp placement(options) do
    for name <- ["matmul f32 128x128x128", "elementwise add u8 16M"] do
      [pinned, free] =
        for pin <- ['1', '0'] do
          times =
            for _round <- 1..if(options.quick, do: 1, else: 3) do
              [line] = quiet(%{options | only: name}, [{'DALA_GPU_PIN_THREADS', pin}])
              line.ours
            end

          Line.median(times)
        end

      line = %Line{
        family: "placement",
        name: name,
        peer: "unpinned",
        ours: pinned,
        theirs: free,
        ratio: free / pinned
      }

      IO.puts(Line.format(line, options))
      line
    end
  end

  defp quiet(options, env) do
    args = if(options.quick, do: ["--quick"], else: []) ++ ["--only", options.only]
    {output, 0} = System.cmd(@native, args, env: for({k, v} <- env, do: {"#{k}", "#{v}"}))
    for text <- String.split(output, "\n", trim: true), do: Line.parse(text)
  end

  defp beam(module, options) do
    for {name, measure} <- module.workloads(options),
        "#{module.family()} #{name}" =~ options.only,
        line <- measure.() do
      # A measurement of several things says of what each line is.
      name = if line.name, do: "#{name} #{line.name}", else: name
      line = %{line | family: module.family(), name: name}
      IO.puts(Line.format(line, options))
      line
    end
  end
end

Bench.Run.main(System.argv())
