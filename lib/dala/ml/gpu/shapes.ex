defmodule Dala.ML.Gpu.Shapes do
  @moduledoc false
  # The input shapes for which plans are created when a model is loaded.

  alias Dala.ML.Gpu.Model

  @type given :: tuple() | [tuple()] | %{(String.t() | atom()) => tuple()}
  @type dims :: [[non_neg_integer()]]

  @doc "Returns the dimensions of each input, from the option `:shapes`."
  @spec given!(Model.t(), given()) :: dims()
  def given!(%Model{inputs: inputs}, %{} = by_name) do
    by_name = Map.new(by_name, fn {name, shape} -> {to_string(name), shape} end)
    names = Enum.map(inputs, & &1.name)

    unless Enum.sort(Map.keys(by_name)) == Enum.sort(names) do
      raise ArgumentError,
            "expected shapes: for the inputs #{Enum.join(names, ", ")}, got: #{inspect(by_name)}"
    end

    Enum.map(names, &dims!(by_name[&1]))
  end

  def given!(_model, shapes) when is_list(shapes), do: Enum.map(shapes, &dims!/1)
  def given!(_model, shape), do: [dims!(shape)]

  defp dims!(shape) when is_tuple(shape) do
    dims = Tuple.to_list(shape)
    if Enum.all?(dims, &(is_integer(&1) and &1 >= 0)), do: dims, else: bad!(shape)
  end

  defp dims!(other), do: bad!(other)

  defp bad!(other) do
    raise ArgumentError,
          "expected shapes: to be a tuple of dimensions, or a list or map of such tuples, got: " <>
            inspect(other)
  end

  @doc "Returns the shape of a named model's images according to its contract, or nil."
  @spec usual(Model.t()) :: dims() | nil
  def usual(%Model{contract: %{input: input}, inputs: [%{shape: shape}]})
      when is_tuple(shape) and tuple_size(shape) == 4 do
    {width, height} = input[:size]
    pixels = if input[:layout] == :nhwc, do: [1, height, width, 3], else: [1, 3, height, width]
    own = Tuple.to_list(shape)

    if Enum.all?(Enum.zip(own, pixels), fn {own, usual} -> not is_integer(own) or own == usual end),
       do: [pixels]
  end

  def usual(_model), do: nil
end
