# Runs the tests of Nx, or of Axon, on Dala.Nx.Backend: `make test-nx` says how to call it.
#
#     elixir -pa _build/test/lib/dala_gpu/ebin test/nx/suite.exs nx backend
#     elixir -pa _build/test/lib/dala_gpu/ebin test/nx/suite.exs axon compiler
#
# That is not a task of Mix, which would consolidate protocols that these tests implement.
#
# NX_TESTS is a list of files, to run only some.
#
# The tests are those of a checkout, NX_SOURCE or AXON_SOURCE, or a folder `nx` or `axon` beside the
# libraries. They compare tensors by `==`, which for tensors on a device would compare references, so
# what they assert to be equal is copied to Nx.BinaryBackend first.
#
# A test whose numbers differ from the expected ones by rounding alone passes: the run lists it, and
# Dala.NxSuite.Rounding has the bounds. exceptions.exs names the tests that may fail otherwise, and
# why. Any other failure is one of this run.

defmodule Dala.NxSuite do
  @compile {:no_warn_undefined, [Nx, Nx.Defn, Nx.Tensor]}

  def main([project, mode]) when project in ["nx", "axon"] and mode in ["backend", "compiler"] do
    module = %{"nx" => Nx, "axon" => Axon}[project]
    source = source(project)

    cond do
      not Code.ensure_loaded?(module) ->
        skip(project, mode, "#{inspect(module)} is not on the code path (ERL_LIBS)")

      source == nil ->
        variable = String.upcase(project) <> "_SOURCE"
        skip(project, mode, "no checkout of #{project} found (#{variable})")

      true ->
        run(project, mode, source)
    end
  end

  defp skip(project, mode, why), do: IO.puts("skipped: tests of #{project}, #{mode}: #{why}")

  defp source(project) do
    beside =
      for lib <- String.split(System.get_env("ERL_LIBS", ""), ":", trim: true),
          path <- [project, "nx/#{project}"],
          do: Path.expand("../#{path}", lib)

    [System.get_env(String.upcase(project) <> "_SOURCE") | beside]
    |> Enum.reject(&is_nil/1)
    |> Enum.find(&File.dir?(Path.join(&1, "test")))
  end

  defp run(project, mode, source) do
    {:ok, _apps} = Application.ensure_all_started(:nx)
    {:ok, _apps} = Application.ensure_all_started(:dala_gpu)
    Application.put_env(:dala_gpu, :nx, warn: false, show_backend: false, check_bounds: true)

    ExUnit.start(
      autorun: false,
      exclude: [:distributed, :integration, :skip_exla, :skip_torchx],
      formatters: [ExUnit.CLIFormatter, Dala.NxSuite.Failures],
      timeout: 300_000,
      assert_receive_timeout: 5000,
      colors: [enabled: false]
    )

    Code.compiler_options(ignore_module_conflict: true)
    File.cd!(source)

    compiler = if mode == "compiler", do: Dala.Nx.Compiler, else: Nx.Defn.Evaluator
    Process.put(:defaults, test_backend: Dala.Nx.Backend, test_compiler: compiler)

    for path <- Enum.sort(Path.wildcard("test/support/**/*.ex")),
        do: load(path, [:assert, :refute, :if, :unless])

    for path <- test_files(), do: load(path, [:assert, :refute])
    # Only now: modules have tensors as attributes, which are part of their code.
    Nx.global_default_backend(Dala.Nx.Backend)
    if mode == "compiler", do: Nx.Defn.global_default_options(compiler: compiler)
    {:ok, failures} = Agent.start_link(fn -> [] end, name: Dala.NxSuite.Failures.Names)
    ExUnit.run()
    report(project, mode, Agent.get(failures, & &1))
  end

  defp test_files do
    case System.get_env("NX_TESTS") do
      nil -> Path.wildcard("test/**/*_test.exs")
      files -> String.split(files)
    end
  end

  defp load(path, constructs) do
    path
    |> File.read!()
    |> Code.string_to_quoted!(file: path)
    |> Macro.prewalk(&comparable(&1, constructs))
    |> Code.compile_quoted(path)
  end

  # The operands of an assertion are copied to the host.
  defp comparable({name, meta, [{op, op_meta, [left, right]} | rest]} = expr, constructs)
       when op in [:==, :!=] do
    if name in constructs,
      do: {name, meta, [{op, op_meta, [copied(left), copied(right)]} | rest]},
      else: expr
  end

  # The tests of Axon set a backend and a compiler of their own.
  defp comparable({:def, meta, [{name, _, args} = head | _]}, _constructs)
       when name in [:test_backend, :test_compiler] and args in [nil, []],
       do: {:def, meta, [head, [do: Process.get(:defaults)[name]]]}

  # A serving is given the default options of defn, one of which is the compiler.
  defp comparable({:{}, meta, [:init, type, [[{:batch_keys, keys} | rest]]]}, _constructs) do
    options = [batch_keys: keys] ++ compiler_option() ++ rest
    {:{}, meta, [:init, type, [options]]}
  end

  # A pattern that has a variable twice compares, too.
  defp comparable({:assert, meta, [{:=, match_meta, [pattern, value]} | rest]}, _constructs),
    do: {:assert, meta, [{:=, match_meta, [pattern, copied(value)]} | rest]}

  defp comparable(other, _constructs), do: other

  defp compiler_option do
    case Process.get(:defaults)[:test_compiler] do
      Dala.Nx.Compiler -> [compiler: Dala.Nx.Compiler]
      _evaluator -> []
    end
  end

  defp copied(operand), do: quote(do: Dala.NxSuite.on_host(unquote(operand)))

  def on_host(%{__struct__: Nx.Tensor, data: %{__struct__: backend}} = tensor)
      when backend in [Dala.Nx.Backend, Nx.BinaryBackend] do
    copy = Nx.backend_copy(tensor, Nx.BinaryBackend)
    %{copy | data: %{copy.data | state: one_nan(copy.type, copy.data.state)}}
  end

  def on_host(%{__struct__: module} = struct) when module != Nx.Tensor,
    do: struct |> Map.from_struct() |> on_host() |> Map.put(:__struct__, module)

  def on_host(map) when is_map(map) and not is_struct(map),
    do: Map.new(map, fn {key, value} -> {key, on_host(value)} end)

  def on_host(list) when is_list(list) and length(list) >= 0, do: Enum.map(list, &on_host/1)

  def on_host(tuple) when is_tuple(tuple),
    do: tuple |> Tuple.to_list() |> on_host() |> List.to_tuple()

  def on_host(other), do: other

  # IEEE 754 has many NaNs, which are all the same to a program that does not look at their bits.
  defp one_nan({:f, 32}, bytes) do
    for <<bits::32-native <- bytes>>, into: <<>> do
      if rem(bits, 0x80000000) > 0x7F800000,
        do: <<0x7FC00000::32-native>>,
        else: <<bits::32-native>>
    end
  end

  defp one_nan({:c, 64}, bytes), do: one_nan({:f, 32}, bytes)
  defp one_nan(_type, bytes), do: bytes

  # A failure is excused by its name, unless only rounding made it one.
  defp report(project, mode, failures) do
    {exceptions, _binding} = Code.eval_file("exceptions.exs", __DIR__)
    exceptions = Keyword.fetch!(exceptions, String.to_atom(project))
    {rounded, others} = Enum.split_with(failures, fn {_test, small?} -> small? end)
    excused? = fn {test, _small?}, {name, _reason} -> String.starts_with?(test, name) end

    {known, unknown} =
      Enum.split_with(others, fn f -> Enum.any?(exceptions, &excused?.(f, &1)) end)

    IO.puts(
      "\ntests of #{project}, #{mode}: #{length(unknown)} failures, #{length(rounded)} equal up to " <>
        "rounding, #{length(known)} excused by #{length(exceptions)} exceptions"
    )

    for {what, tests} <- [failed: unknown, rounding: rounded, excused: known],
        {test, _small?} <- tests,
        do: IO.puts("  #{what}: #{test}")

    for {name, _reason} = exception <- exceptions,
        not Enum.any?(known, &excused?.(&1, exception)),
        do: IO.puts("  did not fail: #{name}")

    fallbacks = Dala.Nx.fallbacks() |> Enum.sort_by(&(-elem(&1, 1))) |> Enum.take(40)
    IO.puts("  fallbacks: #{Enum.map_join(fallbacks, ", ", fn {op, n} -> "#{op} #{n}" end)}")
    if unknown != [], do: System.halt(1)
  end
end

defmodule Dala.NxSuite.Rounding do
  # Whether an assertion failed only because floats differ by little.

  def only?([{:error, %ExUnit.AssertionError{left: left, right: right}, _stack}]),
    do: left != right and close?(left, right)

  def only?(_details), do: false

  # What a doctest printed.
  defp close?(left, right) when is_binary(left) and is_binary(right) do
    float = ~r/-?\d+\.\d+(e[+-]?\d+)?/
    [floats, others] = for text <- [left, right], do: Regex.scan(float, text, capture: :first)

    String.replace(left, float, "_") == String.replace(right, float, "_") and
      Enum.all?(Enum.zip(floats, others), fn {[a], [b]} ->
        near?(String.to_float(a), String.to_float(b), printed_type(left))
      end)
  end

  defp close?(%{__struct__: Nx.Tensor} = left, %{__struct__: Nx.Tensor} = right) do
    like = &{&1.type, &1.shape, &1.names, &1.vectorized_axes}
    numbers = &(&1 |> Nx.devectorize() |> Nx.to_flat_list())

    like.(left) == like.(right) and
      Enum.all?(Enum.zip(numbers.(left), numbers.(right)), fn {a, b} -> near?(a, b, left.type) end)
  end

  defp close?(left, right) when is_tuple(left) and is_tuple(right),
    do: close?(Tuple.to_list(left), Tuple.to_list(right))

  defp close?(left, right)
       when is_list(left) and is_list(right) and length(left) == length(right),
       do: Enum.all?(Enum.zip(left, right), fn {a, b} -> close?(a, b) end)

  defp close?(left, right), do: left == right

  defp near?(%{re: a, im: b}, %{re: c, im: d}, type), do: near?(a, c, type) and near?(b, d, type)

  defp near?(a, b, type) when is_number(a) and is_number(b),
    do: abs(a - b) <= unit(type) * max(1, max(abs(a), abs(b)))

  defp near?(a, b, _type), do: a == b

  defp printed_type(text), do: if(text =~ "bf16", do: {:bf, 16}, else: {:f, 32})

  # Some units in the last place; Nx.BinaryBackend cuts bf16 off where kernels round to nearest.
  defp unit({:bf, 16}), do: 0.016
  defp unit({:f, 16}), do: 0.002
  defp unit(_type), do: 1.0e-6
end

defmodule Dala.NxSuite.Failures do
  use GenServer

  def init(_opts), do: {:ok, nil}

  def handle_cast({:test_finished, %{state: {state, details}} = test}, nil)
      when state in [:failed, :invalid] do
    name = "#{inspect(test.module)} #{test.name}"
    failure = {name, Dala.NxSuite.Rounding.only?(details)}
    Agent.update(Dala.NxSuite.Failures.Names, &[failure | &1])
    {:noreply, nil}
  end

  def handle_cast(_event, nil), do: {:noreply, nil}
end

Dala.NxSuite.main(System.argv())
