defmodule Dala.Media.Gpu.Chain do
  @moduledoc false
  # A list of filters prepared for frames of one size: buffers that are allocated once, and a
  # pipeline over them. Other parameters for the same filters need a new pipeline, which is
  # validated again, but compiles nothing and allocates no memory.

  alias Dala.Gpu.Compute.{Buffer, Command, Error, Native, Pipeline}
  alias Dala.Media.Gpu.{Filter, Format}

  @enforce_keys [:frame, :filters, :steps, :input, :output, :pipeline]
  defstruct @enforce_keys

  @typedoc "The formats of frames and results; the size is that of the frames."
  @type frame :: %{
          size: Filter.size(),
          from: Format.t(),
          to: Format.t(),
          matrix: :bt601 | :bt709,
          range: :full | :limited
        }

  @type t :: %__MODULE__{
          frame: frame(),
          filters: [{atom(), map()}],
          steps: [Filter.step()],
          input: Buffer.t(),
          output: Buffer.t(),
          pipeline: Pipeline.t()
        }

  @spec new(frame(), [{atom(), map()}]) :: {:ok, t()} | {:error, Error.t()}
  def new(frame, filters) do
    with {:ok, steps} <- Filter.plan(filters, frame.size) do
      {width, height} = frame.size
      {end_width, end_height} = end_size(frame, steps)
      input = Buffer.zeros(Format.shape(frame.from, width, height), :u8)
      output = Buffer.zeros(Format.shape(frame.to, end_width, end_height), :u8)

      {:ok,
       %__MODULE__{
         frame: frame,
         filters: filters,
         steps: steps,
         input: input,
         output: output,
         pipeline: pipeline(frame, steps, input, output)
       }}
    end
  rescue
    error in Error -> {:error, error}
  end

  # The same filters with other parameters, on the same memory; `:differs` if that is not possible.
  @spec adapt(t(), [{atom(), map()}]) :: {:ok, t()} | :differs | {:error, Error.t()}
  def adapt(%__MODULE__{filters: filters} = chain, filters), do: {:ok, chain}

  def adapt(%__MODULE__{} = chain, filters) do
    if Enum.map(filters, &elem(&1, 0)) == Enum.map(chain.filters, &elem(&1, 0)) do
      with {:ok, steps} <- replan(chain, filters), do: rebuild(chain, filters, steps)
    else
      :differs
    end
  end

  @spec start(t(), binary(), reference(), reference() | nil) :: Native.started()
  def start(chain, frame, ref, profile) do
    :ok = Buffer.write(chain.input, frame)
    Native.pipeline_run(chain.pipeline.ref, 1, [], ref, profile)
  rescue
    error in Error -> {:error, error}
  end

  # Starts and waits for the result; only the calling process waits.
  @spec run(t(), binary()) :: {:ok, binary()} | {:error, Error.t()}
  def run(chain, frame) do
    with :ok <- Command.run(&start(chain, frame, &1, nil)), do: {:ok, result(chain)}
  end

  @spec result(t()) :: binary()
  def result(chain), do: Buffer.read(chain.output)

  @doc "The size of the result."
  @spec end_size(t()) :: Filter.size()
  def end_size(chain), do: end_size(chain.frame, chain.steps)

  @spec free(t()) :: :ok
  def free(chain) do
    Pipeline.free(chain.pipeline)
    Buffer.free_many([chain.input, chain.output])
  end

  # Steps of unchanged filters are reused, and with them lookup tables and images on the device.
  defp replan(chain, filters) do
    [filters, chain.filters, chain.steps]
    |> Enum.zip()
    |> Enum.reduce_while({:ok, [], chain.frame.size}, fn
      {filter, filter, step}, {:ok, steps, _size} ->
        {:cont, {:ok, [step | steps], step.size}}

      {filter, _before, _step}, {:ok, steps, size} ->
        case Filter.plan([filter], size) do
          {:ok, [step]} -> {:cont, {:ok, [step | steps], step.size}}
          {:error, _error} = failed -> {:halt, failed}
        end
    end)
    |> case do
      {:ok, steps, _size} -> {:ok, Enum.reverse(steps)}
      {:error, _error} = failed -> failed
    end
  end

  defp rebuild(chain, filters, steps) do
    if Enum.map(steps, & &1.size) == Enum.map(chain.steps, & &1.size) do
      pipeline = pipeline(chain.frame, steps, chain.input, chain.output)
      Pipeline.free(chain.pipeline)
      {:ok, %{chain | filters: filters, steps: steps, pipeline: pipeline}}
    else
      :differs
    end
  end

  defp end_size(frame, []), do: frame.size
  defp end_size(_frame, steps), do: List.last(steps).size

  defp pipeline(frame, steps, input, output) do
    stages = decode(frame) ++ Enum.map(steps, &filter/1) ++ encode(frame, end_size(frame, steps))
    link(stages, input, output)
  end

  # Each filter reads the output of the previous one; the values in between are temporaries.
  defp link([], input, output) do
    Pipeline.copy(Pipeline.new(), input, output)
  end

  defp link(stages, input, output) do
    last = length(stages) - 1

    {pipeline, _input} =
      stages
      |> Enum.with_index()
      |> Enum.reduce({Pipeline.new(), input}, fn {stage, index}, {pipeline, from} ->
        {pipeline, made} = prepare(pipeline, stage.before, from)
        to = if index == last, do: output, else: Pipeline.temporary(stage.shape, :u8)
        {add(pipeline, stage, from, made, to), to}
      end)

    pipeline
  end

  # Adds the preparatory stages of a filter; returns their outputs, latest first.
  defp prepare(pipeline, stages, from) do
    Enum.reduce(stages, {pipeline, []}, fn stage, {pipeline, made} ->
      to = Pipeline.temporary(stage.shape, stage.dtype)
      {add(pipeline, stage, from, made, to), [to | made]}
    end)
  end

  defp add(pipeline, stage, from, made, to) do
    inputs = Enum.map(stage.inputs, &source(&1, from, made))
    Pipeline.run_kernel(pipeline, stage.kernel, inputs, to, stage.params)
  end

  defp source(:frame, from, _made), do: from
  defp source(:last, _from, [latest | _]), do: latest
  defp source({:made, index}, _from, made), do: Enum.at(made, length(made) - 1 - index)
  defp source(%Buffer{} = buffer, _from, _made), do: buffer

  defp filter(%{size: {width, height}} = step), do: Map.put(step, :shape, {height, width, 4})

  defp plain(kernel, params, shape),
    do: %{before: [], kernel: kernel, inputs: [:frame], params: params, shape: shape}

  # The stages that convert frames to RGBA, and results from RGBA.
  defp decode(%{from: :rgba}), do: []

  defp decode(%{from: format, size: {width, height}} = frame) do
    {kernel, _back} = kernels(format)
    [plain(kernel, params(format, frame), {height, width, 4})]
  end

  defp encode(%{to: :rgba}, _size), do: []

  defp encode(%{to: format} = frame, {width, height}) do
    {_forth, kernel} = kernels(format)
    [plain(kernel, params(format, frame), Format.shape(format, width, height))]
  end

  defp kernels(:rgb24), do: {:rgb_to_rgba, :rgba_to_rgb}
  defp kernels(_yuv), do: {:yuv_to_rgba, :rgba_to_yuv}

  defp params(:rgb24, _frame), do: %{}
  defp params(yuv, frame), do: %{format: yuv, matrix: frame.matrix, range: frame.range}
end
