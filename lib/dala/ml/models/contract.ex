defmodule Dala.ML.Models.Contract do
  @moduledoc """
  How a model with a name is used: what its input looks like, and what its output means.

    * `:task` - which function of `Dala.ML` it is for: `:classify`, `:detect`, `:faces`, `:pose` or
      `:segment`
    * `:input` - options of `Dala.ML.preprocess/2`: size, fit, normalisation and layout
    * `:output` - options of the task: labels, thresholds, what the numbers are

  `Dala.ML.Gpu.load_model/2` gives a model that is loaded by its name the contract of its file, and
  the functions of `Dala.ML` take from it what they are not told.
  """

  alias Dala.ML.Gpu.Model
  alias Dala.ML.Models.{Entry, Labels, Registry}

  @enforce_keys [:task, :input, :output]
  defstruct @enforce_keys

  @type size :: {pos_integer(), pos_integer()}
  @type task :: :classify | :detect | :faces | :pose | :segment
  @type t :: %__MODULE__{task: task(), input: keyword(), output: keyword()}

  @doc false
  @spec new(task(), keyword(), keyword()) :: t()
  def new(task, input, output \\ []), do: %__MODULE__{task: task, input: input, output: output}

  @doc """
  Gives the contract of a model by its name and the path of its file, or `nil` when there is none.

  ## Example

      iex> contract = Dala.ML.Models.Contract.find(:blazeface, "blazeface.tflite")
      iex> {contract.task, contract.input[:normalize], contract.output[:threshold]}
      {:faces, :signed_unit, 0.5}
  """
  @spec find(atom(), Path.t()) :: t() | nil
  def find(name, path) do
    case Registry.fetch(name) do
      {:ok, entry} -> entry.contracts[Entry.format_of(path)]
      :error -> nil
    end
  end

  @doc false
  # Lists of labels have names in the registry. Of ImageNet's there are two: the model says which.
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
