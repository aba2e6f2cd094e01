defmodule Dala.Nx.Device do
  @moduledoc false
  # The primitives of `Dala.Nx.Backend` on the device: running a kernel into a new buffer, viewing a
  # buffer under another shape, and uploading elements.
  #
  # While `record/1` runs, nothing is computed: the same calls collect the stages of a pipeline,
  # with temporary buffers between them. `Dala.Nx.Compiler` thus turns a sequence of operations into
  # one command. Operations that need the content of a buffer cannot be recorded.

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

  @doc "The same bytes under another shape, or as elements of another type."
  @spec view(Buffer.t(), Buffer.shape() | [non_neg_integer()], Buffer.dtype() | nil) :: Buffer.t()
  def view(%Buffer{dtype: own} = buffer, shape, dtype \\ nil) do
    case Process.get(@recording) do
      nil -> Buffer.view(buffer, shape, dtype)
      stages when dtype in [nil, own] -> reshape(stages, buffer, shape)
      stages -> add(stages, :bitcast, [buffer], shape, dtype, %{})
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

  @doc "Frees a buffer. Recorded buffers have no memory of their own."
  @spec free(Buffer.t()) :: :ok
  def free(buffer), do: if(Process.get(@recording), do: :ok, else: Buffer.free(buffer))

  @doc """
  Records the stages of a function. Returns `{result, stages}`, or `:error` if it reads a buffer.
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

  @doc "Aborts recording, for operations that run on the host."
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
