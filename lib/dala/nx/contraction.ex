defmodule Dala.Nx.Contraction do
  @moduledoc false
  # Products of tensors: `dot` as a batched matrix product, `conv` by `conv2d`, or by `conv` for
  # volumes.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Data, Device, Fallback, Layout}

  @spec dot(Data.tensor(), list(), list()) :: Data.tensor()
  def dot(out, [left, left_axes, left_batch], [right, right_axes, right_batch]) do
    if Data.runs?(:matmul, out.type, [left, right]) do
      {a, transposed_a, m} = rows(Data.buffer(left, out.type), left_batch, left_axes)
      {b, columns, n} = rows(Data.buffer(right, out.type), right_batch, right_axes)
      batch = batch(left.shape, left_batch)
      # The right operand is a matrix with n columns: the contracted axes come first.
      params = %{transpose_a: transposed_a, transpose_b: not columns}
      product = Device.compute(:matmul, [a, b], batch ++ [m, n], Data.dtype(out.type), params)
      Data.put(out, shaped(product, Tuple.to_list(out.shape)))
    else
      args = [left, left_axes, left_batch, right, right_axes, right_batch]
      Fallback.run(:dot, out, args)
    end
  end

  # A batch of matrices {free, contracted}, or {contracted, free} with true, and the number of free
  # elements. Axes are only transposed if the tensor has neither order.
  defp rows(%Buffer{shape: shape} = buffer, batch, contracted) do
    free = Layout.axes(shape) -- (batch ++ contracted)
    [m, k] = Enum.map([free, contracted], &size(shape, &1))
    batch_dims = batch(shape, batch)

    if batch ++ contracted ++ free == Layout.axes(shape) and free != [] do
      {shaped(buffer, batch_dims ++ [k, m]), true, m}
    else
      order = batch ++ free ++ contracted
      ordered = if order == Enum.sort(order), do: buffer, else: Layout.permute(buffer, order)
      {shaped(ordered, batch_dims ++ [m, k]), false, m}
    end
  end

  defp shaped(%Buffer{shape: shape} = buffer, dims),
    do: if(Tuple.to_list(shape) == dims, do: buffer, else: Device.view(buffer, dims))

  defp batch(_shape, []), do: []
  defp batch(shape, axes), do: [size(shape, axes)]

  defp size(shape, axes), do: axes |> Enum.map(&elem(shape, &1)) |> Enum.product()

  @spec conv(Data.tensor(), Data.tensor(), Data.tensor(), keyword()) :: Data.tensor()
  def conv(out, tensor, kernel, opts) do
    spatial = tuple_size(out.shape) - 2

    if Data.runs?(:conv2d, out.type, [tensor, kernel]) and spatial in 0..3,
      do: convolve(out, tensor, kernel, opts),
      else: Fallback.run(:conv, out, [tensor, kernel, opts])
  end

  defp convolve(out, tensor, kernel, opts) do
    weights = kernel |> Data.buffer(out.type) |> Layout.permute(opts[:kernel_permutation])
    input = Data.buffer(tensor, out.type)
    back = opts[:output_permutation]
    last = last_channels(tuple_size(out.shape))

    # Operands with channels last stay so, which is faster on CPUs.
    {input, layout} =
      if opts[:input_permutation] == last and back == last and opts[:batch_group_size] == 1 and
           tuple_size(out.shape) < 5,
         do: {input, :nhwc},
         else: {Layout.permute(input, opts[:input_permutation]), :nchw}

    {input, padding} = spread(input, layout, opts)
    {input, groups} = batch_groups(input, opts)

    shape = conv_shape(out.shape, layout, back)

    params = %{
      stride: opts[:strides],
      pad: padding,
      dilation: opts[:kernel_dilation],
      groups: groups,
      layout: layout
    }

    result =
      if tuple_size(shape) == 5,
        do: three_dimensional([input, weights], shape, params),
        else: two_dimensional([input, weights], layout, shape, params)

    Data.put(out, if(layout == :nhwc, do: result, else: Layout.permute(result, restore(back))))
  end

  # The permutation from {n, ..., c} to {n, c, ...}.
  defp last_channels(rank), do: [0, rank - 1 | Enum.to_list(1..(rank - 2)//1)]

  # `back` has the positions of {n, c, ...} in the output; the kernel's result is in that order.
  defp restore(back), do: Layout.inverse(back)

  defp conv_shape(shape, :nhwc, _back), do: shape
  defp conv_shape(shape, :nchw, back), do: back |> Enum.map(&elem(shape, &1)) |> List.to_tuple()

  # The kernel only supports a small zero padding; any other padding is applied before.
  defp spread(input, layout, opts) do
    dilation = opts[:input_dilation]
    padding = opts[:padding]

    if Enum.all?(dilation, &(&1 == 1)) and Enum.all?(padding, fn {l, h} -> l >= 0 and h >= 0 end) do
      {input, padding}
    else
      config = Enum.zip_with(padding, dilation, fn {low, high}, step -> {low, high, step - 1} end)
      none = {0, 0, 0}
      config = if layout == :nhwc, do: [none | config] ++ [none], else: [none, none | config]

      shape =
        Enum.zip_with(Tuple.to_list(input.shape), config, fn dim, {low, high, interior} ->
          dim + (dim - 1) * interior + low + high
        end)

      params = %{
        low: for({low, _, _} <- config, do: low),
        high: for({_, high, _} <- config, do: high),
        interior: for({_, _, interior} <- config, do: interior)
      }

      {Device.compute(:pad, [input], shape, input.dtype, params), Enum.map(padding, &none_of/1)}
    end
  end

  defp none_of(_edges), do: {0, 0}

  # Groups along the batch, each with its own filters, become groups of channels of a smaller batch.
  defp batch_groups(input, opts) do
    case opts[:batch_group_size] do
      1 ->
        {input, opts[:feature_group_size]}

      groups ->
        [n, c | dims] = Tuple.to_list(input.shape)
        smaller = div(n, groups)
        rank = length(dims) + 3
        split = Device.view(input, [groups, smaller, c | dims])
        moved = Layout.permute(split, [1, 0 | Enum.to_list(2..(rank - 1))])
        {Device.view(moved, [smaller, groups * c | dims]), groups}
    end
  end

  # Missing dimensions become ones of length 1.
  defp two_dimensional([input, weights], layout, shape, params) do
    missing = 4 - tuple_size(shape)
    ones = List.duplicate(1, missing)
    params = %{params | stride: List.to_tuple(ones ++ params.stride)}
    params = %{params | dilation: List.to_tuple(ones ++ params.dilation)}
    edges = List.duplicate({0, 0}, missing) ++ params.pad
    [{top, bottom}, {left, right}] = edges
    params = %{params | pad: {top, left, bottom, right}}

    inputs = [lengthen(input, layout, ones), lengthen(weights, :nchw, ones)]
    full = lengthen_shape(shape, layout, ones)
    Device.view(Device.compute(:conv2d, inputs, full, input.dtype, params), shape)
  end

  defp lengthen(buffer, layout, ones),
    do: Device.view(buffer, lengthen_shape(buffer.shape, layout, ones))

  defp lengthen_shape(shape, layout, ones) do
    {front, rest} = shape |> Tuple.to_list() |> Enum.split(if(layout == :nhwc, do: 1, else: 2))
    List.to_tuple(front ++ ones ++ rest)
  end

  defp three_dimensional(inputs, shape, params) do
    params = %{
      stride: params.stride,
      dilation: params.dilation,
      low: Enum.map(params.pad, &elem(&1, 0)),
      high: Enum.map(params.pad, &elem(&1, 1)),
      groups: params.groups
    }

    Device.compute(:conv, inputs, shape, hd(inputs).dtype, params)
  end
end
