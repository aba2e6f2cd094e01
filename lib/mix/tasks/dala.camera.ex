defmodule Mix.Tasks.Dala.Camera do
  @shortdoc "Runs filters on a moving scene, in a window"

  @moduledoc """
  Draws an animated scene, runs a chain of filters on every frame, and shows the result in a window
  at a fixed rate. Prints the frames per second, once a second.

      $ mix dala.camera
      $ mix dala.camera beauty "blur radius=6 sigma=3" vignette --rate 60
      $ mix dala.camera sepia --no-window --seconds 5

  The arguments are filters, each with its parameters as `name=value`; the default is
  `"beauty strength=0.8" "sharpen amount=0.4" vignette`.

  Options:

    * `--width`, `--height` - the size of the frames, 640 by 480 by default
    * `--rate` - the target rate in frames per second, 30 by default; 0 is as fast as possible
    * `--seconds` - how long to run; by default until the window is closed
    * `--no-window` - only process and print, for machines without a display
  """

  use Mix.Task

  alias Dala.Gpu.Compute
  alias Dala.Media.{Gpu, TestScene}

  @default ["beauty strength=0.8", "sharpen amount=0.4", "vignette"]

  @impl true
  def run(args) do
    Mix.Task.run("app.start")

    {opts, filters} =
      OptionParser.parse!(args,
        strict: [
          width: :integer,
          height: :integer,
          rate: :integer,
          seconds: :integer,
          window: :boolean
        ]
      )

    width = opts[:width] || 640
    height = opts[:height] || 480
    filters = Enum.map(if(filters == [], do: @default, else: filters), &filter!/1)
    display = if Keyword.get(opts, :window, true), do: [display: :window], else: []

    with {:ok, ctx} <- Gpu.start_pipeline(width, height),
         {:ok, surface} <- Dala.Gpu.create_surface(width, height, display) do
      Dala.Gpu.subscribe(surface)
      Mix.shell().info("#{width}x#{height}, #{Compute.device_info().name}")

      state = %{
        ctx: ctx,
        surface: surface,
        scene: Compute.buffer_zeros({height, width, 4}, :u8),
        filters: filters,
        period: if((opts[:rate] || 30) > 0, do: 1_000_000 / (opts[:rate] || 30), else: 0),
        started: now(),
        end: opts[:seconds] && now() + 1_000_000 * opts[:seconds]
      }

      film(state, 0, {now(), 0})
      report(ctx)
    else
      {:error, error} -> Mix.raise(Exception.message(error))
    end
  end

  # "blur radius=6" -> {:blur, %{"radius" => 6}}
  defp filter!(text) do
    [name | params] = String.split(text)

    {name,
     Map.new(params, fn param ->
       case String.split(param, "=", parts: 2) do
         [key, value] -> {key, value(value)}
         _ -> Mix.raise("expected a parameter as name=value, got: #{param}")
       end
     end)}
  end

  defp value(text) do
    with :error <- parsed(Integer.parse(text)), :error <- parsed(Float.parse(text)), do: text
  end

  defp parsed({number, ""}), do: number
  defp parsed(_other), do: :error

  defp film(state, count, {since, shown}) do
    time = (now() - state.started) / 1_000_000
    with {:error, error} <- TestScene.draw(state.scene, time: time), do: Mix.raise(error.message)
    frame = Gpu.process_frame(state.ctx, Compute.read(state.scene), state.filters)
    Dala.Gpu.set_pixels(state.surface, frame)
    Dala.Gpu.present(state.surface)
    count = count + 1

    mark =
      if now() - since >= 1_000_000 do
        rate = (count - shown) * 1_000_000 / (now() - since)
        IO.puts("#{:erlang.float_to_binary(rate, decimals: 1)} frames per second")
        {now(), count}
      else
        {since, shown}
      end

    if goes_on?(state, count), do: film(state, count, mark)
  end

  # Handles window events until the next frame is due.
  defp goes_on?(state, count) do
    due = trunc(state.started + count * state.period)

    receive do
      {:dala_gpu_window, _surface, :closed} -> false
      {:dala_gpu_window, _surface, _resized} -> goes_on?(state, count)
      {:dala_gpu_frame, _surface, _n} -> goes_on?(state, count)
    after
      max(0, div(due - now(), 1000)) -> state.end == nil or now() < state.end
    end
  end

  defp report(ctx) do
    stats = Gpu.stats(ctx)

    Mix.shell().info("""
    #{stats.frames} frames, #{ms(stats.latency_ms.median)} ms each (median)
    #{Enum.map_join(stats.stages, "\n", &"  #{String.pad_trailing(&1.name, 40)} #{ms(&1.mean_ms)} ms")}\
    """)
  end

  defp ms(value), do: :erlang.float_to_binary(value * 1.0, decimals: 2)

  defp now, do: System.monotonic_time(:microsecond)
end
