defmodule Mix.Tasks.Dala.Warmup do
  @shortdoc "Compiles the kernels of Dala GPU ahead of time"

  @moduledoc """
  Compiles built-in kernels ahead of time and keeps them on disk.

      $ mix dala.warmup
      $ mix dala.warmup f32 u8
      $ mix dala.warmup --only blur,resize u8

  The arguments are the element types to prepare; without any, all of them. While it runs, the task
  tells how much time is left. On a driver that compiles slowly (PoCL), all kernels take minutes,
  once. Your application is not started.

  ## What an application uses

      $ mix dala.warmup --record kernels.txt script.exs
      $ mix dala.warmup --only kernels.txt

  The first command starts your application, runs the script as `mix run` does, and writes the names
  of the kernels that ran until the script ended. The second one, say in a Dockerfile, compiles only
  these. Kernels that are made for a pipeline or a model are not among them; they are compiled, and
  kept on disk, when it is first used.

  ## Options

    * `--only NAMES` - the kernels to prepare: comma-separated names, or a file with one name per
      line; all of them by default
    * `--record FILE` - run the script that the arguments name, and write the names of the kernels
      that it used to the file
  """

  use Mix.Task

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Buffer, Kernel, Warmup}

  @bar 30
  # The times of the first kernels do not predict those of the others.
  @first_steps 5

  @impl true
  @spec run([String.t()]) :: :ok
  def run(args) do
    {opts, args} = OptionParser.parse_head!(args, strict: [only: :string, record: :string])

    case {opts[:record], opts[:only]} do
      {nil, only} -> warm_up(args, only && names!(only))
      {file, nil} -> record(file, args)
      {_file, _only} -> Mix.raise("--record and --only do not go together")
    end
  end

  defp warm_up(args, only) do
    dtypes = for arg <- args, do: dtype!(arg)
    # Starts the library with the project's configuration, but not the project's application.
    Mix.Task.run("app.config")
    {:ok, _started} = Application.ensure_all_started(:dala_gpu)
    opts = if dtypes == [], do: [], else: [dtypes: dtypes]
    opts = if only, do: [only: only] ++ opts, else: opts
    started = now()

    case Compute.warmup([progress: &show(&1, started)] ++ opts) do
      :ok ->
        IO.puts("\r" <> String.pad_trailing("#{bar(1, 1)} the kernels are ready", 78))
        Mix.shell().info("It took #{duration(now() - started)}.")

      {:error, error} ->
        IO.puts("")
        Mix.raise(Exception.message(error))
    end
  end

  defp record(_file, []), do: Mix.raise("--record needs a script to run")

  defp record(file, [_script | _] = args) do
    Mix.Task.run("app.start")
    {_result, names} = Warmup.record(fn -> Mix.Task.run("run", args) end)
    File.write!(file, Enum.map(names, &[&1, "\n"]))
    all = Enum.count(Kernel.list(), &(not &1.custom))
    Mix.shell().info("#{length(names)} of #{all} kernels were used; their names are in #{file}")
  end

  defp names!(only) do
    text = if File.regular?(only), do: File.read!(only), else: only
    String.split(text, [",", "\n", " "], trim: true)
  end

  defp dtype!(arg) do
    known = Map.new(Buffer.dtypes(), &{Atom.to_string(&1), &1})

    Map.get(known, arg) ||
      Mix.raise(
        "expected an element type, one of #{Enum.join(Buffer.dtypes(), ", ")}, got: #{arg}"
      )
  end

  defp show({0, total, _kernel, _dtype} = step, started) do
    IO.puts("#{total} kernels for #{Compute.device_info().name}")
    line(step, started)
  end

  defp show(step, started), do: line(step, started)

  defp line({done, total, kernel, dtype}, started) do
    text = "#{bar(done, total)} #{done}/#{total}#{left(done, total, started)} #{kernel} #{dtype}"
    IO.write("\r" <> String.pad_trailing(text, 78))
  end

  # The remaining time, extrapolated from the kernels done.
  defp left(done, _total, _started) when done < @first_steps, do: ""

  defp left(done, total, started),
    do: ", about #{duration((now() - started) * (total - done) / done)} left,"

  defp now, do: System.monotonic_time(:millisecond)

  defp duration(ms) when ms < 1000, do: "#{round(ms)} ms"
  defp duration(ms) when ms < 100_000, do: "#{round(ms / 1000)} s"
  defp duration(ms), do: "#{round(ms / 60_000)} min"

  defp bar(done, total) do
    full = div(done * @bar, total)
    "[" <> String.duplicate("#", full) <> String.duplicate(".", @bar - full) <> "]"
  end
end
