defmodule Dala.Media.Gpu do
  @moduledoc """
  Filters for images and video, on the device.

  A frame is a binary of RGBA pixels with 8 bits per channel (unless another format is given), row
  by row. For single images there are functions for common filters, and `apply_filter/5` for all of
  them:

      iex> rgba = :binary.copy(<<200, 100, 50, 255>>, 640 * 480)
      iex> gray = Dala.Media.Gpu.grayscale(rgba, 640, 480)
      iex> binary_part(gray, 0, 4)
      <<124, 124, 124, 255>>

  For a `Dala.Media.Image`, no size is given, and the result is an image. Every filter has such a
  function, and `apply_filters/2` runs several filters as one command:

      iex> red = Dala.Media.Image.new(4, 2, :red)
      iex> Dala.Media.Gpu.resize(red, width: 2)
      #Dala.Media.Image<2x1 8 B>
      iex> Dala.Media.Gpu.apply_filters(red, [:grayscale, rotate: [angle: 90]])
      #Dala.Media.Image<2x4 32 B>

  For a stream of frames, `start_pipeline/3` allocates once, compiles once, and runs a list of
  filters as one command per frame, with adjacent pointwise filters fused into one kernel:

      iex> rgba = :binary.copy(<<200, 100, 50, 255>>, 640 * 480)
      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(640, 480)
      iex> output =
      ...>   Dala.Media.Gpu.process_frame(ctx, rgba, [
      ...>     {:blur, %{radius: 3, sigma: 1.5}},
      ...>     {:sharpen, %{amount: 0.3}},
      ...>     {:brightness, %{value: 0.1}}
      ...>   ])
      iex> byte_size(output)
      1228800
      iex> Dala.Media.Gpu.stop_pipeline(ctx)
      :ok

  `Dala.Media.Gpu.Filter` lists the filters; their parameters, formulas and edge rules are in the
  guide "Filters". On devices that share memory with the host, frames go in and out without a copy.

  Functions that return a bare binary raise `Dala.Gpu.Compute.Error` for a frame of the wrong size,
  an unknown filter, or a parameter out of range.
  """

  alias Dala.Gpu.Compute.{Argument, Error, Runtime}
  alias Dala.Media.Gpu.{Chain, Context, Filter, Format, Stream}
  alias Dala.Media.Image

  @type rgba :: binary()
  @type filters :: [Filter.t()]

  @typedoc "A stream: the context of `start_pipeline/3`, or the pid or name of a supervised stream."
  @type stream :: Context.t() | GenServer.server()

  # Single images

  @doc """
  Applies one filter to an image.

  The result has the size of the image, unless the filter changes it (`:resize`, `:crop`,
  `:rotate`).

  ## Parameters

    * `rgba` - the image, `4 * width * height` bytes
    * `filter` - one of `Dala.Media.Gpu.Filter.names/0`
    * `params` - the filter's parameters, a map or keyword list, `%{}` by default

  ## Example

      iex> Dala.Media.Gpu.apply_filter(<<1, 2, 3, 4, 5, 6, 7, 8>>, 2, 1, :flip, direction: :horizontal)
      <<5, 6, 7, 8, 1, 2, 3, 4>>
  """
  @spec apply_filter(rgba(), pos_integer(), pos_integer(), atom() | String.t(), map() | keyword()) ::
          rgba()
  def apply_filter(rgba, width, height, filter, params \\ %{}) do
    size = Stream.Settings.size!(width, height)
    filters = Error.value!(Filter.normalize([{filter, params}]))
    check_frame!(rgba, :rgba, size)
    {_size, result} = run!(rgba, size, filters)
    result
  end

  @doc """
  Applies one filter to an image, and returns an image.

  Raises `Dala.Gpu.Compute.Error` for an unknown filter, or a parameter out of its range.

  ## Parameters

    * `image` - a `Dala.Media.Image`
    * `filter` - one of `Dala.Media.Gpu.Filter.names/0`
    * `params` - the filter's parameters, a map or keyword list, `%{}` by default

  ## Example

      iex> image = Dala.Media.Image.new(2, 1, <<1, 2, 3, 4, 5, 6, 7, 8>>)
      iex> Dala.Media.Gpu.apply_filter(image, :flip, direction: :horizontal).data
      <<5, 6, 7, 8, 1, 2, 3, 4>>
  """
  @spec apply_filter(Image.t(), atom() | String.t(), map() | keyword()) :: Image.t()
  def apply_filter(image, filter, params \\ %{}), do: apply_filters(image, [{filter, params}])

  @doc """
  Applies a list of filters to an image, as one command, and returns an image.

  ## Example

      iex> image = Dala.Media.Image.new(1, 1, {100, 100, 100})
      iex> Dala.Media.Gpu.apply_filters(image, [{:brightness, value: 0.2}, :grayscale]).data
      <<151, 151, 151, 255>>
  """
  @spec apply_filters(Image.t(), filters()) :: Image.t()
  def apply_filters(image, filters) do
    %{width: width, height: height, data: data} =
      Argument.struct!(image, Image, "a Dala.Media.Image")

    size = Stream.Settings.size!(width, height)
    filters = Error.value!(Filter.normalize(filters))
    check_frame!(data, :rgba, size)
    {{width, height}, result} = run!(data, size, filters)
    %Image{width: width, height: height, data: result}
  end

  defp run!(rgba, size, filters) do
    Runtime.ensure!()
    chain = Error.value!(Chain.new(plain(size), filters))

    try do
      {Chain.end_size(chain), Error.value!(Chain.run(chain, rgba))}
    after
      Chain.free(chain)
    end
  end

  @doc """
  Blurs an image with a Gaussian.

  ## Options

    * `:radius` - the radius in pixels, 0 to 64, 3 by default
    * `:sigma` - the standard deviation in pixels, positive, 1.5 by default

  ## Example

      iex> flat = :binary.copy(<<10, 20, 30, 255>>, 16)
      iex> Dala.Media.Gpu.blur(flat, 4, 4, radius: 3, sigma: 1.5) == flat
      true
  """
  @spec blur(rgba(), pos_integer(), pos_integer(), keyword() | map()) :: rgba()
  def blur(rgba, width, height, opts \\ []), do: apply_filter(rgba, width, height, :blur, opts)

  @doc """
  Blurs an image with a Gaussian, with the options of `blur/4`.

  ## Example

      iex> image = Dala.Media.Image.new(4, 4, {10, 20, 30})
      iex> Dala.Media.Gpu.blur(image, radius: 3) == image
      true
  """
  @spec blur(Image.t(), keyword() | map()) :: Image.t()
  def blur(image, opts \\ []), do: apply_filter(image, :blur, opts)

  @doc """
  Sharpens a picture by an unsharp mask.

  ## Options

    * `:amount` - the strength, 0.5 by default

  ## Example

      iex> flat = :binary.copy(<<10, 20, 30, 255>>, 16)
      iex> Dala.Media.Gpu.sharpen(flat, 4, 4, amount: 0.3) == flat
      true
  """
  @spec sharpen(rgba(), pos_integer(), pos_integer(), keyword() | map()) :: rgba()
  def sharpen(rgba, width, height, opts \\ []),
    do: apply_filter(rgba, width, height, :sharpen, opts)

  @doc """
  Sharpens an image by an unsharp mask, with the options of `sharpen/4`.

  ## Example

      iex> image = Dala.Media.Image.new(4, 4, {10, 20, 30})
      iex> Dala.Media.Gpu.sharpen(image, amount: 0.3) == image
      true
  """
  @spec sharpen(Image.t(), keyword() | map()) :: Image.t()
  def sharpen(image, opts \\ []), do: apply_filter(image, :sharpen, opts)

  @doc """
  Turns a picture to shades of gray, by the luma of BT.601.

  ## Example

      iex> Dala.Media.Gpu.grayscale(<<255, 0, 0, 7>>, 1, 1)
      <<76, 76, 76, 7>>
  """
  @spec grayscale(rgba(), pos_integer(), pos_integer()) :: rgba()
  def grayscale(rgba, width, height), do: apply_filter(rgba, width, height, :grayscale)

  @doc """
  Makes an image grey, with the luma of BT.601.

  ## Example

      iex> Dala.Media.Gpu.grayscale(Dala.Media.Image.new(1, 1, {255, 0, 0})).data
      <<76, 76, 76, 255>>
  """
  @spec grayscale(Image.t()) :: Image.t()
  def grayscale(image), do: apply_filter(image, :grayscale)

  @doc """
  Makes a picture brighter or darker: 0 leaves it as it is.

  ## Example

      iex> Dala.Media.Gpu.brightness(<<100, 100, 100, 255>>, 1, 1, 0.2)
      <<151, 151, 151, 255>>
  """
  @spec brightness(rgba(), pos_integer(), pos_integer(), number()) :: rgba()
  def brightness(rgba, width, height, value),
    do: apply_filter(rgba, width, height, :brightness, %{value: value})

  @doc """
  Makes an image brighter or darker: 0 leaves it as it is.

  ## Example

      iex> image = Dala.Media.Image.new(1, 1, {100, 100, 100})
      iex> Dala.Media.Gpu.brightness(image, 0.2).data
      <<151, 151, 151, 255>>
  """
  @spec brightness(Image.t(), number()) :: Image.t()
  def brightness(image, value), do: apply_filter(image, :brightness, %{value: value})

  @doc """
  Gives a picture more or less contrast: 0 leaves it as it is.

  ## Example

      iex> Dala.Media.Gpu.contrast(<<1, 2, 3, 255>>, 1, 1, 0)
      <<1, 2, 3, 255>>
  """
  @spec contrast(rgba(), pos_integer(), pos_integer(), number()) :: rgba()
  def contrast(rgba, width, height, value),
    do: apply_filter(rgba, width, height, :contrast, %{value: value})

  @doc """
  Gives an image more or less contrast: 0 leaves it as it is.

  ## Example

      iex> image = Dala.Media.Image.new(1, 1, {100, 100, 100})
      iex> Dala.Media.Gpu.contrast(image, 0) == image
      true
  """
  @spec contrast(Image.t(), number()) :: Image.t()
  def contrast(image, value), do: apply_filter(image, :contrast, %{value: value})

  @doc """
  Gives a picture more or less colour: 0 leaves it as it is, -1 takes all of it away.

  ## Example

      iex> Dala.Media.Gpu.saturation(<<255, 0, 0, 255>>, 1, 1, -1)
      <<76, 76, 76, 255>>
  """
  @spec saturation(rgba(), pos_integer(), pos_integer(), number()) :: rgba()
  def saturation(rgba, width, height, value),
    do: apply_filter(rgba, width, height, :saturation, %{value: value})

  @doc """
  Gives an image more or less colour: 0 leaves it as it is, -1 takes all of it away.

  ## Example

      iex> image = Dala.Media.Image.new(1, 1, {100, 100, 100})
      iex> Dala.Media.Gpu.saturation(image, -1) == image
      true
  """
  @spec saturation(Image.t(), number()) :: Image.t()
  def saturation(image, value), do: apply_filter(image, :saturation, %{value: value})

  # The other filters, which take their parameters as options.

  @filters [
    denoise:
      {"Smooths an image where neighbours differ little, and keeps its edges.", "strength: 0.5"},
    beauty: {"Smooths the skin in an image, and nothing else.", "strength: 0.3"},
    sepia: {"Moves the colours of an image towards brown.", "intensity: 0.8"},
    vignette: {"Darkens an image towards its corners.", "intensity: 0.5"},
    lut:
      {"Gives every colour of an image the one that a table has for it.",
       "table: elem(Dala.Media.Lut.parse(\"LUT_1D_SIZE 2\\n0 0 0\\n1 1 1\"), 1)"},
    white_balance: {"Corrects the colour of the light in an image.", "temperature: 6500"},
    hdr: {"Brightens the shadows of an image, and holds its highlights.", "exposure: 1.0"},
    chroma_key: {"Makes one colour of an image transparent.", "color: {0, 255, 0}"},
    edge_detect: {"Shows the edges in an image, after Sobel.", "scale: 1.0"},
    overlay: {"Puts another image over an image.", "image: image, x: 1, y: 1, alpha: 0.5"},
    blend: {"Mixes an image with another one of its size.", "image: image, alpha: 0.5"},
    resize: {"Gives an image another size; one side alone keeps the aspect ratio.", "width: 2"},
    crop: {"Cuts a part out of an image.", "x: 1, y: 1, width: 2, height: 2"},
    flip: {"Mirrors an image.", "direction: :horizontal"},
    rotate: {"Turns an image clockwise, by degrees.", "angle: 90"},
    threshold: {"Makes an image black and white, by its luma.", "level: 0.5"},
    erode: {"Makes the bright areas of an image smaller.", "radius: 1"},
    dilate: {"Makes the bright areas of an image larger.", "radius: 1"},
    open: {"Removes small bright spots from an image: erodes, then dilates.", "radius: 1"},
    close: {"Fills small dark spots of an image: dilates, then erodes.", "radius: 1"},
    auto_levels: {"Stretches the levels of an image from black to white.", "clip: 0.005"},
    auto_white_balance: {"Makes the colours of an image grey on average.", ""},
    equalize: {"Spreads the luma of an image so that all levels are about equally frequent.", ""},
    clahe:
      {"Equalizes the luma of an image tile by tile, with limited contrast.", "clip_limit: 2.0"},
    affine:
      {"Moves the pixels of an image by a matrix of six numbers.", "matrix: {1, 0, 1, 0, 1, 0}"},
    perspective:
      {"Moves the pixels of an image so that four points come to lie on four others.",
       "from: [{0, 0}, {3, 0}, {3, 2}, {0, 3}]"}
  ]

  for {name, {sentence, params}} <- @filters do
    @doc """
    #{sentence}

    The options are the parameters of the filter `#{inspect(name)}`; `Dala.Media.Gpu.Filter` and the
    guide "Filters" have them.

    ## Example

        iex> image = Dala.Media.Image.new(4, 4, {10, 20, 30})
        iex> %Dala.Media.Image{} = Dala.Media.Gpu.#{name}(image#{if params != "", do: ", "}#{params})
    """
    @spec unquote(name)(Image.t(), keyword() | map()) :: Image.t()
    def unquote(name)(image, opts \\ []), do: apply_filter(image, unquote(name), opts)
  end

  @doc """
  Shows what in an image belongs to a person; needs the model `:deeplab`.

  The options are the parameters of the filter `:segmentation`, see `Dala.Media.Gpu.Filter`.

  ## Example

      Dala.Media.Gpu.segmentation(image, style: :cutout)
  """
  @spec segmentation(Image.t(), keyword() | map()) :: Image.t()
  def segmentation(image, opts \\ []), do: apply_filter(image, :segmentation, opts)

  @doc """
  Puts something else behind the person in an image; needs the model `:deeplab`.

  The options are the parameters of the filter `:background_replace`, see `Dala.Media.Gpu.Filter`.

  ## Example

      Dala.Media.Gpu.background_replace(image, blur: 12)
  """
  @spec background_replace(Image.t(), keyword() | map()) :: Image.t()
  def background_replace(image, opts \\ []), do: apply_filter(image, :background_replace, opts)

  # Streams

  @doc """
  Starts a stream of frames of one size.

  It belongs to the calling process and stops when that exits, or with `stop_pipeline/1`. For a
  supervised stream, see `Dala.Media.Gpu.Stream`.

  ## Options

    * `:format` - the format of the frames, `:rgba` by default; see `Dala.Media.Gpu.Format`
    * `:output_format` - the format of the results, by default that of the frames
    * `:matrix` - the colour matrix of YUV formats, `:bt601` (the default) or `:bt709`
    * `:range` - the range of YUV formats, `:limited` (the default) or `:full`
    * `:queue` - the length of the queue behind the frame in progress, 0 to 1024, 4 by default
    * `:on_overload` - the policy when the queue is full: `:wait` (the default) makes the caller
      wait, `:drop_oldest` drops the oldest frame in the queue, `:drop_newest` drops the new frame

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(640, 480)
      iex> ctx.width
      640
  """
  @spec start_pipeline(pos_integer(), pos_integer(), keyword()) ::
          {:ok, Context.t()} | {:error, Error.t()}
  def start_pipeline(width, height, opts \\ []),
    do: Stream.create(self(), width, height, opts)

  @doc """
  Runs filters on a frame and returns the result; only the calling process waits.

  The result is `:dropped` if the policy of an overloaded stream dropped the frame, which the
  default policy never does. Changing only the parameters of filters compiles nothing.

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(2, 1)
      iex> Dala.Media.Gpu.process_frame(ctx, <<255, 0, 0, 9, 0, 0, 255, 9>>, [:grayscale])
      <<76, 76, 76, 9, 29, 29, 29, 9>>
  """
  @spec process_frame(stream(), binary(), filters()) :: binary() | :dropped
  def process_frame(ctx, frame, filters) do
    {stream, filters} = prepare!(ctx, frame, filters)

    case Stream.process(stream, frame, filters) do
      {:ok, result} -> result
      :dropped -> :dropped
      {:error, error} -> raise error
    end
  end

  @doc """
  Submits a frame to the stream; the result arrives as a message.

  The message is `{:dala_media_frame, ref, {:ok, frame} | :dropped | {:error, error}}`, with the
  returned reference. Results arrive in the order of the frames. If the queue is full and the policy
  is `:wait`, the call returns once there is room.

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(1, 1)
      iex> {:ok, ref} = Dala.Media.Gpu.process_frame_async(ctx, <<255, 0, 0, 9>>, [:grayscale])
      iex> receive do
      ...>   {:dala_media_frame, ^ref, result} -> result
      ...> end
      {:ok, <<76, 76, 76, 9>>}
  """
  @spec process_frame_async(stream(), binary(), filters()) :: {:ok, reference()}
  def process_frame_async(ctx, frame, filters) do
    {stream, filters} = prepare!(ctx, frame, filters)
    {:ok, Error.value!(Stream.process_async(stream, frame, filters))}
  end

  @doc """
  Returns the statistics of a stream.

  The map has the numbers of processed `:frames`, of `:dropped` and `:failed` ones, and of `:queued`
  ones; the frames per second (`:fps`) and the `:latency_ms` (`:median`, `:p95`, `:max`) of the
  latest 512 frames; and the `:stages`: for each kernel its `:name`, `:count`, `:mean_ms` and
  `:total_ms` on the device, the most expensive first. Fused filters are one stage.

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(1, 1)
      iex> Dala.Media.Gpu.process_frame(ctx, <<255, 0, 0, 9>>, [:grayscale])
      iex> %{frames: 1, dropped: 0, stages: [stage]} = Dala.Media.Gpu.stats(ctx)
      iex> stage.count
      1
  """
  @spec stats(stream()) :: map()
  def stats(ctx), do: Error.value!(Stream.stats(server(ctx)))

  @doc """
  Stops a stream and frees its memory; queued frames get an error. Stopping it twice is allowed.

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(640, 480)
      iex> Dala.Media.Gpu.stop_pipeline(ctx)
      :ok
  """
  @spec stop_pipeline(stream()) :: :ok
  def stop_pipeline(ctx), do: Stream.stop(server(ctx))

  defp server(%Context{pid: pid}), do: pid
  defp server(pid_or_name), do: pid_or_name

  defp context!(%Context{} = ctx), do: ctx
  defp context!(pid_or_name), do: Error.value!(Stream.context(pid_or_name))

  defp prepare!(ctx, frame, filters) do
    ctx = context!(ctx)
    check_frame!(frame, ctx.format, {ctx.width, ctx.height})
    {ctx.pid, Error.value!(Filter.normalize(filters))}
  end

  defp check_frame!(frame, format, size) do
    with {:error, error} <- Format.check_frame(frame, format, size), do: raise(error)
  end

  defp plain(size), do: %{size: size, from: :rgba, to: :rgba, matrix: :bt601, range: :limited}
end
