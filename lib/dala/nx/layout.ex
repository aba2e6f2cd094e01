defmodule Dala.Nx.Layout do
  @moduledoc false
  # Operations of `Dala.Nx.Backend` that only move elements.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Bounds, Data, Device, Fallback}

  @compile {:no_warn_undefined, [Nx]}

  # The maximum number of inputs of `Device.compute/5`.
  @most_inputs 1024

  @doc "The same elements under another shape, or as another type of the same size."
  @spec view(atom(), Data.tensor(), Data.tensor()) :: Data.tensor()
  def view(op, out, tensor) do
    dtype = Data.dtype(out.type)

    case Data.content(tensor) do
      %Buffer{} = buffer when dtype != nil -> Data.put(out, Device.view(buffer, out.shape, dtype))
      %Buffer{} -> Fallback.run(op, out, [tensor])
      binary -> Data.from_binary(out, binary)
    end
  end

  @spec broadcast(Data.tensor(), Data.tensor(), tuple(), [non_neg_integer()]) :: Data.tensor()
  def broadcast(out, tensor, shape, axes) do
    if Data.kernel?(:cast, tensor.type) do
      buffer = Data.buffer(tensor)
      dims = for axis <- axes(shape), do: dim_of(tensor.shape, axes, axis)
      spread = Device.view(buffer, dims)

      if spread.shape == out.shape,
        do: Data.put(out, spread),
        else: Data.put(out, Device.compute(:cast, [spread], out.shape, buffer.dtype))
    else
      Fallback.run(:broadcast, out, [tensor, shape, axes])
    end
  end

  defp dim_of(shape, axes, axis) do
    case Enum.find_index(axes, &(&1 == axis)) do
      nil -> 1
      position -> elem(shape, position)
    end
  end

  @spec transpose(Data.tensor(), Data.tensor(), [non_neg_integer()]) :: Data.tensor()
  def transpose(out, tensor, axes) do
    if Data.kernel?(:transpose, tensor.type),
      do: Data.put(out, permute(Data.buffer(tensor), axes)),
      else: Fallback.run(:transpose, out, [tensor, axes])
  end

  @doc "A buffer with its axes in another order; without a copy if only axes of length 1 move."
  @spec permute(Buffer.t(), [non_neg_integer()]) :: Buffer.t()
  def permute(%Buffer{shape: shape} = buffer, axes) do
    permuted = axes |> Enum.map(&elem(shape, &1)) |> List.to_tuple()
    long = Enum.filter(axes, &(elem(shape, &1) != 1))

    if long == Enum.sort(long),
      do: Device.view(buffer, permuted),
      else: Device.compute(:transpose, [buffer], permuted, buffer.dtype, %{axes: axes})
  end

  @doc "The inverse of a permutation."
  @spec inverse([non_neg_integer()]) :: [non_neg_integer()]
  def inverse(axes) do
    axes |> Enum.with_index() |> Enum.sort() |> Enum.map(&elem(&1, 1))
  end

  @spec reverse(Data.tensor(), Data.tensor(), [non_neg_integer()]) :: Data.tensor()
  def reverse(out, tensor, axes) do
    if Data.kernel?(:reverse, tensor.type) do
      buffer = Data.buffer(tensor)
      Data.put(out, Device.compute(:reverse, [buffer], out.shape, buffer.dtype, %{axes: axes}))
    else
      Fallback.run(:reverse, out, [tensor, axes])
    end
  end

  @spec pad(Data.tensor(), Data.tensor(), Data.tensor(), [{integer(), integer(), integer()}]) ::
          Data.tensor()
  def pad(out, tensor, value, config) do
    if Data.runs?(:pad, out.type, [tensor, value]) and Data.kernel?(:cast, out.type) do
      buffer = Data.buffer(tensor, out.type)
      Data.put_view(out, padded(buffer, value, config, out))
    else
      Fallback.run(:pad, out, [tensor, value, config])
    end
  end

  defp padded(buffer, _value, [], _out), do: buffer

  defp padded(buffer, value, config, out) do
    case Data.number(value) do
      number when is_number(number) and abs(number) <= 0x1F_FFFF_FFFF_FFFF ->
        pad_buffer(buffer, number, config, out)

      # The value is only known on the device, or cannot be written as a number.
      _other ->
        inside = List.duplicate(1, tuple_size(buffer.shape)) |> List.to_tuple()
        value = Device.view(Data.buffer(value, out.type), inside)
        surround(buffer, value, config, out.shape)
    end
  end

  defp pad_buffer(buffer, number, config, out) do
    Device.compute(:pad, [buffer], out.shape, buffer.dtype, %{
      low: for({low, _, _} <- config, do: low),
      high: for({_, high, _} <- config, do: high),
      interior: for({_, _, interior} <- config, do: interior),
      value: number
    })
  end

  # Negative edges are cropped first, then the rest is put into a tensor filled with the value. An
  # edge may end within the interior padding between two elements.
  defp surround(buffer, value, config, shape) do
    dims = Tuple.to_list(buffer.shape)

    parts =
      Enum.zip_with(dims, config, fn dim, {low, high, interior} ->
        step = interior + 1
        first = if low < 0, do: div(-low + step - 1, step), else: 0
        last_place = (dim - 1) * step + min(high, 0)
        last = if last_place < 0, do: -1, else: div(last_place, step)
        {first, max(last - first + 1, 0), low + first * step, step}
      end)

    full = Device.compute(:cast, [value], shape, buffer.dtype)
    lengths = for {_, length, _, _} <- parts, do: length

    if 0 in lengths do
      full
    else
      starts = for {first, _, _, _} <- parts, do: first
      inner = Device.compute(:slice, [buffer], lengths, buffer.dtype, %{starts: starts})

      Device.compute(:put_slice, [full, inner], shape, buffer.dtype, %{
        starts: for({_, _, start, _} <- parts, do: start),
        strides: for({_, _, _, step} <- parts, do: step)
      })
    end
  end

  @spec slice(Data.tensor(), Data.tensor(), list(), [pos_integer()], [pos_integer()]) ::
          Data.tensor()
  def slice(out, tensor, starts, lengths, strides) do
    if Data.kernel?(:slice, tensor.type) do
      buffer = Data.buffer(tensor)
      starts = clamp(starts, tensor.shape, lengths)
      Data.put(out, part(buffer, out.shape, starts, strides))
    else
      Fallback.run(:slice, out, [tensor, starts, lengths, strides])
    end
  end

  @doc "A part of a buffer."
  @spec part(Buffer.t(), tuple(), [non_neg_integer()], [pos_integer()]) :: Buffer.t()
  def part(%Buffer{shape: shape} = buffer, shape, _starts, _strides),
    do: Device.view(buffer, shape)

  def part(buffer, shape, starts, strides) do
    Device.compute(:slice, [buffer], shape, buffer.dtype, %{starts: starts, strides: strides})
  end

  @spec put_slice(Data.tensor(), Data.tensor(), list(), Data.tensor()) :: Data.tensor()
  def put_slice(out, tensor, starts, slice) do
    if Data.runs?(:put_slice, out.type, [tensor, slice]) and out.shape != {} do
      inputs = [Data.buffer(tensor, out.type), Data.buffer(slice, out.type)]
      starts = clamp(starts, tensor.shape, Tuple.to_list(slice.shape))
      dtype = Data.dtype(out.type)
      Data.put(out, Device.compute(:put_slice, inputs, out.shape, dtype, %{starts: starts}))
    else
      Fallback.run(:put_slice, out, [tensor, starts, slice])
    end
  end

  # The start of a slice may be a tensor, which is read, since the kernels take numbers. A slice
  # that would extend past the end starts earlier.
  defp clamp(starts, shape, lengths) do
    Enum.zip_with([Tuple.to_list(shape), starts, lengths], fn [dim, start, length] ->
      start = if is_integer(start), do: start, else: Nx.to_number(start)
      start |> max(0) |> min(dim - length)
    end)
  end

  @spec concatenate(Data.tensor(), [Data.tensor()], non_neg_integer()) :: Data.tensor()
  def concatenate(out, tensors, axis) do
    if Data.runs?(:concatenate, out.type, tensors) do
      buffers = Enum.map(tensors, &Data.buffer(&1, out.type))
      Data.put(out, join(buffers, axis))
    else
      Fallback.run(:concatenate, out, [tensors, axis])
    end
  end

  defp join([buffer], _axis), do: Device.view(buffer, buffer.shape)

  defp join(buffers, axis) when length(buffers) > @most_inputs do
    buffers |> Enum.chunk_every(@most_inputs) |> Enum.map(&join(&1, axis)) |> join(axis)
  end

  defp join([%Buffer{shape: shape, dtype: dtype} | _] = buffers, axis) do
    length = buffers |> Enum.map(&elem(&1.shape, axis)) |> Enum.sum()
    Device.compute(:concatenate, buffers, put_elem(shape, axis, length), dtype, %{axis: axis})
  end

  @spec stack(Data.tensor(), [Data.tensor()], non_neg_integer()) :: Data.tensor()
  def stack(out, tensors, axis) do
    tensors =
      for tensor <- tensors do
        shape = Tuple.insert_at(tensor.shape, axis, 1)
        view(:reshape, Data.template(tensor, shape, tensor.type), tensor)
      end

    concatenate(out, tensors, axis)
  end

  @spec take(Data.tensor(), Data.tensor(), Data.tensor(), non_neg_integer()) :: Data.tensor()
  def take(out, tensor, indices, axis), do: pick(:take, out, tensor, indices, axis)

  @spec take_along_axis(Data.tensor(), Data.tensor(), Data.tensor(), non_neg_integer()) ::
          Data.tensor()
  def take_along_axis(out, tensor, indices, axis),
    do: pick(:take_along_axis, out, tensor, indices, axis)

  defp pick(op, out, tensor, indices, axis) do
    Bounds.check(indices, tensor.shape, [axis])

    if Data.kernel?(op, tensor.type) and Data.bufferable?([indices]) do
      inputs = [buffer, _] = [Data.buffer(tensor), Data.buffer(indices)]
      Data.put(out, Device.compute(op, inputs, out.shape, buffer.dtype, %{axis: axis}))
    else
      Fallback.run(op, out, [tensor, indices, axis])
    end
  end

  @spec gather(Data.tensor(), Data.tensor(), Data.tensor(), keyword()) :: Data.tensor()
  def gather(out, tensor, indices, opts) do
    Bounds.check(indices, tensor.shape, indexed(tensor, opts))

    if Data.kernel?(:gather, tensor.type) and Data.bufferable?([indices]) do
      buffer = permute(Data.buffer(tensor), in_front(tensor, opts))
      inputs = [buffer, Data.buffer(indices)]
      Data.put(out, Device.compute(:gather, inputs, out.shape, buffer.dtype))
    else
      Fallback.run(:gather, out, [tensor, indices, opts])
    end
  end

  @doc "Adds or writes slices at indices."
  @spec scatter(atom(), Data.tensor(), Data.tensor(), Data.tensor(), Data.tensor(), keyword()) ::
          Data.tensor()
  def scatter(op, out, tensor, indices, updates, opts) do
    Bounds.check(indices, tensor.shape, indexed(tensor, opts))
    kernel = if op == :indexed_add, do: :scatter_add, else: :scatter_put

    if Data.runs?(kernel, out.type, [tensor, updates]) and Data.bufferable?([indices]) do
      order = in_front(tensor, opts)
      target = permute(Data.buffer(tensor, out.type), order)
      inputs = [target, Data.buffer(indices), Data.buffer(updates, out.type)]
      result = Device.compute(kernel, inputs, target.shape, target.dtype)
      Data.put(out, permute(result, inverse(order)))
    else
      Fallback.run(op, out, [tensor, indices, updates, opts])
    end
  end

  # The indexed axes, then the others.
  defp in_front(tensor, opts) do
    first = indexed(tensor, opts)
    first ++ (axes(tensor.shape) -- first)
  end

  defp indexed(tensor, opts), do: opts[:axes] || axes(tensor.shape)

  @doc "The axes of a shape, in order."
  @spec axes(tuple()) :: [non_neg_integer()]
  def axes({}), do: []
  def axes(shape), do: Enum.to_list(0..(tuple_size(shape) - 1))
end
