defmodule Dala.ML.Gpu.State do
  @moduledoc """
  The state of a model between predictions.

  `Dala.ML.Gpu.new_state/2` returns a state. A prediction with the option `state:` takes the inputs
  that belong to the state from it, and stores their next values in it; the caller passes and gets
  only the other inputs and outputs, which are `:inputs` and `:outputs` here. The values stay on the
  device: what one prediction writes, the next one reads, without a copy.

  Predictions with the same state run one after the other, in the order of the calls, whichever
  processes make them. A prediction that fails, or that is abandoned by a timeout, leaves the state
  as it was. A model may have any number of states, which do not affect each other. The memory of a
  state is freed when no process references it any more.

  [The guide](state.md) has examples.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, Native, Runtime}
  alias Dala.ML.Gpu.Model

  @enforce_keys [:ref, :model, :inputs, :outputs]
  defstruct [:ref, :model, :inputs, :outputs]

  @type t :: %__MODULE__{
          ref: reference(),
          model: Model.t(),
          inputs: [Model.port_info()],
          outputs: [Model.port_info()]
        }

  @doc false
  @spec new(Model.t(), [{String.t(), String.t()}], [{String.t(), Buffer.t()}]) ::
          {:ok, t()} | {:error, Error.t()}
  def new(model, pairs, initial) do
    {names, buffers} = Enum.unzip(initial)

    with {:ok, ref, given, returned} <-
           Native.state_new(model.ref, pairs, names, Enum.map(buffers, &Buffer.ref!/1)) do
      inputs = Enum.map(given, &Enum.at(model.inputs, &1))
      outputs = Enum.map(returned, &Enum.at(model.outputs, &1))
      {:ok, %__MODULE__{ref: ref, model: model, inputs: inputs, outputs: outputs}}
    end
  end

  @doc false
  @spec check!(term()) :: t()
  def check!(state), do: Argument.struct!(state, __MODULE__, "a state returned by new_state/2")

  @doc """
  Sets a state back to its first values, after the predictions that were started before.

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> {:ok, state} = Dala.ML.Gpu.new_state(model, state: %{"y" => "x"})
      iex> Dala.ML.Gpu.State.reset(state)
      :ok
  """
  @spec reset(t()) :: :ok
  def reset(state) do
    case Native.state_reset(check!(state).ref) do
      :ok -> :ok
      {:error, error} -> raise error
    end
  end

  @doc """
  Returns the present values of a state by the names of their inputs, after the predictions that
  were started before.

  A value that starts with zeros is not there until the first prediction. The buffers are snapshots:
  later predictions do not change them, and writing to them does not change the state. As the option
  `initial:` of `Dala.ML.Gpu.new_state/2`, they make a copy of the state.

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> first = %{"x" => Dala.Gpu.Compute.buffer([1, 2, 3], {1, 3})}
      iex> {:ok, state} = Dala.ML.Gpu.new_state(model, state: %{"y" => "x"}, initial: first)
      iex> {:ok, %{}} = Dala.ML.Gpu.predict(model, [], state: state)
      iex> {:ok, %{}} = Dala.ML.Gpu.predict(model, [], state: state)
      iex> {:ok, %{"x" => x}} = Dala.ML.Gpu.State.values(state)
      iex> Dala.Gpu.Compute.read_list(x)
      [4.0, 8.0, 12.0]
  """
  @spec values(t()) :: {:ok, %{String.t() => Buffer.t()}} | {:error, Error.t()}
  def values(state) do
    %{ref: ref} = check!(state)

    with {:ok, names, outputs} <- Runtime.answer(&Native.state_values(ref, &1)) do
      buffers =
        for {ref, dims, dtype} <- outputs do
          %Buffer{ref: ref, shape: List.to_tuple(dims), dtype: dtype}
        end

      {:ok, names |> Enum.zip(buffers) |> Map.new()}
    end
  end

  defimpl Inspect do
    alias Dala.ML.Gpu.Model

    def inspect(state, _opts) do
      "#Dala.ML.Gpu.State<#{state.model.name}: #{Model.format(state.inputs)} -> " <>
        "#{Model.format(state.outputs)}>"
    end
  end
end
