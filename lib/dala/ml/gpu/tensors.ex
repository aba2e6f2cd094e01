defmodule Dala.ML.Gpu.Tensors do
  @moduledoc false
  # The tensors of a prediction: inputs in the order of the model's, and outputs by name.

  alias Dala.Gpu.Compute.{Buffer, Error, NxBridge}
  alias Dala.ML.Gpu.Model

  @doc "Returns the references of the inputs in the order of the ports, and whether one is of Nx."
  @spec inputs([Model.port_info()], term()) ::
          {:ok, [reference()], boolean()} | {:error, Error.t()}
  def inputs(ports, input) do
    with {:ok, tensors} <- in_order(ports, input),
         {:ok, refs} <- tensors |> Enum.map(&as_buffer/1) |> Buffer.refs(),
         do: {:ok, refs, Enum.any?(tensors, &nx?/1)}
  end

  defp in_order(_ports, tensors) when length(tensors) >= 0, do: {:ok, tensors}

  defp in_order(ports, tensors) when is_map(tensors) and not is_struct(tensors) do
    given = by_name(tensors)
    names = Enum.map(ports, & &1.name)
    missing = Enum.reject(names, &is_map_key(given, &1))
    unknown = given |> Map.keys() |> Enum.reject(&(&1 in names))

    if missing == [] and unknown == [] do
      {:ok, Enum.map(names, &Map.fetch!(given, &1))}
    else
      {:error,
       %Error{
         reason: :arity_mismatch,
         message:
           "the model takes the inputs #{Enum.map_join(names, ", ", &inspect/1)}, got " <>
             (given |> Map.keys() |> Enum.map_join(", ", &inspect/1)),
         details: %{missing: missing, unknown: unknown}
       }}
    end
  end

  defp in_order(_ports, tensor), do: {:ok, [tensor]}

  @doc "Returns a map whose names are strings."
  @spec by_name(%{(String.t() | atom()) => value}) :: %{String.t() => value} when value: term()
  def by_name(map), do: Map.new(map, fn {name, value} -> {to_string(name), value} end)

  @doc "Returns the buffer of a tensor, which may be one of Nx."
  @spec as_buffer(term()) :: Buffer.t()
  def as_buffer(tensor), do: if(nx?(tensor), do: NxBridge.from_nx(tensor), else: tensor)

  defp nx?(tensor), do: is_struct(tensor) and tensor.__struct__ == Nx.Tensor

  @doc "Returns the output of a model with one, or a map of the outputs by name."
  @spec outputs([Model.port_info()], [tuple()], boolean()) :: term()
  def outputs(ports, outputs, nx?) do
    tensors =
      for {ref, dims, dtype} <- outputs do
        buffer = %Buffer{ref: ref, shape: List.to_tuple(dims), dtype: dtype}
        if nx?, do: NxBridge.to_nx(buffer), else: buffer
      end

    case {ports, tensors} do
      {[_one], [tensor]} -> tensor
      {ports, several} -> ports |> Enum.map(& &1.name) |> Enum.zip(several) |> Map.new()
    end
  end
end
