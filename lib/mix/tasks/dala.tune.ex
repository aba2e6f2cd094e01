defmodule Mix.Tasks.Dala.Tune do
  @shortdoc "Searches for the fastest tile sizes on this GPU"

  @moduledoc """
  Searches for the tile sizes of matrix products, convolutions and reductions that are fastest on the
  device at hand, and keeps them on disk for all programs that start later.

      $ mix dala.tune
      $ mix dala.tune --seconds 60

  The task prints a table of the times before and after. Results are compared with those of the
  default tiles; tiles that compute something else, or that the driver rejects, are not used. What is
  kept is for this device and this version of its driver. Your application is not started.

  Only the kernels for GPUs have such tiles. `DALA_GPU_DEVICE_CLASS=gpu` selects them on a CPU, where
  they are slower than the kernels for CPUs whatever their tiles are.

  ## Options

    * `--seconds N` - how long the search may take, 300 by default
  """

  use Mix.Task

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.Tuning

  @impl true
  @spec run([String.t()]) :: :ok
  def run(args) do
    {opts, rest} = OptionParser.parse!(args, strict: [seconds: :integer])
    if rest != [], do: Mix.raise("mix dala.tune takes no arguments, got: #{Enum.join(rest, " ")}")
    # Starts the library with the project's configuration, but not the project's application.
    Mix.Task.run("app.config")
    {:ok, _started} = Application.ensure_all_started(:dala_gpu)

    case Tuning.run([progress: &step/1] ++ opts) do
      {:ok, results} ->
        IO.puts("")
        IO.puts(table(results))

      {:error, error} ->
        Mix.raise(Exception.message(error))
    end
  end

  defp step({0, total, class}) do
    IO.puts("#{total} classes of shapes on #{Compute.device_info().name}")
    step({1, total, class, :first})
  end

  defp step({done, total, class}), do: step({done + 1, total, class, :next})
  defp step({nth, total, class, _which}), do: IO.puts("#{nth}/#{total} #{class}")

  defp table([]), do: "No class of shapes was finished within the time."

  defp table(results) do
    rows =
      for result <- results do
        [
          result.class,
          time(result.before_us),
          time(result.after_us),
          "#{Float.round(result.before_us / max(result.after_us, 0.001), 2)}x",
          result.after <> if(result.rejected > 0, do: ", #{result.rejected} rejected", else: "")
        ]
      end

    rows = [["class", "before", "after", "gain", "tiles"] | rows]
    widths = rows |> Enum.zip_with(&Enum.max(Enum.map(&1, fn cell -> String.length(cell) end)))

    Enum.map_join(rows, "\n", fn row ->
      row
      |> Enum.zip_with(widths, &String.pad_trailing/2)
      |> Enum.join("  ")
      |> String.trim_trailing()
    end)
  end

  defp time(us) when us < 1000, do: "#{round(us)} us"
  defp time(us), do: "#{Float.round(us / 1000, 2)} ms"
end
