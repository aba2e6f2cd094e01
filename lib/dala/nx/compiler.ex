defmodule Dala.Nx.Compiler do
  @moduledoc """
  Compiles `defn` for the device: `Nx.Defn.default_options(compiler: Dala.Nx.Compiler)`.

  A numerical function is traced once for each combination of types and shapes. If it has no control
  flow and nothing that only the host can do, it becomes one pipeline: elementwise operations are
  fused, memory is laid out once, and each call is a single command. Otherwise its operations are
  submitted one after the other, and memory is freed after its last use; bodies of loops are compiled
  in the same way as functions.

  A call returns immediately with tensors of `Dala.Nx.Backend`, and reading them waits. `cond` and
  `while` wait for their conditions, hooks for their values.

  ## Options

    * `:hooks` - functions by name, as for `Nx.Defn.jit/2`
    * `:max_concurrency` - the number of partitions of a `Nx.Serving`, 1 by default

  Nx is an optional dependency: it is looked up when a function is called, not when this module is
  compiled.
  """

  # A behaviour of Nx.Defn.Compiler; see Dala.Nx.Backend on why that is not declared.

  alias Dala.Nx.{Backend, Program, ProgramTable}

  @compile {:no_warn_undefined,
            [Nx, Nx.Defn.Composite, Nx.Defn.Evaluator, Nx.Defn.Stream, Nx.Shared]}

  @doc false
  def __partitions_options__(opts),
    do: List.duplicate(opts, Keyword.get(opts, :max_concurrency, 1))

  @doc false
  def __to_backend__(_opts), do: {Backend, []}

  @doc false
  def __jit__(key, vars, fun, args_list, opts), do: __compile__(key, vars, fun, opts).(args_list)

  @doc false
  def __compile__(key, vars, fun, opts) do
    case compiled(key, vars, fun, opts) do
      {program, templates} ->
        fn args_list -> Enum.map(args_list, &call(program, templates, arguments(&1))) end

      :unknown ->
        # An expression of a later Nx: its own evaluator knows all of them.
        evaluate = on_device(fn -> Nx.Defn.Evaluator.__compile__(key, vars, fun, opts) end)
        fn args_list -> on_device(fn -> evaluate.(Enum.map(args_list, &thunks/1)) end) end
    end
  end

  @doc false
  def __stream__(key, input, acc, vars, fun, [args], opts) do
    count = Nx.Defn.Composite.count(input) + Nx.Defn.Composite.count(acc)
    rest = args |> Enum.drop(count) |> arguments()
    {program, templates} = compiled(key, vars, fun, opts)

    on_device(fn ->
      [
        Nx.Defn.Stream.start_link(input, acc, fn input, acc ->
          state = Nx.Defn.Composite.flatten_list([acc])
          call(program, templates, arguments(input ++ state) ++ rest)
        end)
      ]
    end)
  end

  defp compiled(key, vars, fun, opts) do
    hooks = Keyword.get(opts, :hooks, %{})
    types = Enum.map(vars, fn var -> Nx.Defn.Composite.traverse(var, &%{&1 | data: nil}) end)

    ProgramTable.fetch(key, {types, hooks}, fn ->
      expr = fun.(vars)
      plain = Nx.Defn.Composite.traverse(expr, &Nx.devectorize/1)
      templates = Nx.Defn.Composite.traverse(expr, &%{&1 | data: nil})
      {on_device(fn -> Program.build(plain, hooks) end), templates}
    end)
  rescue
    Program.Unknown -> :unknown
  end

  defp call(program, templates, params) do
    results = on_device(fn -> Program.run(program, params) end)
    Program.unpack(templates, results)
  end

  # Arguments are functions that return tensors, or tensors themselves.
  defp arguments(args) do
    Enum.map(args, fn arg -> arg |> value() |> checked() |> Program.on_device() end)
  end

  defp value(arg) when is_function(arg, 0), do: arg.()
  defp value(arg), do: arg

  defp checked(%{data: %{__struct__: Nx.Defn.Expr}} = tensor) do
    raise ArgumentError,
          "cannot pass a tensor expression as argument to defn, got: #{inspect(tensor)}"
  end

  defp checked(%{__struct__: Nx.Tensor} = tensor), do: tensor

  defp thunks(args) do
    for tensor <- arguments(args), do: fn -> tensor end
  end

  # Constants that operations create on their way are to be of this backend.
  defp on_device(fun) do
    key = Nx.Shared.backend_pdict_key()
    before = Process.put(key, {Backend, []})

    try do
      fun.()
    after
      if before, do: Process.put(key, before), else: Process.delete(key)
    end
  end
end
