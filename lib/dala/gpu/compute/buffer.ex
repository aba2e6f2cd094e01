defmodule Dala.Gpu.Compute.Buffer do
  @moduledoc """
  An array in device memory, with an element type and a shape.

  A buffer is created from a list, from a binary, or filled with zeros, written by kernels, and read
  back as a binary or a list. Its memory is freed by `free/1`, or when no process references the
  buffer any more.

  | dtype | Element | Bytes |
  |---|---|---|
  | `:f16` | float of half precision: 11 digits, up to 65504 | 2 |
  | `:bf16` | the upper half of an `:f32`: 8 digits, the same range | 2 |
  | `:f32` | float | 4 |
  | `:f64` | float, on devices that support it (`device_info().fp64`) | 8 |
  | `:s8`, `:s16`, `:s32`, `:s64` | signed integer | 1, 2, 4, 8 |
  | `:u8`, `:u16`, `:u32`, `:u64` | unsigned integer | 1, 2, 4, 8 |
  | `:c64` | complex number, a pair of `:f32` | 8 |

  Kernels compute `:f16` and `:bf16` as `:f32`, and round each result once, to nearest. Sums are
  formed as those of `:f32` are. `:c64` is for kernels that move elements, `:cast`, and those of
  complex numbers.

  Elements are in row-major order (the last dimension is contiguous) and in native byte order. `{}`
  is the shape of a scalar; a buffer with a dimension of 0 is empty and valid. A shape has at most
  32 dimensions.

  If the device shares memory with the host, `from_binary/3` and `read/1` copy nothing. A binary
  still never changes, because buffers are copy-on-write: the next kernel that writes to the buffer
  gets fresh memory.

  A buffer is on the device of this VM, or on another one: the option `:device` of the functions that
  create buffers says which, and `Dala.Gpu.Compute.with_device/2` changes the default. `device/1`
  returns it, `copy_to/2` copies a buffer to another device. The `ref` of a buffer elsewhere is no
  reference, but serves for the same functions.
  """

  alias Dala.Gpu.Compute.{Argument, Device, Error, Native, Placement, Remote, Runtime}

  @dtypes [:f32, :f64, :s32, :s64, :u32, :u8, :f16, :bf16, :s8, :s16, :u16, :u64, :c64]

  @most_dimensions 32

  # Converting a list takes about 10 ns per element; longer lists go to a dirty scheduler.
  @long_list 20_000

  @enforce_keys [:ref, :shape, :dtype]
  defstruct [:ref, :shape, :dtype]

  @type dtype ::
          :f32
          | :f64
          | :s32
          | :s64
          | :u32
          | :u8
          | :f16
          | :bf16
          | :s8
          | :s16
          | :u16
          | :u64
          | :c64
  @type shape :: tuple()
  @type real :: number() | :nan | :infinity | :neg_infinity
  @type element :: real() | {real(), real()}
  @type ref :: reference() | Remote.t()
  @type t :: %__MODULE__{ref: ref(), shape: shape(), dtype: dtype()}
  @type option :: {:device, Device.t()}

  @doc """
  Creates a buffer from a flat list of numbers.

  Float types also accept integers and `:nan`, `:infinity` and `:neg_infinity`; numbers are rounded
  to the nearest that the type has. A complex number is a pair `{real, imaginary}`, or its real part
  alone. A list of the wrong length, a float for an integer type, or an integer out of range raises
  `Dala.Gpu.Compute.Error`, which names the first invalid index.

  ## Parameters

    * `list` - the elements, row by row
    * `shape` - a tuple (or list) of dimensions
    * `dtype` - the element type, `:f32` by default
    * `opts` - `:device`, where the buffer is to be, by default the device of
      `Dala.Gpu.Compute.with_device/2`, or that of this VM

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, 2, 3, 4, 5, 6], {2, 3}, :s32)
      iex> Dala.Gpu.Compute.Buffer.read_list(buffer)
      [1, 2, 3, 4, 5, 6]

      iex> Dala.Gpu.Compute.Buffer.read_list(Dala.Gpu.Compute.Buffer.new([0.1, 1.0e6], {2}, :f16))
      [0.0999755859375, :infinity]

      iex> Dala.Gpu.Compute.Buffer.read_list(Dala.Gpu.Compute.Buffer.new([{1, -2}, 3], {2}, :c64))
      [{1.0, -2.0}, {3.0, 0.0}]
  """
  @spec new([element()], shape() | [non_neg_integer()], dtype(), [option()]) :: t()
  def new(list, shape, dtype \\ :f32, opts \\ []) do
    dims = dims!(shape)
    dtype = dtype!(dtype)
    length = length!(list)

    case device!(opts) do
      nil when length > @long_list ->
        allocate(dims, dtype, fn -> Native.buffer_from_list_dirty(list, dims, dtype) end)

      nil ->
        allocate(dims, dtype, fn -> Native.buffer_from_list(list, dims, dtype) end)

      device ->
        allocate_on(device, {:list, list}, dims, dtype)
    end
  end

  @doc """
  Creates a buffer filled with zeros.

  ## Example

      iex> {2, 2} |> Dala.Gpu.Compute.Buffer.zeros(:u8) |> Dala.Gpu.Compute.Buffer.read()
      <<0, 0, 0, 0>>
  """
  @spec zeros(shape() | [non_neg_integer()], dtype(), [option()]) :: t()
  def zeros(shape, dtype \\ :f32, opts \\ []) do
    dims = dims!(shape)
    dtype = dtype!(dtype)

    case device!(opts) do
      nil -> allocate(dims, dtype, fn -> Native.buffer_zeros(dims, dtype) end)
      device -> allocate_on(device, :zeros, dims, dtype)
    end
  end

  @doc false
  # Only for stages of a pipeline; see `Dala.Gpu.Compute.Pipeline.temporary/2`.
  @spec temporary(shape() | [non_neg_integer()], dtype()) :: t()
  def temporary(shape, dtype) do
    dims = dims!(shape)
    dtype = dtype!(dtype)
    allocate(dims, dtype, fn -> Native.buffer_temporary(dims, dtype) end)
  end

  @doc """
  Creates a buffer from the bytes of its elements, without a copy if the device allows it.

  A binary of the wrong size raises `Dala.Gpu.Compute.Error`.

  ## Example

      iex> pixel = Dala.Gpu.Compute.Buffer.from_binary(<<255, 128, 0, 255>>, {1, 1, 4}, :u8)
      iex> Dala.Gpu.Compute.Buffer.read_list(pixel)
      [255, 128, 0, 255]
  """
  @spec from_binary(binary(), shape() | [non_neg_integer()], dtype(), [option()]) :: t()
  def from_binary(binary, shape, dtype \\ :f32, opts \\ []) do
    dims = dims!(shape)
    dtype = dtype!(dtype)

    unless is_binary(binary) do
      raise ArgumentError, "expected the elements as a binary, got: #{Argument.show(binary)}"
    end

    case device!(opts) do
      nil ->
        {binary, referenced} = own(binary)

        allocate(dims, dtype, fn -> Native.buffer_from_binary(binary, dims, dtype, referenced) end)

      device ->
        allocate_on(device, {:binary, binary}, dims, dtype)
    end
  end

  @doc """
  Returns the device that a buffer is on.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.zeros({3})
      iex> Dala.Gpu.Compute.Buffer.device(buffer) == Dala.Gpu.Compute.Device.default()
      true
  """
  @spec device(t()) :: Device.t()
  def device(%__MODULE__{ref: %Remote{device: device}}), do: device
  def device(%__MODULE__{}), do: Device.default()
  def device(other), do: not_a_buffer!(other)

  @doc """
  Copies a buffer to a device: a new buffer there, with the content that this one has now.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, 2, 3], {3})
      iex> copy = Dala.Gpu.Compute.Buffer.copy_to(buffer, Dala.Gpu.Compute.Device.default())
      iex> Dala.Gpu.Compute.Buffer.read_list(copy)
      [1.0, 2.0, 3.0]
  """
  @spec copy_to(t(), Device.t()) :: t()
  def copy_to(%__MODULE__{} = buffer, device) do
    Placement.run(Device.place!(device), fn ->
      from_binary(read(buffer), buffer.shape, buffer.dtype)
    end)
  end

  def copy_to(other, _device), do: not_a_buffer!(other)

  @doc """
  Creates a buffer with the content that a buffer has now, under another shape, without a copy.

  A later write to either of them does not change the other. With another element type, the bytes are
  taken as elements of that type. A shape with another number of bytes raises
  `Dala.Gpu.Compute.Error`.

  ## Parameters

    * `buffer` - what is to be viewed; commands submitted on it earlier have their effect
    * `shape` - a tuple (or list) of dimensions
    * `dtype` - the element type, the buffer's by default

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, 2, 3, 4, 5, 6], {2, 3}, :s32)
      iex> view = Dala.Gpu.Compute.Buffer.view(buffer, {3, 2})
      iex> {Dala.Gpu.Compute.Buffer.shape(view), Dala.Gpu.Compute.Buffer.read_list(view)}
      {{3, 2}, [1, 2, 3, 4, 5, 6]}
  """
  @spec view(t(), shape() | [non_neg_integer()], dtype() | nil) :: t()
  def view(buffer, shape, dtype \\ nil)

  def view(%__MODULE__{ref: ref, dtype: own}, shape, dtype) do
    dims = dims!(shape)
    dtype = dtype!(dtype || own)

    viewed =
      if is_reference(ref),
        do: Native.buffer_view(ref, dims, dtype),
        else: Remote.view(ref, dims, dtype)

    %__MODULE__{ref: Error.value!(viewed), shape: List.to_tuple(dims), dtype: dtype}
  end

  def view(other, _shape, _dtype), do: not_a_buffer!(other)

  @doc """
  Replaces the content of a buffer, without a copy if the device allows it.

  Commands submitted earlier still see the old content. A binary of the wrong size, or a buffer that
  has been freed, raises `Dala.Gpu.Compute.Error`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.zeros({3}, :u8)
      iex> Dala.Gpu.Compute.Buffer.write(buffer, <<1, 2, 3>>)
      :ok
      iex> Dala.Gpu.Compute.Buffer.read_list(buffer)
      [1, 2, 3]
  """
  @spec write(t() | ref(), binary()) :: :ok
  def write(buffer, binary) when is_binary(binary) do
    with {:error, error} <- write_at(any_ref!(buffer), binary), do: raise(error)
  end

  def write(_buffer, other) do
    raise ArgumentError, "expected the elements as a binary, got: #{Argument.show(other)}"
  end

  defp write_at(ref, binary) when is_reference(ref) do
    {binary, referenced} = own(binary)
    Runtime.collecting(fn -> Native.buffer_write(ref, binary, referenced) end)
  end

  defp write_at(remote, binary), do: Remote.write(remote, binary)

  @doc """
  Reads the bytes of a buffer, after all commands submitted on it.

  Only the calling process waits. The binary never changes, whatever runs later. Raises
  `Dala.Gpu.Compute.Error` if the buffer has been freed.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, 2, 3], {3}, :u8)
      iex> Dala.Gpu.Compute.Buffer.read(buffer)
      <<1, 2, 3>>
  """
  @spec read(t() | ref()) :: binary()
  def read(%__MODULE__{ref: %Remote{} = remote}), do: read(remote)
  def read(%Remote{} = remote), do: remote |> Remote.read() |> Error.value!()
  def read(buffer), do: buffer |> start_read() |> finish_read()

  @doc """
  Reads the bytes of `count` elements from `offset` on, counted row by row, after everything that was
  submitted on the buffer.

  Only these bytes are copied, whatever the size of the buffer. A part that is not within the buffer
  raises `Dala.Gpu.Compute.Error`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, 2, 3, 4, 5, 6], {2, 3}, :u8)
      iex> Dala.Gpu.Compute.Buffer.read(buffer, 3, 2)
      <<4, 5>>
  """
  @spec read(t() | ref(), non_neg_integer(), non_neg_integer()) :: binary()
  def read(buffer, offset, count) do
    ref = any_ref!(buffer)
    offset = Argument.integer!(:offset, offset, 0..0x7FFFFFFFFFFFFFFF)
    count = Argument.integer!(:count, count, 0..0x7FFFFFFFFFFFFFFF)
    read_part(ref, offset, count)
  end

  defp read_part(ref, offset, count) when is_reference(ref),
    do:
      fn -> Native.buffer_read_part(ref, offset, count) end
      |> Runtime.collecting()
      |> finish_read()

  defp read_part(remote, offset, count),
    do: remote |> Remote.read({offset, count}) |> Error.value!()

  @doc false
  # A snapshot of the current content, which any process can wait for later.
  @spec start_read(t() | reference()) ::
          {:ok, binary()} | {:pending, Native.id(), reference()} | {:error, Error.t()}
  def start_read(buffer) do
    ref = ref!(buffer)
    Runtime.collecting(fn -> Native.buffer_read(ref) end)
  end

  @doc false
  @spec finish_read({:ok, binary()} | {:pending, Native.id(), reference()} | {:error, Error.t()}) ::
          binary()
  def finish_read({:ok, binary}), do: binary

  def finish_read({:pending, id, readback}) do
    # The outcome is ignored: a command that failed has written nothing, so the old content is
    # valid.
    _ = await(id)
    Native.readback_binary(readback)
  end

  def finish_read({:error, error}), do: raise(error)

  @doc false
  # As `read/1` for a buffer that a single command gives its content, see `Kernel.compute/5`: when
  # that has failed there is no old content, and its error is raised.
  @spec read_result(t(), non_neg_integer() | nil) :: binary()
  def read_result(buffer, count \\ nil) do
    ref = ref!(buffer)

    read = fn ->
      if count, do: Native.buffer_read_part(ref, 0, count), else: Native.buffer_read(ref)
    end

    case Runtime.collecting(read) do
      {:pending, id, readback} ->
        with {:error, error} <- await(id), do: raise(error)
        Native.readback_binary(readback)

      outcome ->
        finish_read(outcome)
    end
  end

  defp await(command) do
    ref = make_ref()

    with :pending <- Native.command_watch_end(command, ref) do
      receive do
        {^ref, result} -> result
      end
    end
  end

  @doc """
  Reads the elements of a buffer as a flat list, after all commands submitted on it.

  Non-finite floats are returned as `:nan`, `:infinity` and `:neg_infinity`, complex numbers as pairs
  `{real, imaginary}`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, :infinity], {2}, :f32)
      iex> Dala.Gpu.Compute.Buffer.read_list(buffer)
      [1.0, :infinity]
  """
  @spec read_list(t()) :: [element()]
  def read_list(%__MODULE__{dtype: dtype} = buffer) do
    buffer |> read() |> decode_list(dtype)
  end

  def read_list(other), do: not_a_buffer!(other)

  @doc """
  Reads `count` elements from `offset` on as a flat list; see `read/3`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, 2, 3, 4, 5, 6], {2, 3})
      iex> Dala.Gpu.Compute.Buffer.read_list(buffer, 1, 3)
      [2.0, 3.0, 4.0]
  """
  @spec read_list(t(), non_neg_integer(), non_neg_integer()) :: [element()]
  def read_list(%__MODULE__{dtype: dtype} = buffer, offset, count),
    do: buffer |> read(offset, count) |> decode_list(dtype)

  def read_list(other, _offset, _count), do: not_a_buffer!(other)

  defp decode_list(binary, dtype) do
    if byte_size(binary) > @long_list * bytes(dtype),
      do: Native.decode_list_dirty(binary, dtype),
      else: Native.decode_list(binary, dtype)
  end

  @doc """
  Gives the memory back at once, even though other processes may hold the buffer.

  Freeing a buffer twice is allowed; any other later use is the error `:freed`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.zeros({8})
      iex> Dala.Gpu.Compute.Buffer.free(buffer)
      :ok
      iex> Dala.Gpu.Compute.Buffer.valid?(buffer)
      false
  """
  @spec free(t() | ref()) :: :ok
  def free(buffer) do
    ref = any_ref!(buffer)
    freed = if is_reference(ref), do: Native.buffer_free(ref), else: Remote.free(ref)
    with {:error, error} <- freed, do: raise(error)
  end

  @doc """
  Frees several buffers.

  ## Example

      iex> buffers = for _ <- 1..3, do: Dala.Gpu.Compute.Buffer.zeros({8})
      iex> Dala.Gpu.Compute.Buffer.free_many(buffers)
      :ok
  """
  @spec free_many([t() | ref()]) :: :ok
  def free_many(buffers) when length(buffers) >= 0, do: Enum.each(buffers, &free/1)
  def free_many(other), do: Argument.refuse!("a list of buffers", other)

  @doc """
  Returns whether the buffer has not been freed.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.valid?(Dala.Gpu.Compute.Buffer.zeros({8}))
      true
  """
  @spec valid?(t() | ref()) :: boolean()
  def valid?(buffer) do
    ref = any_ref!(buffer)
    if is_reference(ref), do: Native.buffer_state(ref) != :freed, else: Remote.valid?(ref)
  end

  @doc """
  Returns the shape as a tuple.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.shape(Dala.Gpu.Compute.Buffer.zeros([480, 640, 4], :u8))
      {480, 640, 4}
  """
  @spec shape(t()) :: shape()
  def shape(%__MODULE__{shape: shape}), do: shape
  def shape(other), do: not_a_buffer!(other)

  @doc """
  Returns the element type.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.dtype(Dala.Gpu.Compute.Buffer.zeros({3}, :s64))
      :s64
  """
  @spec dtype(t()) :: dtype()
  def dtype(%__MODULE__{dtype: dtype}), do: dtype
  def dtype(other), do: not_a_buffer!(other)

  @doc """
  Returns the number of elements: 1 for a scalar, 0 for an empty buffer.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.num_elements(Dala.Gpu.Compute.Buffer.zeros({2, 3}))
      6
  """
  @spec num_elements(t()) :: non_neg_integer()
  def num_elements(%__MODULE__{shape: shape}), do: shape |> Tuple.to_list() |> Enum.product()
  def num_elements(other), do: not_a_buffer!(other)

  @doc """
  Returns the size in bytes.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.size(Dala.Gpu.Compute.Buffer.zeros({2, 3}, :f64))
      48
  """
  @spec size(t()) :: non_neg_integer()
  def size(%__MODULE__{dtype: dtype} = buffer), do: num_elements(buffer) * bytes(dtype)
  def size(other), do: not_a_buffer!(other)

  @doc false
  @spec ref!(t() | ref()) :: reference()
  def ref!(%__MODULE__{ref: ref}) when is_reference(ref), do: ref
  def ref!(ref) when is_reference(ref), do: ref
  def ref!(%__MODULE__{ref: %Remote{} = remote}), do: raise(Remote.not_here(remote))
  def ref!(%Remote{} = remote), do: raise(Remote.not_here(remote))
  def ref!(other), do: not_a_buffer!(other)

  @doc false
  # The references of buffers that all have to be on this VM's device.
  @spec refs([t() | ref()]) :: {:ok, [reference()]} | {:error, Error.t()}
  def refs(buffers) do
    refs = Enum.map(buffers, &any_ref!/1)

    case Enum.find(refs, &(not is_reference(&1))) do
      nil -> {:ok, refs}
      remote -> {:error, Remote.not_here(remote)}
    end
  end

  @doc false
  # As `ref!/1`, for functions that also serve other devices.
  @spec any_ref!(t() | ref()) :: ref()
  def any_ref!(%__MODULE__{ref: ref}) when is_reference(ref), do: ref
  def any_ref!(ref) when is_reference(ref), do: ref
  def any_ref!(%__MODULE__{ref: %Remote{} = remote}), do: remote
  def any_ref!(%Remote{} = remote), do: remote
  def any_ref!(other), do: not_a_buffer!(other)

  @doc false
  @spec dims!(shape() | [non_neg_integer()]) :: [non_neg_integer()]
  def dims!(shape) when is_tuple(shape) and tuple_size(shape) > @most_dimensions,
    do: too_many!(tuple_size(shape))

  def dims!(shape) when length(shape) > @most_dimensions, do: too_many!(length(shape))
  def dims!(shape) when is_tuple(shape), do: shape |> Tuple.to_list() |> check_dims!(shape)
  def dims!(shape) when is_list(shape), do: check_dims!(shape, shape)
  def dims!(shape), do: bad_shape!(shape, "")

  @doc """
  Returns all element types.

  ## Example

      iex> Enum.take(Dala.Gpu.Compute.Buffer.dtypes(), 2)
      [:f32, :f64]
  """
  @spec dtypes() :: [dtype(), ...]
  def dtypes, do: @dtypes

  @doc false
  @spec dtype!(dtype()) :: dtype()
  def dtype!(dtype) when dtype in @dtypes, do: dtype

  def dtype!(other) do
    raise ArgumentError,
          "expected dtype to be one of #{Enum.map_join(@dtypes, ", ", &inspect/1)}, " <>
            "got: #{Argument.show(other)}"
  end

  @doc false
  @spec bytes(dtype()) :: pos_integer()
  def bytes(dtype) when dtype in [:f32, :s32, :u32], do: 4
  def bytes(dtype) when dtype in [:f64, :s64, :u64, :c64], do: 8
  def bytes(dtype) when dtype in [:u8, :s8], do: 1
  def bytes(dtype) when dtype in [:f16, :bf16, :s16, :u16], do: 2

  # Returns the binary and the size of the binary that it keeps alive. A sub-binary of less than
  # half of that size is copied, so that its buffer does not keep all of a large binary alive. Below
  # a page the native side copies anyway.
  defp own(binary) when byte_size(binary) < 4096, do: {binary, byte_size(binary)}

  defp own(binary) do
    size = byte_size(binary)
    referenced = :binary.referenced_byte_size(binary)

    # For the memory of a NIF resource the VM reports no size. This library's own is counted
    # already.
    whole = if referenced < size, do: Native.binary_whole(binary), else: referenced
    if 2 * size < whole, do: {:binary.copy(binary), size}, else: {binary, referenced}
  end

  defp device!([]), do: Placement.current()

  defp device!(opts) do
    case Argument.options!(opts, device: nil)[:device] do
      nil -> Placement.current()
      device -> Device.place!(device)
    end
  end

  defp allocate_on(device, content, dims, dtype) do
    %__MODULE__{
      ref: device |> Remote.create(content, dims, dtype) |> Error.value!(),
      shape: List.to_tuple(dims),
      dtype: dtype
    }
  end

  defp allocate(dims, dtype, create) do
    Runtime.ensure!()
    Runtime.collect_if_grown()

    %__MODULE__{
      ref: create |> Runtime.collecting() |> Error.value!(),
      shape: List.to_tuple(dims),
      dtype: dtype
    }
  end

  defp check_dims!(dims, shape) when length(dims) >= 0 do
    dims
    |> Enum.find_index(&(not (is_integer(&1) and &1 in 0..0x7FFFFFFFFFFFFFFF)))
    |> case do
      nil -> dims
      index -> bad_shape!(shape, " (index #{index})")
    end
  end

  defp check_dims!(_improper, shape), do: bad_shape!(shape, "")

  defp too_many!(count) do
    raise ArgumentError,
          "expected shape to have at most #{@most_dimensions} dimensions, got: #{count}"
  end

  defp bad_shape!(shape, where) do
    raise ArgumentError,
          "expected shape to be a tuple of non-negative integers such as {2, 3}, " <>
            "got: #{Argument.show(shape)}#{where}"
  end

  # In a guard, `length/1` of anything but a proper list fails the match.
  defp length!(list) when length(list) >= 0, do: length(list)

  defp length!(other) do
    raise ArgumentError, "expected the elements as a list, got: #{Argument.show(other)}"
  end

  defp not_a_buffer!(other) do
    raise ArgumentError, "expected a %Dala.Gpu.Compute.Buffer{}, got: #{Argument.show(other)}"
  end

  defimpl Inspect do
    alias Dala.Gpu.Compute.{Buffer, Bytes, Native, Placement, Remote}

    # Shows the type, never the content: reading it could take long.
    def inspect(%Buffer{} = buffer, _opts) do
      dims = buffer.shape |> Tuple.to_list() |> Enum.map_join(&"[#{&1}]")

      "#Dala.Gpu.Compute.Buffer<#{buffer.dtype}#{dims} #{memory(buffer)}>"
    end

    defp memory(%Buffer{ref: %Remote{device: device}} = buffer),
      do: "#{Bytes.format(Buffer.size(buffer))} on #{Placement.label(device)}"

    defp memory(buffer) do
      case Native.buffer_state(buffer.ref) do
        :memory -> Bytes.format(Buffer.size(buffer))
        other -> other
      end
    end
  end
end
