defmodule Dala.Gpu do
  @moduledoc """
  Surfaces: images on the device that you can draw on, present, show in a window and save.

      iex> {:ok, surface} = Dala.Gpu.create_surface(64, 48)
      iex> Dala.Gpu.clear(surface, :black)
      :ok
      iex> Dala.Gpu.fill_rect(surface, 8, 8, 16, 16, {255, 128, 0})
      :ok
      iex> Dala.Gpu.present(surface)
      :ok
      iex> Dala.Gpu.destroy_surface(surface)
      :ok

  A surface is a process linked to its creator: when the creator exits, the surface exits and its
  memory is freed. For a supervised surface with a name, see `Dala.Gpu.Surface`. Its pixels are a
  `:u8` buffer of shape `{height, width, 4}`: RGBA, rows from the top, alpha not premultiplied,
  initially transparent black.

  ## Order

  Drawing is queued: `clear/2`, `fill_rect/6`, `draw_line/6`, `set_pixels/2` and
  `Dala.Gpu.Compute.run_to_surface/5` take effect in the order in which they are called, whichever
  process calls. An invalid call is reported immediately and changes nothing. `present/1` returns
  when everything before it has been drawn.

  ## Colours

  See `Dala.Gpu.Color`: `{255, 128, 0}`, `{255, 128, 0, 128}` or `:red`. `fill_rect/6` and
  `draw_line/6` blend a colour over the existing pixels by its alpha; `clear/2` overwrites them.
  Drawing is clipped to the surface. Coordinates are integers from -1 000 000 000 to 1 000 000 000.

  ## Errors

  Functions that return `:ok` can return `{:error, error}`, the others raise it; `error` is a
  `Dala.Gpu.Compute.Error`. For a surface that is not running, its reason is `:freed`.

  From Erlang, the module is `dala_gpu`.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, Remote}
  alias Dala.Gpu.{Color, Picture, PictureFile, Surface}

  @typedoc "The pid of a surface, or the name of a supervised one."
  @type surface :: GenServer.server()

  @doc """
  Creates a surface of `width` by `height` pixels, linked to the calling process.

  ## Options

    * `:display` - `:window` shows presented frames in a window, which requires OTP's `:wx`
      (erlang-wx on Debian and Ubuntu); no window by default
    * `:title` - the title of the window, "Dala" by default

  The user can resize the window, which stretches the image, or close it; the surface keeps running.
  The creator and all subscribers are sent `{:dala_gpu_window, surface, {:resized, width, height}}`
  and `{:dala_gpu_window, surface, :closed}`.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(640, 480)
      iex> {Dala.Gpu.width(surface), Dala.Gpu.height(surface)}
      {640, 480}
  """
  @spec create_surface(pos_integer(), pos_integer(), keyword()) ::
          {:ok, pid()} | {:error, Error.t()}
  def create_surface(width, height, opts \\ []),
    do: Surface.create(self(), width, height, opts)

  @doc """
  Stops a surface and frees its memory. Stopping it twice is allowed.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(8, 8)
      iex> Dala.Gpu.destroy_surface(surface)
      :ok
  """
  @spec destroy_surface(surface()) :: :ok
  defdelegate destroy_surface(surface), to: Surface, as: :stop

  @doc """
  Resizes a surface; its pixels become transparent black.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(8, 8)
      iex> Dala.Gpu.resize_surface(surface, 16, 12)
      :ok
      iex> Dala.Gpu.width(surface)
      16
  """
  @spec resize_surface(surface(), pos_integer(), pos_integer()) :: :ok | {:error, Error.t()}
  def resize_surface(surface, width, height),
    do: Surface.call(surface, {:resize, width, height})

  @doc """
  Replaces all pixels.

  Takes a binary of `width * height * 4` bytes, a `Dala.Media.Image` (or another `Dala.Gpu.Picture`)
  of the surface's size, or a `:u8` buffer with the same number of bytes, which is copied on the
  device.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(1, 2)
      iex> Dala.Gpu.set_pixels(surface, <<1, 2, 3, 255, 4, 5, 6, 255>>)
      :ok
  """
  @spec set_pixels(surface(), binary() | Picture.t() | Buffer.t()) :: :ok | {:error, Error.t()}
  def set_pixels(surface, pixels), do: Surface.call(surface, {:set_pixels, pixels!(pixels)})

  # Malformed pixels are rejected in the caller: they must not crash a surface that others use.
  defp pixels!(pixels) when is_binary(pixels), do: pixels
  defp pixels!(%Buffer{ref: ref} = buffer) when is_reference(ref), do: buffer
  defp pixels!(%Buffer{ref: %Remote{}} = buffer), do: Buffer.read(buffer)

  defp pixels!(picture) do
    with implementation when implementation != nil <- Picture.impl_for(picture),
         {_width, _height, rgba} = pixels when is_binary(rgba) <- implementation.rgba(picture) do
      pixels
    else
      _other -> Argument.refuse!("pixels as a binary, an image or a buffer", picture)
    end
  end

  @doc """
  Reads all pixels as RGBA, after all earlier drawing.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(2, 1)
      iex> Dala.Gpu.fill_rect(surface, 1, 0, 1, 1, :red)
      :ok
      iex> Dala.Gpu.get_pixels(surface)
      <<0, 0, 0, 0, 255, 0, 0, 255>>
  """
  @spec get_pixels(surface()) :: binary()
  def get_pixels(surface) do
    {_width, _height, pixels} = read!(surface)
    pixels
  end

  @doc """
  Reads all pixels, calls a function with them, and replaces them by its result.

  The function runs in the calling process. Drawing by other processes in the meantime is lost.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(1, 1)
      iex> Dala.Gpu.with_pixels(surface, fn <<r, g, b, _a>> -> <<r, g, b, 255>> end)
      :ok
      iex> Dala.Gpu.get_pixels(surface)
      <<0, 0, 0, 255>>
  """
  @spec with_pixels(surface(), (binary() -> binary())) :: :ok | {:error, Error.t()}
  def with_pixels(surface, fun) do
    unless is_function(fun, 1), do: Argument.refuse!("a function of the pixels", fun)

    with {:ok, {_width, _height, pixels}} <- read(surface) do
      case fun.(pixels) do
        changed when is_binary(changed) ->
          set_pixels(surface, changed)

        other ->
          raise ArgumentError,
                "expected the function to return the new pixels as a binary, " <>
                  "got: #{inspect(other)}"
      end
    end
  end

  @doc """
  Presents the frame: waits until everything has been drawn, shows it in the window if there is one,
  and notifies the subscribers.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(8, 8)
      iex> Dala.Gpu.subscribe(surface)
      :ok
      iex> Dala.Gpu.present(surface)
      :ok
      iex> receive do
      ...>   {:dala_gpu_frame, ^surface, number} -> number
      ...> end
      1
  """
  @spec present(surface()) :: :ok | {:error, Error.t()}
  def present(surface), do: Surface.call(surface, :present)

  @doc """
  Subscribes a process, by default the calling one: at every `present/1` it is sent
  `{:dala_gpu_frame, surface, number}`, with numbers starting at 1.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(8, 8)
      iex> Dala.Gpu.subscribe(surface)
      :ok
  """
  @spec subscribe(surface(), pid()) :: :ok | {:error, Error.t()}
  def subscribe(surface, pid \\ self()), do: Surface.call(surface, {:subscribe, process!(pid)})

  @doc """
  Cancels a subscription made by `subscribe/2`.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(8, 8)
      iex> Dala.Gpu.subscribe(surface)
      :ok
      iex> Dala.Gpu.unsubscribe(surface)
      :ok
  """
  @spec unsubscribe(surface(), pid()) :: :ok | {:error, Error.t()}
  def unsubscribe(surface, pid \\ self()),
    do: Surface.call(surface, {:unsubscribe, process!(pid)})

  @doc """
  Sets every pixel to a colour, alpha included.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(1, 1)
      iex> Dala.Gpu.clear(surface, {1, 2, 3, 4})
      :ok
      iex> Dala.Gpu.get_pixels(surface)
      <<1, 2, 3, 4>>
  """
  @spec clear(surface(), Color.t()) :: :ok | {:error, Error.t()}
  def clear(surface, color) do
    everything = %{x: 0, y: 0, width: 1_000_000_000, height: 1_000_000_000, blend: false}
    draw(surface, "fill_rect", everything, color)
  end

  @doc """
  Fills a rectangle of `width` by `height` pixels whose top left pixel is (`x`, `y`).

  A colour that is not opaque is blended over the existing pixels.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(2, 1)
      iex> Dala.Gpu.clear(surface, :white)
      :ok
      iex> Dala.Gpu.fill_rect(surface, 1, -3, 10, 10, {0, 0, 0, 51})
      :ok
      iex> Dala.Gpu.get_pixels(surface)
      <<255, 255, 255, 255, 204, 204, 204, 255>>
  """
  @spec fill_rect(
          surface(),
          integer(),
          integer(),
          non_neg_integer(),
          non_neg_integer(),
          Color.t()
        ) :: :ok | {:error, Error.t()}
  def fill_rect(surface, x, y, width, height, color) do
    draw(surface, "fill_rect", %{x: x, y: y, width: width, height: height}, color)
  end

  @doc """
  Draws a line, one pixel wide, from (`x0`, `y0`) to (`x1`, `y1`), both included.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(3, 1)
      iex> Dala.Gpu.draw_line(surface, 1, 0, 20, 0, :blue)
      :ok
      iex> Dala.Gpu.get_pixels(surface)
      <<0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 255, 255>>
  """
  @spec draw_line(surface(), integer(), integer(), integer(), integer(), Color.t()) ::
          :ok | {:error, Error.t()}
  def draw_line(surface, x0, y0, x1, y1, color) do
    draw(surface, "draw_line", %{x0: x0, y0: y0, x1: x1, y1: y1}, color)
  end

  @doc """
  Returns the width in pixels.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(640, 480)
      iex> Dala.Gpu.width(surface)
      640
  """
  @spec width(surface()) :: pos_integer()
  def width(surface), do: surface |> Surface.call(:size) |> Error.value!() |> elem(0)

  @doc """
  Returns the height in pixels.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(640, 480)
      iex> Dala.Gpu.height(surface)
      480
  """
  @spec height(surface()) :: pos_integer()
  def height(surface), do: surface |> Surface.call(:size) |> Error.value!() |> elem(1)

  @doc """
  Saves the pixels, after all earlier drawing, as a PNG file, or as a JPEG file if the name ends in
  `.jpg` or `.jpeg`, or as a WebP file if it ends in `.webp`.

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(8, 8)
      iex> path = Path.join(System.tmp_dir!(), "dala_snapshot_doc.png")
      iex> Dala.Gpu.snapshot(surface, path)
      :ok
      iex> File.rm!(path)
      :ok
  """
  @spec snapshot(surface(), Path.t()) :: :ok | {:error, Error.t()}
  def snapshot(surface, path) do
    with {:ok, {width, height, pixels}} <- read(surface) do
      PictureFile.write(pixels, width, height, path, [])
    end
  end

  defp process!(pid) when is_pid(pid), do: pid
  defp process!(other), do: Argument.refuse!("a process", other)

  defp draw(surface, kernel, params, color) do
    color = color |> Color.rgba!() |> Tuple.to_list()

    for {name, value} <- params, not is_integer(value) and name != :blend do
      raise ArgumentError, "expected #{name} to be an integer, got: #{inspect(value)}"
    end

    Surface.call(surface, {:draw, kernel, Map.put(params, :color, color)})
  end

  defp read!(surface), do: surface |> read() |> Error.value!()

  defp read(surface) do
    with {:ok, {width, height, read}} <- Surface.call(surface, :read) do
      {:ok, {width, height, Buffer.finish_read(read)}}
    end
  end
end
