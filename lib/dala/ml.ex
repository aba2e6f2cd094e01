defmodule Dala.ML do
  @moduledoc """
  Pictures in, plain results out: what comes before and after a model of `Dala.ML.Gpu`.

      {:ok, model} = Dala.ML.Gpu.load_model("classifier.onnx")
      {:ok, image} = Dala.Media.Image.read("photo.jpg")
      {:ok, classes} = Dala.ML.classify(model, image, labels: labels)

  The steps are there one by one as well: `preprocess/2` makes the input of a model, and
  `Dala.ML.Classification`, `Dala.ML.Detection`, `Dala.ML.Faces`, `Dala.ML.Pose` and
  `Dala.ML.Segmentation` read its output. Those that answer with places need to know what was done to the picture, which `geometry/2` tells.

  ## Pictures

  A picture is one of

    * a `Dala.Media.Image`, or `{rgba, width, height}`
    * a buffer or Nx tensor of shape `{h, w, c}` or `{h, w}`, `:u8` or `:f32` (0 to 1), with 1, 3 or
      4 channels
    * a binary or flat buffer, with the option `from: {width, height}`; the number of channels
      follows from its size

  Grey serves as three colours, and alpha is dropped.

  ## Several pictures, several outputs

  A task given a list of pictures gives a list of results. A model whose input has a free number of
  pictures, or that many, runs once for all of them, any other once for each.

  Of a model with several outputs, a task reads the ones that have the shapes it knows. Where that
  does not settle it, the error lists them, and `output:` names one.

  ## Models with a name

  A model that was loaded by its name needs no options: its size, normalisation, labels and
  thresholds are known, see `Dala.ML.Models.Contract`. Options overrule them.

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
  Makes the input of a model from a picture: an f32 buffer of shape `{1, 3, height, width}`.

  A list of n pictures, which may differ in size, makes one input of shape `{n, 3, height, width}`.
  Resizing, normalising and laying out are one pass on the device. Along an axis that shrinks,
  each pixel is the mean of what it covers; one that grows is bilinear.

  ## Options

    * `:size` - `{width, height}` of the input, `{224, 224}` by default
    * `:fit` - `:stretch` (the default), `:letterbox`: all of the picture in proportion, with a
      border, or `:crop`: the middle of the picture in proportion
    * `:normalize` - of pixels from 0 to 255:
      * `:imagenet` or `true` (the default) - as `{mean, std}`, those of ImageNet
      * `{mean, std}` - (pixel / 255 - mean) / std; each is a number, or a tuple of three
      * `:unit` - 0 to 1
      * `:signed_unit` - -1 to 1
      * `:raw` or `false` - 0 to 255
    * `:layout` - `:nchw` (the default), or `:nhwc` for `{1, height, width, 3}`
    * `:border` - of `:letterbox`, the level of grey from 0 to 255, 114 by default
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
  Tells which part of a picture `preprocess/2` puts where, given the same options; of a list of
  pictures, a list.

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
  Tells what a picture shows: `{:ok, classes}`, the likeliest first.

  ## Options

  Those of `preprocess/2` but `:as`, and those of `Dala.ML.Classification.top_k/2`. `:size` and
  `:layout` are by default what the model's input says where that is fixed.

  ## Example

      {:ok, [%{label: "tabby", score: 0.61}, %{label: "lynx", score: 0.2}]} =
        Dala.ML.classify(model, image, labels: labels, k: 2)
  """
  @spec classify(Gpu.Model.t(), picture() | [picture()], keyword()) ::
          {:ok, [Classification.class()] | [[Classification.class()]]} | {:error, Error.t()}
  def classify(model, picture, opts \\ []) do
    task(:classify, model, picture, opts, [], fn outputs, _geometry, own, _input ->
      Classification.top_k(outputs, own)
    end)
  end

  @doc """
  Finds things in a picture: `{:ok, detections}`, the surest first, in the picture's own pixels.

  ## Options

  Those of `preprocess/2` but `:as`, with `fit: :letterbox` and `normalize: :unit` by default, and
  those of `Dala.ML.Detection.decode/3`.

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
  Finds faces in a picture: `{:ok, faces}`, the surest first, in the picture's own pixels.

  ## Options

  Those of `preprocess/2` but `:as`, with `fit: :letterbox`, `border: 0` and
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
  Finds 17 keypoints of a person in a picture: `{:ok, pose}`, in the picture's own pixels; with
  `mode: :multi`, `{:ok, poses}` of several people, the surest first.

  ## Options

  Those of `preprocess/2` but `:as`, with `fit: :letterbox`, `border: 0` and
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
  Says of every pixel of a picture which class it is: `{:ok, segmentation}`.

  ## Options

  Those of `preprocess/2` but `:as`, and those of `Dala.ML.Segmentation.decode/3`; `:layout` is that
  of input and output.

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

  # Errors of the device come back; arguments that are wrong raise, as everywhere.
  defp task(task, model, pictures, opts, defaults, decode) when is_list(pictures) do
    {input, own} = opts |> Argument.keyword!() |> Keyword.split(@input_keys -- [:as])
    {known, meaning} = model |> Gpu.Model.check!() |> contract(task)

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

  # What is known of a model that was loaded by its name: about its input, and about its output.
  defp contract(%Gpu.Model{contract: %{task: task} = contract}, task),
    do: {contract.input, contract.output}

  defp contract(%Gpu.Model{contract: %{input: input}}, _other_task), do: {input, []}
  defp contract(%Gpu.Model{}, _task), do: {[], []}

  # What the type of a model's input says about size, layout and range.
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
