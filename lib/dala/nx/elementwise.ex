defmodule Dala.Nx.Elementwise do
  @moduledoc false
  # Pointwise operations of `Dala.Nx.Backend`. Kernels take inputs of one type and broadcast them,
  # so inputs are only cast. Scalars on the host stay there: their sum is not worth a command.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Data, Device, Fallback}

  @compile {:no_warn_undefined, [Nx, Nx.Type]}

  # Operations whose inputs have the type of the result.
  @binary %{
    add: :elementwise_add,
    subtract: :elementwise_sub,
    multiply: :elementwise_mul,
    divide: :elementwise_div,
    quotient: :elementwise_div,
    pow: :elementwise_pow,
    min: :elementwise_min,
    max: :elementwise_max,
    remainder: :remainder,
    atan2: :atan2,
    bitwise_and: :bitwise_and,
    bitwise_or: :bitwise_or,
    bitwise_xor: :bitwise_xor,
    left_shift: :left_shift,
    right_shift: :right_shift
  }

  # Operations whose inputs have their common type; the result is 1 or 0.
  @predicates [:equal, :not_equal, :greater, :greater_equal, :less, :less_equal] ++
                [:logical_and, :logical_or, :logical_xor]

  @unary Map.merge(
           Map.new(
             [:exp, :expm1, :log, :log1p, :sigmoid, :cos, :sin, :tan, :cosh, :sinh, :tanh] ++
               [:acos, :asin, :atan, :acosh, :asinh, :atanh, :sqrt, :rsqrt, :cbrt] ++
               [:erf, :erfc, :erf_inv, :abs, :bitwise_not, :ceil, :floor, :round, :sign] ++
               [:count_leading_zeros, :population_count],
             &{&1, &1}
           ),
           %{negate: :neg}
         )

  @doc "The names of the operations on two tensors."
  @spec binary_ops() :: [atom()]
  def binary_ops, do: Map.keys(@binary) ++ @predicates

  @doc "The names of the operations on one tensor."
  @spec unary_ops() :: [atom()]
  def unary_ops, do: Map.keys(@unary)

  @doc "Returns the kernel of an operation, and the type of its inputs."
  @spec kernel(atom(), Data.tensor(), [Data.tensor()]) :: {atom(), Data.nx_type()}
  def kernel(op, _out, [left, right]) when op in @predicates,
    do: {op, Nx.Type.merge(left.type, right.type)}

  def kernel(op, out, [_left, _right]), do: {Map.fetch!(@binary, op), out.type}
  def kernel(op, out, [_tensor]), do: {Map.fetch!(@unary, op), out.type}

  @spec binary(atom(), Data.tensor(), Data.tensor(), Data.tensor()) :: Data.tensor()
  def binary(op, out, %{type: {:c, 64}} = left, %{type: {kind, _}} = right)
      when op in [:multiply, :divide] and kind != :c,
      do: scaled(op, out, left, right)

  def binary(:multiply, out, %{type: {kind, _}} = left, %{type: {:c, 64}} = right)
      when kind != :c,
      do: scaled(:multiply, out, right, left)

  def binary(op, out, left, right), do: run(op, out, [left, right])

  # A complex number times or divided by a real one scales both parts. In a complex product, an
  # infinite part would be multiplied by the 0 of the other number's imaginary part.
  defp scaled(op, out, complex, real) do
    if out.type == {:c, 64} and Data.kernel?(:bitcast, {:c, 64}) and
         Data.runs?(@binary[op], {:f, 32}, [real]) and not Data.numbers?([complex, real]) do
      parts = Device.view(Data.buffer(complex), Tuple.append(complex.shape, 2), :f32)
      factor = Device.view(Data.buffer(real, {:f, 32}), Tuple.append(real.shape, 1))
      shape = Tuple.append(out.shape, 2)
      result = Device.compute(Map.fetch!(@binary, op), [parts, factor], shape, :f32)
      Data.put(out, Device.view(result, out.shape, :c64))
    else
      run(op, out, [complex, real])
    end
  end

  @spec unary(atom(), Data.tensor(), Data.tensor()) :: Data.tensor()
  def unary(:abs, out, %{type: {:c, _}} = tensor), do: part(:abs, out, tensor)
  def unary(op, out, tensor), do: run(op, out, [tensor])

  @parts %{
    abs: :complex_abs,
    phase: :complex_angle,
    real: :real,
    imag: :imag,
    conjugate: :conjugate
  }

  @doc "The parts, magnitudes and conjugates of complex numbers."
  @spec part(atom(), Data.tensor(), Data.tensor()) :: Data.tensor()
  def part(op, out, %{type: type, shape: shape} = tensor) do
    kernel = Map.fetch!(@parts, op)

    cond do
      Data.kernel?(kernel, type) ->
        Data.put(out, Device.compute(kernel, [Data.buffer(tensor)], shape, Data.dtype(out.type)))

      op == :phase ->
        Fallback.call(:phase, [tensor], &Nx.phase/1)

      true ->
        Fallback.run(op, out, [tensor])
    end
  end

  defp run(op, %{shape: shape} = out, tensors) do
    {kernel, type} = kernel(op, out, tensors)

    cond do
      Data.numbers?(tensors) ->
        Data.on_host(op, out, tensors)

      Data.runs?(kernel, type, tensors) and Data.bufferable?([out]) and
          (complex?(type) or not Enum.any?(tensors, &complex?(&1.type))) ->
        inputs = Enum.map(tensors, &Data.buffer(&1, type))
        Data.put(out, Device.compute(kernel, inputs, shape, Data.dtype(out.type)))

      true ->
        Fallback.run(op, out, tensors)
    end
  end

  # A cast to a real type would drop the imaginary parts.
  defp complex?({kind, _bits}), do: kind == :c

  @doc "Whether elements are NaN or infinite; integers never are."
  @spec test(:is_nan | :is_infinity, Data.tensor(), Data.tensor()) :: Data.tensor()
  def test(op, out, %{type: {kind, _}}) when kind in [:s, :u] and op in [:is_nan, :is_infinity],
    do: Data.put(out, Buffer.zeros(out.shape, :u8))

  def test(op, out, tensor) do
    cond do
      Data.numbers?([tensor]) ->
        Data.on_host(op, out, [tensor])

      Data.kernel?(op, tensor.type) ->
        Data.put(out, Device.compute(op, [Data.buffer(tensor)], out.shape, :u8))

      true ->
        Fallback.run(op, out, [tensor])
    end
  end

  @spec logical_not(Data.tensor(), Data.tensor(), (() -> Data.tensor())) :: Data.tensor()
  def logical_not(out, tensor, otherwise) do
    if Data.kernel?(:logical_not, tensor.type),
      do: Data.put(out, Device.compute(:logical_not, [Data.buffer(tensor)], out.shape, :u8)),
      else: otherwise.()
  end

  @spec select(Data.tensor(), Data.tensor(), Data.tensor(), Data.tensor()) :: Data.tensor()
  def select(out, condition, on_true, on_false) do
    tensors = [condition, on_true, on_false]

    cond do
      Data.numbers?(tensors) ->
        Data.on_host(:select, out, tensors)

      Data.runs?(:select, out.type, [on_true, on_false]) and
          Data.kernel?(:logical_or, condition.type) ->
        values = for value <- [on_true, on_false], do: Data.buffer(value, out.type)
        inputs = [truth(condition) | values]
        Data.put(out, Device.compute(:select, inputs, out.shape, Data.dtype(out.type)))

      true ->
        Fallback.run(:select, out, tensors)
    end
  end

  @doc "Elements as u8, which is not 0 where they are not 0."
  @spec truth(Data.tensor()) :: Buffer.t()
  def truth(%{type: {:u, 8}} = tensor), do: Data.buffer(tensor)
  def truth(tensor), do: bits(tensor)

  @doc "Elements as u8, 1 where they are not 0, and 0 elsewhere."
  @spec bits(Data.tensor()) :: Buffer.t()
  def bits(tensor) do
    buffer = Data.buffer(tensor)
    Device.compute(:logical_or, [buffer, buffer], tensor.shape, :u8)
  end

  @spec clip(Data.tensor(), Data.tensor(), Data.tensor(), Data.tensor()) :: Data.tensor()
  def clip(%{shape: shape, type: type} = out, tensor, low, high) do
    if Data.runs?(:elementwise_max, type, [tensor, low, high]) do
      dtype = Data.dtype(type)
      inputs = [Data.buffer(tensor, type), Data.buffer(low, type)]
      raised = Device.compute(:elementwise_max, inputs, shape, dtype)
      inputs = [raised, Data.buffer(high, type)]
      Data.put(out, Device.compute(:elementwise_min, inputs, shape, dtype))
    else
      Fallback.run(:clip, out, [tensor, low, high])
    end
  end

  @spec as_type(Data.tensor(), Data.tensor()) :: Data.tensor()
  def as_type(%{type: type} = out, tensor) do
    cond do
      Data.numbers?([tensor]) -> Data.on_host(:as_type, out, [tensor])
      Data.castable?(tensor.type, type) -> Data.put_view(out, Data.buffer(tensor, type))
      true -> Fallback.run(:as_type, out, [tensor])
    end
  end
end
