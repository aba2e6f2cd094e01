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

  Stages take effect in order. A stage that cannot run is an error of `run/2`, with its index in
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
    * `:output` - the buffer to write to; a list of buffers for a kernel with several outputs
    * `:params` - the kernel's parameters, `%{}` by default
    * `:name` - a name for `set/3`, an atom or a string; none by default
  """

  alias Dala.Telemetry
  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Kernel, Native, Runtime}
  alias Dala.Gpu.Compute.Kernel.Provider
  alias Dala.Gpu.Compute.Pipeline.{Plan, Stage}

  @most_runs 1_000_000_000

  @enforce_keys [:ref]
  defstruct [:ref, stages: []]

  @type stage :: %{
          op: atom(),
          kernel: atom() | String.t() | nil,
          inputs: [reference()],
          output: reference() | [reference()] | nil,
          params: map()
        }

  @typedoc "The name of a stage, or of several stages; see `set/3`."
  @type name :: atom() | String.t()

  @typedoc "Options of `run/2` and `submit/2`."
  @type run_option ::
          {:times, pos_integer()} | {:swap, [{Command.buffer(), Command.buffer()}]}

  @typedoc """
  A pipeline. `stages/1` returns its stages; the field `:stages` is always empty, so that adding a
  stage takes the same time however many there are.
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
    * `output` - the buffer to write to; it may be one of the inputs. A list of buffers for a kernel
      with several outputs
    * `params` - the kernel's parameters, a map or keyword list, `%{}` by default

  ## Options

    * `:name` - a name for `set/3`, an atom or a string; none by default

  An invalid stage is reported by `run/2`.

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
  @spec run_kernel(
          t(),
          Kernel.name(),
          [Command.buffer()],
          Command.output(),
          Command.params(),
          name: name()
        ) :: t()
  def run_kernel(pipeline, kernel, inputs, output, params \\ %{}, opts \\ []) do
    add(pipeline, %{
      op: :run_kernel,
      kernel: kernel,
      inputs: inputs,
      output: output,
      params: params,
      name: Argument.options!(opts, name: nil)[:name]
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

  An invalid stage is reported by `run/2`; only a stage that is not a map, or that has an unknown
  key or an invalid name, raises `ArgumentError` here.

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
    stage = Stage.new!(spec)
    Runtime.ensure!()

    case Native.pipeline_add(pipeline.ref, stage) do
      :ok -> pipeline
      {:error, error} -> raise error
    end
  end

  @doc """
  Changes parameters of a stage and returns the pipeline.

  Runs that are submitted later use the new values; parameters that are not given stay as they are.
  A run after this takes hardly longer than any other: only the launches of the changed stages are
  planned again, and no kernel is compiled again as long as the parameters are numbers that the
  kernel takes as arguments. An invalid value is an error of the next run.

  ## Parameters

    * `stage` - the index of the stage, from 0, or the name of one or more stages
    * `params` - the parameters to change, a map or keyword list

  ## Example

      iex> alias Dala.Gpu.Compute.{Buffer, Pipeline}
      iex> buffer = Buffer.new([1, 2], {2})
      iex> pipeline =
      ...>   Pipeline.new()
      ...>   |> Pipeline.run_kernel(:scalar_mul, [buffer], buffer, %{scalar: 10}, name: :gain)
      iex> :ok = Pipeline.run(pipeline)
      iex> pipeline |> Pipeline.set(:gain, scalar: 0.5) |> Pipeline.run()
      :ok
      iex> Buffer.read_list(buffer)
      [5.0, 10.0]
  """
  @spec set(t(), non_neg_integer() | name(), Command.params()) :: t()
  def set(pipeline, stage, params) do
    check!(pipeline)
    stage = if is_integer(stage), do: stage, else: Command.kernel!(stage)
    params = Command.params!(params)
    Runtime.ensure!()

    known? = is_binary(stage) or stage in 0..0xFFFFFFFF

    case known? && Native.pipeline_set(pipeline.ref, stage, params) do
      :ok -> pipeline
      {:error, error} -> raise error
      _unknown -> Argument.refuse!("the index or the name of a stage of the pipeline", stage)
    end
  end

  @doc """
  Runs all stages and waits for the last one; only the calling process waits.

  ## Options

    * `:times` - how often the pipeline runs, one run after the other; 1 by default. All runs are one
      command: the library repeats them without going back to Elixir, in memory that does not grow
      with their number. Commands of other processes get their turns between runs
    * `:swap` - pairs of buffers of the same type that exchange their contents between two runs, `[]`
      by default. Nothing is copied. With stages that read `a` and write `b`, `swap: [{a, b}]` makes
      each run read the result of the one before; the last result is in `b`

  ## Examples

      iex> Dala.Gpu.Compute.Pipeline.run(Dala.Gpu.Compute.Pipeline.new())
      :ok

      iex> alias Dala.Gpu.Compute.{Buffer, Pipeline}
      iex> [a, b] = [Buffer.new([1, 2, 3], {3}), Buffer.zeros({3})]
      iex> pipeline = Pipeline.run_kernel(Pipeline.new(), :scalar_mul, [a], b, scalar: 2)
      iex> Pipeline.run(pipeline, times: 10, swap: [{a, b}])
      :ok
      iex> Buffer.read_list(b)
      [1024.0, 2048.0, 3072.0]
  """
  @spec run(t(), [run_option()]) :: :ok | {:error, Error.t()}
  def run(pipeline, opts \\ []) do
    %{ref: pipeline} = check!(pipeline)
    {times, swaps} = runs!(Argument.options!(opts, times: 1, swap: []))

    with :ok <- Runtime.ensure() do
      Telemetry.span([:dala, :command], %{op: :pipeline, name: nil}, fn ->
        Command.run(&Native.pipeline_run(pipeline, times, swaps, &1, nil))
      end)
    end
  end

  @doc """
  Submits a run and returns the id of its command.

  `Dala.Gpu.Compute.poll/1`, `wait/2` and `cancel/1` take the id. Like all commands, runs take effect
  in the order of submission with regard to the buffers they use. If the pipeline cannot run, `poll/1`
  and `wait/1` return the error. The first run plans the stages, and the calling process waits for
  that.

  A command with `times:` that has started can still be cancelled: it ends after the runs that are on
  the device, and its buffers keep the results of the runs so far. Buffers of `swap:` may then have
  each other's contents.

  ## Options

    * `:notify` - a local process that is sent `{:dala_gpu, id, :ok | {:error, error}}` when the
      command has finished; by default no process is notified
    * `:times`, `:swap` - as in `run/2`

  ## Example

      iex> alias Dala.Gpu.Compute.{Buffer, Command, Pipeline}
      iex> buffer = Buffer.new([1, 2], {2})
      iex> pipeline = Pipeline.run_kernel(Pipeline.new(), :scalar_mul, [buffer], buffer, scalar: 2)
      iex> id = Pipeline.submit(pipeline, times: 3)
      iex> Command.wait(id)
      :ok
      iex> Buffer.read_list(buffer)
      [8.0, 16.0]
  """
  @spec submit(t(), [run_option() | {:notify, pid()}]) :: Command.id()
  def submit(pipeline, opts \\ []) do
    %{ref: pipeline} = check!(pipeline)
    opts = Argument.options!(opts, notify: nil, times: 1, swap: [])
    {times, swaps} = runs!(opts)

    Command.submit_with(opts[:notify], :pipeline, fn mode ->
      ref = make_ref()

      with :pending <- Native.pipeline_submit(pipeline, times, swaps, mode, ref) do
        receive do
          {^ref, result} -> result
        end
      end
    end)
  end

  defp runs!(opts) do
    {Argument.integer!(:times, opts[:times], 1..@most_runs), swaps!(opts[:swap])}
  end

  defp swaps!(swaps) when length(swaps) <= 1024 do
    Enum.map(swaps, fn
      {one, other} -> {Buffer.ref!(one), Buffer.ref!(other)}
      other -> Argument.refuse!("swap: to have pairs of buffers", other)
    end)
  end

  defp swaps!(other), do: Argument.refuse!("swap: to be a list of at most 1024 pairs", other)

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
