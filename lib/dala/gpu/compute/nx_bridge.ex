defmodule Dala.Gpu.Compute.NxBridge do
  @moduledoc """
  Converts between buffers and Nx tensors, with exactly the same element types.

  Nx is an optional dependency: it is looked up when a function is called, not when this module is
  compiled.

  | Nx type | dtype |
  |---|---|
  | `{:f, 16}`, `{:f, 32}`, `{:f, 64}` | `:f16`, `:f32`, `:f64` |
  | `{:bf, 16}` | `:bf16` |
  | `{:s, 8}`, `{:s, 16}`, `{:s, 32}`, `{:s, 64}` | `:s8`, `:s16`, `:s32`, `:s64` |
  | `{:u, 8}`, `{:u, 16}`, `{:u, 32}`, `{:u, 64}` | `:u8`, `:u16`, `:u32`, `:u64` |
  | `{:c, 64}` | `:c64` |

  Other types raise `ArgumentError`; `Nx.as_type/2` converts.
  """

  alias Dala.Gpu.Compute.{Buffer, Error}

  @compile {:no_warn_undefined, [Nx]}

  @dtypes %{
    {:f, 32} => :f32,
    {:f, 64} => :f64,
    {:s, 32} => :s32,
    {:s, 64} => :s64,
    {:u, 32} => :u32,
    {:u, 8} => :u8,
    {:f, 16} => :f16,
    {:bf, 16} => :bf16,
    {:s, 8} => :s8,
    {:s, 16} => :s16,
    {:u, 16} => :u16,
    {:u, 64} => :u64,
    {:c, 64} => :c64
  }
  @nx_types Map.new(@dtypes, fn {nx_type, dtype} -> {dtype, nx_type} end)

  @doc """
  Creates a buffer with the shape, type and elements of a tensor.

  ## Example

      tensor = Nx.tensor([1.0, 2.0, 3.0])
      buffer = Dala.Gpu.Compute.NxBridge.from_nx(tensor)
  """
  @spec from_nx(Nx.Tensor.t()) :: Buffer.t()
  def from_nx(tensor) do
    nx!()
    tensor = plain!(tensor)
    dtype = dtype!(Nx.type(tensor))
    Buffer.from_binary(Nx.to_binary(tensor), Nx.shape(tensor), dtype)
  end

  @doc """
  Reads a buffer as a tensor of its own shape and type.

  ## Example

      tensor = Dala.Gpu.Compute.NxBridge.to_nx(buffer)
  """
  @spec to_nx(Buffer.t()) :: Nx.Tensor.t()
  def to_nx(buffer), do: to_nx(buffer, Buffer.shape(buffer), Buffer.dtype(buffer))

  @doc """
  Reads a buffer as a tensor of the given shape and type.

  The shape must have the same number of elements as the buffer, and the type must be the buffer's:
  elements are not converted.

  ## Example

      tensor = Dala.Gpu.Compute.NxBridge.to_nx(buffer, {3}, :f32)
  """
  @spec to_nx(Buffer.t(), tuple(), Buffer.dtype()) :: Nx.Tensor.t()
  def to_nx(buffer, shape, dtype) do
    nx!()
    dims = Buffer.dims!(shape)
    check_dtype!(Buffer.dtype(buffer), Buffer.dtype!(dtype))
    check_count!(buffer, Enum.product(dims), shape)

    buffer
    |> Buffer.read()
    |> Nx.from_binary(Map.fetch!(@nx_types, dtype))
    |> Nx.reshape(List.to_tuple(dims))
  end

  defp nx! do
    unless Code.ensure_loaded?(Nx) do
      raise "Nx is not available: add {:nx, \"~> 0.7\"} to the dependencies in mix.exs " <>
              "to convert between buffers and tensors"
    end
  end

  # A vectorized tensor hides some of its axes from Nx.shape/1.
  defp plain!(%{__struct__: Nx.Tensor, vectorized_axes: [_ | _]} = tensor),
    do: Nx.devectorize(tensor)

  defp plain!(%{__struct__: Nx.Tensor} = tensor), do: tensor

  defp plain!(other) do
    raise ArgumentError, "expected an Nx tensor, got: #{inspect(other)}"
  end

  defp dtype!(nx_type) do
    with :error <- Map.fetch(@dtypes, nx_type) do
      {kind, bits} = nx_type

      raise ArgumentError,
            "a buffer cannot hold the Nx type #{kind}#{bits}; it takes bf16, c64, f16, f32, f64, " <>
              "s8 to s64 and u8 to u64 (Nx.as_type/2 converts)"
    else
      {:ok, dtype} -> dtype
    end
  end

  defp check_dtype!(dtype, dtype), do: :ok

  defp check_dtype!(have, want) do
    raise %Error{
      reason: :dtype_mismatch,
      message: "the buffer has element type #{have}, expected #{want}",
      details: %{}
    }
  end

  defp check_count!(buffer, count, shape) do
    have = Buffer.num_elements(buffer)

    unless have == count do
      raise %Error{
        reason: :shape_mismatch,
        message: "the buffer has #{have} elements, but shape #{inspect(shape)} has #{count}",
        details: %{}
      }
    end
  end
end
