defmodule Dala.ML.Models.Contract do
  @moduledoc """
  How a named model is used: the preparation of its input, and the interpretation of its output.

    * `:task` - the function of `Dala.ML` it is for: `:classify`, `:detect`, `:faces`, `:pose` or
      `:segment`
    * `:input` - options of `Dala.ML.preprocess/2`: size, fit, normalization and layout
    * `:output` - options of the task: labels, thresholds, format

  `Dala.ML.Gpu.load_model/2` attaches the contract to a model that is loaded by name, and the
  functions of `Dala.ML` use it for options that are not given.
  """

  alias Dala.ML.Gpu.Model
  alias Dala.ML.Models.Labels

  @enforce_keys [:task, :input, :output]
  defstruct @enforce_keys

  @type size :: {pos_integer(), pos_integer()}
  @type task :: :classify | :detect | :faces | :pose | :segment
  @type t :: %__MODULE__{task: task(), input: keyword(), output: keyword()}

  @doc false
  @spec new(task(), keyword(), keyword()) :: t()
  def new(task, input, output \\ []), do: %__MODULE__{task: task, input: input, output: output}

  @doc false
  # Replaces the name of a list of labels by the list. ImageNet has two lists; the number of outputs
  # decides.
  @spec bind(t() | nil, Model.t()) :: Model.t()
  def bind(nil, model), do: model

  def bind(contract, model) do
    case contract.output[:labels] do
      nil ->
        %{model | contract: contract}

      name ->
        labels = Labels.list(if background?(model), do: :imagenet_1001, else: name)
        %{model | contract: %{contract | output: Keyword.put(contract.output, :labels, labels)}}
    end
  end

  defp background?(%Model{outputs: outputs}) do
    Enum.any?(outputs, &(is_tuple(&1.shape) and 1001 in Tuple.to_list(&1.shape)))
  end
end
