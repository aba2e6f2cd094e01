# From a photo to results: installs the freely licensed models, runs each on an image, prints what
# it found and how long it took, and writes the annotated image.
#
#     make demo-ml                        # on the images in examples/pictures
#     make demo-ml PICTURE=photo.jpg      # on your own
#
# mix run examples/photo.exs [--picture FILE] [--out DIR] [--thumbnails DIR]

defmodule Photo do
  alias Dala.Gpu.Compute.Bytes
  alias Dala.Media.Image
  alias Dala.ML
  alias Dala.ML.{Annotation, Models}
  alias Dala.ML.Models.Display

  @pictures Path.join(__DIR__, "pictures")

  def run(args) do
    {opts, []} =
      OptionParser.parse!(args, strict: [picture: :string, out: :string, thumbnails: :string])

    out = opts[:out] || Path.join("_build", "demo-ml")
    File.mkdir_p!(out)
    models = for model <- Models.list(), install(model), do: model

    for model <- models do
      title("#{model.name}: #{model.about}")
      picture = read!(opts[:picture] || default(model.task))
      {:ok, loaded} = timed("load", fn -> ML.Gpu.load_model(model.name) end)
      {:ok, _first} = timed("first result", fn -> apply(ML, model.task, [loaded, picture]) end)
      {:ok, result} = median("result", fn -> apply(ML, model.task, [loaded, picture]) end)
      show(model.task, result)
      write(Annotation.draw(picture, result), model.task, out, opts[:thumbnails])
      if model.task == :segment, do: replace_background(picture, out, opts[:thumbnails])
      ML.Gpu.free_model(loaded)
    end

    title("Annotated images")
    say(Path.expand(out))
  end

  # Models are installed once. One whose licence must be accepted is used only if it is installed.
  defp install(%{installed: %{}}), do: true

  defp install(%{licence: %{free?: false}} = model) do
    title("#{model.name} is skipped")
    say(model.licence.text)
    say("To include it: mix dala.models install #{model.name} --accept-licence")
    false
  end

  defp install(model) do
    title("Installing #{model.name} (#{Bytes.format(model.download_bytes)})")
    say("#{model.licence.name}: #{model.licence.text}")
    display = Display.start()
    result = Models.install(model.name, report: &Display.event(display, &1))
    Display.stop(display)

    case result do
      {:ok, folder} ->
        say("in #{folder}")
        true

      {:error, error} ->
        say(Exception.message(error))
        say("If you have the file: mix dala.models import PATH --as #{model.name}")
        false
    end
  end

  defp default(:classify), do: Path.join(@pictures, "cat.jpg")
  defp default(_task), do: Path.join(@pictures, "astronaut.jpg")

  defp read!(path) do
    case Image.read(path) do
      {:ok, image} -> image
      {:error, error} -> Mix.raise(Exception.message(error))
    end
  end

  defp show(:classify, classes) do
    for class <- classes, do: say("#{percent(class.score)} #{class.label}")
  end

  defp show(task, []) when task in [:detect, :faces], do: say("nothing found")

  defp show(task, found) when task in [:detect, :faces] do
    for thing <- found, do: say("#{percent(thing.score)} #{thing.label} at #{box(thing.box)}")
  end

  defp show(:pose, pose) do
    for point <- pose.keypoints, point.score >= 0.5 do
      say("#{percent(point.score)} #{point.name} at #{round(point.x)}, #{round(point.y)}")
    end
  end

  defp show(:segment, segmentation) do
    for area <- segmentation.areas, area.share >= 0.001 do
      say("#{percent(area.share)} #{area.label}")
    end
  end

  defp replace_background(picture, out, thumbnails) do
    %{data: data, width: width, height: height} = picture

    for {name, params} <- [blurred: %{blur: 12}, replaced: %{color: {40, 120, 200}}] do
      filtered =
        median("background_replace #{inspect(params)}", fn ->
          Dala.Media.Gpu.apply_filter(data, width, height, :background_replace, params)
        end)

      write(Image.new(width, height, filtered), name, out, thumbnails)
    end
  end

  defp write(image, name, out, thumbnails) do
    path = Path.join(out, "#{name}.png")
    :ok = Image.write(image, path)
    say("written: #{path}")

    if thumbnails do
      File.mkdir_p!(thumbnails)
      :ok = Image.write(small(image), Path.join(thumbnails, "#{name}.jpg"), quality: 85)
    end
  end

  defp small(%{width: width, height: height} = image) do
    {w, h} = {round(300 * width / height), 300}
    params = %{width: w, height: h, mode: :area}
    Image.new(w, h, Dala.Media.Gpu.apply_filter(image.data, width, height, :resize, params))
  end

  defp timed(what, function) do
    {time, result} = :timer.tc(function)
    say("#{what}: #{ms(time)}")
    result
  end

  defp median(what, function) do
    runs = for _ <- 1..5, do: :timer.tc(function)
    {time, result} = runs |> Enum.sort_by(&elem(&1, 0)) |> Enum.at(2)
    say("#{what}: #{ms(time)}")
    result
  end

  defp ms(micros), do: "#{Float.round(micros / 1000, 1)} ms"
  defp percent(share), do: String.pad_leading("#{round(100 * share)} %", 5)
  defp box({x, y, w, h}), do: "#{round(x)}, #{round(y)}, #{round(w)} by #{round(h)}"
  defp title(text), do: IO.puts("\n#{text}\n#{String.duplicate("-", String.length(text))}")
  defp say(text), do: IO.puts("  " <> text)
end

Photo.run(System.argv())
