defmodule Dala.ML.Gpu.Model do
  @moduledoc """
  A loaded model, with its inputs and outputs.

  `:inputs` and `:outputs` are lists of maps, in the order of the file:

    * `:name` - the name in the file
    * `:shape` - a tuple of dimensions, in which a free dimension is its name (a string), or `nil`
      if it has none; `nil` instead of a tuple means any shape. Output dimensions that depend on
      input dimensions are formulas of their names, such as `"2*height"`, `"width/8"` or
      `"ceil(width/16)"`, whatever the file calls them
    * `:dtype` - the element type of the buffer
    * `:type` - the element type in the file, which may differ from `:dtype`: `:f16` and `:bf16` are
      stored as `:f32`, `:bool` as `:u8`, `:i8` and `:i16` as `:s32`, `:u16` as `:u32`, and `:u64`
      in the bits of `:s64`
    * `:quantization` - `%{scale: scale, zero_point: zero_point}` if integers represent the real
      numbers scale * (integer - zero_point), as in quantized TFLite files, else `nil`

  `:contract` describes how a named model is used, see `Dala.ML.Models.Contract`; it is `nil` for
  other models.

  A model inspects as its inputs and outputs:

      #Dala.ML.Gpu.Model<double: x f32[batch][3] -> y f32[batch][3]>
  """

  alias Dala.Gpu.Compute.Argument

  @enforce_keys [:ref, :name, :inputs, :outputs]
  defstruct [:ref, :name, :inputs, :outputs, :contract]

  @type dimension :: non_neg_integer() | String.t() | nil
  @type port_info :: %{
          name: String.t(),
          shape: tuple() | nil,
          dtype: Dala.Gpu.Compute.Buffer.dtype(),
          type: atom(),
          quantization: %{scale: float(), zero_point: integer()} | nil
        }
  @type t :: %__MODULE__{
          ref: reference(),
          name: String.t(),
          inputs: [port_info()],
          outputs: [port_info()],
          contract: Dala.ML.Models.Contract.t() | nil
        }

  @doc false
  @spec new(reference(), String.t(), [tuple()], [tuple()]) :: t()
  def new(ref, name, inputs, outputs) do
    %__MODULE__{ref: ref, name: name, inputs: ports(inputs), outputs: ports(outputs)}
  end

  @doc false
  @spec check!(term()) :: t()
  def check!(model), do: Argument.struct!(model, __MODULE__, "a model returned by load_model/2")

  defp ports(ports) do
    for {name, dtype, type, dims, scale} <- ports do
      %{
        name: name,
        shape: dims && List.to_tuple(dims),
        dtype: dtype,
        type: type,
        quantization: quantization(scale)
      }
    end
  end

  defp quantization(nil), do: nil
  defp quantization({scale, zero_point}), do: %{scale: scale, zero_point: zero_point}

  @doc false
  @spec format([port_info()]) :: String.t()
  def format(ports) do
    Enum.map_join(ports, ", ", fn port -> "#{port.name} #{port.dtype}#{dims(port.shape)}" end)
  end

  defp dims(nil), do: "[...]"
  defp dims(shape), do: shape |> Tuple.to_list() |> Enum.map_join(&"[#{&1 || "?"}]")

  defimpl Inspect do
    alias Dala.ML.Gpu.Model

    def inspect(model, _opts) do
      "#Dala.ML.Gpu.Model<#{model.name}: #{Model.format(model.inputs)} -> " <>
        "#{Model.format(model.outputs)}>"
    end
  end
end
