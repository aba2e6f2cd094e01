defmodule Dala.Nx.LinearAlgebra do
  @moduledoc false
  # Factorizations of `Dala.Nx.Backend` and triangular systems, by kernels that compute in f32 or f64.
  # Complex matrices are left to Nx.

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Data, Device, Fallback, Layout}

  @compile {:no_warn_undefined, [Nx.LinAlg]}

  @spec cholesky(Data.tensor(), Data.tensor()) :: Data.tensor()
  def cholesky(out, tensor) do
    case operand(:cholesky, out, tensor) do
      nil -> Fallback.call(:cholesky, [tensor], &Nx.LinAlg.cholesky/1)
      a -> result(out, Device.compute(:cholesky, [a], out.shape, a.dtype))
    end
  end

  @spec qr({Data.tensor(), Data.tensor()}, Data.tensor(), keyword()) ::
          {Data.tensor(), Data.tensor()}
  def qr({q, r}, tensor, opts) do
    case operand(:qr, q, tensor) do
      nil ->
        Fallback.call(:qr, [tensor], &Nx.LinAlg.qr(&1, opts))

      a ->
        part = &Device.compute(:qr, [a], &1.shape, a.dtype, %{result: &2})
        {result(q, part.(q, :q)), result(r, part.(r, :r))}
    end
  end

  @spec svd(tuple(), Data.tensor(), keyword()) :: tuple()
  def svd({u, s, vt}, tensor, opts) do
    case operand(:svd, u, tensor) do
      nil ->
        Fallback.call(:svd, [tensor], &Nx.LinAlg.svd(&1, opts))

      a ->
        part = &Device.compute(:svd, [a], &1.shape, a.dtype, %{result: &2})
        values = without_noise(part.(s, :values), tensor.shape)
        {result(u, part.(u, :u)), result(s, values), result(vt, part.(vt, :vt))}
    end
  end

  # Nx.LinAlg.pinv/2, among others, expects that values which are 0 up to rounding errors are
  # exactly 0.
  defp without_noise(%Buffer{shape: shape, dtype: dtype} = values, matrix) do
    rank = tuple_size(shape)
    first = put_elem(shape, rank - 1, 1)
    epsilon = if dtype == :f64, do: 2.220446049250313e-16, else: 1.1920929e-7
    size = max(elem(matrix, rank - 1), elem(matrix, rank))
    largest = Layout.part(values, first, List.duplicate(0, rank), List.duplicate(1, rank))
    bound = Device.compute(:scalar_mul, [largest], first, dtype, %{scalar: epsilon * size})
    certain = Device.compute(:greater, [values, bound], shape, :u8)
    zero = Device.compute(:fill, [], {}, dtype, %{value: 0})
    Device.compute(:select, [certain, values, zero], shape, dtype)
  end

  @doc "Eigenvalues and eigenvectors, in descending order of magnitude."
  @spec eigh({Data.tensor(), Data.tensor()}, Data.tensor(), keyword()) ::
          {Data.tensor(), Data.tensor()}
  def eigh({values, vectors} = out, tensor, opts) do
    case operand(:eigh, values, tensor) do
      nil ->
        Fallback.run(:eigh, out, [tensor, opts])

      a ->
        {found, columns} = eigenpairs(a, values.shape, vectors.shape)
        {result(values, found), result(vectors, columns)}
    end
  end

  # The kernel writes the values, ascending, in a row above the vectors.
  defp eigenpairs(%Buffer{dtype: dtype} = a, value_shape, vector_shape) do
    rank = tuple_size(vector_shape)
    n = elem(vector_shape, rank - 1)
    row = put_elem(vector_shape, rank - 2, 1)
    both = put_elem(vector_shape, rank - 2, n + 1)
    both = Device.compute(:eigh, [a], both, dtype, %{result: :both})
    values = rows(both, row, 0)
    sizes = Device.compute(:abs, [values], row, dtype)
    order = Device.compute(:argsort, [sizes], row, :s32, %{axis: -1, direction: :desc})
    every = Device.compute(:cast, [order], vector_shape, :s32)
    picked = Device.compute(:take_along_axis, [values, order], row, dtype, %{axis: -1})
    inputs = [rows(both, vector_shape, 1), every]
    columns = Device.compute(:take_along_axis, inputs, vector_shape, dtype, %{axis: -1})
    {Device.view(picked, value_shape), columns}
  end

  defp rows(buffer, shape, first) do
    rank = tuple_size(shape)
    starts = List.replace_at(List.duplicate(0, rank), rank - 2, first)
    Layout.part(buffer, shape, starts, List.duplicate(1, rank))
  end

  @spec lu(tuple(), Data.tensor(), keyword()) :: tuple()
  def lu({p, l, u} = out, tensor, opts) do
    case operand(:lu, l, tensor) do
      nil ->
        Fallback.run(:lu, out, [tensor, opts])

      a ->
        packed = Device.compute(:lu, [a], l.shape, a.dtype)
        {lower, upper} = triangles(packed)
        {permutation(p, a), result(l, lower), result(u, upper)}
    end
  end

  # l is below the diagonal and has a unit diagonal; u is the rest.
  defp triangles(%Buffer{shape: shape, dtype: dtype} = packed) do
    rank = tuple_size(shape)
    square = {elem(shape, rank - 2), elem(shape, rank - 1)}
    row = Device.compute(:iota, [], square, :s32, %{axis: 0})
    column = Device.compute(:iota, [], square, :s32, %{axis: 1})
    below = Device.compute(:greater, [row, column], square, :u8)
    zeros = Device.compute(:fill, [], {}, dtype, %{value: 0})
    ones = Device.compute(:eye, [], square, dtype)

    {Device.compute(:select, [below, packed, ones], shape, dtype),
     Device.compute(:select, [below, zeros, packed], shape, dtype)}
  end

  # Row i of l u is row order[i] of a = p l u, so column i of p has its 1 there.
  defp permutation(%{shape: shape, type: type} = p, a) do
    rank = tuple_size(shape)
    n = elem(shape, rank - 1)
    flat = Tuple.delete_at(shape, rank - 1)
    order = Device.compute(:lu, [a], flat, :s32, %{result: :permutation})
    order = Device.view(order, put_elem(shape, rank - 2, 1))
    row = Device.view(Device.compute(:iota, [], {n}, :s32), {n, 1})
    ones = Device.compute(:equal, [order, row], shape, :u8)
    Data.put(p, Data.buffer(Data.put(%{p | type: {:u, 8}}, ones), type))
  end

  @spec triangular_solve(Data.tensor(), Data.tensor(), Data.tensor(), keyword()) :: Data.tensor()
  def triangular_solve(out, a, b, opts) do
    left = operand(:triangular_solve, out, a)
    right = operand(:triangular_solve, out, b)

    if left == nil or right == nil do
      Fallback.run(:triangular_solve, out, [a, b, opts])
    else
      params = %{
        triangle: if(opts[:lower], do: :lower, else: :upper),
        transpose: opts[:transform_a] == :transpose,
        right: not opts[:left_side]
      }

      inputs = [left, right]
      result(out, Device.compute(:triangular_solve, inputs, out.shape, left.dtype, params))
    end
  end

  # A matrix in the type that the kernel computes a result in, or nil if it cannot.
  defp operand(kernel, %{type: type}, tensor) do
    working = if type in [{:f, 16}, {:bf, 16}], do: {:f, 32}, else: type

    if Data.runs?(kernel, working, [tensor]) and elem(tensor.type, 0) != :c,
      do: Data.buffer(tensor, working)
  end

  defp result(%{shape: shape, type: type} = out, %Buffer{dtype: dtype} = buffer) do
    wanted = Data.dtype(type)

    if dtype == wanted,
      do: Data.put(out, buffer),
      else: Data.put(out, Device.compute(:cast, [buffer], shape, wanted))
  end
end
