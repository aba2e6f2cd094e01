defmodule Dala.Gpu.Compute.Pipeline do
  @moduledoc """
  A fixed sequence of stages that can be run many times.

  All stages are validated and planned when the pipeline first runs; later runs submit the whole
  sequence as one command, with a single completion message. A pipeline is mutable: a function that
  adds a stage modifies the pipeline and returns it, so you can pipe into `run_kernel/5` and then
  run the variable that started the pipe.

      iex> alias Dala.Gpu.Compute.{Buffer, Pipeline}
      iex> input = Buffer.new([-1, 2, -3], {3})
      iex> doubled = Pipeline.temporary({3})
      iex> output = Buffer.zeros({3})
      iex> pipeline =
      ...>   Pipeline.new()
      ...>   |> Pipeline.run_kernel(:scalar_mul, [input], doubled, scalar: 2)
      ...>   |> Pipeline.run_kernel(:relu, [doubled], output)
      iex> Pipeline.run(pipeline)
      :ok
      iex> Buffer.read_list(output)
      [0.0, 4.0, 0.0]

  Stages take effect in order. A stage that cannot run is an error of `run/1`, with its index in
  `details.stage`, before any stage has run.

  Consecutive elementwise stages are fused into one kernel, with bit-identical results. Values that
  only later stages read need no buffer memory: see `temporary/2`, `explain/1` and the guide on
  pipelines.

  ## Stages as maps

  `run_kernel/5`, `copy/3` and `barrier/1` add the three kinds of stages. `add/2` takes any of them
  as a map, for programs that generate stages from data:

    * `:op` - `:run_kernel`, `:copy_buffer` (from `inputs: [source]` to `:output`), or `:barrier`
    * `:kernel` - the kernel's name, an atom or a string. A kernel of a
      `Dala.Gpu.Compute.Kernel.Provider`, such as a named model, is loaded when the pipeline first
      runs
    * `:inputs` - a list of buffers
    * `:output` - the buffer to write to
    * `:params` - the kernel's parameters, `%{}` by default
  """

  alias Dala.Telemetry
  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Kernel, Native, Runtime}
  alias Dala.Gpu.Compute.Kernel.Provider
  alias Dala.Gpu.Compute.Pipeline.Plan

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
  A pipeline. `:stages` has the stages added through this value; `stages/1` returns all stages of
  the pipeline itself.
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

  Only stages can use it, in any pipeline, and a stage must write to it before another one reads it.
  It owns no memory: a pipeline allocates memory for it while it runs, and only if the value cannot
  stay inside a fused kernel. Reading it, or submitting a command on it, is the error
  `:unsupported`.

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
  Adds a stage that runs a kernel, and returns the pipeline.

  ## Parameters

    * `kernel` - the kernel's name, an atom or a string
    * `inputs` - a list of buffers
    * `output` - the buffer to write to; it may be one of the inputs
    * `params` - the kernel's parameters, a map or keyword list, `%{}` by default

  An invalid stage is reported by `run/1`.

  ## Example

      iex> alias Dala.Gpu.Compute.{Buffer, Pipeline}
      iex> buffer = Buffer.new([1, 2], {2})
      iex> pipeline = Pipeline.run_kernel(Pipeline.new(), :scalar_mul, [buffer], buffer, scalar: 10)
      #Dala.Gpu.Compute.Pipeline<1 stage: scalar_mul>
      iex> Pipeline.run(pipeline)
      :ok
      iex> Buffer.read_list(buffer)
      [10.0, 20.0]
  """
  @spec run_kernel(t(), Kernel.name(), [Command.buffer()], Command.buffer(), Command.params()) ::
          t()
  def run_kernel(pipeline, kernel, inputs, output, params \\ %{}) do
    add(pipeline, %{
      op: :run_kernel,
      kernel: kernel,
      inputs: inputs,
      output: output,
      params: params
    })
  end

  @doc """
  Adds a stage that copies a buffer to another one of the same size, and returns the pipeline.

  ## Example

      iex> alias Dala.Gpu.Compute.{Buffer, Pipeline}
      iex> source = Buffer.new([1, 2], {2})
      iex> copy = Buffer.zeros({2})
      iex> pipeline = Pipeline.copy(Pipeline.new(), source, copy)
      #Dala.Gpu.Compute.Pipeline<1 stage: copy_buffer>
      iex> Pipeline.run(pipeline)
      :ok
      iex> Buffer.read_list(copy)
      [1.0, 2.0]
  """
  @spec copy(t(), Command.buffer(), Command.buffer()) :: t()
  def copy(pipeline, source, destination),
    do: add(pipeline, %{op: :copy_buffer, inputs: [source], output: destination})

  @doc """
  Adds a barrier, and returns the pipeline: later stages start after all earlier ones have finished.

  Stages that share buffers are ordered without a barrier; others may overlap.

  ## Example

      iex> alias Dala.Gpu.Compute.{Buffer, Pipeline}
      iex> [a, b] = for _ <- 1..2, do: Buffer.zeros({2})
      iex> Pipeline.new()
      ...> |> Pipeline.run_kernel(:fill, [], a, value: 1)
      ...> |> Pipeline.barrier()
      ...> |> Pipeline.run_kernel(:fill, [], b, value: 2)
      #Dala.Gpu.Compute.Pipeline<3 stages: fill, barrier, fill>
  """
  @spec barrier(t()) :: t()
  def barrier(pipeline), do: add(pipeline, %{op: :barrier})

  @doc """
  Adds a stage given as a map, and returns the pipeline.

  An invalid stage is reported by `run/1`; only a stage that is not a map, or that has an unknown
  key, raises `ArgumentError` here.

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

    with :ok <- Runtime.ensure() do
      Telemetry.span([:dala, :command], %{op: :pipeline, name: nil}, fn ->
        Command.run(&Native.pipeline_run(pipeline, &1, nil))
      end)
    end
  end

  @doc """
  Returns the plan of a run: which stages are fused, and how many bytes they move.

  The plan prints as a table; see `Dala.Gpu.Compute.Pipeline.Plan`. Raises the error of a stage that
  cannot run.

  ## Example

      iex> alias Dala.Gpu.Compute.{Buffer, Pipeline}
      iex> [a, b] = for _ <- 1..2, do: Buffer.zeros({1000})
      iex> between = Pipeline.temporary({1000})
      iex> plan =
      ...>   Pipeline.new()
      ...>   |> Pipeline.run_kernel(:exp, [a], between)
      ...>   |> Pipeline.run_kernel(:neg, [between], b)
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

    fn -> Runtime.answer(&Native.pipeline_explain(pipeline, &1)) end
    |> Provider.finding()
    |> Error.value!()
    |> Plan.new()
  end

  @doc """
  Returns the number of stages.

  ## Example

      iex> pipeline = Dala.Gpu.Compute.Pipeline.new()
      iex> Dala.Gpu.Compute.Pipeline.barrier(pipeline)
      iex> Dala.Gpu.Compute.Pipeline.stage_count(pipeline)
      1
  """
  @spec stage_count(t()) :: non_neg_integer()
  def stage_count(pipeline) do
    %{ref: pipeline} = check!(pipeline)
    Runtime.ensure!()
    Error.value!(Native.pipeline_count(pipeline))
  end

  @doc """
  Returns the stages in order, with buffers as references.

  ## Example

      iex> pipeline = Dala.Gpu.Compute.Pipeline.new()
      iex> Dala.Gpu.Compute.Pipeline.barrier(pipeline)
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
  Releases the pipeline and its references to buffers; later use is the error `:freed`.

  ## Example

      iex> Dala.Gpu.Compute.Pipeline.free(Dala.Gpu.Compute.Pipeline.new())
      :ok
  """
  @spec free(t()) :: :ok
  def free(pipeline), do: Native.pipeline_free(check!(pipeline).ref)

  defp check!(pipeline) do
    Argument.struct!(pipeline, __MODULE__, "a pipeline returned by Dala.Gpu.Compute.pipeline/0")
  end

  # Replaces buffers by their references and leaves anything invalid for `run/1` to report.
  defp stage!(spec) when is_map(spec) and not is_struct(spec) do
    for {key, _value} <- spec, key not in @keys do
      raise ArgumentError,
            "a stage has no key #{inspect(key)}; it takes #{Enum.map_join(@keys, ", ", &inspect/1)}"
    end

    stage = %{
      op: Map.get(spec, :op),
      kernel: Map.get(spec, :kernel),
      inputs: Map.get(spec, :inputs, []),
      output: Map.get(spec, :output),
      params: Map.get(spec, :params, %{})
    }

    case Enum.find_value(stage, &too_large/1) do
      nil ->
        %{
          stage
          | inputs: refs(stage.inputs),
            output: refs(stage.output),
            params: params(stage.params)
        }

      # The stage itself is discarded.
      problem ->
        %{op: nil, kernel: nil, inputs: [], output: nil, params: %{}, problem: problem}
    end
  end

  defp stage!(other) do
    raise ArgumentError, "expected a stage as a map, got: #{Argument.show(other)}"
  end

  # A stage is copied to the native side as a whole, so oversized terms are rejected here.
  @most_inputs Command.most(:inputs)
  @most_params Command.most(:params)

  defp too_large({:inputs, inputs}) when length(inputs) > @most_inputs,
    do: "a stage has at most #{@most_inputs} inputs, got #{length(inputs)}"

  defp too_large({:params, params}) when is_map(params) and map_size(params) > @most_params,
    do: "a stage has at most #{@most_params} params, got #{map_size(params)}"

  defp too_large({:params, params}) when length(params) > @most_params,
    do: "a stage has at most #{@most_params} params, got #{length(params)}"

  defp too_large({:params, params}) when is_map(params) and not is_struct(params),
    do: Enum.find_value(params, &large_param/1)

  defp too_large({:params, params}) when length(params) > 0,
    do: Enum.find_value(params, &large_param/1)

  defp too_large({field, value}),
    do: if(large?(value, 2), do: "the stage's #{field} is too large")

  defp large_param({name, value}) do
    if large?(name, 1) or large?(value, 1),
      do: "param #{Argument.show(name)} of the stage is too large"
  end

  defp large_param(other), do: if(large?(other, 1), do: "params of the stage are too large")

  # Whether copying the term would take long. References, the usual content of a stage, do not.
  @most_elements 1024

  defp large?(term, _depth) when is_bitstring(term), do: byte_size(term) > 65_536

  defp large?(term, _depth) when is_integer(term),
    do: term not in -0x8000000000000000..0xFFFFFFFFFFFFFFFF

  defp large?([_ | _] = list, depth), do: large_list?(list, depth, @most_elements)
  defp large?(term, _depth) when is_tuple(term) and tuple_size(term) > @most_elements, do: true
  defp large?(%Buffer{}, _depth), do: false
  defp large?(term, 0) when is_tuple(term) or is_map(term), do: true

  defp large?(term, depth) when is_tuple(term),
    do: term |> Tuple.to_list() |> Enum.any?(&large?(&1, depth - 1))

  defp large?(term, depth) when is_map(term) do
    map_size(term) > @most_elements or
      Enum.any?(Map.to_list(term), fn {key, value} ->
        large?(key, depth - 1) or large?(value, depth - 1)
      end)
  end

  defp large?(_term, _depth), do: false

  defp large_list?(_list, 0, _left), do: true
  defp large_list?([_ | _], _depth, 0), do: true

  defp large_list?([head | tail], depth, left),
    do: large?(head, depth - 1) or large_list?(tail, depth, left - 1)

  defp large_list?([], _depth, _left), do: false
  defp large_list?(improper, depth, _left), do: large?(improper, depth - 1)

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
        {:ok, stages} -> "#{length(stages)} stages: #{names(stages)}"
        {:error, _freed} -> "freed"
      end
    end

    @shown 20

    defp names(stages) do
      names = stages |> Enum.take(@shown) |> Enum.map_join(", ", &name/1)
      if length(stages) > @shown, do: names <> ", ...", else: names
    end

    defp name(%{op: :run_kernel, kernel: kernel}) when is_atom(kernel) or is_binary(kernel),
      do: to_string(kernel)

    defp name(%{op: op}) when is_atom(op), do: to_string(op)
    defp name(_stage), do: "?"
  end
end
