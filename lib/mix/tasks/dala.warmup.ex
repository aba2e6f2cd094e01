defmodule Mix.Tasks.Dala.Warmup do
  @shortdoc "Compiles all kernels of Dala GPU ahead of time"

  @moduledoc """
  Compiles all built-in kernels ahead of time and keeps them on disk.

      $ mix dala.warmup
      $ mix dala.warmup f32 u8

  The arguments are the element types to prepare; without any, all of them.
  """

  use Mix.Task

  alias Dala.Gpu.Compute

  @bar 30

  @impl true
  def run(args) do
    Mix.Task.run("app.start")
    dtypes = for arg <- args, do: dtype!(arg)
    opts = if dtypes == [], do: [], else: [dtypes: dtypes]
    started = System.monotonic_time(:millisecond)

    case Compute.warmup([progress: &show/1] ++ opts) do
      :ok ->
        seconds = (System.monotonic_time(:millisecond) - started) / 1000
        IO.puts("\r#{bar(1, 1)} all kernels are ready#{String.duplicate(" ", 30)}")
        Mix.shell().info("It took #{:erlang.float_to_binary(seconds, decimals: 1)} s.")

      {:error, error} ->
        IO.puts("")
        Mix.raise(Exception.message(error))
    end
  end

  defp dtype!(arg) do
    known = %{
      "f32" => :f32,
      "f64" => :f64,
      "s32" => :s32,
      "s64" => :s64,
      "u32" => :u32,
      "u8" => :u8
    }

    Map.get(known, arg) ||
      Mix.raise(
        "expected an element type, one of #{Enum.join(Map.keys(known), ", ")}, got: #{arg}"
      )
  end

  defp show({done, total, kernel, dtype}) do
    IO.write(
      "\r" <> String.pad_trailing("#{bar(done, total)} #{done}/#{total} #{kernel} #{dtype}", 78)
    )
  end

  defp bar(done, total) do
    full = div(done * @bar, total)
    "[" <> String.duplicate("#", full) <> String.duplicate(".", @bar - full) <> "]"
  end
end
