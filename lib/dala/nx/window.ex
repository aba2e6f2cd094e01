defmodule Dala.Nx.Window do
  @moduledoc false
  # Reductions over windows, and scattering to the elements that windows select.
  #
  # For types without a kernel, windows are reduced one axis at a time: the elements at each
  # position of the window are a strided slice, and the slices are combined. For long windows, the
  # results of windows of half the length are combined instead.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Data, Device, Fallback, Layout}

  @compile {:no_warn_undefined, [Nx.Type]}

  @kernels %{
    window_sum: :elementwise_add,
    window_product: :elementwise_mul,
    window_max: :elementwise_max,
    window_min: :elementwise_min
  }

  @short 8
  # The largest number of window positions for which the selection is computed one by one.
  @most_places 256

  @spec reduce(atom(), Data.tensor(), Data.tensor(), tuple(), keyword()) :: Data.tensor()
  def reduce(op, out, tensor, window, opts) do
    if Data.runs?(Map.fetch!(@kernels, op), out.type, [tensor]) do
      buffer = Data.buffer(tensor, out.type)

      cond do
        op == :window_max and pool?(buffer, window, opts) ->
          Data.put(out, pool(buffer, out, window, opts))

        slides?(op, out, opts) ->
          Data.put(out, slide(op, buffer, out, window, opts))

        true ->
          Data.put_view(out, windows(op, buffer, out, window, opts))
      end
    else
      Fallback.run(op, out, [tensor, window, opts])
    end
  end

  # Most types have a kernel for windows of any kind.
  defp slides?(op, out, opts) do
    Data.kernel?(op, out.type) and out.shape != {} and
      Enum.all?(opts[:padding], fn {low, high} -> low >= 0 and high >= 0 end)
  end

  defp slide(op, buffer, out, window, opts) do
    {low, high} = Enum.unzip(opts[:padding])

    Device.compute(op, [buffer], out.shape, buffer.dtype, %{
      size: Tuple.to_list(window),
      stride: opts[:strides],
      low: low,
      high: high,
      dilation: opts[:window_dilations]
    })
  end

  # Pooling of {n, c, h, w} or {n, h, w, c} has a kernel of its own.
  defp pool?(buffer, window, opts) do
    tuple_size(buffer.shape) == 4 and layout(window) != nil and
      layout(List.to_tuple(opts[:strides])) in [layout(window), :both] and
      Enum.all?(opts[:window_dilations], &(&1 == 1)) and
      padding_fits?(window, opts[:padding], layout(window))
  end

  defp layout({1, 1, 1, 1}), do: :both
  defp layout({1, 1, _, _}), do: :nchw
  defp layout({1, _, _, 1}), do: :nhwc
  defp layout(_other), do: nil

  # Every window of the kernel must have an element that is not padding.
  defp padding_fits?(_window, _padding, :both), do: false

  defp padding_fits?(window, padding, layout) do
    spatial = spatial(layout)

    padding
    |> Enum.with_index()
    |> Enum.all?(fn {{low, high}, axis} ->
      if axis in spatial do
        low >= 0 and high >= 0 and low < elem(window, axis) and high < elem(window, axis)
      else
        {low, high} == {0, 0}
      end
    end)
  end

  defp spatial(:nchw), do: [2, 3]
  defp spatial(:nhwc), do: [1, 2]

  defp pool(buffer, out, window, opts) do
    layout = layout(window)
    [y, x] = spatial(layout)
    [{top, bottom}, {left, right}] = Enum.map([y, x], &Enum.at(opts[:padding], &1))

    Device.compute(:max_pool2d, [buffer], out.shape, buffer.dtype, %{
      size: {elem(window, y), elem(window, x)},
      stride: {Enum.at(opts[:strides], y), Enum.at(opts[:strides], x)},
      pad: {top, left, bottom, right},
      layout: layout
    })
  end

  defp windows(op, buffer, out, window, opts) do
    kernel = Map.fetch!(@kernels, op)
    config = for {low, high} <- opts[:padding], do: {low, high, 0}
    padded = pad(buffer, neutral(op, out.type), config, out)

    [Layout.axes(out.shape), Tuple.to_list(window), opts[:strides], opts[:window_dilations]]
    |> Enum.zip()
    |> Enum.reduce(padded, fn {axis, length, stride, dilation}, buffer ->
      along(kernel, buffer, axis, length, stride, dilation)
    end)
  end

  defp pad(buffer, value, config, out) do
    if Enum.all?(config, &(&1 == {0, 0, 0})) do
      buffer
    else
      shape =
        buffer.shape
        |> Tuple.to_list()
        |> Enum.zip_with(config, fn dim, {low, high, 0} -> dim + low + high end)
        |> List.to_tuple()

      like = Data.template(out, shape, out.type)
      source = Data.put(Data.template(out, buffer.shape, out.type), buffer)
      scalar = Data.put(Data.template(out, {}, out.type), value)
      Data.buffer(Layout.pad(like, source, scalar, config))
    end
  end

  defp neutral(:window_max, type), do: Nx.Type.min_binary(type)
  defp neutral(:window_min, type), do: Nx.Type.max_binary(type)
  defp neutral(:window_sum, {_, bits}), do: <<0::size(bits)>>
  defp neutral(:window_product, type), do: one(type)

  defp one({:f, 64}), do: <<1.0::float-64-native>>
  defp one({:f, 32}), do: <<1.0::float-32-native>>
  defp one({:f, 16}), do: <<0x3C00::16-native>>
  defp one({:bf, 16}), do: <<0x3F80::16-native>>
  defp one({_, bits}), do: <<1::size(bits)-native>>

  defp along(_kernel, buffer, _axis, 1, 1, _dilation), do: buffer

  defp along(kernel, buffer, axis, length, stride, dilation) when length > @short do
    # Two windows of half the length cover a whole one, or all but its last element.
    half = div(length, 2)
    halves = along(kernel, buffer, axis, half, 1, dilation)
    count = elem(buffer.shape, axis) - (length - 1) * dilation
    pair = for start <- [0, half * dilation], do: cut(halves, axis, start, count, 1)
    even = combine(kernel, pair)

    whole =
      if rem(length, 2) == 1 do
        last = cut(buffer, axis, (length - 1) * dilation, count, 1)
        combine(kernel, [even, last])
      else
        even
      end

    cut(whole, axis, 0, div(count - 1, stride) + 1, stride)
  end

  defp along(kernel, buffer, axis, length, stride, dilation) do
    reach = elem(buffer.shape, axis) - (length - 1) * dilation
    count = div(reach - 1, stride) + 1

    for(place <- 0..(length - 1), do: cut(buffer, axis, place * dilation, count, stride))
    |> Enum.reduce(&combine(kernel, [&2, &1]))
  end

  defp combine(kernel, [%Buffer{shape: shape, dtype: dtype} | _] = buffers),
    do: Device.compute(kernel, buffers, shape, dtype)

  defp cut(%Buffer{shape: shape} = buffer, axis, start, count, stride) do
    rank = tuple_size(shape)
    starts = List.replace_at(List.duplicate(0, rank), axis, start)
    strides = List.replace_at(List.duplicate(1, rank), axis, stride)
    Layout.part(buffer, put_elem(shape, axis, count), starts, strides)
  end

  @doc """
  Adds each element of `source` where its window of `tensor` has its largest, or smallest, element;
  of equal ones, the last.
  """
  @spec scatter(atom(), Data.tensor(), [Data.tensor()], tuple(), keyword()) :: Data.tensor()
  def scatter(op, out, [tensor, source, init], window, opts) do
    places = Tuple.product(window)

    if Data.runs?(:scatter_add, out.type, [source, init]) and places <= @most_places and
         Data.kernel?(:greater_equal, tensor.type) do
      select = if op == :window_scatter_max, do: :greater_equal, else: :less_equal
      selected = selected(select, tensor, source.shape, window, opts, init)
      Data.put(out, scattered(out, selected, source, init))
    else
      Fallback.run(op, out, [tensor, source, init, window, opts])
    end
  end

  # For each window, the flat index of its element in the tensor; an index past the end for padding,
  # where nothing is added.
  defp selected(select, tensor, shape, window, opts, init) do
    values = Data.buffer(tensor)
    config = for {low, high} <- opts[:padding], do: {low, high, 0}
    like = Data.template(tensor, values.shape, {:s, 64})
    numbers = Device.compute(:iota, [], values.shape, :s64)
    outside = <<Tuple.product(values.shape)::64-native>>

    edge = Data.binary_as(init, tensor.type)
    values = pad(values, edge, config, Data.template(tensor, values.shape, tensor.type))
    numbers = pad(numbers, outside, config, like)
    [first | rest] = offsets(Tuple.to_list(window))
    cut = &Layout.part(&1, shape, &2, opts[:strides])

    {_value, number} =
      Enum.reduce(rest, {cut.(values, first), cut.(numbers, first)}, fn offset, {best, number} ->
        value = cut.(values, offset)
        better = Device.compute(select, [value, best], shape, :u8)
        best = Device.compute(:select, [better, value, best], shape, value.dtype)
        {best, Device.compute(:select, [better, cut.(numbers, offset), number], shape, :s64)}
      end)

    number
  end

  defp offsets([]), do: [[]]

  defp offsets([length | rest]),
    do: for(place <- 0..(length - 1), others <- offsets(rest), do: [place | others])

  defp scattered(out, selected, source, init) do
    count = Tuple.product(out.shape)
    dtype = Data.dtype(out.type)
    base = Device.compute(:cast, [Data.buffer(init, out.type)], {count}, dtype)
    indices = Device.view(selected, {Tuple.product(selected.shape), 1})
    updates = Device.view(Data.buffer(source, out.type), {Tuple.product(source.shape)})
    result = Device.compute(:scatter_add, [base, indices, updates], {count}, dtype)
    Device.view(result, out.shape)
  end
end
