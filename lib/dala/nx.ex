defmodule Dala.Nx do
  @moduledoc """
  Nx on the device: a backend for its tensors and a compiler for `defn`.

      Nx.default_backend(Dala.Nx.Backend)
      Nx.Defn.default_options(compiler: Dala.Nx.Compiler)

  `Dala.Nx.Backend` runs each operation as a kernel, `Dala.Nx.Compiler` a whole numerical function.
  Without Nx among the dependencies nothing here is used; add `{:nx, "~> 0.7"}`.

  Operations without a kernel are computed by `Nx.BinaryBackend`. That is right but slow, so it is
  counted, see `fallbacks/0`, and logged once for each operation. The guide on Nx lists what runs
  where.

  ## Configuration

      config :dala_gpu, nx: [warn: false, show_backend: false]

    * `:warn` - whether the first fallback of each operation is logged, `true` by default
    * `:show_backend` - whether an inspected tensor names its backend, `true` by default
  """

  alias Dala.Gpu.Compute.{Buffer, Error}
  alias Dala.Nx.{Backend, Data, Fallback}

  @compile {:no_warn_undefined, [Nx]}

  @doc """
  Returns how often each operation was computed by `Nx.BinaryBackend` in place of a kernel.

  ## Example

      iex> Dala.Nx.reset_fallbacks()
      :ok
      iex> Dala.Nx.fallbacks()
      %{}
  """
  @spec fallbacks() :: %{atom() => pos_integer()}
  defdelegate fallbacks, to: Fallback, as: :counts

  @doc """
  Sets all counts of `fallbacks/0` back; the next fallback of each operation is logged again.

  ## Example

      iex> Dala.Nx.reset_fallbacks()
      :ok
  """
  @spec reset_fallbacks() :: :ok
  defdelegate reset_fallbacks, to: Fallback, as: :reset

  @doc """
  Creates a tensor of `Dala.Nx.Backend` with the shape, type and content of a buffer.

  They share memory; what is written to the buffer later does not change the tensor.

  ## Example

      buffer = Dala.Gpu.Compute.buffer([1, 2, 3], {3})
      tensor = Dala.Nx.from_buffer(buffer)
  """
  @spec from_buffer(Buffer.t()) :: Nx.Tensor.t()
  def from_buffer(buffer) do
    shape = Buffer.shape(buffer)
    dtype = Buffer.dtype(buffer)
    type = Data.nx_type(dtype)

    if type == nil do
      raise %Error{
        reason: :dtype_mismatch,
        message: "Nx has no element type #{dtype}",
        details: %{}
      }
    end

    Data.put(Nx.template(shape, type), Buffer.view(buffer, shape))
  end

  @doc """
  Returns a buffer with the shape, type and content of a tensor of any backend.

  The buffer of a tensor of `Dala.Nx.Backend` is shared: later writes to the buffer do not change the
  tensor. A type that buffers do not have raises `ArgumentError`.

  ## Example

      buffer = Dala.Nx.to_buffer(Nx.tensor([1.0, 2.0, 3.0], backend: Dala.Nx.Backend))
  """
  @spec to_buffer(Nx.Tensor.t()) :: Buffer.t()
  def to_buffer(tensor) do
    tensor = Nx.devectorize(tensor)

    if Data.dtype(tensor.type) == nil do
      {kind, bits} = tensor.type
      raise ArgumentError, "a buffer cannot hold the Nx type #{kind}#{bits}"
    end

    case Data.content(tensor) do
      %Buffer{} = buffer -> Buffer.view(buffer, tensor.shape)
      binary -> Buffer.from_binary(binary, tensor.shape, Data.dtype(tensor.type))
    end
  end

  @doc false
  # The backend and its options, as Nx has them.
  @spec backend() :: {module(), keyword()}
  def backend, do: {Backend, []}
end
