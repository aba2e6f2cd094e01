defmodule Dala.ML do
  @moduledoc """
  Vision tasks: preprocessing of images for the models of `Dala.ML.Gpu`, and decoding of their
  outputs.

      {:ok, model} = Dala.ML.Gpu.load_model("classifier.onnx")
      {:ok, image} = Dala.Media.Image.read("photo.jpg")
      {:ok, classes} = Dala.ML.classify(model, image, labels: labels)

  The steps are also available one by one: `preprocess/2` creates the input of a model, and
  `Dala.ML.Classification`, `Dala.ML.Detection`, `Dala.ML.Faces`, `Dala.ML.Pose` and
  `Dala.ML.Segmentation` decode its output. Decoders that return coordinates take the geometry of
  the preprocessing, which `geometry/2` returns.

  ## Images

  An image is one of

    * a `Dala.Media.Image`, or `{rgba, width, height}`
    * a buffer or Nx tensor of shape `{h, w, c}` or `{h, w}`, `:u8` or `:f32` (0 to 1), with 1, 3 or
      4 channels
    * a binary or flat buffer, with the option `from: {width, height}`; the number of channels
      follows from its size

  Grey images are expanded to three channels, and alpha is dropped.

  ## Batches and outputs

  A task given a list of images returns a list of results. If the batch dimension of the model's
  input is free or has that size, the model runs once for all images, otherwise once for each.

  If a model has several outputs, a task selects those with the shapes it expects. If that is
  ambiguous, the error lists them; pass `output:` to name one.

  ## Named models

  A model loaded by name needs no options: its size, normalization, labels and thresholds are known,
  see `Dala.ML.Models.Contract`. Options override them. A named model is for one task; any other
  task is the error `:unsupported`.

      {:ok, model} = Dala.ML.Gpu.load_model(:blazeface)
      {:ok, faces} = Dala.ML.faces(model, image)
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, NxBridge}
  alias Dala.Media.Image
  alias Dala.ML.{Batch, Classification, Detection, Faces, Geometry, Gpu}
  alias Dala.ML.{Output, Picture, Pose, Segmentation}

  @type picture ::
          Image.t()
          | {binary(), pos_integer(), pos_integer()}
          | Buffer.t()
          | Nx.Tensor.t()
          | binary()

  @defaults [
    size: {224, 224},
    fit: :stretch,
    normalize: :imagenet,
    layout: :nchw,
    border: 114,
    as: :buffer,
    from: nil
  ]
  @of_people [fit: :letterbox, border: 0, normalize: :signed_unit]
  @input_keys Keyword.keys(@defaults)
  @presets [:imagenet, :unit, :signed_unit, :raw, true, false]

  @doc """
  Creates the input of a model from an image: an f32 buffer of shape `{1, 3, height, width}`.

  A list of n images, which may differ in size, is one input of shape `{n, 3, height, width}`.
  Resizing, normalization and layout conversion are one pass on the device. Downscaling averages
  over the area of each pixel; upscaling is bilinear.

  ## Options

    * `:size` - `{width, height}` of the input, `{224, 224}` by default
    * `:fit` - `:stretch` (the default), `:letterbox` (the whole image in proportion, with a
      border), or `:crop` (the centre of the image in proportion)
    * `:normalize` - how pixels from 0 to 255 are normalized:
      * `:imagenet` or `true` (the default) - `{mean, std}` of ImageNet
      * `{mean, std}` - (pixel / 255 - mean) / std; each is a number, or a tuple of three
      * `:unit` - 0 to 1
      * `:signed_unit` - -1 to 1
      * `:raw` or `false` - 0 to 255
    * `:layout` - `:nchw` (the default), or `:nhwc` for `{1, height, width, 3}`
    * `:border` - the grey level of the letterbox border, from 0 to 255, 114 by default
    * `:as` - `:buffer` (the default) or `:nx`
    * `:from` - `{width, height}` of a binary or flat buffer

  ## Example

      iex> black = Dala.Media.Image.new(640, 480, {0, 0, 0})
      iex> Dala.ML.preprocess(black)
      #Dala.Gpu.Compute.Buffer<f32[1][3][224][224] 588 KiB>
      iex> small = Dala.ML.preprocess(black, size: {1, 2}, normalize: :signed_unit)
      iex> Dala.Gpu.Compute.read_list(small)
      [-1.0, -1.0, -1.0, -1.0, -1.0, -1.0]
      iex> Dala.ML.preprocess([black, black])
      #Dala.Gpu.Compute.Buffer<f32[2][3][224][224] 1.1 MiB>
  """
  @spec preprocess(picture() | [picture()], keyword()) :: Buffer.t() | Nx.Tensor.t()
  def preprocess(picture, opts \\ []) do
    opts = Argument.options!(opts, @defaults)
    {width, height} = Picture.size!(opts[:size], "size:")
    as = Output.choice!(:as, opts[:as], [:buffer, :nx])
    layout = Output.choice!(:layout, opts[:layout], [:nchw, :nhwc])
    fit = fit!(opts[:fit])
    normalize = normalize!(opts[:normalize])
    pictures = if is_list(picture), do: picture, else: [picture]
    pictures = Enum.map(pictures, &Picture.open!(&1, opts[:from]))
    count = length(pictures)
    shape = if layout == :nchw, do: {count, 3, height, width}, else: {count, height, width, 3}
    params = Map.merge(normalize, %{fit: fit, layout: layout, border: opts[:border]})
    output = Buffer.zeros(shape)

    for {{input, _size, own}, index} <- Enum.with_index(pictures) do
      params = params |> Map.merge(own) |> Map.put(:index, index)
      Output.run_into!(:preprocess, input, output, params)
    end

    if as == :nx, do: NxBridge.to_nx(output), else: output
  end

  @doc """
  Returns the mapping between an image and the input that `preprocess/2` creates from it with the
  same options; for a list of images, a list.

  ## Example

      iex> white = Dala.Media.Image.new(640, 480, {255, 255, 255})
      iex> geometry = Dala.ML.geometry(white, size: {320, 320}, fit: :letterbox)
      iex> geometry.to
      {0, 40, 320, 240}
  """
  @spec geometry(picture() | [picture()], keyword()) :: Geometry.t() | [Geometry.t()]
  def geometry(picture, opts \\ [])

  def geometry(pictures, opts) when is_list(pictures), do: Enum.map(pictures, &geometry(&1, opts))

  def geometry(picture, opts) do
    opts = Argument.options!(opts, @defaults)
    {_buffer, size, _params} = Picture.open!(picture, opts[:from])
    Geometry.new(size, Picture.size!(opts[:size], "size:"), fit!(opts[:fit]))
  end

  @doc """
  Classifies an image: `{:ok, classes}`, most likely first.

  ## Options

  The options of `preprocess/2` except `:as`, and those of `Dala.ML.Classification.top_k/2`. `:size`
  and `:layout` default to those of the model's input if it fixes them.

  ## Example

      {:ok, [%{label: "tabby", score: 0.61}, %{label: "lynx", score: 0.2}]} =
        Dala.ML.classify(model, image, labels: labels, k: 2)
  """
  @spec classify(Gpu.Model.t(), picture() | [picture()], keyword()) ::
          {:ok, [Classification.class()] | [[Classification.class()]]} | {:error, Error.t()}
  def classify(model, picture, opts \\ []) do
    task(:classify, model, picture, opts, [], fn outputs, _geometry, own, _input ->
      unless own[:output], do: refuse_faces!(outputs)
      Classification.top_k(outputs, own)
    end)
  end

  # A model that was loaded from a file does not say what it is for, but its outputs may.
  defp refuse_faces!(outputs) do
    named = Output.named!(outputs)

    if Faces.outputs?(named) do
      raise %Error{
        reason: :unsupported,
        message:
          "the outputs of this model, #{Output.list(named)}, are those of a face detector: " <>
            "Dala.ML.faces/3 takes it, Dala.ML.classify/3 does not",
        details: %{task: :faces}
      }
    end
  end

  @doc """
  Detects objects in an image: `{:ok, detections}`, highest score first, in pixels of the image.

  ## Options

  The options of `preprocess/2` except `:as`, with `fit: :letterbox` and `normalize: :unit` by
  default, and those of `Dala.ML.Detection.decode/3`.

  ## Example

      {:ok, [%{label: "dog", score: 0.93, box: {128.0, 220.5, 190.0, 320.0}}]} =
        Dala.ML.detect(model, image, labels: labels)
  """
  @spec detect(Gpu.Model.t(), picture() | [picture()], keyword()) ::
          {:ok, [Detection.t()] | [[Detection.t()]]} | {:error, Error.t()}
  def detect(model, picture, opts \\ []) do
    defaults = [fit: :letterbox, normalize: :unit]

    task(:detect, model, picture, opts, defaults, fn outputs, geometry, own, _input ->
      Detection.decode(outputs, geometry, own)
    end)
  end

  @doc """
  Detects faces in an image: `{:ok, faces}`, highest score first, in pixels of the image.

  ## Options

  The options of `preprocess/2` except `:as`, with `fit: :letterbox`, `border: 0` and
  `normalize: :signed_unit` by default, and those of `Dala.ML.Faces.decode/3`.

  ## Example

      {:ok, [%{score: 0.97, box: {120.5, 80.0, 96.0, 96.0}, keypoints: %{nose: {170.1, 130.9}}}]} =
        Dala.ML.faces(model, image)
  """
  @spec faces(Gpu.Model.t(), picture() | [picture()], keyword()) ::
          {:ok, [Faces.t()] | [[Faces.t()]]} | {:error, Error.t()}
  def faces(model, picture, opts \\ []) do
    task(:faces, model, picture, opts, @of_people, fn outputs, geometry, own, _input ->
      Faces.decode(outputs, geometry, own)
    end)
  end

  @doc """
  Estimates the pose of a person in an image as 17 keypoints: `{:ok, pose}`, in pixels of the image;
  with `mode: :multi`, `{:ok, poses}` of several people, highest score first.

  ## Options

  The options of `preprocess/2` except `:as`, with `fit: :letterbox`, `border: 0` and
  `normalize: :signed_unit` by default, and those of `Dala.ML.Pose.decode/3`.

  ## Example

      {:ok, %{score: 0.8, keypoints: [%{name: "nose", score: 0.99, x: 170.1, y: 130.9} | _]}} =
        Dala.ML.pose(model, image)
  """
  @spec pose(Gpu.Model.t(), picture() | [picture()], keyword()) ::
          {:ok, Pose.t() | [Pose.t()] | [[Pose.t()]]} | {:error, Error.t()}
  def pose(model, picture, opts \\ []) do
    task(:pose, model, picture, opts, @of_people, fn outputs, geometry, own, _input ->
      Pose.decode(outputs, geometry, own)
    end)
  end

  @doc """
  Segments an image into one class per pixel: `{:ok, segmentation}`.

  ## Options

  The options of `preprocess/2` except `:as`, and those of `Dala.ML.Segmentation.decode/3`;
  `:layout` applies to input and output.

  ## Example

      {:ok, segmentation} = Dala.ML.segment(model, image, labels: labels)
      Dala.Media.Image.write(Dala.ML.Segmentation.mask(segmentation), "mask.png")
  """
  @spec segment(Gpu.Model.t(), picture() | [picture()], keyword()) ::
          {:ok, Segmentation.t() | [Segmentation.t()]} | {:error, Error.t()}
  def segment(model, picture, opts \\ []) do
    task(:segment, model, picture, opts, [], fn outputs, geometry, own, input ->
      Segmentation.decode(outputs, geometry, Keyword.take(input, [:layout]) ++ own)
    end)
  end

  defp task(_task, _model, [], _opts, _defaults, _decode), do: {:ok, []}

  # Errors are returned; malformed arguments raise ArgumentError, as everywhere.
  defp task(task, model, pictures, opts, defaults, decode) when is_list(pictures) do
    {input, own} = opts |> Argument.keyword!() |> Keyword.split(@input_keys -- [:as])
    {known, meaning} = model |> Gpu.Model.check!() |> contract!(task)

    input =
      defaults
      |> Keyword.merge(known)
      |> Keyword.merge(expected(model))
      |> Keyword.merge(input)

    own = Keyword.merge(meaning, own)
    geometries = geometry(pictures, input)

    with {:ok, outputs} <- Batch.run(model, pictures, &preprocess(&1, input)) do
      {:ok, Enum.zip_with(outputs, geometries, &decode.(&1, &2, own, input))}
    end
  rescue
    error in Error -> {:error, error}
  end

  defp task(task, model, picture, opts, defaults, decode) do
    with {:ok, [result]} <- task(task, model, [picture], opts, defaults, decode),
         do: {:ok, result}
  end

  # The contract of a named model: options for its input, and for its output.
  defp contract!(%Gpu.Model{contract: nil}, _task), do: {[], []}

  defp contract!(%Gpu.Model{contract: %{task: task} = contract}, task),
    do: {contract.input, contract.output}

  defp contract!(%Gpu.Model{contract: %{task: other}, name: name}, task) do
    raise %Error{
      reason: :unsupported,
      message:
        "#{name} is a model for another task: use it with Dala.ML.#{other}/3, not with " <>
          "Dala.ML.#{task}/3",
      details: %{model: name, task: other}
    }
  end

  # The size, layout and range that the type of a model's input implies.
  defp expected(%Gpu.Model{inputs: [%{shape: shape, dtype: dtype} | _]}) do
    range = if dtype in [:f32, :f64], do: [], else: [normalize: :raw]

    case shape do
      {_batch, 3, height, width} when is_integer(height) and is_integer(width) ->
        [size: {width, height}, layout: :nchw] ++ range

      {_batch, height, width, 3} when is_integer(height) and is_integer(width) ->
        [size: {width, height}, layout: :nhwc] ++ range

      {_batch, _height, _width, 3} ->
        [layout: :nhwc] ++ range

      _any ->
        range
    end
  end

  defp fit!(fit), do: Output.choice!(:fit, fit, [:stretch, :letterbox, :crop])

  defp normalize!(preset) when preset in @presets, do: %{normalize: preset}
  defp normalize!({mean, std}), do: %{mean: mean, std: std}

  defp normalize!(other) do
    raise ArgumentError,
          "expected normalize: to be :imagenet, :unit, :signed_unit, :raw or {mean, std}, got: " <>
            inspect(other)
  end
end
