defmodule Dala.Nx.LoopControl do
  @moduledoc false
  # The part of a `while` that decides how often it runs, such as a counter: the parameters that the
  # condition depends on, and those that their next values depend on. If these are scalars that do
  # not depend on results of the device, the condition is known without a read, and the iterations
  # are submitted one after the other.

  alias Dala.Nx.Data

  @enforce_keys [:params, :condition, :next]
  defstruct [:params, :condition, :next]

  @typedoc "`params` are indices of the state; `next` computes their values after an iteration."
  @type t :: %__MODULE__{params: [non_neg_integer()], condition: map(), next: map()}

  # A loop with more than a few counters is rarely controlled by them alone.
  @most_params 8

  @doc "Returns the control of a loop, or nil if it depends on more than scalars."
  @spec new(map(), map()) :: t() | nil
  def new(condition, body) do
    with {:ok, first} <- params(condition, condition.results),
         {:ok, params} <- closure(first, body) do
      values = Enum.map(params, &Enum.at(body.results, &1))

      %__MODULE__{
        params: params,
        condition: part(condition, condition.results),
        next: part(body, values)
      }
    else
      :error -> nil
    end
  end

  @doc "Returns whether the state of a loop has the numbers of its control on the host."
  @spec known?(t() | nil, tuple()) :: boolean()
  def known?(nil, _state), do: false
  def known?(control, state), do: Data.numbers?(Enum.map(control.params, &elem(state, &1)))

  @doc "Replaces the numbers of the control in a state."
  @spec put(t(), tuple(), [Data.tensor()]) :: tuple()
  def put(control, state, numbers) do
    control.params
    |> Enum.zip(numbers)
    |> Enum.reduce(state, fn {index, number}, state -> put_elem(state, index, number) end)
  end

  defp closure(params, body) do
    values = Enum.map(params, &Enum.at(body.results, &1))

    with {:ok, more} <- params(body, values) do
      case Enum.sort(Enum.uniq(params ++ more)) do
        ^params -> {:ok, params}
        all when length(all) <= @most_params -> closure(all, body)
        _many -> :error
      end
    end
  end

  # The parameters that values depend on, if only through operations on scalars.
  defp params(program, values) do
    steps = needed(program, values)

    if Enum.all?(steps, &scalar?/1),
      do: {:ok, Enum.sort(Enum.uniq(for {_, {:param, index, _}} <- steps, do: index))},
      else: :error
  end

  defp scalar?({_value, {:call, _op, %{shape: {}}, args}}), do: Enum.all?(args, &plain?/1)
  defp scalar?({_value, {:number, %{shape: {}}, _number}}), do: true
  defp scalar?({_value, {:tensor, tensor}}), do: Data.numbers?([tensor])
  defp scalar?({_value, {:param, _index, %{shape: {}, vectorized_axes: []}}}), do: true
  defp scalar?(_step), do: false

  defp plain?({:value, _value}), do: true
  defp plain?(arg), do: not is_list(arg) or arg == []

  defp part(program, values),
    do: %{program | steps: needed(program, values), results: values, frees: %{}, plan: nil}

  # Steps are in topological order, so the ones needed are found from the last to the first.
  defp needed(program, values) do
    {steps, _wanted} =
      program.steps
      |> Enum.reverse()
      |> Enum.reduce({[], MapSet.new(values)}, fn {value, step} = entry, {steps, wanted} ->
        if MapSet.member?(wanted, value),
          do: {[entry | steps], Enum.into(uses(step), wanted)},
          else: {steps, wanted}
      end)

    steps
  end

  defp uses({:call, _op, _template, args}), do: for({:value, value} <- args, do: value)
  defp uses(_step), do: []
end
