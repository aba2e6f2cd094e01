defmodule Dala.Nx.Transform do
  @moduledoc false
  # Fourier transforms of `Dala.Nx.Backend`. The kernels take complex numbers as pairs, as which a
  # c64 buffer can be viewed. Elements of c128 are on the host, and are only uploaded for this.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Data, Device, Fallback, Layout}

  @spec fft(:fft | :ifft, Data.tensor(), Data.tensor(), keyword()) :: Data.tensor()
  def fft(op, out, tensor, opts) do
    lengths = [{opts[:axis], opts[:length]}]
    run(op, op, out, tensor, lengths, opts[:eps], [tensor, opts])
  end

  @spec fft2(:fft2 | :ifft2, Data.tensor(), Data.tensor(), keyword()) :: Data.tensor()
  def fft2(op, out, tensor, opts) do
    kernel = if op == :fft2, do: :fft, else: :ifft
    lengths = Enum.zip(opts[:axes], opts[:lengths])
    run(op, kernel, out, tensor, lengths, opts[:eps], [tensor, opts])
  end

  defp run(op, kernel, out, tensor, lengths, eps, args) do
    part = part_type(out.type)

    if Data.kernel?(kernel, part) and 0 not in Tuple.to_list(tensor.shape) do
      pairs = tensor |> pairs(part) |> fit(lengths)
      params = %{axes: Enum.map(lengths, &elem(&1, 0))}
      spectrum = Device.compute(kernel, [pairs], pairs.shape, pairs.dtype, params)
      complex(out, without_noise(spectrum, eps))
    else
      fallback(op, out, args)
    end
  end

  defp fallback(op, out, args) when op in [:fft, :ifft], do: Fallback.run(op, out, args)

  defp fallback(op, _out, [tensor, opts]),
    do: Fallback.call(op, [tensor], &apply(Nx, op, [&1, opts]))

  defp part_type({:c, 64}), do: {:f, 32}
  defp part_type({:c, 128}), do: {:f, 64}

  # Real and imaginary parts along a last axis.
  defp pairs(%{type: {:c, bits}} = tensor, {:f, part} = type) when bits == 2 * part do
    shape = Tuple.append(tensor.shape, 2)

    case Data.content(tensor) do
      %Buffer{} = buffer -> Device.view(buffer, shape, Data.dtype(type))
      binary -> Buffer.from_binary(binary, shape, Data.dtype(type))
    end
  end

  defp pairs(%{type: {:c, 64}} = tensor, {:f, 64}) do
    narrow = pairs(tensor, {:f, 32})
    Device.compute(:cast, [narrow], narrow.shape, :f64)
  end

  defp pairs(tensor, type) do
    real = Device.view(Data.buffer(tensor, type), Tuple.append(tensor.shape, 1))
    high = List.duplicate(0, tuple_size(tensor.shape)) ++ [1]
    shape = Tuple.append(tensor.shape, 2)
    Device.compute(:pad, [real], shape, real.dtype, %{high: high})
  end

  # An axis is padded with zeros at its end, or truncated.
  defp fit(buffer, lengths) do
    Enum.reduce(lengths, buffer, fn {axis, length},
                                    %Buffer{shape: shape, dtype: dtype} = buffer ->
      rank = tuple_size(shape)
      fitted = put_elem(shape, axis, length)

      cond do
        length < elem(shape, axis) ->
          Layout.part(buffer, fitted, List.duplicate(0, rank), List.duplicate(1, rank))

        length > elem(shape, axis) ->
          more = length - elem(shape, axis)
          high = List.replace_at(List.duplicate(0, rank), axis, more)
          Device.compute(:pad, [buffer], fitted, dtype, %{high: high})

        true ->
          buffer
      end
    end)
  end

  # Nx treats parts of at most `eps` as rounding errors of 0.
  defp without_noise(%Buffer{shape: shape, dtype: dtype} = buffer, eps) do
    bound = Device.compute(:fill, [], {}, dtype, %{value: eps})
    zero = Device.compute(:fill, [], {}, dtype, %{value: 0})
    sizes = Device.compute(:abs, [buffer], shape, dtype)
    small = Device.compute(:less_equal, [sizes, bound], shape, :u8)
    Device.compute(:select, [small, zero, buffer], shape, dtype)
  end

  defp complex(%{shape: shape, type: {:c, 64}} = out, pairs),
    do: Data.put(out, Device.view(pairs, shape, :c64))

  defp complex(out, pairs), do: Data.put(out, Device.read(pairs))
end
