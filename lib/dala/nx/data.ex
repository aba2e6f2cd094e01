defmodule Dala.Nx.Data do
  @moduledoc false
  # The content of tensors of `Dala.Nx.Backend`: a buffer on the device, or a binary on the host.
  # Elements of a type that buffers do not have stay on the host, and so do scalars, which are
  # usually an operand of one operation and are converted to its type before they are uploaded.

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Buffer, Error, Kernel}
  alias Dala.Nx.Device

  @compile {:no_warn_undefined, [Nx, Nx.BinaryBackend, Nx.Shared]}

  # An atom, not an alias: the backend refers to this module.
  @backend :"Elixir.Dala.Nx.Backend"

  @type tensor :: map()
  @type nx_type :: {atom(), pos_integer()}

  @doc "Returns the element type of buffers for a type of Nx, or nil if buffers cannot hold it."
  @spec dtype(nx_type()) :: Buffer.dtype() | nil
  def dtype(type), do: Map.get(dtypes(), type)

  @doc "Returns the type of Nx for an element type of buffers, or nil if Nx has none."
  @spec nx_type(Buffer.dtype()) :: nx_type() | nil
  def nx_type(dtype), do: Enum.find_value(dtypes(), fn {type, own} -> own == dtype && type end)

  @doc "Returns whether a kernel takes inputs of a type of Nx."
  @spec kernel?(atom(), nx_type()) :: boolean()
  def kernel?(kernel, type), do: is_map_key(kernels(), {kernel, dtype(type)})

  @doc "Returns whether all of these are on the device, or can be copied to it."
  @spec bufferable?([tensor()]) :: boolean()
  def bufferable?(tensors), do: Enum.all?(tensors, &(dtype(&1.type) != nil))

  @doc "Returns whether a kernel takes inputs of a type, and these tensors can be cast to it."
  @spec runs?(atom(), nx_type(), [tensor()]) :: boolean()
  def runs?(kernel, type, tensors),
    do: kernel?(kernel, type) and Enum.all?(tensors, &castable?(&1.type, type))

  @doc "Returns whether elements of one type can be converted to another one on the device."
  @spec castable?(nx_type(), nx_type()) :: boolean()
  def castable?(type, type), do: dtype(type) != nil
  def castable?(from, to), do: kernel?(:cast, from) and kernel?(:cast, to)

  @doc "Gives a tensor its content."
  @spec put(tensor(), Buffer.t() | binary()) :: tensor()
  def put(out, content), do: %{out | data: %{__struct__: @backend, content: content}}

  @doc """
  Gives a tensor the content of a buffer, which may have another shape or belong to another tensor.
  Each tensor has its own buffer, so that one can be deallocated without the others.
  """
  @spec put_view(tensor(), Buffer.t()) :: tensor()
  def put_view(%{shape: shape} = out, buffer), do: put(out, Device.view(buffer, shape))

  @doc "Gives a tensor the elements of a binary, without a copy if the device allows it."
  @spec from_binary(tensor(), binary()) :: tensor()
  def from_binary(%{type: {_, bits} = type, shape: shape} = out, binary) do
    case dtype(type) do
      dtype when dtype == nil or byte_size(binary) * 8 == bits -> put(out, binary)
      dtype -> put(out, Buffer.from_binary(binary, shape, dtype))
    end
  end

  @doc "Returns the buffer of a tensor, as elements of its own type or of another one."
  @spec buffer(tensor(), nx_type() | nil) :: Buffer.t()
  def buffer(tensor, type \\ nil)

  def buffer(%{type: type} = tensor, nil), do: buffer(tensor, type)

  def buffer(%{type: type, shape: shape} = tensor, wanted) do
    case content(tensor) do
      %Buffer{} = buffer when type == wanted ->
        buffer

      %Buffer{} = buffer ->
        Device.compute(:cast, [buffer], shape, dtype(wanted))

      binary when type == wanted ->
        Buffer.from_binary(binary, shape, dtype(type))

      _binary ->
        Buffer.from_binary(binary_as(tensor, wanted), shape, dtype(wanted))
    end
  end

  @doc "Returns the number of a scalar that is on the host, or nil."
  @spec number(tensor()) :: number() | nil
  def number(%{shape: {}} = tensor) do
    with binary when is_binary(binary) <- content(tensor),
         number when is_number(number) <- Nx.to_number(to_host(tensor)) do
      number
    else
      _buffer_or_not_finite -> nil
    end
  end

  def number(_tensor), do: nil

  @doc "Returns whether all of these tensors are scalars on the host."
  @spec numbers?([tensor()]) :: boolean()
  def numbers?(tensors), do: Enum.all?(tensors, &number?/1)

  defp number?(%{data: %{__struct__: @backend, content: %Buffer{}}}), do: false

  defp number?(%{type: {_, bits}, shape: shape} = tensor),
    do: Tuple.product(shape) == 1 and bit_size(content(tensor)) == bits

  @doc "Computes a callback of the backend for such scalars by `Nx.BinaryBackend`."
  @spec on_host(atom(), tensor(), [tensor()]) :: tensor()
  def on_host(op, out, tensors) do
    result = apply(Nx.BinaryBackend, op, [out | Enum.map(tensors, &to_host/1)])
    put(out, Nx.to_binary(result))
  end

  @doc "Reads the elements of a tensor, or the first `count`, as a binary."
  @spec read(tensor(), non_neg_integer() | nil) :: binary()
  def read(%{type: {_, bits}, shape: shape} = tensor, count \\ nil) do
    count = if count == Tuple.product(shape), do: nil, else: count

    case {content(tensor), count} do
      {%Buffer{} = buffer, count} -> Device.read(buffer, count)
      {binary, nil} -> binary
      {binary, count} -> binary_part(binary, 0, count * div(bits, 8))
    end
  rescue
    error in Error -> reraise freed(error, tensor), __STACKTRACE__
  end

  @doc "Reads a tensor as a binary of elements of another type."
  @spec binary_as(tensor(), nx_type()) :: binary()
  def binary_as(tensor, type) do
    host = to_host(tensor)
    Nx.to_binary(Nx.BinaryBackend.as_type(%{host | type: type}, host))
  end

  @doc "Copies a tensor to `Nx.BinaryBackend`; one that is there is returned unchanged."
  @spec to_host(tensor()) :: tensor()
  def to_host(%{data: %{__struct__: Nx.BinaryBackend}} = tensor), do: tensor

  def to_host(%{data: %{__struct__: @backend}} = tensor),
    do: Nx.BinaryBackend.from_binary(tensor, read(tensor), [])

  def to_host(tensor), do: Nx.backend_copy(tensor, Nx.BinaryBackend)

  @doc "Returns the content of a tensor; that of `Nx.BinaryBackend` is a binary."
  @spec content(tensor()) :: Buffer.t() | binary()
  def content(%{data: %{__struct__: @backend, content: content}}), do: content

  def content(%{type: type, shape: shape} = tensor) do
    binary = Nx.to_binary(tensor)
    dtype = dtype(type)

    if dtype == nil or Tuple.product(shape) == 1,
      do: binary,
      else: Buffer.from_binary(binary, shape, dtype)
  end

  @doc "Runs a function with another default backend of the calling process."
  @spec with_backend(module(), (() -> result)) :: result when result: term()
  def with_backend(backend, fun) do
    key = Nx.Shared.backend_pdict_key()
    before = Process.put(key, {backend, []})

    try do
      fun.()
    after
      if before, do: Process.put(key, before), else: Process.delete(key)
    end
  end

  @doc "Makes the template of a tensor, such as the result of an intermediate step."
  @spec template(tensor(), tuple(), nx_type()) :: tensor()
  def template(like, shape, type),
    do: %{like | shape: shape, type: type, names: List.duplicate(nil, tuple_size(shape))}

  # Types and kernels are looked up once. Custom kernels do not matter here.
  defp dtypes, do: support(:dtypes)
  defp kernels, do: support(:kernels)

  defp support(what) do
    case :persistent_term.get({__MODULE__, what}, nil) do
      nil ->
        :persistent_term.put({__MODULE__, :dtypes}, ask_dtypes())
        :persistent_term.put({__MODULE__, :kernels}, ask_kernels())
        support(what)

      found ->
        found
    end
  end

  defp ask_dtypes do
    fp64 = Compute.Device.info().fp64

    for dtype <- Buffer.dtypes(), dtype != :f64 or fp64, into: %{} do
      {kind, bits} = dtype |> Atom.to_string() |> String.split_at(kind_length(dtype))
      {{String.to_atom(kind), String.to_integer(bits)}, dtype}
    end
  end

  defp kind_length(:bf16), do: 2
  defp kind_length(_dtype), do: 1

  defp ask_kernels do
    for kernel <- Kernel.list(), not kernel.custom, dtype <- kernel.dtypes, into: %{} do
      {{String.to_atom(kernel.name), dtype}, true}
    end
  end

  defp freed(%Error{reason: :freed} = error, tensor) do
    %{error | message: "the tensor #{describe(tensor)} has been deallocated (#{error.message})"}
  end

  defp freed(error, _tensor), do: error

  defp describe(%{type: {kind, bits}, shape: shape}) do
    dims = shape |> Tuple.to_list() |> Enum.map_join(&"[#{&1}]")
    "#{kind}#{bits}#{dims}"
  end
end
