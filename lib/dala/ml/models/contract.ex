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

  @enforce_keys [:task, :input, :output]
  defstruct @enforce_keys

  @type size :: {pos_integer(), pos_integer()}
  @type task :: :classify | :detect | :faces | :pose | :segment
  @type t :: %__MODULE__{task: task(), input: keyword(), output: keyword()}

  @doc false
  @spec new(task(), keyword(), keyword()) :: t()
  def new(task, input, output \\ []), do: %__MODULE__{task: task, input: input, output: output}
end
