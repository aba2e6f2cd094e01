# Calls every native function with arguments that nobody would pass: see `make fuzz`. The calls are
# made by child VMs, one after the other; a child that dies, hangs or finds something wrong is a
# finding, which its seed makes again.
defmodule Dala.Fuzz.Terms do
  @calls 20_000
  @bound_s 300

  def main(options) do
    case options[:reproduce] do
      nil -> search(options)
      file -> reproduce(file)
    end
  end

  defp search(options) do
    started = System.monotonic_time(:second)
    seed = options[:seed] || rem(:erlang.unique_integer([:positive]) * 7919, 1_000_000) + started
    outcomes = children(seed, started + options[:seconds], options[:findings], [])
    seconds = max(System.monotonic_time(:second) - started, 1)
    total = Enum.sum(for {_outcome, calls} <- outcomes, do: calls)
    IO.puts("terms: #{total} inputs in #{seconds} s, #{div(total, seconds)} per second")
    if Enum.any?(outcomes, &match?({:finding, _calls}, &1)), do: System.halt(1)
  end

  defp children(seed, stop, folder, outcomes) do
    case child(seed, @calls, []) do
      {output, 0} ->
        calls = output |> String.split() |> List.last() |> String.to_integer()
        outcomes = [{:ok, calls} | outcomes]

        if System.monotonic_time(:second) > stop,
          do: outcomes,
          else: children(seed + 1, stop, folder, outcomes)

      {output, status} ->
        file = Path.join(folder, "terms-#{seed}")
        File.write!(file, "#{seed}\nthe child ended with #{status}\n#{output}")
        IO.puts("terms: the child ended with #{status}:\n#{String.slice(output, -2000, 2000)}")
        IO.puts("  run it again with make fuzz ONLY=terms REPRODUCE=#{file}")
        [{:finding, 0} | outcomes]
    end
  end

  defp reproduce(file) do
    [seed | _] = file |> File.read!() |> String.split()
    {_output, status} = child(String.to_integer(seed), @calls, into: IO.stream())
    System.halt(status)
  end

  # The last line that a child writes to standard error before it dies is the call it made.
  defp child(seed, calls, options) do
    ebin = Path.join(Mix.Project.app_path(), "ebin")
    program = Path.join(__DIR__, "terms_child.exs")
    args = ["-k", "5", "#{@bound_s}", "elixir", "-pa", ebin, program, "#{seed}", "#{calls}"]
    System.cmd("timeout", args, [stderr_to_stdout: true] ++ options)
  end
end

{options, [], []} =
  OptionParser.parse(System.argv(),
    strict: [seconds: :integer, seed: :integer, findings: :string, reproduce: :string]
  )

Dala.Fuzz.Terms.main(options)
