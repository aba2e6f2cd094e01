defmodule Dala.Media.Gpu do
  @moduledoc """
  Filters for pictures and video, on the device.

  A frame is a binary, RGBA with 8 bits each unless said otherwise, row by row. For a single picture
  there is a function per filter, and `apply_filter/5` for all of them:

      iex> rgba = :binary.copy(<<200, 100, 50, 255>>, 640 * 480)
      iex> gray = Dala.Media.Gpu.grayscale(rgba, 640, 480)
      iex> binary_part(gray, 0, 4)
      <<124, 124, 124, 255>>

  For a stream of frames, `start_pipeline/3` allocates once, compiles once, and runs a list of
  filters as one command per frame, neighbours that look at single pixels fused into one kernel:

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

  `Dala.Media.Gpu.Filter` has the list of filters; their parameters, formulas and edge rules are in
  the guide "Filters". Frames go in and out without a copy on devices that share the host's memory.

  Functions that give a bare binary raise `Dala.Gpu.Compute.Error` for a frame of the wrong size, an
  unknown filter, or a parameter out of its range.
  """

  alias Dala.Gpu.Compute.{Argument, Error, Runtime}
  alias Dala.Media.Gpu.{Chain, Context, Filter, Format, Stream}

  @type rgba :: binary()
  @type filters :: [Filter.t()]

  # Single pictures

  @doc """
  Applies one filter to a picture.

  The result has the picture's size, unless the filter changes it (`:resize`, `:crop`, `:rotate`).

  ## Parameters

    * `rgba` - the picture, `4 * width * height` bytes
    * `filter` - one of `Dala.Media.Gpu.Filter.names/0`
    * `params` - the filter's parameters, a map or keyword list, `%{}` by default

  ## Example

      iex> Dala.Media.Gpu.apply_filter(<<1, 2, 3, 4, 5, 6, 7, 8>>, 2, 1, :flip, direction: :horizontal)
      <<5, 6, 7, 8, 1, 2, 3, 4>>
  """
  @spec apply_filter(rgba(), pos_integer(), pos_integer(), atom() | String.t(), map() | keyword()) ::
          rgba()
  def apply_filter(rgba, width, height, filter, params \\ %{}) do
    size = size!(width, height)
    filters = Error.value!(Filter.normalize([{filter, params}]))
    check_frame!(rgba, :rgba, size)
    Runtime.ensure!()
    chain = Error.value!(Chain.new(plain(size), filters))

    try do
      Error.value!(Chain.run(chain, rgba))
    after
      Chain.free(chain)
    end
  end

  @doc """
  Blurs a picture with a Gaussian.

  ## Options

    * `:radius` - how many pixels to each side count, 0 to 64, 3 by default
    * `:sigma` - the width of the bell, positive, 1.5 by default

  ## Example

      iex> flat = :binary.copy(<<10, 20, 30, 255>>, 16)
      iex> Dala.Media.Gpu.blur(flat, 4, 4, radius: 3, sigma: 1.5) == flat
      true
  """
  @spec blur(rgba(), pos_integer(), pos_integer(), keyword() | map()) :: rgba()
  def blur(rgba, width, height, opts \\ []), do: apply_filter(rgba, width, height, :blur, opts)

  @doc """
  Sharpens a picture by an unsharp mask.

  ## Options

    * `:amount` - how much, 0.5 by default

  ## Example

      iex> flat = :binary.copy(<<10, 20, 30, 255>>, 16)
      iex> Dala.Media.Gpu.sharpen(flat, 4, 4, amount: 0.3) == flat
      true
  """
  @spec sharpen(rgba(), pos_integer(), pos_integer(), keyword() | map()) :: rgba()
  def sharpen(rgba, width, height, opts \\ []),
    do: apply_filter(rgba, width, height, :sharpen, opts)

  @doc """
  Turns a picture to shades of gray, by the luma of BT.601.

  ## Example

      iex> Dala.Media.Gpu.grayscale(<<255, 0, 0, 7>>, 1, 1)
      <<76, 76, 76, 7>>
  """
  @spec grayscale(rgba(), pos_integer(), pos_integer()) :: rgba()
  def grayscale(rgba, width, height), do: apply_filter(rgba, width, height, :grayscale)

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
  Gives a picture more or less contrast: 0 leaves it as it is.

  ## Example

      iex> Dala.Media.Gpu.contrast(<<1, 2, 3, 255>>, 1, 1, 0)
      <<1, 2, 3, 255>>
  """
  @spec contrast(rgba(), pos_integer(), pos_integer(), number()) :: rgba()
  def contrast(rgba, width, height, value),
    do: apply_filter(rgba, width, height, :contrast, %{value: value})

  @doc """
  Gives a picture more or less colour: 0 leaves it as it is, -1 takes all of it away.

  ## Example

      iex> Dala.Media.Gpu.saturation(<<255, 0, 0, 255>>, 1, 1, -1)
      <<76, 76, 76, 255>>
  """
  @spec saturation(rgba(), pos_integer(), pos_integer(), number()) :: rgba()
  def saturation(rgba, width, height, value),
    do: apply_filter(rgba, width, height, :saturation, %{value: value})

  # Streams

  @doc """
  Starts a stream of frames of one size.

  It belongs to the calling process and ends with it, or with `stop_pipeline/1`.

  ## Options

    * `:format` - of the frames that come, `:rgba` by default; see `Dala.Media.Gpu.Format`
    * `:output_format` - of the results, that of the frames by default
    * `:matrix` - of YUV formats, `:bt601` (the default) or `:bt709`
    * `:range` - of YUV formats, `:limited` (the default) or `:full`
    * `:queue` - how many frames may wait behind the one that is worked on, 0 to 1024, 4 by default
    * `:on_overload` - what becomes of a frame when the queue is full: `:wait` (the default) lets
      the caller wait, `:drop_oldest` drops the frame that waited longest, `:drop_newest` drops this
      one

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(640, 480)
      iex> ctx.width
      640
  """
  @spec start_pipeline(pos_integer(), pos_integer(), keyword()) ::
          {:ok, Context.t()} | {:error, Error.t()}
  def start_pipeline(width, height, opts \\ []) do
    size = size!(width, height)

    opts =
      Argument.options!(opts,
        format: :rgba,
        output_format: nil,
        matrix: :bt601,
        range: :limited,
        queue: 4,
        on_overload: :wait
      )

    format = Format.check!(opts[:format], :format)

    frame = %{
      size: size,
      from: format,
      to: Format.check!(opts[:output_format] || format, :output_format),
      matrix: one_of!(opts, :matrix, [:bt601, :bt709]),
      range: one_of!(opts, :range, [:full, :limited])
    }

    settings = %{
      frame: frame,
      queue: queue!(opts[:queue]),
      on_overload: one_of!(opts, :on_overload, [:wait, :drop_oldest, :drop_newest])
    }

    with :ok <- Runtime.ensure(),
         {:ok, pid} <- Stream.start_link(settings) do
      {:ok, %Context{pid: pid, width: width, height: height, format: format}}
    end
  end

  @doc """
  Runs filters on a frame and gives the result; only the calling process waits.

  The result is `:dropped` when the policy of an overloaded stream says so, which the default one
  never does. The same list of filters with other numbers recompiles nothing.

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(2, 1)
      iex> Dala.Media.Gpu.process_frame(ctx, <<255, 0, 0, 9, 0, 0, 255, 9>>, [:grayscale])
      <<76, 76, 76, 9, 29, 29, 29, 9>>
  """
  @spec process_frame(Context.t(), binary(), filters()) :: binary() | :dropped
  def process_frame(ctx, frame, filters) do
    filters = prepare!(ctx, frame, filters)

    case Stream.process(ctx.pid, frame, filters) do
      {:ok, result} -> result
      :dropped -> :dropped
      {:error, error} -> raise error
    end
  end

  @doc """
  Hands a frame to the stream; the result comes as a message.

  The message is `{:dala_media_frame, ref, {:ok, frame} | :dropped | {:error, error}}`, with the
  reference that is given back. Results come in the order of the frames. When the queue is full and
  the policy is `:wait`, the call returns once there is room.

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(1, 1)
      iex> {:ok, ref} = Dala.Media.Gpu.process_frame_async(ctx, <<255, 0, 0, 9>>, [:grayscale])
      iex> receive do
      ...>   {:dala_media_frame, ^ref, result} -> result
      ...> end
      {:ok, <<76, 76, 76, 9>>}
  """
  @spec process_frame_async(Context.t(), binary(), filters()) :: {:ok, reference()}
  def process_frame_async(ctx, frame, filters) do
    filters = prepare!(ctx, frame, filters)
    {:ok, Error.value!(Stream.process_async(ctx.pid, frame, filters))}
  end

  @doc """
  Tells how a stream is doing.

  The map has `:frames` done, `:dropped` and `:failed` ones, how many are `:queued`, the frames per
  second (`:fps`) and the `:latency_ms` (`:median`, `:p95`, `:max`) of the latest 512, and the
  `:stages`: per kernel its `:name`, `:count`, `:mean_ms` and `:total_ms` on the device, the most
  expensive first. Filters that were fused are one stage.

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(1, 1)
      iex> Dala.Media.Gpu.process_frame(ctx, <<255, 0, 0, 9>>, [:grayscale])
      iex> %{frames: 1, dropped: 0, stages: [stage]} = Dala.Media.Gpu.stats(ctx)
      iex> stage.count
      1
  """
  @spec stats(Context.t()) :: map()
  def stats(ctx), do: Error.value!(Stream.stats(context!(ctx).pid))

  @doc """
  Ends a stream and gives its memory back; frames that wait get an error. A second time is fine.

  ## Example

      iex> {:ok, ctx} = Dala.Media.Gpu.start_pipeline(640, 480)
      iex> Dala.Media.Gpu.stop_pipeline(ctx)
      :ok
  """
  @spec stop_pipeline(Context.t()) :: :ok
  def stop_pipeline(ctx), do: Stream.stop(context!(ctx).pid)

  defp context!(ctx), do: Argument.struct!(ctx, Context, "a stream, as start_pipeline/3 gives it")

  defp prepare!(ctx, frame, filters) do
    context!(ctx)
    check_frame!(frame, ctx.format, {ctx.width, ctx.height})
    Error.value!(Filter.normalize(filters))
  end

  defp check_frame!(frame, format, size) do
    with {:error, error} <- Format.check_frame(frame, format, size), do: raise(error)
  end

  defp plain(size), do: %{size: size, from: :rgba, to: :rgba, matrix: :bt601, range: :limited}

  defp size!(width, height)
       when is_integer(width) and is_integer(height) and width in 1..65_536 and
              height in 1..65_536,
       do: {width, height}

  defp size!(width, height) do
    raise ArgumentError,
          "expected width and height to be integers in 1..65536, " <>
            "got: #{inspect(width)} and #{inspect(height)}"
  end

  defp queue!(queue) when is_integer(queue) and queue in 0..1024, do: queue

  defp queue!(other) do
    raise ArgumentError, "expected queue: to be an integer in 0..1024, got: #{inspect(other)}"
  end

  defp one_of!(opts, key, choices) do
    value = opts[key]

    unless value in choices do
      raise ArgumentError,
            "expected #{key}: to be one of #{Enum.map_join(choices, ", ", &inspect/1)}, " <>
              "got: #{inspect(value)}"
    end

    value
  end
end
