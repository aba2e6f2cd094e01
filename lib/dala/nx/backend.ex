defmodule Dala.Nx.Backend do
  @moduledoc """
  Runs the operations of Nx on the device: `Nx.default_backend(Dala.Nx.Backend)`.

  An operation returns immediately, and reading a tensor waits for it. A tensor owns a buffer, whose
  memory is freed by `Nx.backend_deallocate/1`, or when no process references the tensor any more.
  Operations without a kernel, and element types that buffers do not have, are computed by
  `Nx.BinaryBackend`; `Dala.Nx.fallbacks/0` counts them.

  The backend takes no options. See the guide on Nx for what runs where, and `Dala.Nx.Compiler` for
  `defn`.

  Nx is an optional dependency: it is looked up when a function is called, not when this module is
  compiled.
  """

  # Implements the behaviour Nx.Backend without declaring it, because that would depend on Nx at
  # compile time. The tests compare the callbacks with those of the installed Nx; further ones are
  # of other versions.

  import Kernel, except: [max: 2, min: 2]

  alias Dala.Gpu.Compute.Buffer
  alias Dala.Nx.{Contraction, Data, Device, Elementwise, Fallback, Layout, LinearAlgebra}
  alias Dala.Nx.{Reduction, Transform, Window}

  @compile {:no_warn_undefined, [Nx, Nx.Backend, Nx.BinaryBackend]}

  @enforce_keys [:content]
  defstruct [:content]

  @typedoc "The data of a tensor: a buffer, or the bytes of elements that are kept on the host."
  @type t :: %__MODULE__{content: Buffer.t() | binary()}

  @doc false
  def init(opts) do
    unless opts == [],
      do: raise(ArgumentError, "Dala.Nx.Backend takes no options, got: #{inspect(opts)}")

    opts
  end

  # Creation

  @doc false
  def constant(out, number, _opts) do
    scalar = Nx.BinaryBackend.constant(%{out | shape: {}, names: []}, number, [])
    one = Data.put(scalar, Nx.to_binary(scalar))

    cond do
      out.shape == {} ->
        Data.put(out, Data.content(one))

      Data.kernel?(:cast, out.type) ->
        Data.put(out, Device.compute(:cast, [Data.buffer(one)], out.shape, Data.dtype(out.type)))

      true ->
        Data.put(out, :binary.copy(Data.content(one), Tuple.product(out.shape)))
    end
  end

  @doc false
  def from_binary(out, binary, _opts), do: Data.from_binary(out, IO.iodata_to_binary(binary))

  @doc false
  def eye(out, opts), do: create(:eye, out, %{}, [opts])

  @doc false
  def iota(out, nil, opts), do: create(:iota, out, %{}, [nil, opts])
  def iota(out, axis, opts), do: create(:iota, out, %{axis: axis}, [axis, opts])

  defp create(kernel, out, params, args) do
    if Data.kernel?(kernel, out.type),
      do: Data.put(out, Device.compute(kernel, [], out.shape, Data.dtype(out.type), params)),
      else: Fallback.run(kernel, out, args)
  end

  @doc false
  @spec from_pointer(term(), term(), term(), term(), term()) :: no_return()
  def from_pointer(_pointer, _type, _shape, _backend_opts, _opts), do: no_pointers!()

  @doc false
  @spec to_pointer(term(), term()) :: no_return()
  def to_pointer(_tensor, _opts), do: no_pointers!()

  @spec no_pointers!() :: no_return()
  defp no_pointers! do
    raise ArgumentError,
          "Dala.Nx.Backend neither takes nor gives pointers; Dala.Nx.from_buffer/1 and " <>
            "Dala.Nx.to_buffer/1 share memory without a copy"
  end

  # Transfer

  @doc false
  def backend_copy(tensor, Nx.Tensor, opts), do: backend_copy(tensor, Nx.BinaryBackend, opts)

  def backend_copy(tensor, __MODULE__, _opts) do
    case Data.content(tensor) do
      %Buffer{} = buffer -> Data.put(tensor, Device.view(buffer, buffer.shape))
      _binary -> tensor
    end
  end

  def backend_copy(tensor, backend, opts),
    do: backend.from_binary(tensor, Data.read(tensor), opts)

  @doc false
  def backend_transfer(tensor, __MODULE__, _opts), do: tensor

  def backend_transfer(tensor, backend, opts) do
    copy = backend_copy(tensor, backend, opts)
    _ = backend_deallocate(tensor)
    copy
  end

  @doc false
  def backend_deallocate(tensor) do
    case Data.content(tensor) do
      %Buffer{} = buffer ->
        if Buffer.valid?(buffer), do: Buffer.free(buffer), else: :already_deallocated

      _binary ->
        :ok
    end
  end

  @doc false
  def to_binary(tensor, limit), do: Data.read(tensor, limit)

  @doc false
  def to_batched(out, %{shape: shape} = tensor, opts) do
    size = elem(out.shape, 0)
    whole = div(elem(shape, 0), size)
    rest = rem(elem(shape, 0), size)
    last = if rest != 0 and opts[:leftover] == :repeat, do: whole, else: whole - 1

    Stream.map(0..last//1, fn
      ^whole ->
        parts = [rows(out, tensor, whole * size, rest), rows(out, tensor, 0, size - rest)]
        Layout.concatenate(out, parts, 0)

      index ->
        rows(out, tensor, index * size, size)
    end)
  end

  defp rows(out, tensor, start, count) do
    rank = tuple_size(tensor.shape)
    shape = put_elem(out.shape, 0, count)
    starts = [start | List.duplicate(0, rank - 1)]
    ones = List.duplicate(1, rank)
    Layout.slice(%{out | shape: shape}, tensor, starts, Tuple.to_list(shape), ones)
  end

  @doc false
  def inspect(tensor, opts) do
    size = Tuple.product(tensor.shape)
    count = if opts.limit == :infinity, do: size, else: Kernel.min(opts.limit + 1, size)
    doc = Nx.Backend.inspect(tensor, Data.read(tensor, count), opts)

    if Keyword.get(Application.get_env(:dala_gpu, :nx, []), :show_backend, true),
      do: signed(doc),
      else: doc
  end

  defp signed(doc) do
    Inspect.Algebra.concat(["Dala.Nx.Backend", Inspect.Algebra.line(), doc])
  end

  # Element by element

  for op <- Elementwise.binary_ops() do
    @doc false
    def unquote(op)(out, left, right), do: Elementwise.binary(unquote(op), out, left, right)
  end

  for op <- Elementwise.unary_ops() do
    @doc false
    def unquote(op)(out, tensor), do: Elementwise.unary(unquote(op), out, tensor)
  end

  @doc false
  def is_nan(out, tensor), do: Elementwise.test(:is_nan, out, tensor)

  @doc false
  def is_infinity(out, tensor), do: Elementwise.test(:is_infinity, out, tensor)

  @doc false
  def logical_not(out, tensor) do
    Elementwise.logical_not(out, tensor, fn ->
      Fallback.call(:logical_not, [tensor], &Nx.logical_not/1)
    end)
  end

  @doc false
  def select(out, pred, on_true, on_false), do: Elementwise.select(out, pred, on_true, on_false)

  @doc false
  def clip(out, tensor, low, high), do: Elementwise.clip(out, tensor, low, high)

  @doc false
  def as_type(out, tensor), do: Elementwise.as_type(out, tensor)

  # Parts of complex numbers

  for op <- [:conjugate, :real, :imag] do
    @doc false
    def unquote(op)(out, tensor), do: Elementwise.part(unquote(op), out, tensor)
  end

  @doc false
  def phase(out, tensor), do: Elementwise.part(:phase, out, tensor)

  # Layout

  @doc false
  def bitcast(out, tensor), do: Layout.view(:bitcast, out, tensor)

  @doc false
  def reshape(out, tensor), do: Layout.view(:reshape, out, tensor)

  @doc false
  def squeeze(out, tensor, _axes), do: Layout.view(:reshape, out, tensor)

  @doc false
  def broadcast(out, tensor, shape, axes), do: Layout.broadcast(out, tensor, shape, axes)

  @doc false
  def transpose(out, tensor, axes), do: Layout.transpose(out, tensor, axes)

  @doc false
  def pad(out, tensor, value, config), do: Layout.pad(out, tensor, value, config)

  @doc false
  def reverse(out, tensor, axes), do: Layout.reverse(out, tensor, axes)

  @doc false
  def slice(out, tensor, starts, lengths, strides),
    do: Layout.slice(out, tensor, starts, lengths, strides)

  @doc false
  def put_slice(out, tensor, starts, slice), do: Layout.put_slice(out, tensor, starts, slice)

  @doc false
  def take(out, tensor, indices, axis), do: Layout.take(out, tensor, indices, axis)

  @doc false
  def take_along_axis(out, tensor, indices, axis),
    do: Layout.take_along_axis(out, tensor, indices, axis)

  @doc false
  def gather(out, tensor, indices, opts), do: Layout.gather(out, tensor, indices, opts)

  @doc false
  def indexed_add(out, tensor, indices, updates, opts),
    do: Layout.scatter(:indexed_add, out, tensor, indices, updates, opts)

  @doc false
  def indexed_put(out, tensor, indices, updates, opts),
    do: Layout.scatter(:indexed_put, out, tensor, indices, updates, opts)

  @doc false
  def concatenate(out, tensors, axis), do: Layout.concatenate(out, tensors, axis)

  @doc false
  def stack(out, tensors, axis), do: Layout.stack(out, tensors, axis)

  # Products

  @doc false
  def dot(out, left, left_axes, left_batch, right, right_axes, right_batch),
    do: Contraction.dot(out, [left, left_axes, left_batch], [right, right_axes, right_batch])

  @doc false
  def conv(out, tensor, kernel, opts), do: Contraction.conv(out, tensor, kernel, opts)

  # Reductions, scans and sorting

  for op <- [:sum, :product, :reduce_max, :reduce_min] do
    @doc false
    def unquote(op)(out, tensor, opts), do: Reduction.reduce(unquote(op), out, tensor, opts)
  end

  for op <- [:all, :any] do
    @doc false
    def unquote(op)(out, tensor, opts), do: Reduction.boolean(unquote(op), out, tensor, opts)
  end

  for op <- [:argmax, :argmin] do
    @doc false
    def unquote(op)(out, tensor, opts), do: Reduction.arg(unquote(op), out, tensor, opts)
  end

  for op <- [:sort, :argsort] do
    @doc false
    def unquote(op)(out, tensor, opts), do: Reduction.sort(unquote(op), out, tensor, opts)
  end

  for op <- [:cumulative_sum, :cumulative_product, :cumulative_min, :cumulative_max] do
    @doc false
    def unquote(op)(out, tensor, opts) do
      Reduction.cumulative(unquote(op), out, tensor, opts) ||
        Fallback.call(unquote(op), [tensor], &apply(Nx, unquote(op), [&1, opts]))
    end
  end

  @doc false
  def top_k(out, tensor, opts), do: Reduction.top_k(out, tensor, opts)

  @doc false
  def reduce(out, tensor, acc, opts, fun),
    do: Fallback.run(:reduce, out, [tensor, acc, opts, fun])

  @doc false
  def map(out, tensor, opts, fun), do: Fallback.run(:map, out, [tensor, opts, fun])

  for op <- [:window_sum, :window_product, :window_max, :window_min] do
    @doc false
    def unquote(op)(out, tensor, window, opts),
      do: Window.reduce(unquote(op), out, tensor, window, opts)
  end

  @doc false
  def window_reduce(out, tensor, acc, window, opts, fun),
    do: Fallback.run(:window_reduce, out, [tensor, acc, window, opts, fun])

  for op <- [:window_scatter_max, :window_scatter_min] do
    @doc false
    def unquote(op)(out, tensor, source, init, window, opts),
      do: Window.scatter(unquote(op), out, [tensor, source, init], window, opts)
  end

  # Linear algebra and transforms

  @doc false
  def cholesky(out, tensor), do: LinearAlgebra.cholesky(out, tensor)

  for op <- [:lu, :qr, :eigh, :svd] do
    @doc false
    def unquote(op)(out, tensor, opts), do: LinearAlgebra.unquote(op)(out, tensor, opts)
  end

  @doc false
  def triangular_solve(out, a, b, opts), do: LinearAlgebra.triangular_solve(out, a, b, opts)

  for op <- [:fft, :ifft] do
    @doc false
    def unquote(op)(out, tensor, opts), do: Transform.fft(unquote(op), out, tensor, opts)
  end

  for op <- [:fft2, :ifft2] do
    @doc false
    def unquote(op)(out, tensor, opts), do: Transform.fft2(unquote(op), out, tensor, opts)
  end

  # Operations that Nx composes of those above

  @doc false
  def block(block, _out, args, fun), do: apply(fun, [block | args])
end
