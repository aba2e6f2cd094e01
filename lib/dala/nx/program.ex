defmodule Dala.Nx.Program do
  @moduledoc false
  # A numerical function as a list of steps, in an order in which each finds its inputs computed.
  #
  # The expression that Nx traces is a graph whose nodes refer to each other, and copying such a term
  # would copy shared nodes again and again. Here nodes are numbers, so that a program can be kept in a
  # table and shared by processes.
  #
  # Steps are of these kinds:
  #
  #     {:call, op, template, args}          an operation of the backend
  #     {:create, op, template, args}        one without tensors
  #     {:tensor, tensor}                    a constant
  #     {:number, template, number}
  #     {:param, index, template}
  #     {:elem, value, index}                of a tuple
  #     {:tuple, values}
  #     {:cond, predicate, then, else}       programs that also see the values so far
  #     {:while, initial, condition, body, control}   programs of their own, whose parameters are the
  #                                          state; control may tell the condition without a read
  #     {:fun, arity, program}
  #     {:apply, program, args}
  #     {:hooks, [{callback, values}]}
  #
  # A program without control flow and hooks is recorded as a pipeline, if nothing in it needs the
  # host, and runs as one command; see `Dala.Nx.Plan`. In all others, buffers are freed after their
  # last use.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Backend, Data, Device, LoopControl, Plan}

  @compile {:no_warn_undefined, [Nx, Nx.Defn.Composite, Nx.Defn.Tree]}

  @creation [:eye, :iota, :from_binary]

  @enforce_keys [:steps, :results]
  defstruct [:steps, :results, :frees, :plan]

  @type value :: non_neg_integer()
  @type t :: %__MODULE__{
          steps: [{value(), tuple()}],
          results: [value()],
          frees: %{value() => [value()]},
          plan: Plan.t() | nil
        }

  # Building

  @doc """
  Builds the program of an expression. Raises `Dala.Nx.Program.Unknown` for a kind of expression that
  this version of Nx has and this module does not know.
  """
  @spec build(term(), %{atom() => fun()}) :: t()
  def build(expr, hooks) do
    Code.ensure_loaded(Backend)
    roots = Nx.Defn.Composite.flatten_list([expr])
    {program, _state} = sub(roots, %{next: 0, hooks: hooks}, %{})
    program
  end

  defmodule Unknown do
    @moduledoc false
    defexception [:message]
  end

  # A scope is a sequence of steps that run together: the branches of a cond, and the bodies of
  # loops and functions, have their own. `ids` are the values of nodes, including those of enclosing
  # scopes.
  defp scope(roots, %{next: next, hooks: hooks}, outer_ids, build) do
    state = %{
      next: next,
      hooks: hooks,
      ids: outer_ids,
      here: Nx.Defn.Tree.scope_ids(List.to_tuple(roots)),
      steps: []
    }

    build.(state)
  end

  # A scope that only refers to its parameters can become a plan.
  defp finish(results, state, alone?) do
    steps = Enum.reverse(state.steps)
    program = %__MODULE__{steps: steps, results: results, frees: frees(steps, results)}
    straight? = alone? and Enum.all?(steps, &straight?/1)
    %{program | plan: if(straight?, do: plan(program), else: nil)}
  end

  defp straight?({_value, step}),
    do: elem(step, 0) in [:call, :create, :tensor, :number, :param, :elem, :tuple]

  defp plan(program) do
    params = for {_value, {:param, index, template}} <- program.steps, do: {index, template}
    Plan.new(params, fn tensors -> run(program, tensors, %{}) end)
  end

  # A separate program whose values continue the numbering of the enclosing program.
  defp sub(exprs, state, outer_ids) do
    {values, inner} = scope(exprs, state, outer_ids, fn inner -> visit_all(exprs, inner) end)
    {finish(values, inner, outer_ids == %{}), %{state | next: inner.next}}
  end

  defp visit_all(tensors, state), do: Enum.map_reduce(tensors, state, &visit/2)

  defp visit(%{__struct__: Nx.Tensor, data: %{op: :metadata, args: [expr, _meta]}} = node, state) do
    case expr do
      %{__struct__: Nx.Tensor} -> visit(expr, state)
      _composite -> memo(node, state, fn state -> tuple(expr, state) end)
    end
  end

  # Constants with equal numbers share their id, whatever their shape.
  defp visit(%{data: %{op: :constant, args: [number]}} = node, state),
    do: step({:number, template(node), number}, state)

  defp visit(%{data: %{op: :attach_token, args: [token, expr]}} = node, state) do
    memo(node, state, fn state ->
      {_token, state} = visit(token, state)
      {value, state} = visit(expr, state)
      step({:elem, value, nil}, state)
    end)
  end

  defp visit(%{data: %{op: op, args: args}} = node, state),
    do: memo(node, state, fn state -> visit(op, args, node, state) end)

  defp memo(%{data: %{id: id}}, state, build) do
    case state.ids do
      %{^id => value} ->
        {value, state}

      %{} ->
        {value, state} = build.(state)
        {value, %{state | ids: Map.put(state.ids, id, value)}}
    end
  end

  defp visit(:parameter, [index], node, state), do: step({:param, index, template(node)}, state)
  defp visit(:tensor, [tensor], _node, state), do: step({:tensor, on_device(tensor)}, state)

  defp visit(:elem, [tuple, index], _node, state) do
    {value, state} = visit(tuple, state)
    step({:elem, value, index}, state)
  end

  defp visit(:cond, [[{predicate, body} | clauses], last], _node, state) do
    {predicate, state} = visit(predicate, state)
    otherwise = if clauses == [], do: last, else: {:cond, clauses, last}
    # Values that the branches share with this scope are computed here, once.
    state = shared([body, otherwise], state)
    {then_program, state} = branch(body, state)
    {else_program, state} = branch(otherwise, state)
    step({:cond, predicate, then_program, else_program}, state)
  end

  defp visit(:while, [initial, _arg, condition, body], _node, state) do
    {initial, state} = composite(initial, state)
    {condition, state} = sub([condition], state, %{})
    {body, state} = sub(leaves(body), state, %{})
    step({:while, initial, condition, body, LoopControl.new(condition, body)}, state)
  end

  defp visit(:fun, [args, body, _mfa], _node, state) do
    {program, state} = sub(leaves(body), state, %{})
    step({:fun, length(args), {single?(body), program}}, state)
  end

  defp visit(:optional, [call, default, _callback], _node, state) do
    %{data: %{op: op, args: args}} = call
    template = optional_template(call, default)

    if function_exported?(Backend, op, length(args) + 1) do
      {args, state} = arguments(call, state)
      step({:call, op, template, args}, state)
    else
      {tensors, _opts} = Enum.split_while(args, &(not is_list(&1)))
      {values, state} = visit_all(tensors, state)
      {program, state} = sub(leaves(default), state, %{})
      step({:apply, {single?(default), program}, values}, state)
    end
  end

  defp visit(:token, [token], _node, state) do
    {hooks, state} =
      Enum.flat_map_reduce(Enum.reverse(token.hooks), state, fn hook, state ->
        callback = state.hooks[hook.name] || hook.callback

        cond do
          callback ->
            {values, state} = visit_all(leaves(hook.expr), state)
            {[{callback, plain_templates(hook.expr), values}], state}

          Nx.Defn.Tree.has_hooks?(hook.expr, state.hooks) ->
            {_values, state} = visit_all(leaves(hook.expr), state)
            {[], state}

          true ->
            {[], state}
        end
      end)

    step({:hooks, hooks}, state)
  end

  defp visit(op, args, node, state) when op in @creation do
    if function_exported?(Backend, op, length(args) + 2),
      do: step({:create, op, template(node), args}, state),
      else: raise(Unknown, "the expression #{op}/#{length(args)} is not known")
  end

  defp visit(op, args, node, state) do
    unless function_exported?(Backend, op, length(args) + 1),
      do: raise(Unknown, "the expression #{op}/#{length(args)} is not known")

    {args, state} = arguments(node, state)
    step({:call, op, template(node), args}, state)
  end

  defp arguments(node, state) do
    Nx.Defn.Tree.apply_args(node, state, fn tensor, state ->
      {value, state} = visit(tensor, state)
      {{:value, value}, state}
    end)
  end

  defp step(step, state) do
    value = state.next
    {value, %{state | next: value + 1, steps: [{value, step} | state.steps]}}
  end

  defp tuple(composite, state) do
    {values, state} = visit_all(leaves(composite), state)
    step({:tuple, values}, state)
  end

  defp composite(%{__struct__: Nx.Tensor} = tensor, state), do: visit(tensor, state)
  defp composite(composite, state), do: tuple(composite, state)

  # A branch is a value, or several as a tuple. Further clauses are a cond in the other branch.
  defp branch({:cond, [{predicate, body} | clauses], last}, state) do
    otherwise = if clauses == [], do: last, else: {:cond, clauses, last}

    {value, inner} =
      scope(leaves(predicate), state, state.ids, fn inner ->
        {predicate, inner} = visit(predicate, inner)
        {then_program, inner} = branch(body, inner)
        {else_program, inner} = branch(otherwise, inner)
        step({:cond, predicate, then_program, else_program}, inner)
      end)

    # If the branches are tuples, so is the value.
    {{true, finish([value], inner, false)}, %{state | next: inner.next}}
  end

  defp branch(body, state) do
    {program, state} = sub(leaves(body), state, state.ids)
    {{single?(body), program}, state}
  end

  # Visits the nodes within branches that belong to this scope.
  defp shared(branches, state) do
    {state, _seen} =
      branches |> Enum.flat_map(&branch_leaves/1) |> Enum.reduce({state, %{}}, &find_shared/2)

    state
  end

  defp branch_leaves({:cond, clauses, last}) do
    Enum.flat_map(clauses, fn {predicate, body} -> [predicate | leaves(body)] end) ++ leaves(last)
  end

  defp branch_leaves(body), do: leaves(body)

  defp find_shared(%{data: %{id: id, op: op}} = node, {state, seen}) do
    cond do
      op == :constant or is_map_key(seen, id) or is_map_key(state.ids, id) ->
        {state, seen}

      is_map_key(state.here, id) ->
        {_value, state} = visit(node, state)
        {state, seen}

      true ->
        {_args, acc} =
          Nx.Defn.Tree.apply_args(node, :scope, {state, Map.put(seen, id, true)}, fn arg, acc ->
            {arg, find_shared(arg, acc)}
          end)

        acc
    end
  end

  defp leaves(composite), do: Nx.Defn.Composite.flatten_list([composite])
  defp single?(composite), do: match?(%{__struct__: Nx.Tensor}, composite)

  defp template(node), do: %{node | data: nil}

  defp templates(composite), do: Nx.Defn.Composite.traverse(composite, &template/1)

  # Hooks are given tensors without vectorized axes, as by the evaluator of Nx.
  defp plain_templates(composite),
    do: Nx.Defn.Composite.traverse(composite, &template(Nx.devectorize(&1)))

  defp optional_template(%{type: {:tuple, _}}, default), do: templates(default)
  defp optional_template(call, _default), do: template(call)

  @doc "Copies a tensor to the device, unless it is there."
  @spec on_device(Data.tensor()) :: Data.tensor()
  def on_device(%{data: %{__struct__: Nx.Defn.Expr}} = tensor) do
    raise ArgumentError,
          "cannot pass a tensor expression as argument to defn, got: #{inspect(tensor)}"
  end

  def on_device(tensor) do
    tensor = Nx.devectorize(tensor)
    Data.put(tensor, Data.content(tensor))
  end

  # The values whose live range ends at each step. Only the result of an operation is owned by its
  # step alone, and only if no loop or hook takes it, since these may pass it on.
  defp frees(steps, results) do
    owned =
      for {value, {kind, _, _, _}} <- steps,
          kind in [:call, :create],
          into: %{},
          do: {value, true}

    kept = List.wrap(results) ++ Enum.flat_map(steps, fn {_value, step} -> passed_on(step) end)
    owned = Map.drop(owned, kept)

    last_uses =
      for {value, {:call, _, _, args}} <- steps, used <- values(args), reduce: %{} do
        uses -> Map.put(uses, used, value)
      end

    last_uses
    |> Enum.filter(fn {used, _at} -> is_map_key(owned, used) end)
    |> Enum.group_by(fn {_used, at} -> at end, fn {used, _at} -> used end)
  end

  defp values(args) do
    Enum.flat_map(args, fn
      {:value, value} -> [value]
      list when is_list(list) -> for({:value, value} <- list, do: value)
      _other -> []
    end)
  end

  defp passed_on({:elem, value, _index}), do: [value]
  defp passed_on({:tuple, values}), do: values
  defp passed_on({:while, initial, _condition, _body, _control}), do: [initial]
  defp passed_on({:apply, _program, values}), do: values
  defp passed_on({:hooks, hooks}), do: Enum.flat_map(hooks, fn {_, _, values} -> values end)

  defp passed_on({:cond, predicate, {_, one}, {_, other}}),
    do: [predicate | captured(one) ++ captured(other)]

  defp passed_on(_step), do: []

  # The values of enclosing scopes that a branch uses.
  defp captured(program) do
    own = Map.new(program.steps, fn {value, _step} -> {value, true} end)

    program.steps
    |> Enum.flat_map(fn
      {_value, {:call, _, _, args}} -> values(args)
      {_value, step} -> passed_on(step)
    end)
    |> Enum.concat(program.results)
    |> Enum.reject(&is_map_key(own, &1))
  end

  # Running

  @doc """
  Runs a program, and returns the list of its results, each with a buffer of its own.

  A parameter is a tensor, or a function that returns one and is called only if the program uses it.
  """
  @spec run(t(), [Data.tensor() | (() -> Data.tensor())]) :: [Data.tensor()]
  def run(program, params) do
    results = run(program, List.to_tuple(params), %{})
    if program.plan == nil, do: separate(program, results), else: results
  end

  # Only the result of an operation, at its first use as a result, is not shared with another
  # tensor.
  defp separate(program, results) do
    made = for {value, {kind, _, _, _}} <- program.steps, kind in [:call, :create], do: value

    {results, _left} =
      program.results
      |> Enum.zip(results)
      |> Enum.map_reduce(MapSet.new(made), fn {value, result}, left ->
        if MapSet.member?(left, value),
          do: {result, MapSet.delete(left, value)},
          else: {shared_view(result), left}
      end)

    results
  end

  defp shared_view(%{data: %{content: %Buffer{} = buffer}} = tensor),
    do: Data.put_view(tensor, buffer)

  defp shared_view(other), do: other

  defp run(%__MODULE__{plan: %Plan{} = plan}, params, _values),
    do: Plan.run(plan, &param(params, &1))

  defp run(program, params, values) do
    values =
      Enum.reduce(program.steps, values, fn {value, step}, values ->
        result = perform(step, params, values)
        values = Map.put(values, value, result)

        case program.frees do
          %{^value => ended} -> free(ended, values)
          %{} -> values
        end
      end)

    Enum.map(program.results, &Map.fetch!(values, &1))
  end

  defp free(ended, values) do
    for value <- ended, do: release(Map.fetch!(values, value))
    Map.drop(values, ended)
  end

  defp release(%{data: %{content: %Buffer{} = buffer}}), do: Device.free(buffer)
  defp release(_tuple_or_number), do: :ok

  defp perform({:call, op, template, args}, _params, values),
    do: apply(Backend, op, [template | Enum.map(args, &argument(&1, values))])

  defp perform({:create, op, template, args}, _params, _values),
    do: apply(Backend, op, [template | args] ++ [[]])

  defp perform({:tensor, tensor}, _params, _values), do: tensor

  defp perform({:number, template, number}, _params, _values),
    do: Backend.constant(template, number, [])

  defp perform({:param, index, _template}, params, _values), do: param(params, index)
  defp perform({:elem, value, nil}, _params, values), do: Map.fetch!(values, value)
  defp perform({:elem, value, index}, _params, values), do: elem(Map.fetch!(values, value), index)

  defp perform({:tuple, tuple}, _params, values),
    do: tuple |> Enum.map(&Map.fetch!(values, &1)) |> List.to_tuple()

  defp perform({:cond, predicate, one, other}, params, values) do
    {single, program} = if true?(Map.fetch!(values, predicate)), do: one, else: other
    packed(run(program, params, values), single)
  end

  defp perform({:while, initial, condition, body, control}, _params, values) do
    initial = Map.fetch!(values, initial)
    state = if is_tuple(initial), do: initial, else: {initial}

    state =
      if LoopControl.known?(control, state),
        do: counted(state, control, body),
        else: loop(state, condition, body)

    if is_tuple(initial), do: state, else: elem(state, 0)
  end

  defp perform({:fun, 1, {single, program}}, _params, _values),
    do: fn a -> packed(run(program, [to_device(a)]), single) end

  defp perform({:fun, 2, {single, program}}, _params, _values),
    do: fn a, b -> packed(run(program, [to_device(a), to_device(b)]), single) end

  defp perform({:apply, {single, program}, args}, _params, values),
    do: program |> run(Enum.map(args, &Map.fetch!(values, &1))) |> packed(single)

  defp perform({:hooks, hooks}, _params, values) do
    for {callback, templates, results} <- hooks do
      results = Enum.map(results, &Map.fetch!(values, &1))
      callback.(unpack(templates, results))
    end

    {}
  end

  defp param(params, index) do
    case elem(params, index) do
      param when is_function(param, 0) -> param |> apply([]) |> on_device()
      tensor -> tensor
    end
  end

  defp argument({:value, value}, values), do: Map.fetch!(values, value)
  defp argument(list, values) when is_list(list), do: Enum.map(list, &argument(&1, values))
  defp argument(other, _values), do: other

  defp loop(state, condition, body) do
    [predicate] = run(condition, state, %{})

    if true?(predicate),
      do: body |> run(state, %{}) |> List.to_tuple() |> loop(condition, body),
      else: state
  end

  # The numbers that control the loop are computed on the host, while the device computes the rest.
  defp counted(state, control, body) do
    [predicate] = run(control.condition, state, %{})

    if true?(predicate) do
      numbers = run(control.next, state, %{})
      next = body |> run(state, %{}) |> List.to_tuple()
      counted(LoopControl.put(control, next, numbers), control, body)
    else
      state
    end
  end

  defp true?(tensor), do: Nx.to_number(tensor) != 0

  defp packed([result], true), do: result
  defp packed(results, _single), do: List.to_tuple(results)

  defp to_device(argument), do: argument |> Nx.to_tensor() |> on_device()

  @doc "Puts results into a container of templates."
  @spec unpack(term(), [Data.tensor()]) :: term()
  def unpack(templates, results) do
    {container, []} =
      Nx.Defn.Composite.traverse(templates, results, fn template, [result | rest] ->
        {%{template | data: result.data}, rest}
      end)

    container
  end
end
