defmodule Dala.Fuzz.TermsTest do
  use ExUnit.Case, async: true

  # A short run, which also finds a native function that the fuzzer does not know yet.
  test "every native function withstands arguments that nobody would pass" do
    ebin = Path.join(Mix.Project.app_path(), "ebin")
    child = Path.join(__DIR__, "terms_child.exs")
    seed = :erlang.phash2(make_ref())

    {output, status} =
      System.cmd("timeout", ["120", "elixir", "-pa", ebin, child, "#{seed}", "2000"],
        stderr_to_stdout: true
      )

    assert status == 0, "with seed #{seed}:\n#{String.slice(output, -2000, 2000)}"
  end
end
