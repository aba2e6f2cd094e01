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
# what they assert to be equal is copied to Nx.BinaryBackend first. Nx.BinaryBackend computes in 64 bits
# and rounds the result; floats, also those that a doctest prints, may differ by 1.0e-5 of their size,
# and by as much near 0. Doctests that differ by no more are counted as rounded.
#
# exceptions.exs names the tests that may fail, and why. Any other failure is one of this run.

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
    Application.put_env(:dala_gpu, :nx, warn: false, show_backend: false)

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

    for path <- Path.wildcard("test/support/**/*.ex"),
        do: load(path, [:assert, :refute, :if, :unless])

    for path <- test_files(), do: load(path, [:assert, :refute])
    # Only now: modules have tensors as attributes, which are part of their code.
    Nx.global_default_backend(Dala.Nx.Backend)
    if mode == "compiler", do: Nx.Defn.global_default_options(compiler: Dala.Nx.Compiler)
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
      do: {name, meta, [{op, op_meta, compared(left, right)} | rest]},
      else: expr
  end

  defp comparable(other, _constructs), do: other

  # What is close to the right side is replaced by it.
  defp compared(left, right) do
    right = quote(do: Dala.NxSuite.on_host(unquote(right)))
    [quote(do: Dala.NxSuite.rounded(unquote(left), unquote(right))), right]
  end

  def rounded(left, right), do: left |> on_host() |> snap(right)

  defp snap(%{__struct__: Nx.Tensor} = left, %{__struct__: Nx.Tensor} = right) do
    like = &{&1.type, &1.shape, &1.names, &1.vectorized_axes}

    if like.(left) == like.(right) and elem(left.type, 0) in [:f, :bf, :c] and
         Enum.all?(Enum.zip(numbers(left), numbers(right)), fn {a, b} -> close?(a, b) end),
       do: right,
       else: left
  end

  defp snap(left, right) when is_tuple(left) and is_tuple(right) do
    left |> Tuple.to_list() |> snap(Tuple.to_list(right)) |> List.to_tuple()
  end

  defp snap(left, right)
       when is_list(left) and is_list(right) and length(left) == length(right),
       do: Enum.zip_with(left, right, &snap/2)

  defp snap(left, right) when is_map(left) and is_map(right) do
    Map.new(left, fn {key, value} -> {key, snap(value, Map.get(right, key))} end)
  end

  defp snap(left, right) when is_float(left) and is_float(right),
    do: if(close?(left, right), do: right, else: left)

  defp snap(left, _right), do: left

  defp numbers(%{data: %{__struct__: Nx.BinaryBackend}} = tensor) do
    tensor
    |> Nx.devectorize()
    |> Nx.to_flat_list()
    |> Enum.flat_map(fn
      %{re: re, im: im} -> [re, im]
      number -> [number]
    end)
  end

  defp numbers(other), do: [other]

  def close?(a, b) when is_number(a) and is_number(b),
    do: abs(a - b) <= 1.0e-5 * max(1, max(abs(a), abs(b)))

  def close?(a, b), do: a == b

  def on_host(%{__struct__: Nx.Tensor, data: %{__struct__: Dala.Nx.Backend}} = tensor),
    do: Nx.backend_copy(tensor, Nx.BinaryBackend)

  def on_host(%{__struct__: module} = struct) when module != Nx.Tensor,
    do: struct |> Map.from_struct() |> on_host() |> Map.put(:__struct__, module)

  def on_host(map) when is_map(map) and not is_struct(map),
    do: Map.new(map, fn {key, value} -> {key, on_host(value)} end)

  def on_host(list) when is_list(list) and length(list) >= 0, do: Enum.map(list, &on_host/1)

  def on_host(tuple) when is_tuple(tuple),
    do: tuple |> Tuple.to_list() |> on_host() |> List.to_tuple()

  def on_host(other), do: other

  defp report(project, mode, failures) do
    {exceptions, []} = Code.eval_file("exceptions.exs", __DIR__)
    names = for {name, _reason} <- exceptions[String.to_atom(project)] || [], do: name
    {rounded, failures} = Enum.split_with(failures, &match?({:rounded, _}, &1))
    {known, unknown} = Enum.split_with(failures, fn name -> Enum.any?(names, &(name =~ &1)) end)
    unused = Enum.reject(names, fn name -> Enum.any?(known, &(&1 =~ name)) end)

    IO.puts(
      "\ntests of #{project}, #{mode}: #{length(unknown)} failures, #{length(known)} exceptions"
    )

    for name <- unknown, do: IO.puts("  failed: #{name}")
    for name <- known, do: IO.puts("  exception: #{name}")
    for {:rounded, name} <- rounded, do: IO.puts("  rounded: #{name}")
    for name <- unused, do: IO.puts("  did not fail: #{name}")
    fallbacks = Dala.Nx.fallbacks() |> Enum.sort_by(&(-elem(&1, 1))) |> Enum.take(40)
    IO.puts("  fallbacks: #{Enum.map_join(fallbacks, ", ", fn {op, n} -> "#{op} #{n}" end)}")
    if unknown != [], do: System.halt(1)
  end
end

defmodule Dala.NxSuite.Failures do
  use GenServer

  def init(_opts), do: {:ok, nil}

  def handle_cast({:test_finished, %{state: {state, details}} = test}, nil)
      when state in [:failed, :invalid] do
    name = "#{inspect(test.module)} #{test.name}"
    name = if rounded?(details), do: {:rounded, name}, else: name
    Agent.update(Dala.NxSuite.Failures.Names, &[name | &1])
    {:noreply, nil}
  end

  def handle_cast(_event, nil), do: {:noreply, nil}

  # A doctest that compares the text of a tensor.
  defp rounded?([{:error, %ExUnit.AssertionError{left: left, right: right}, _stack}])
       when is_binary(left) and is_binary(right) do
    float = ~r/-?\d+\.\d+(e[+-]?\d+)?/
    [floats, others] = for text <- [left, right], do: Regex.scan(float, text, capture: :first)

    String.replace(left, float, "_") == String.replace(right, float, "_") and
      Enum.all?(Enum.zip(floats, others), fn {[a], [b]} ->
        Dala.NxSuite.close?(String.to_float(a), String.to_float(b))
      end)
  end

  defp rounded?(_details), do: false
end

Dala.NxSuite.main(System.argv())
