defmodule Dala.Gpu.Compute.Tuning do
  @moduledoc """
  Searches for the tile sizes that are fastest on this device.

  Matrix products, convolutions and reductions of the GPU family divide their work into tiles. Each
  vendor's GPUs have defaults for their sizes; a search tries others with sample calls, one per class
  of shapes. It compares each result with that of the defaults, and keeps the fastest tiles, on disk,
  for this device with this driver. Programs that start later use them; in this one, calls from then
  on do, but not pipelines and models that have run already.
  """

  alias Dala.Gpu.Compute.{Argument, Error, Native, Runtime}

  @seconds 300

  @typedoc """
  The result of a class of shapes: what it was measured with, the default tiles and their time in
  microseconds, the fastest ones and theirs, the number of candidates that were tried, and how many
  of these failed or computed something else.
  """
  @type result :: %{
          class: String.t(),
          call: String.t(),
          before: String.t(),
          before_us: float(),
          after: String.t(),
          after_us: float(),
          tried: non_neg_integer(),
          rejected: non_neg_integer()
        }

  @doc """
  Runs the search; only the calling process waits. `mix dala.tune` does so and prints a table.

  The error is `:unsupported` on a device that runs the kernels for CPUs, which are not tuned.

  ## Options

    * `:seconds` - how long the search may take, #{@seconds} by default; classes of shapes that were
      not finished by then keep their tiles, and are not in the result
    * `:progress` - a function of one argument, called with `{done, total, class}` before each class;
      none by default
  """
  @spec run(seconds: non_neg_integer(), progress: ({integer(), integer(), String.t()} -> any())) ::
          {:ok, [result()]} | {:error, Error.t()}
  def run(opts \\ []) do
    opts = Argument.options!(opts, seconds: @seconds, progress: fn _step -> :ok end)
    seconds = opts[:seconds]
    progress = opts[:progress]

    unless is_integer(seconds) and seconds in 0..86_400 do
      raise ArgumentError, "expected seconds: an integer in 0..86400, got: #{inspect(seconds)}"
    end

    unless is_function(progress, 1) do
      raise ArgumentError,
            "expected progress: a function of 1 argument, got: #{inspect(progress)}"
    end

    with :ok <- Runtime.ensure() do
      ref = make_ref()
      with :ok <- Native.tune(1000 * seconds, ref), do: follow(ref, progress, [])
    end
  end

  defp follow(ref, progress, results) do
    receive do
      {^ref, {:step, done, total, class}} ->
        progress.({done, total, class})
        follow(ref, progress, results)

      {^ref, {:result, class, call, {before, before_us, best, after_us}, {tried, rejected}}} ->
        result = %{
          class: class,
          call: call,
          before: before,
          before_us: before_us,
          after: best,
          after_us: after_us,
          tried: tried,
          rejected: rejected
        }

        follow(ref, progress, [result | results])

      {^ref, :ok} ->
        {:ok, Enum.reverse(results)}

      {^ref, {:error, _error} = failed} ->
        failed
    end
  end
end
