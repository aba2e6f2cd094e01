defmodule Dala.Nx.Device do
  @moduledoc false
  # What the operations of `Dala.Nx.Backend` do on the device: run a kernel into a new buffer, view a
  # buffer under another shape, and bring elements there.
  #
  # While `record/1` runs, nothing is computed: the same calls collect the stages of a pipeline, with
  # temporary buffers between them. That is how `Dala.Nx.Compiler` turns a sequence of operations
  # into one command. Whatever needs the content of a buffer cannot be recorded.

  alias Dala.Gpu.Compute.{Buffer, Kernel}

  @recording {__MODULE__, :stages}

  @type stage :: {atom(), [Buffer.t()], Buffer.t(), map()}

  @doc "Runs a kernel into a new buffer."
  @spec compute(atom(), [Buffer.t()], Buffer.shape() | [non_neg_integer()], Buffer.dtype(), map()) ::
          Buffer.t()
  def compute(kernel, inputs, shape, dtype, params \\ %{}) do
    case Process.get(@recording) do
      nil -> Kernel.compute(kernel, inputs, shape, dtype, params)
      stages -> add(stages, kernel, inputs, shape, dtype, params)
    end
  end

  @doc "The same content under another shape, or as another type of the same size."
  @spec view(Buffer.t(), Buffer.shape() | [non_neg_integer()], Buffer.dtype() | nil) :: Buffer.t()
  def view(%Buffer{dtype: own} = buffer, shape, dtype \\ nil) do
    case Process.get(@recording) do
      nil -> Buffer.view(buffer, shape, dtype)
      stages when dtype in [nil, own] -> reshape(stages, buffer, shape)
      _stages -> cannot_record()
    end
  end

  defp reshape(stages, buffer, shape) do
    if Buffer.dims!(shape) == Tuple.to_list(buffer.shape),
      do: buffer,
      else: add(stages, :reshape, [buffer], shape, buffer.dtype, %{})
  end

  @doc "Reads the elements of a buffer, or the first ones."
  @spec read(Buffer.t(), non_neg_integer() | nil) :: binary()
  def read(buffer, count \\ nil) do
    if Process.get(@recording), do: cannot_record(), else: Buffer.read_result(buffer, count)
  end

  @doc "Frees a buffer; what is recorded has no memory of its own."
  @spec free(Buffer.t()) :: :ok
  def free(buffer), do: if(Process.get(@recording), do: :ok, else: Buffer.free(buffer))

  @doc """
  Collects the stages of what a function does. Returns `{result, stages}`, or `:error` if it reads a
  buffer.
  """
  @spec record((() -> result)) :: {result, [stage()]} | :error when result: term()
  def record(fun) do
    Process.put(@recording, [])
    result = fun.()
    {result, Enum.reverse(Process.get(@recording))}
  catch
    {__MODULE__, :cannot_record} -> :error
  after
    Process.delete(@recording)
  end

  @doc "Gives up recording, for what only takes place on the host."
  @spec host_only() :: :ok
  def host_only, do: if(Process.get(@recording), do: cannot_record(), else: :ok)

  @spec cannot_record() :: no_return()
  defp cannot_record, do: throw({__MODULE__, :cannot_record})

  defp add(stages, kernel, inputs, shape, dtype, params) do
    output = Buffer.temporary(shape, dtype)
    Process.put(@recording, [{kernel, inputs, output, params} | stages])
    output
  end
end
