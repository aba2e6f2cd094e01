defmodule Dala.Nx.Reduction do
  @moduledoc false
  # Operations of `Dala.Nx.Backend` that combine several elements: reductions, scans and sorting.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Data, Device, Elementwise, Fallback, Layout}

  @kernels %{
    sum: :reduce_sum,
    product: :reduce_product,
    reduce_max: :reduce_max,
    reduce_min: :reduce_min
  }

  # The types in which kernels accumulate sums and products of integers without a prior cast.
  @wide [{:s, 64}, {:f, 32}, {:f, 64}]

  @spec reduce(atom(), Data.tensor(), Data.tensor(), keyword()) :: Data.tensor()
  def reduce(op, out, tensor, opts) do
    kernel = Map.fetch!(@kernels, op)

    if Data.kernel?(kernel, tensor.type) and Data.runs?(kernel, out.type, [tensor]) do
      type = input_type(tensor.type, out.type)
      {shape, dtype} = {out.shape, Data.dtype(out.type)}

      case params(tensor, opts) do
        :none -> Data.put_view(out, Data.buffer(tensor, out.type))
        params -> Data.put(out, run(kernel, Data.buffer(tensor, type), shape, dtype, params))
      end
    else
      Fallback.run(op, out, [tensor, opts])
    end
  end

  defp input_type({kind, _} = type, out) when kind in [:s, :u] and out in @wide, do: type
  defp input_type({:u, bits} = type, {:u, 64}) when bits < 64, do: type
  defp input_type(_type, out), do: out

  # Unsigned integers added modulo 2^64 have the same bits as signed ones.
  defp run(kernel, %Buffer{dtype: own} = buffer, shape, :u64, params) when own != :u64,
    do: kernel |> Device.compute([buffer], shape, :s64, params) |> Device.view(shape, :u64)

  defp run(kernel, buffer, shape, dtype, params),
    do: Device.compute(kernel, [buffer], shape, dtype, params)

  defp params(%{shape: {}}, _opts), do: :none

  defp params(_tensor, opts) do
    case opts[:axes] do
      nil -> %{}
      [] -> :none
      axes -> %{axes: axes}
    end
  end

  @doc "Whether all elements, or any, are not 0."
  @spec boolean(:all | :any, Data.tensor(), Data.tensor(), keyword()) :: Data.tensor()
  def boolean(op, out, tensor, opts) do
    if Data.kernel?(:logical_or, tensor.type) do
      kernel = if op == :all, do: :reduce_min, else: :reduce_max
      bits = Elementwise.bits(tensor)

      case params(tensor, opts) do
        :none -> Data.put_view(out, bits)
        params -> Data.put(out, Device.compute(kernel, [bits], out.shape, :u8, params))
      end
    else
      Fallback.run(op, out, [tensor, opts])
    end
  end

  # The types in which kernels return indices.
  @index_types [{:s, 64}, {:s, 32}, {:u, 32}]

  @spec arg(:argmax | :argmin, Data.tensor(), Data.tensor(), keyword()) :: Data.tensor()
  def arg(op, out, tensor, opts) do
    if Data.kernel?(op, tensor.type) and Data.bufferable?([out]) do
      type = if out.type in @index_types, do: out.type, else: {:s, 64}
      places = places(op, Data.buffer(tensor), out.shape, type, opts[:axis], opts[:tie_break])
      Elementwise.as_type(out, Data.put(%{out | type: type}, places))
    else
      Fallback.run(op, out, [tensor, opts])
    end
  end

  defp places(_op, %Buffer{shape: {}}, shape, type, _axis, _tie_break),
    do: Buffer.zeros(shape, Data.dtype(type))

  # The last of equal elements is the first in reverse order.
  defp places(op, buffer, shape, type, axis, :high) do
    params = if axis, do: %{axes: [axis]}, else: %{}
    reversed = Device.compute(:reverse, [buffer], buffer.shape, buffer.dtype, params)
    length = if axis, do: elem(buffer.shape, axis), else: Tuple.product(buffer.shape)
    mirror(places(op, reversed, shape, type, axis, :low), length)
  end

  defp places(op, buffer, shape, type, axis, _low) do
    params = if axis, do: %{axis: axis}, else: %{}
    Device.compute(op, [buffer], shape, Data.dtype(type), params)
  end

  defp mirror(%Buffer{shape: shape, dtype: dtype} = places, length) do
    last = Buffer.new([length - 1], {}, dtype)
    Device.compute(:elementwise_sub, [last, places], shape, dtype)
  end

  @spec cumulative(atom(), Data.tensor(), Data.tensor(), keyword()) :: Data.tensor() | nil
  def cumulative(op, out, tensor, opts) do
    if Data.runs?(op, out.type, [tensor]) do
      params = %{axis: opts[:axis], reverse: opts[:reverse] == true}
      inputs = [Data.buffer(tensor, out.type)]
      Data.put(out, Device.compute(op, inputs, out.shape, Data.dtype(out.type), params))
    end
  end

  @doc "Sorts elements, or their indices."
  @spec sort(:sort | :argsort, Data.tensor(), Data.tensor(), keyword()) :: Data.tensor()
  def sort(op, out, tensor, opts) do
    if Data.kernel?(op, tensor.type) and Data.bufferable?([out]) do
      sorted = ordered(op, Data.buffer(tensor), out, opts[:axis], opts[:direction])
      Data.put(out, sorted)
    else
      Fallback.run(op, out, [tensor, opts])
    end
  end

  defp ordered(:sort, %Buffer{shape: {}} = buffer, _out, _axis, _direction),
    do: Device.view(buffer, {})

  defp ordered(:argsort, %Buffer{shape: {}}, out, _axis, _direction),
    do: Buffer.zeros({}, Data.dtype(out.type))

  defp ordered(op, %Buffer{dtype: dtype} = buffer, out, axis, :desc)
       when dtype in [:f16, :bf16, :f32, :f64] do
    # Kernels place NaN last in both directions, Nx places it first in descending order. Sorting the
    # reversed elements keeps the sort stable.
    case op do
      :sort ->
        flip(ordered(:sort, buffer, out, axis, :asc), axis)

      :argsort ->
        places = ordered(:argsort, flip(buffer, axis), out, axis, :asc)
        mirror(flip(places, axis), elem(buffer.shape, axis))
    end
  end

  defp ordered(:sort, buffer, _out, axis, direction),
    do: Device.compute(:sort, [buffer], buffer.shape, buffer.dtype, order(axis, direction))

  defp ordered(:argsort, buffer, out, axis, direction) do
    type = if out.type in @index_types, do: out.type, else: {:s, 64}
    dtype = Data.dtype(type)
    places = Device.compute(:argsort, [buffer], buffer.shape, dtype, order(axis, direction))
    Data.buffer(Data.put(%{out | type: type}, places), out.type)
  end

  defp order(axis, direction), do: %{axis: axis, direction: direction || :asc}

  defp flip(%Buffer{shape: shape, dtype: dtype} = buffer, axis),
    do: Device.compute(:reverse, [buffer], shape, dtype, %{axes: [axis]})

  @doc "The k largest elements of the last axis and their indices."
  @spec top_k({Data.tensor(), Data.tensor()}, Data.tensor(), keyword()) ::
          {Data.tensor(), Data.tensor()}
  def top_k({values, places}, tensor, _opts) do
    axis = tuple_size(tensor.shape) - 1
    all = Data.template(places, tensor.shape, places.type)
    sorted = sort(:argsort, all, tensor, axis: axis, direction: :desc, stable: true)
    zeros = List.duplicate(0, axis + 1)
    ones = List.duplicate(1, axis + 1)
    first = Layout.slice(places, sorted, zeros, Tuple.to_list(places.shape), ones)
    {Layout.take_along_axis(values, tensor, first, axis), first}
  end
end
