defmodule Dala.ML.Serving.Tensors do
  @moduledoc false
  # Inputs of one prediction each, stacked along their first dimension for one prediction of all, and
  # its outputs taken apart again.

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Buffer, Error}
  alias Dala.ML.Serving.Wire

  @doc """
  The key that inputs must share to be stacked: container, dimensions behind the first, types.
  nil for an input that has to run alone.
  """
  @spec kind(term()) :: term() | nil
  def kind(input) do
    {container, tensors} = open(input)
    types = Enum.map(tensors, &type/1)

    if tensors != [] and Enum.all?(types, &match?({_source, _dtype, {1, _}}, &1)),
      do: {:tensors, container, types}
  end

  defp open(inputs) when is_list(inputs), do: {:list, inputs}

  defp open(inputs) when is_map(inputs) and not is_struct(inputs) do
    names = inputs |> Map.keys() |> Enum.sort()
    {{:map, names}, Enum.map(names, &Map.fetch!(inputs, &1))}
  end

  defp open(input), do: {:one, [input]}

  defp close(:one, [buffer]), do: buffer
  defp close(:list, buffers), do: buffers
  defp close({:map, names}, buffers), do: names |> Enum.zip(buffers) |> Map.new()

  defp type(%struct{shape: shape, dtype: dtype}) when struct in [Buffer, Wire.Tensor],
    do: {:buffer, dtype, split(shape)}

  defp type(%{__struct__: Nx.Tensor, shape: shape, type: type}), do: {:nx, type, split(shape)}
  defp type(_other), do: nil

  defp split({}), do: nil
  defp split(shape), do: {elem(shape, 0), Tuple.delete_at(shape, 0)}

  @doc "One input of `rows` rows from inputs of one kind; rows that are left over are zeros."
  @spec stack([term()], pos_integer()) :: term()
  def stack([first | _] = inputs, rows) do
    {container, _tensors} = open(first)

    inputs
    |> Enum.map(&(&1 |> open() |> elem(1)))
    |> Enum.zip_with(&concatenate(&1, rows))
    |> then(&close(container, &1))
  end

  defp concatenate(tensors, rows) do
    [first | _] = buffers = Enum.map(tensors, &buffer/1)
    parts = Enum.map(buffers, &Buffer.read/1)
    rest = (rows - length(parts)) * byte_size(hd(parts))
    bytes = IO.iodata_to_binary([parts, :binary.copy(<<0>>, rest)])
    Buffer.from_binary(bytes, put_elem(first.shape, 0, rows), first.dtype)
  end

  defp buffer(%Buffer{} = buffer), do: buffer
  defp buffer(tensor), do: Compute.from_nx(tensor)

  @doc """
  The outputs of the first `count` rows, each as a prediction alone gives them: Nx tensors where an
  input was one.
  """
  @spec unstack(term(), pos_integer(), pos_integer(), boolean()) :: [term()]
  def unstack(%Buffer{} = output, count, rows, nx?), do: rows(output, count, rows, nx?)

  def unstack(outputs, count, rows, nx?) when is_map(outputs) do
    parts = for {name, output} <- outputs, do: {name, rows(output, count, rows, nx?)}
    for index <- 0..(count - 1), do: Map.new(parts, fn {name, p} -> {name, Enum.at(p, index)} end)
  end

  defp rows(%Buffer{shape: shape} = output, count, rows, nx?)
       when tuple_size(shape) > 0 and elem(shape, 0) == rows do
    bytes = Buffer.read(output)
    size = div(byte_size(bytes), rows)
    shape = put_elem(shape, 0, 1)

    for index <- 0..(count - 1) do
      row = bytes |> binary_part(index * size, size) |> Buffer.from_binary(shape, output.dtype)
      if nx?, do: Compute.to_nx(row), else: row
    end
  end

  defp rows(%Buffer{shape: shape}, _count, rows, _nx?) do
    raise %Error{
      reason: :shape_mismatch,
      message:
        "the model gave an output of shape #{inspect(shape)} for #{rows} inputs at once; " <>
          "batch: [max: 1] runs them one by one"
    }
  end

  @doc "Whether a prediction with this input gives Nx tensors."
  @spec nx?(term()) :: boolean()
  def nx?(input) do
    {_container, tensors} = open(input)
    Enum.any?(tensors, &match?(%{__struct__: Nx.Tensor}, &1))
  end
end
