defmodule Dala.Gpu.Compute.Pipeline do
  @moduledoc """
  A fixed sequence of stages that runs again and again.

  All stages are checked and bound to the device when the pipeline first runs; later runs hand the
  whole sequence over at once, with a single message at its end. A pipeline is a mutable thing:
  `add/2` changes it and returns it, so piping into `add/2` and then running the variable that
  began the pipe is fine.

  A stage is a map:

    * `:op` - `:run_kernel`, `:copy_buffer` (from `inputs: [source]` to `:output`), or `:barrier`
      (what comes later starts only when all before it is done)
    * `:kernel` - the kernel's name, an atom or a string; that of a model does, too, see
      `Dala.ML.Gpu.load_model/2`
    * `:inputs` - a list of buffers
    * `:output` - the buffer to write to
    * `:params` - the kernel's parameters, `%{}` by default

  Stages take effect in their order. One that cannot run is reported by `run/1`, with its index in
  `details.stage`, before any stage has run.

  Stages that compute each element from the elements at the same place, one after the other, run as
  one kernel, with the same result to the last bit. What nobody can see is not written: see
  `temporary/2`, `explain/1` and the guide on pipelines.

  ## Example

      iex> alias Dala.Gpu.Compute.{Buffer, Pipeline}
      iex> input = Buffer.new([-1, 2, -3], {3})
      iex> doubled = Buffer.zeros({3})
      iex> output = Buffer.zeros({3})
      iex> pipeline =
      ...>   Pipeline.new()
      ...>   |> Pipeline.add(%{
      ...>     op: :run_kernel,
      ...>     kernel: :scalar_mul,
      ...>     inputs: [input],
      ...>     output: doubled,
      ...>     params: %{scalar: 2}
      ...>   })
      ...>   |> Pipeline.add(%{op: :run_kernel, kernel: :relu, inputs: [doubled], output: output})
      iex> Pipeline.run(pipeline)
      :ok
      iex> Buffer.read_list(output)
      [0.0, 4.0, 0.0]
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Native, Runtime}
  alias Dala.Gpu.Compute.Pipeline.Plan
  alias Dala.ML.Gpu.AsKernel

  @keys [:op, :kernel, :inputs, :output, :params]

  @enforce_keys [:ref]
  defstruct [:ref, stages: []]

  @type stage :: %{
          op: atom(),
          kernel: atom() | String.t() | nil,
          inputs: [reference()],
          output: reference() | nil,
          params: map()
        }

  @typedoc """
  A pipeline. `:stages` holds what was added through this value; `stages/1` asks the pipeline
  itself.
  """
  @type t :: %__MODULE__{ref: reference() | nil, stages: [stage()]}

  @doc """
  Creates an empty pipeline.

  ## Example

      iex> Dala.Gpu.Compute.Pipeline.stage_count(Dala.Gpu.Compute.Pipeline.new())
      0
  """
  @spec new() :: t()
  def new do
    Runtime.ensure!()
    %__MODULE__{ref: Native.pipeline_new()}
  end

  @doc """
  Creates a buffer for values between the stages of a pipeline.

  Only stages may use it, in any pipeline; a stage has to write to it before one reads from it. It
  has no memory of its own: a pipeline takes some while it runs, and only where the value cannot
  stay inside a kernel. Reading it, or a command on it, is the error `:unsupported`.

  ## Parameters

    * `shape` - a tuple (or list) of dimensions
    * `dtype` - the element type, `:f32` by default

  ## Example

      iex> Dala.Gpu.Compute.Pipeline.temporary({480, 640, 4}, :u8)
      #Dala.Gpu.Compute.Buffer<u8[480][640][4] temporary>
  """
  @spec temporary(Buffer.shape() | [non_neg_integer()], Buffer.dtype()) :: Buffer.t()
  def temporary(shape, dtype \\ :f32), do: Buffer.temporary(shape, dtype)

  @doc """
  Adds a stage and returns the pipeline.

  What is wrong with the stage is reported by `run/1`; only something that is no map, or a key
  that no stage has, raises `ArgumentError` here.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer_zeros({4}, :f32)
      iex> relu = %{op: :run_kernel, kernel: :relu, inputs: [buffer], output: buffer, params: %{}}
      iex> pipeline = Dala.Gpu.Compute.Pipeline.add(Dala.Gpu.Compute.Pipeline.new(), relu)
      iex> Dala.Gpu.Compute.Pipeline.stage_count(pipeline)
      1
  """
  @spec add(t(), map()) :: t()
  def add(pipeline, spec) do
    check!(pipeline)
    stage = stage!(spec)
    Runtime.ensure!()

    case Native.pipeline_add(pipeline.ref, stage) do
      :ok -> %{pipeline | stages: pipeline.stages ++ [stage]}
      {:error, error} -> raise error
    end
  end

  @doc """
  Runs all stages and waits for the last one; only the calling process waits.

  ## Example

      iex> Dala.Gpu.Compute.Pipeline.run(Dala.Gpu.Compute.Pipeline.new())
      :ok
  """
  @spec run(t()) :: :ok | {:error, Error.t()}
  def run(pipeline) do
    %{ref: pipeline} = check!(pipeline)
    with :ok <- Runtime.ensure(), do: Command.run(&Native.pipeline_run(pipeline, &1, nil))
  end

  @doc """
  Tells what a run does: which stages are fused, and how many bytes they move.

  The plan prints as a table; see `Dala.Gpu.Compute.Pipeline.Plan`. A stage that cannot run is an
  error here as it is in `run/1`, and is raised.

  ## Example

      iex> alias Dala.Gpu.Compute.{Buffer, Pipeline}
      iex> [a, b] = for _ <- 1..2, do: Buffer.zeros({1000})
      iex> between = Pipeline.temporary({1000})
      iex> plan =
      ...>   Pipeline.new()
      ...>   |> Pipeline.add(%{op: :run_kernel, kernel: :exp, inputs: [a], output: between})
      ...>   |> Pipeline.add(%{op: :run_kernel, kernel: :neg, inputs: [between], output: b})
      ...>   |> Pipeline.explain()
      iex> plan |> to_string() |> String.split("\\n")
      [
        "stages  kernel     writes      moves",
        "0-1     exp + neg  f32 {1000}  7.8 KiB instead of 15.6 KiB",
        "1 kernel for 2 stages; moves 7.8 KiB instead of 15.6 KiB; temporary memory 0 B"
      ]
  """
  @spec explain(t()) :: Plan.t()
  def explain(pipeline) do
    %{ref: pipeline} = check!(pipeline)
    Runtime.ensure!()
    pipeline |> planned() |> Error.value!() |> Plan.new()
  end

  defp planned(pipeline) do
    case Native.pipeline_explain(pipeline) do
      {:ok, plan} ->
        {:ok, plan}

      {:wait, ready} ->
        Command.prepared(ready)
        planned(pipeline)

      {:error, error} ->
        with :ok <- AsKernel.found(error), do: planned(pipeline)
    end
  end

  @doc """
  Gives the number of stages.

  ## Example

      iex> pipeline = Dala.Gpu.Compute.Pipeline.new()
      iex> Dala.Gpu.Compute.Pipeline.add(pipeline, %{op: :barrier})
      iex> Dala.Gpu.Compute.Pipeline.stage_count(pipeline)
      1
  """
  @spec stage_count(t()) :: non_neg_integer()
  def stage_count(pipeline), do: length(stages(pipeline))

  @doc """
  Gives the stages in order, buffers as their references.

  ## Example

      iex> pipeline = Dala.Gpu.Compute.Pipeline.new()
      iex> Dala.Gpu.Compute.Pipeline.add(pipeline, %{op: :barrier})
      iex> Dala.Gpu.Compute.Pipeline.stages(pipeline)
      [%{op: :barrier, kernel: nil, inputs: [], output: nil, params: %{}}]
  """
  @spec stages(t()) :: [stage()]
  def stages(pipeline) do
    %{ref: pipeline} = check!(pipeline)
    Runtime.ensure!()
    Error.value!(Native.pipeline_stages(pipeline))
  end

  @doc """
  Releases the pipeline and its hold on the buffers; later use is the error `:freed`.

  ## Example

      iex> Dala.Gpu.Compute.Pipeline.free(Dala.Gpu.Compute.Pipeline.new())
      :ok
  """
  @spec free(t()) :: :ok
  def free(pipeline), do: Native.pipeline_free(check!(pipeline).ref)

  defp check!(pipeline) do
    Argument.struct!(pipeline, __MODULE__, "a pipeline, as Dala.Gpu.Compute.pipeline/0 gives it")
  end

  # Buffers become references; whatever else is odd stays, for `run/1` to report.
  defp stage!(spec) when is_map(spec) and not is_struct(spec) do
    for {key, _value} <- spec, key not in @keys do
      raise ArgumentError,
            "a stage has no key #{inspect(key)}; it takes #{Enum.map_join(@keys, ", ", &inspect/1)}"
    end

    %{
      op: Map.get(spec, :op),
      kernel: Map.get(spec, :kernel),
      inputs: refs(Map.get(spec, :inputs, [])),
      output: refs(Map.get(spec, :output)),
      params: params(Map.get(spec, :params, %{}))
    }
  end

  defp stage!(other) do
    raise ArgumentError, "expected a stage as a map, got: #{inspect(other)}"
  end

  defp refs(%Buffer{ref: ref}), do: ref
  defp refs(list) when length(list) >= 0, do: Enum.map(list, &refs/1)
  defp refs(other), do: other

  defp params(params), do: if(Keyword.keyword?(params), do: Map.new(params), else: params)

  defimpl Inspect do
    alias Dala.Gpu.Compute.Native

    def inspect(%{ref: ref}, _opts), do: "#Dala.Gpu.Compute.Pipeline<#{stages(ref)}>"

    defp stages(ref) do
      case Native.pipeline_stages(ref) do
        {:ok, []} -> "empty"
        {:ok, [stage]} -> "1 stage: #{name(stage)}"
        {:ok, stages} -> "#{length(stages)} stages: #{Enum.map_join(stages, ", ", &name/1)}"
        {:error, _freed} -> "freed"
      end
    end

    defp name(%{op: :run_kernel, kernel: kernel}) when is_atom(kernel) or is_binary(kernel),
      do: to_string(kernel)

    defp name(%{op: op}) when is_atom(op), do: to_string(op)
    defp name(_stage), do: "?"
  end
end
