defmodule Dala.Nx.Elementwise do
  @moduledoc false
  # Operations of `Dala.Nx.Backend` that compute each element from those at the same position.
  # Kernels take inputs of one type and broadcast them, so inputs are only cast.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Data, Device, Fallback}

  @compile {:no_warn_undefined, [Nx.Type]}

  # Inputs have the type of the result.
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

  # Inputs have the type that both fit into; the result is 1 or 0.
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

  @doc "Returns the kernel of an operation, and the type that its inputs are to have."
  @spec kernel(atom(), Data.tensor(), [Data.tensor()]) :: {atom(), Data.nx_type()}
  def kernel(op, _out, [left, right]) when op in @predicates,
    do: {op, Nx.Type.merge(left.type, right.type)}

  def kernel(op, out, [_left, _right]), do: {Map.fetch!(@binary, op), out.type}
  def kernel(op, out, [_tensor]), do: {Map.fetch!(@unary, op), out.type}

  @spec binary(atom(), Data.tensor(), Data.tensor(), Data.tensor()) :: Data.tensor()
  def binary(op, out, left, right), do: run(op, out, [left, right])

  @spec unary(atom(), Data.tensor(), Data.tensor()) :: Data.tensor()
  def unary(op, out, tensor), do: run(op, out, [tensor])

  defp run(op, %{shape: shape} = out, tensors) do
    {kernel, type} = kernel(op, out, tensors)

    if Data.runs?(kernel, type, tensors) and Data.bufferable?([out]) and
         (complex?(type) or not Enum.any?(tensors, &complex?(&1.type))) do
      inputs = Enum.map(tensors, &Data.buffer(&1, type))
      Data.put(out, Device.compute(kernel, inputs, shape, Data.dtype(out.type)))
    else
      Fallback.run(op, out, tensors)
    end
  end

  # A cast to a real type would leave out the imaginary parts.
  defp complex?({kind, _bits}), do: kind == :c

  @doc "Whether elements are NaN or infinite, which integers never are."
  @spec test(:is_nan | :is_infinity, Data.tensor(), Data.tensor()) :: Data.tensor()
  def test(op, out, %{type: {kind, _}}) when kind in [:s, :u] and op in [:is_nan, :is_infinity],
    do: Data.put(out, Buffer.zeros(out.shape, :u8))

  def test(op, out, tensor) do
    if Data.kernel?(op, tensor.type),
      do: Data.put(out, Device.compute(op, [Data.buffer(tensor)], out.shape, :u8)),
      else: Fallback.run(op, out, [tensor])
  end

  @spec logical_not(Data.tensor(), Data.tensor(), (() -> Data.tensor())) :: Data.tensor()
  def logical_not(out, tensor, otherwise) do
    if Data.kernel?(:logical_not, tensor.type),
      do: Data.put(out, Device.compute(:logical_not, [Data.buffer(tensor)], out.shape, :u8)),
      else: otherwise.()
  end

  @spec select(Data.tensor(), Data.tensor(), Data.tensor(), Data.tensor()) :: Data.tensor()
  def select(out, condition, on_true, on_false) do
    if Data.runs?(:select, out.type, [on_true, on_false]) and
         Data.kernel?(:logical_or, condition.type) do
      inputs = [truth(condition), Data.buffer(on_true, out.type), Data.buffer(on_false, out.type)]
      Data.put(out, Device.compute(:select, inputs, out.shape, Data.dtype(out.type)))
    else
      Fallback.run(:select, out, [condition, on_true, on_false])
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
    if Data.castable?(tensor.type, type),
      do: Data.put_view(out, Data.buffer(tensor, type)),
      else: Fallback.run(:as_type, out, [tensor])
  end
end
