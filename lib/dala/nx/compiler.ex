defmodule Dala.Nx.Compiler do
  @moduledoc """
  Compiles `defn` for the device: `Nx.Defn.default_options(compiler: Dala.Nx.Compiler)`.

  A numerical function is traced once for each combination of types and shapes. If it has no control
  flow and nothing that only the host can do, it becomes one pipeline: elementwise operations are
  fused, memory is laid out once, and each call is a single command. Otherwise its operations are
  submitted one after the other, and memory is freed after its last use; bodies of loops are compiled
  in the same way as functions.

  A call returns immediately with tensors of `Dala.Nx.Backend`, and reading them waits. `cond` and
  `while` wait for their conditions, unless these only depend on counters, and hooks for their values.

  ## Options

    * `:hooks` - functions by name, as for `Nx.Defn.jit/2`
    * `:max_concurrency` - the number of partitions of a `Nx.Serving`, 1 by default

  Nx is an optional dependency: it is looked up when a function is called, not when this module is
  compiled.
  """

  # Implements the behaviour Nx.Defn.Compiler; see Dala.Nx.Backend on why it is not declared.

  alias Dala.Nx.{Backend, Data, Program, ProgramTable}

  @compile {:no_warn_undefined, [Nx, Nx.Defn.Composite, Nx.Defn.Evaluator, Nx.Defn.Stream]}

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
        fn args_list -> Enum.map(args_list, &call(program, templates, &1)) end

      :unknown ->
        # An expression of a later Nx, which its own evaluator supports.
        evaluate = on_device(fn -> Nx.Defn.Evaluator.__compile__(key, vars, fun, opts) end)
        fn args_list -> on_device(fn -> evaluate.(Enum.map(args_list, &thunks/1)) end) end
    end
  end

  @doc false
  def __stream__(key, input, acc, vars, fun, [args], opts) do
    count = Nx.Defn.Composite.count(input) + Nx.Defn.Composite.count(acc)
    rest = Enum.drop(args, count)
    {program, templates} = compiled(key, vars, fun, opts)

    on_device(fn ->
      [
        Nx.Defn.Stream.start_link(input, acc, fn input, acc ->
          state = Nx.Defn.Composite.flatten_list([acc])
          call(program, templates, input ++ state ++ rest)
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

  # Arguments are functions that return tensors, or tensors themselves.
  defp call(program, templates, args) do
    params = Enum.map(args, fn arg -> if is_function(arg, 0), do: arg, else: fn -> arg end end)
    results = on_device(fn -> Program.run(program, params) end)
    Program.unpack(templates, results)
  end

  # The evaluator takes functions; tensors of other backends are copied when it calls them.
  defp thunks(args) do
    for arg <- args,
        do: fn -> Program.on_device(if(is_function(arg, 0), do: arg.(), else: arg)) end
  end

  # Constants that operations create must be on this backend.
  defp on_device(fun), do: Data.with_backend(Backend, fun)
end
