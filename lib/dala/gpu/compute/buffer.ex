defmodule Dala.Gpu.Compute.Buffer do
  @moduledoc """
  Numbers in the memory of the device: an element type, a shape, and the memory itself.

  A buffer is created from a list, from a binary, or full of zeros, written by kernels, and read
  back as a binary or a list. Its memory goes back when `free/1` says so or when nobody refers to
  the buffer any more.

  | dtype | Element | Bytes |
  |---|---|---|
  | `:f32` | float | 4 |
  | `:f64` | float, on devices that have it (`device_info().fp64`) | 8 |
  | `:s32` | signed integer | 4 |
  | `:s64` | signed integer | 8 |
  | `:u32` | unsigned integer | 4 |
  | `:u8` | unsigned integer | 1 |

  Elements lie row by row (the last dimension is contiguous) in the byte order of the machine.
  `{}` is the shape of a scalar; a buffer with a dimension of 0 is empty, which is fine.

  Where the device works in the host's memory, `from_binary/3` and `read/1` copy nothing. A binary
  never changes all the same: the next kernel that writes to the buffer gets memory of its own.
  """

  alias Dala.Gpu.Compute.{Argument, Command, Error, Native, Runtime}

  @dtypes [:f32, :f64, :s32, :s64, :u32, :u8]

  # Converting a list costs about 10 ns per element; longer ones go to a dirty scheduler.
  @long_list 20_000

  @enforce_keys [:ref, :shape, :dtype]
  defstruct [:ref, :shape, :dtype]

  @type dtype :: :f32 | :f64 | :s32 | :s64 | :u32 | :u8
  @type shape :: tuple()
  @type element :: number() | :nan | :infinity | :neg_infinity
  @type t :: %__MODULE__{ref: reference(), shape: shape(), dtype: dtype()}

  @doc """
  Creates a buffer from a flat list of numbers.

  Float types take integers as well, and `:nan`, `:infinity` and `:neg_infinity`. A list of the
  wrong length, a float for an integer type and an integer out of range raise
  `Dala.Gpu.Compute.Error`, naming the first bad index.

  ## Parameters

    * `list` - the elements, row by row
    * `shape` - a tuple (or list) of dimensions
    * `dtype` - the element type, `:f32` by default

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, 2, 3, 4, 5, 6], {2, 3}, :s32)
      iex> Dala.Gpu.Compute.Buffer.read_list(buffer)
      [1, 2, 3, 4, 5, 6]
  """
  @spec new([element()], shape() | [non_neg_integer()], dtype()) :: t()
  def new(list, shape, dtype \\ :f32) do
    dims = dims!(shape)
    dtype = dtype!(dtype)

    if length!(list) > @long_list do
      allocate(dims, dtype, fn -> Native.buffer_from_list_dirty(list, dims, dtype) end)
    else
      allocate(dims, dtype, fn -> Native.buffer_from_list(list, dims, dtype) end)
    end
  end

  @doc """
  Creates a buffer full of zeros.

  ## Example

      iex> {2, 2} |> Dala.Gpu.Compute.Buffer.zeros(:u8) |> Dala.Gpu.Compute.Buffer.read()
      <<0, 0, 0, 0>>
  """
  @spec zeros(shape() | [non_neg_integer()], dtype()) :: t()
  def zeros(shape, dtype \\ :f32) do
    dims = dims!(shape)
    dtype = dtype!(dtype)
    allocate(dims, dtype, fn -> Native.buffer_zeros(dims, dtype) end)
  end

  @doc false
  # For the stages of a pipeline only; see `Dala.Gpu.Compute.Pipeline.temporary/2`.
  @spec temporary(shape() | [non_neg_integer()], dtype()) :: t()
  def temporary(shape, dtype) do
    dims = dims!(shape)
    dtype = dtype!(dtype)
    allocate(dims, dtype, fn -> Native.buffer_temporary(dims, dtype) end)
  end

  @doc """
  Creates a buffer from the bytes of its elements, without a copy where the device allows that.

  A binary of the wrong size raises `Dala.Gpu.Compute.Error`.

  ## Example

      iex> pixel = Dala.Gpu.Compute.Buffer.from_binary(<<255, 128, 0, 255>>, {1, 1, 4}, :u8)
      iex> Dala.Gpu.Compute.Buffer.read_list(pixel)
      [255, 128, 0, 255]
  """
  @spec from_binary(binary(), shape() | [non_neg_integer()], dtype()) :: t()
  def from_binary(binary, shape, dtype \\ :f32) do
    dims = dims!(shape)
    dtype = dtype!(dtype)

    unless is_binary(binary) do
      raise ArgumentError, "expected the elements as a binary, got: #{inspect(binary)}"
    end

    allocate(dims, dtype, fn -> Native.buffer_from_binary(binary, dims, dtype) end)
  end

  @doc """
  Gives a buffer new content, without a copy where the device allows that.

  What was submitted before still sees the old content. A binary of the wrong size, or a buffer that
  has been freed, raises `Dala.Gpu.Compute.Error`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.zeros({3}, :u8)
      iex> Dala.Gpu.Compute.Buffer.write(buffer, <<1, 2, 3>>)
      :ok
      iex> Dala.Gpu.Compute.Buffer.read_list(buffer)
      [1, 2, 3]
  """
  @spec write(t() | reference(), binary()) :: :ok
  def write(buffer, binary) when is_binary(binary) do
    with {:error, error} <- Native.buffer_write(ref!(buffer), binary), do: raise(error)
  end

  def write(_buffer, other) do
    raise ArgumentError, "expected the elements as a binary, got: #{inspect(other)}"
  end

  @doc """
  Reads the bytes of a buffer, after everything that was submitted on it.

  Only the calling process waits. The binary never changes, whatever runs later. Raises
  `Dala.Gpu.Compute.Error` when the buffer has been freed.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, 2, 3], {3}, :u8)
      iex> Dala.Gpu.Compute.Buffer.read(buffer)
      <<1, 2, 3>>
  """
  @spec read(t() | reference()) :: binary()
  def read(buffer), do: buffer |> start_read() |> finish_read()

  @doc false
  # The content as of now, to be waited for later, by whichever process.
  @spec start_read(t() | reference()) ::
          {:ok, binary()} | {:pending, Command.id(), reference()} | {:error, Error.t()}
  def start_read(buffer), do: Native.buffer_read(ref!(buffer))

  @doc false
  @spec finish_read({:ok, binary()} | {:pending, Command.id(), reference()} | {:error, Error.t()}) ::
          binary()
  def finish_read({:ok, binary}), do: binary

  def finish_read({:pending, id, readback}) do
    # A write that failed has written nothing: then this is what the buffer had before.
    _ = Command.wait(id)
    Native.readback_binary(readback)
  end

  def finish_read({:error, error}), do: raise(error)

  @doc """
  Reads the elements of a buffer as a flat list, after everything that was submitted on it.

  Floats that are no number come as `:nan`, `:infinity` and `:neg_infinity`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.new([1, :infinity], {2}, :f32)
      iex> Dala.Gpu.Compute.Buffer.read_list(buffer)
      [1.0, :infinity]
  """
  @spec read_list(t()) :: [element()]
  def read_list(%__MODULE__{dtype: dtype} = buffer) do
    binary = read(buffer)

    if byte_size(binary) > @long_list * bytes(dtype) do
      Native.decode_list_dirty(binary, dtype)
    else
      Native.decode_list(binary, dtype)
    end
  end

  def read_list(other), do: not_a_buffer!(other)

  @doc """
  Gives the memory back at once, even though other processes may hold the buffer.

  A second time is fine; any other use from then on is the error `:freed`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.Buffer.zeros({8})
      iex> Dala.Gpu.Compute.Buffer.free(buffer)
      :ok
      iex> Dala.Gpu.Compute.Buffer.valid?(buffer)
      false
  """
  @spec free(t() | reference()) :: :ok
  def free(buffer) do
    with {:error, error} <- Native.buffer_free(ref!(buffer)), do: raise(error)
  end

  @doc """
  Frees several buffers.

  ## Example

      iex> buffers = for _ <- 1..3, do: Dala.Gpu.Compute.Buffer.zeros({8})
      iex> Dala.Gpu.Compute.Buffer.free_many(buffers)
      :ok
  """
  @spec free_many([t() | reference()]) :: :ok
  def free_many(buffers) when length(buffers) >= 0, do: Enum.each(buffers, &free/1)
  def free_many(other), do: Argument.refuse!("a list of buffers", other)

  @doc """
  Tells whether the buffer still has its memory.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.valid?(Dala.Gpu.Compute.Buffer.zeros({8}))
      true
  """
  @spec valid?(t() | reference()) :: boolean()
  def valid?(buffer), do: Native.buffer_state(ref!(buffer)) != :freed

  @doc """
  Gives the shape as a tuple.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.shape(Dala.Gpu.Compute.Buffer.zeros([480, 640, 4], :u8))
      {480, 640, 4}
  """
  @spec shape(t()) :: shape()
  def shape(%__MODULE__{shape: shape}), do: shape
  def shape(other), do: not_a_buffer!(other)

  @doc """
  Gives the element type.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.dtype(Dala.Gpu.Compute.Buffer.zeros({3}, :s64))
      :s64
  """
  @spec dtype(t()) :: dtype()
  def dtype(%__MODULE__{dtype: dtype}), do: dtype
  def dtype(other), do: not_a_buffer!(other)

  @doc """
  Gives the number of elements: 1 for a scalar, 0 for an empty buffer.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.num_elements(Dala.Gpu.Compute.Buffer.zeros({2, 3}))
      6
  """
  @spec num_elements(t()) :: non_neg_integer()
  def num_elements(%__MODULE__{shape: shape}), do: shape |> Tuple.to_list() |> Enum.product()
  def num_elements(other), do: not_a_buffer!(other)

  @doc """
  Gives the size in bytes.

  ## Example

      iex> Dala.Gpu.Compute.Buffer.size(Dala.Gpu.Compute.Buffer.zeros({2, 3}, :f64))
      48
  """
  @spec size(t()) :: non_neg_integer()
  def size(%__MODULE__{dtype: dtype} = buffer), do: num_elements(buffer) * bytes(dtype)
  def size(other), do: not_a_buffer!(other)

  @doc false
  @spec ref!(t() | reference()) :: reference()
  def ref!(%__MODULE__{ref: ref}) when is_reference(ref), do: ref
  def ref!(ref) when is_reference(ref), do: ref
  def ref!(other), do: not_a_buffer!(other)

  @doc false
  @spec dims!(shape() | [non_neg_integer()]) :: [non_neg_integer()]
  def dims!(shape) when is_tuple(shape), do: shape |> Tuple.to_list() |> check_dims!(shape)
  def dims!(shape) when is_list(shape), do: check_dims!(shape, shape)
  def dims!(shape), do: bad_shape!(shape, "")

  @doc false
  @spec dtype!(dtype()) :: dtype()
  def dtype!(dtype) when dtype in @dtypes, do: dtype

  def dtype!(other) do
    raise ArgumentError,
          "expected dtype to be one of #{Enum.map_join(@dtypes, ", ", &inspect/1)}, " <>
            "got: #{inspect(other)}"
  end

  @doc false
  @spec bytes(dtype()) :: pos_integer()
  def bytes(dtype) when dtype in [:f32, :s32, :u32], do: 4
  def bytes(dtype) when dtype in [:f64, :s64], do: 8
  def bytes(:u8), do: 1

  # Memory that only garbage still refers to may be all that is missing, so a collection comes
  # before the error. The VM destroys what was collected a moment later, when its schedulers are
  # free for that.
  defp allocate(dims, dtype, create) do
    Runtime.ensure!()

    result =
      with {:error, %Error{reason: :out_of_memory}} <- create.() do
        :erlang.garbage_collect()
        retry(create, 10)
      end

    %__MODULE__{ref: Error.value!(result), shape: List.to_tuple(dims), dtype: dtype}
  end

  defp retry(create, attempts) do
    case create.() do
      {:error, %Error{reason: :out_of_memory}} when attempts > 0 ->
        receive do
        after
          1 -> retry(create, attempts - 1)
        end

      result ->
        result
    end
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

  defp bad_shape!(shape, where) do
    raise ArgumentError,
          "expected shape to be a tuple of non-negative integers such as {2, 3}, " <>
            "got: #{inspect(shape)}#{where}"
  end

  # In a guard, `length/1` of anything but a proper list is no match.
  defp length!(list) when length(list) >= 0, do: length(list)

  defp length!(other) do
    raise ArgumentError, "expected the elements as a list, got: #{inspect(other)}"
  end

  defp not_a_buffer!(other) do
    raise ArgumentError, "expected a %Dala.Gpu.Compute.Buffer{}, got: #{inspect(other)}"
  end

  defimpl Inspect do
    alias Dala.Gpu.Compute.{Buffer, Bytes, Native}

    # Only what the buffer is, never what it holds: reading could take long.
    def inspect(%Buffer{} = buffer, _opts) do
      dims = buffer.shape |> Tuple.to_list() |> Enum.map_join(&"[#{&1}]")

      memory =
        case Native.buffer_state(buffer.ref) do
          :memory -> Bytes.format(Buffer.size(buffer))
          other -> other
        end

      "#Dala.Gpu.Compute.Buffer<#{buffer.dtype}#{dims} #{memory}>"
    end
  end
end
