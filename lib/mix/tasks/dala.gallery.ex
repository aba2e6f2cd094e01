defmodule Mix.Tasks.Dala.Gallery do
  @shortdoc "Writes a page that shows every filter"

  @moduledoc """
  Applies every filter to an image and writes a page that shows each result next to the original.

      $ mix dala.gallery
      $ mix dala.gallery --picture photo.jpg --out gallery

  Options:

    * `--out DIR` - the output directory, `_build/gallery` by default
    * `--picture FILE` - an image file to use instead of the test scene
    * `--thumbnails DIR` - also write a small JPEG of each result to this directory
  """

  use Mix.Task

  alias Dala.Gpu.Compute.{Buffer, Error}
  alias Dala.Media.{Gpu, Image, Lut, TestScene}

  @width 720
  @height 480

  @impl true
  def run(args) do
    Mix.Task.run("app.start")

    {opts, rest} =
      OptionParser.parse!(args, strict: [out: :string, picture: :string, thumbnails: :string])

    if rest != [],
      do: Mix.raise("mix dala.gallery takes options only, got: #{Enum.join(rest, " ")}")

    out = opts[:out] || Path.join("_build", "gallery")
    File.mkdir_p!(out)
    picture = picture(opts[:picture])
    write!(picture, Path.join(out, "original.png"))

    shown =
      for {name, filters, before} <- examples(picture) do
        {time, result} = :timer.tc(fn -> apply_all(before, filters) end)
        write!(result, Path.join(out, "#{name}.png"))
        thumbnail(result, name, opts[:thumbnails])
        Mix.shell().info("#{String.pad_trailing(to_string(name), 16)} #{describe(filters)}")
        {name, filters, before != picture && before, time}
      end

    for {name, _filters, %Image{} = before, _time} <- shown do
      write!(before, Path.join(out, "#{name}-before.png"))
    end

    thumbnail(picture, :original, opts[:thumbnails])
    page = Path.join(out, "index.html")
    File.write!(page, page(shown, picture))
    Mix.shell().info("\n#{length(shown)} filters, see #{Path.expand(page)}")
  end

  defp picture(nil), do: Image.new(@width, @height, TestScene.frame(@width, @height, time: 2.0))

  defp picture(path) do
    case Image.read(path) do
      {:ok, image} -> image
      {:error, error} -> Mix.raise(Exception.message(error))
    end
  end

  # Every filter with parameters that show its effect, and its input image.
  defp examples(picture) do
    %{width: width, height: height} = picture
    screen = Image.new(width, height, TestScene.frame(width, height, time: 2.0, screen: true))
    small = apply_all(picture, [{:resize, %{width: div(width, 3), height: div(height, 3)}}])
    mirrored = apply_all(picture, [{:flip, %{direction: :horizontal}}])

    plain = [
      blur: %{radius: 8, sigma: 4.0},
      sharpen: %{amount: 2.0},
      denoise: %{strength: 1.0},
      beauty: %{strength: 1.0},
      grayscale: %{},
      sepia: %{intensity: 0.8},
      vignette: %{intensity: 0.8},
      lut: %{table: evening()},
      brightness: %{value: 0.2},
      contrast: %{value: 0.4},
      saturation: %{value: 0.8},
      white_balance: %{temperature: 4000},
      hdr: %{exposure: 1.6},
      edge_detect: %{},
      overlay: %{image: small, x: 24, y: 24, alpha: 0.9},
      blend: %{image: mirrored, alpha: 0.5},
      resize: %{width: div(width, 8), height: div(height, 8), mode: :bilinear},
      crop: %{x: div(width, 2), y: div(height, 4), width: div(width, 2), height: div(height, 2)},
      flip: %{direction: :horizontal},
      rotate: %{angle: 20},
      threshold: %{level: 0.5},
      erode: %{radius: 3},
      dilate: %{radius: 3},
      open: %{radius: 4},
      close: %{radius: 4},
      affine: %{matrix: {0.9, 0.25, -0.1 * width, -0.1, 0.9, 0.1 * height}},
      perspective: %{to: leaning(width, height), from: corners(width, height)}
    ]

    # Filters that correct a flaw, each after a filter that introduces it.
    dull = apply_all(picture, [{:contrast, %{value: -0.6}}, {:brightness, %{value: -0.15}}])
    warm = apply_all(picture, [{:white_balance, %{temperature: 12_000}}])

    corrected =
      for {name, params, before} <- [
            {:auto_levels, %{}, dull},
            {:auto_white_balance, %{}, warm},
            {:equalize, %{}, dull},
            {:clahe, %{clip_limit: 3.0}, dull}
          ],
          do: {name, [{name, params}], before}

    keyed = {:chroma_key, [{:chroma_key, %{color: {0, 200, 50}, threshold: 0.3}}], screen}
    plain = for {name, params} <- plain, do: {name, [{name, params}], picture}
    plain ++ corrected ++ [keyed] ++ by_model()
  end

  defp corners(width, height), do: [{0, 0}, {width, 0}, {width, height}, {0, height}]

  # Perspective, as of a picture on a wall that one passes.
  defp leaning(width, height) do
    for {x, y} <- [{0.1, 0.05}, {0.9, 0.25}, {0.9, 0.75}, {0.1, 0.95}],
        do: {x * width, y * height}
  end

  # The filters that segment a person, if their model is installed.
  defp by_model do
    with {:ok, _path} <- Dala.ML.Models.Location.find(:deeplab, nil),
         {:ok, portrait} <- Image.read("examples/pictures/astronaut.jpg") do
      for {name, params} <- [segmentation: %{style: :highlight}, background_replace: %{blur: 12}],
          do: {name, [{name, params}], portrait}
    else
      _none ->
        Mix.shell().info("segmentation and background_replace: mix dala.models install deeplab")
        []
    end
  end

  # A lookup table that shifts shadows to blue and highlights to orange.
  defp evening do
    last = 16

    entries =
      for b <- 0..last, g <- 0..last, r <- 0..last do
        luma = (0.299 * r + 0.587 * g + 0.114 * b) / last
        red = 0.85 * r / last + 0.2 * luma * luma
        green = 0.9 * g / last + 0.06 * luma
        blue = 0.8 * b / last + 0.16 * (1 - luma)
        "#{red} #{green} #{blue}\n"
      end

    Error.value!(Lut.parse("LUT_3D_SIZE #{last + 1}\n#{entries}"))
  end

  defp apply_all(%Image{} = image, filters) do
    {size, chain} =
      Enum.reduce(filters, {{image.width, image.height}, image.data}, fn
        {name, params}, {{width, height}, data} ->
          {size(name, params, {width, height}),
           Gpu.apply_filter(data, width, height, name, params)}
      end)

    {width, height} = size
    Image.new(width, height, chain)
  end

  defp size(name, %{width: width, height: height}, _size) when name in [:resize, :crop],
    do: {width, height}

  defp size(_name, _params, size), do: size

  defp thumbnail(_image, _name, nil), do: :ok

  defp thumbnail(image, name, folder) do
    File.mkdir_p!(folder)
    height = 160
    width = max(1, round(height * image.width / image.height))

    small =
      apply_all(over_checks(image), [{:resize, %{width: width, height: height, mode: :area}}])

    write!(small, Path.join(folder, "#{name}.jpg"), quality: 80)
  end

  # JPEG has no alpha, so transparency is shown as a checkerboard.
  defp over_checks(%Image{width: width, height: height} = image) do
    checks =
      for y <- 0..(height - 1), x <- 0..(width - 1), into: <<>> do
        shade = if rem(div(x, 24) + div(y, 24), 2) == 0, do: 210, else: 245
        <<shade, shade, shade, 255>>
      end

    Image.new(
      width,
      height,
      Gpu.apply_filter(checks, width, height, :overlay, %{image: image, x: 0, y: 0, alpha: 1.0})
    )
  end

  defp write!(image, path, opts \\ []) do
    with {:error, error} <- Image.write(image, path, opts),
         do: Mix.raise(Exception.message(error))
  end

  defp describe(filters) do
    Enum.map_join(filters, ", ", fn {name, params} ->
      "#{inspect(name)} " <>
        Enum.map_join(params, ", ", fn {key, value} -> "#{key}: #{show(value)}" end)
    end)
  end

  defp show(%Image{}), do: "a picture"
  defp show(%Lut{}), do: "a table"
  defp show(%Buffer{}), do: "a buffer"
  defp show(value), do: inspect(value)

  defp page(shown, picture) do
    rows =
      for {name, filters, before, _time} <- shown do
        original = if before, do: "#{name}-before.png", else: "original.png"

        """
        <section>
          <h2>#{name}</h2>
          <p><code>#{escape(describe(filters))}</code></p>
          <div><img src="#{original}" alt="before"><img src="#{name}.png" alt="#{name}"></div>
        </section>
        """
      end

    """
    <!DOCTYPE html>
    <html lang="en">
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>Dala GPU: filters</title>
    <style>
      body { font: 16px/1.4 system-ui, sans-serif; margin: 2rem auto; max-width: 74rem; padding: 0 1rem;
             color: #222; background: #fafafa; }
      h2 { margin: 2rem 0 0; font-size: 1.1rem; }
      p { margin: .2rem 0 .6rem; color: #666; }
      div { display: flex; gap: .6rem; align-items: flex-start; }
      img { width: calc(50% - .3rem); border-radius: 4px;
            background: repeating-conic-gradient(#ddd 0 25%, #fff 0 50%) 0 0 / 24px 24px; }
    </style>
    <h1>Filters of Dala GPU</h1>
    <p>Left: the original (#{picture.width} by #{picture.height}). Right: the result.</p>
    #{rows}
    </html>
    """
  end

  defp escape(text) do
    text
    |> String.replace("&", "&amp;")
    |> String.replace("<", "&lt;")
    |> String.replace(">", "&gt;")
  end
end
