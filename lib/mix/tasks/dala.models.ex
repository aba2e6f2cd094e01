defmodule Mix.Tasks.Dala.Models do
  @shortdoc "Lists, installs and removes models"

  @moduledoc """
  Installs the models that `Dala.ML.Gpu.load_model/2` loads by name.

      $ mix dala.models list
      $ mix dala.models install blazeface
      $ mix dala.models install all
      $ mix dala.models info posenet
      $ mix dala.models remove posenet
      $ mix dala.models import mobilenetv2-12.onnx --as mobilenet_v2

  The licence of each model is shown before it is installed. `all` skips models whose licence must
  be accepted, unless `--accept-licence` is given.

  Options:

    * `--models-dir DIR` - the models directory; by default the first that `load_model/2` searches,
      see `Dala.ML.Models`
    * `--accept-licence` - accept a licence that requires more than attribution
    * `--source URL --sha256 HEX` - another source: the `https:` or `file:` URL of an `.onnx` or
      `.tflite` file, or of a `.tar.gz` archive with such a file or a TF.js model
    * `--force` - reinstall an installed model
    * `--as NAME` - the name of an imported model

  The exit status is 1 on failure.
  """

  use Mix.Task

  alias Dala.Gpu.Compute.Bytes
  alias Dala.ML.Gpu
  alias Dala.ML.Models
  alias Dala.ML.Models.{Display, Location}

  @switches [
    models_dir: :string,
    accept_licence: :boolean,
    source: :string,
    sha256: :string,
    force: :boolean,
    as: :string
  ]

  @impl true
  @spec run([String.t()]) :: :ok
  def run(args) do
    Mix.Task.run("app.config")

    case OptionParser.parse(args, strict: @switches) do
      {opts, words, []} -> command(words, opts)
      {_opts, _words, [{switch, _value} | _]} -> Mix.raise("unknown option #{switch}#{help()}")
    end
  end

  defp command([], opts), do: command(["list"], opts)

  defp command(["list"], opts) do
    opts = options!(opts, [])
    models = Models.list(opts)

    rows =
      for model <- models do
        [
          to_string(model.name),
          to_string(model.task),
          input(model),
          Bytes.format(model.download_bytes),
          if(model.bytes, do: Bytes.format(model.bytes), else: "-"),
          model.licence.name,
          state(model)
        ]
      end

    say(Display.table([~w(name task input download size licence installed) | rows]))
    say("\nFolder: #{folder(opts)}")
  end

  defp command(["info", name], opts) do
    opts = options!(opts, [])
    model = Models.info(known!(name), opts)

    say("""
    #{model.name}: #{model.about}
      for        Dala.ML.#{model.task}/3
      input      #{input(model)}
      source     #{model.source}
      download   #{Bytes.format(model.download_bytes)}#{installed_size(model)}
      licence    #{model.licence.name}. #{model.licence.text}
      installed  #{state(model)}\
    """)

    for {file, problem} <- Models.damaged(model.name, opts),
        do: say("  damaged    #{file}: #{problem}; install it again with --force")

    :ok
  end

  defp command(["install", "all"], opts) do
    opts = options!(opts, [:accept_licence, :force])
    {now, later} = Enum.split_with(Models.list(), &(&1.licence.free? or opts[:accept_licence]))
    results = for model <- now, do: {model.name, try_install(model, opts)}

    for model <- later do
      say("\n#{model.name} is skipped: #{model.licence.text}")
      say("  mix dala.models install #{model.name} --accept-licence")
    end

    case for {name, {:error, _error}} <- results, do: name do
      [] -> :ok
      failed -> Mix.raise("not installed: #{Enum.join(failed, ", ")}")
    end
  end

  defp command(["install", name], opts) do
    opts = options!(opts, [:accept_licence, :force, :source, :sha256])

    case name
         |> known!()
         |> Models.info(Keyword.take(opts, [:models_dir]))
         |> try_install(opts) do
      {:ok, _folder} -> :ok
      {:error, _said} -> Mix.raise("not installed: #{name}")
    end
  end

  defp command(["import", path], opts) do
    name = opts[:as] || Mix.raise("import requires --as NAME, one of #{names()}")
    opts = options!(Keyword.delete(opts, :as), [])

    case Models.import_file(path, known!(name), opts) do
      {:ok, folder} ->
        say("installed #{path} as #{name} in #{folder}#{overruled(name, folder, opts)}")

      {:error, error} ->
        Mix.raise(Exception.message(error))
    end
  end

  defp command(["remove", name], opts) do
    opts = options!(opts, [])

    case Models.remove(known!(name), opts) do
      {:ok, :removed} -> say("#{name} is removed")
      {:ok, :not_installed} -> say("#{name} is not installed in #{folder(opts)}")
      {:error, error} -> Mix.raise(Exception.message(error))
    end
  end

  defp command(words, _opts), do: Mix.raise("unknown command: #{Enum.join(words, " ")}#{help()}")

  defp help do
    "; mix dala.models list | install NAME | install all | info NAME | remove NAME | " <>
      "import PATH --as NAME"
  end

  defp try_install(model, opts) do
    say("\n#{model.name}: #{model.about}")

    if opts[:source],
      do: say("  licence: see #{opts[:source]}"),
      else: say("  licence: #{model.licence.name}. #{model.licence.text}")

    display = Display.start()
    result = Models.install(model.name, [report: &Display.event(display, &1)] ++ opts)
    Display.stop(display)

    case result do
      {:ok, folder} ->
        say("  installed in #{folder}#{overruled(model.name, folder, opts)}")

      {:error, error} ->
        Mix.shell().error("  " <> Exception.message(error) <> way_out(model, error))
    end

    result
  end

  defp way_out(model, %{reason: :download_failed}) do
    "\n  If you have the file: mix dala.models import PATH --as #{model.name}"
  end

  defp way_out(_model, _error), do: ""

  # A file that was put there by hand takes precedence.
  defp overruled(name, folder, opts) do
    case Location.find(:"#{name}", opts[:models_dir]) do
      {:ok, path} ->
        if Path.dirname(path) == folder, do: "", else: "; but #{path} takes precedence"

      {:error, _error} ->
        ""
    end
  end

  defp options!(opts, allowed) do
    case Keyword.keys(opts) -- [:models_dir | allowed] do
      [] ->
        opts

      [key | _] ->
        Mix.raise(
          "--#{key |> to_string() |> String.replace("_", "-")} does not apply here#{help()}"
        )
    end
  end

  defp known!(name) do
    if name in Enum.map(Gpu.available_models(), &to_string/1),
      do: name,
      else: Mix.raise("unknown model #{name}; the models are #{names()}")
  end

  defp names, do: Enum.join(Gpu.available_models(), ", ")

  defp folder(opts), do: Location.first_folder!(opts[:models_dir])

  defp input(%{input: {width, height}}), do: "#{width}x#{height} RGB"

  defp installed_size(%{bytes: nil}), do: ""
  defp installed_size(%{bytes: bytes}), do: ", #{Bytes.format(bytes)} installed"

  defp state(%{installed: nil}), do: "no"
  defp state(%{installed: %{by_hand?: true, path: path}}), do: "by hand: #{path}"
  defp state(%{installed: %{source: source}}), do: "yes, from #{source}"

  defp say(text), do: Mix.shell().info(text)
end
