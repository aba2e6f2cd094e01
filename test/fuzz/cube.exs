# Feeds damaged tables to the reader of `.cube` files: see `make fuzz`. Every input follows from the
# seed and its number, so a finding can be made again; it is also left as a file.
defmodule Dala.Fuzz.Cube do
  alias Dala.Gpu.Compute.Error
  alias Dala.Media.Lut

  # Longer than any input here may take.
  @bound_ms 2_000

  @tables [
    "LUT_1D_SIZE 2\n0 0 0\n1 0.5 1\n",
    "TITLE \"Half\"\r\nLUT_1D_SIZE 3\r\nDOMAIN_MIN 0 0 0\r\nDOMAIN_MAX 1 1 2\r\n" <>
      "0 0 0\r\n.5 .5 .5\r\n1 1 1\r\n",
    "# a comment\nLUT_3D_SIZE 2\n\n" <>
      for(b <- 0..1, g <- 0..1, r <- 0..1, into: "", do: "#{r} #{g}.0 #{b}e0\n"),
    "LUT_3D_SIZE 256\n1 2 3\n"
  ]

  @words ["TITLE", "\"", "\"a b\"", "LUT_1D_SIZE", "LUT_3D_SIZE", "DOMAIN_MIN", "DOMAIN_MAX"] ++
           [
             "#",
             "0 0 0",
             "nan",
             "inf",
             "-0",
             "+.5",
             "1e",
             "1e400",
             "-1e-400",
             "0x1",
             "65536",
             "257"
           ] ++
           [
             "\r",
             "\n",
             "\t",
             "\v",
             "\u00a0",
             "\u2028",
             <<0>>,
             <<0xFF>>,
             <<0xC3>>,
             "1_0",
             "3.4e38"
           ]

  def main(options) do
    case options[:reproduce] do
      nil -> search(options)
      file -> IO.inspect(outcome(File.read!(file)), label: file)
    end
  end

  defp search(options) do
    seed = options[:seed] || :erlang.unique_integer([:positive])
    stop = System.monotonic_time(:millisecond) + 1000 * options[:seconds]
    started = System.monotonic_time(:millisecond)

    counts =
      1..System.schedulers_online()
      |> Task.async_stream(&work(&1, 0, seed, stop, options[:findings]), timeout: :infinity)
      |> Enum.map(fn {:ok, count} -> count end)

    seconds = max(div(System.monotonic_time(:millisecond) - started, 1000), 1)
    total = Enum.sum(for {_outcome, count} <- counts, do: count)
    IO.puts("cube: #{total} inputs in #{seconds} s, #{div(total, seconds)} per second")
    if Enum.any?(counts, &match?({:finding, _count}, &1)), do: System.halt(1)
  end

  defp work(worker, number, seed, stop, folder) do
    :rand.seed(:exsss, {seed, worker, number})
    text = mutated(Enum.random(@tables), :rand.uniform(6))

    case outcome(text) do
      :fine ->
        if rem(number, 256) == 0 and System.monotonic_time(:millisecond) > stop,
          do: {:ok, number + 1},
          else: work(worker, number + 1, seed, stop, folder)

      problem ->
        file = Path.join(folder, "cube-#{seed}-#{worker}-#{number}")
        File.write!(file, text)
        IO.puts("cube: #{problem}\n  run it again with make fuzz ONLY=cube REPRODUCE=#{file}")
        {:finding, number + 1}
    end
  end

  # A table as it should be, an error that says what is wrong, or what else came of it.
  defp outcome(text) do
    {microseconds, result} = :timer.tc(fn -> parse(text) end)

    case result do
      _ when microseconds > 1000 * @bound_ms -> "it took #{div(microseconds, 1000)} ms"
      {:ok, %Lut{} = lut} -> sound(lut)
      {:error, %Error{reason: :invalid_param, message: message}} -> printable(message)
      other -> "it gave #{inspect(other, limit: 20)}"
    end
  end

  defp parse(text) do
    Lut.parse(text)
  rescue
    exception -> exception
  end

  defp sound(%Lut{dimensions: dimensions, size: size, data: data} = lut) do
    entries = if dimensions == 3, do: size * size * size, else: size
    ordered = Enum.all?(0..2, &(elem(lut.domain_min, &1) < elem(lut.domain_max, &1)))
    if byte_size(data) == 12 * entries and ordered, do: :fine, else: "#{inspect(lut, limit: 5)}"
  end

  defp printable(message),
    do: if(String.valid?(message), do: :fine, else: "its message is no text")

  defp mutated(text, 0), do: text

  defp mutated(text, rounds) do
    at = :rand.uniform(byte_size(text) + 1) - 1
    length = min(:rand.uniform(12), byte_size(text) - at)
    <<before::binary-size(at), part::binary-size(length), rest::binary>> = text

    mutated(
      case :rand.uniform(8) do
        1 -> before <> rest
        2 -> before <> part <> part <> rest
        3 -> before <> Enum.random(@words) <> part <> rest
        4 -> before <> Enum.random(@words) <> rest
        5 -> before <> <<:rand.uniform(256) - 1>> <> rest
        6 -> rest <> "\n" <> before
        7 -> before <> String.duplicate("#{:rand.uniform(9)}", :rand.uniform(400)) <> part <> rest
        8 -> text |> String.split("\n") |> Enum.shuffle() |> Enum.join("\n")
      end,
      rounds - 1
    )
  end
end

{options, [], []} =
  OptionParser.parse(System.argv(),
    strict: [seconds: :integer, seed: :integer, findings: :string, reproduce: :string]
  )

Dala.Fuzz.Cube.main(options)
