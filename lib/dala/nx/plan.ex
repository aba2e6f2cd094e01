defmodule Dala.Nx.Plan do
  @moduledoc false
  # A sequence of operations as a pipeline that is a function: its inputs and outputs are ports, which
  # each call replaces by buffers. The library fuses its elementwise stages, lays out its temporary
  # memory, and runs all of it as one command.

  alias Dala.Gpu.Compute.{Buffer, Command, Error, Native, Pipeline, Runtime, Watcher}
  alias Dala.Nx.{Data, Device}

  @enforce_keys [:pipeline, :inputs, :results]
  defstruct [:pipeline, :inputs, :results]

  @typedoc """
  `inputs` are the indices of the parameters that the pipeline takes. `results` say for each result
  whether it is an output, a parameter, or always the same.
  """
  @type t :: %__MODULE__{
          pipeline: Pipeline.t(),
          inputs: [non_neg_integer()],
          results: [{Data.tensor(), {:output | :param, non_neg_integer()} | {:content, term()}}]
        }

  @doc """
  Records a function of tensors.

  `params` are the indices and templates of its parameters. Returns nil if the function has no
  operation, or one that a pipeline cannot run.
  """
  @spec new([{non_neg_integer(), Data.tensor()}], (tuple() -> [Data.tensor()])) :: t() | nil
  def new(params, fun) do
    params = for {index, template} <- params, do: {index, plain(template)}

    with true <- Data.bufferable?(Enum.map(params, &elem(&1, 1))),
         ports = Map.new(params, fn {index, template} -> {index, port(template)} end),
         {results, [_ | _] = stages} <- Device.record(fn -> fun.(tensors(params, ports)) end) do
      build(ports, stages, results)
    else
      _nothing -> nil
    end
  end

  # Like a tensor without vectorized axes.
  defp plain(%{vectorized_axes: axes, shape: shape, names: names} = template) when axes != [] do
    {more_names, sizes} = Enum.unzip(axes)
    shape = List.to_tuple(sizes ++ Tuple.to_list(shape))
    %{template | shape: shape, names: more_names ++ names, vectorized_axes: []}
  end

  defp plain(template), do: template

  defp port(%{shape: shape, type: type}), do: port(shape, Data.dtype(type))

  defp port(shape, dtype) do
    Runtime.ensure!()
    ref = shape |> Tuple.to_list() |> Native.buffer_temporary(dtype) |> Error.value!()
    %Buffer{ref: ref, shape: shape, dtype: dtype}
  end

  defp tensors(params, ports) do
    given = Map.new(params, fn {index, template} -> {index, Data.put(template, ports[index])} end)
    last = given |> Map.keys() |> Enum.max(fn -> -1 end)
    List.to_tuple(for index <- 0..last//1, do: given[index])
  end

  defp build(ports, stages, results) do
    written = MapSet.new(stages, fn {_kernel, _inputs, output, _params} -> output.ref end)
    params = Map.new(ports, fn {index, port} -> {port.ref, index} end)

    # A temporary buffer that is a result, once or several times, becomes a port as well.
    outputs =
      for %{data: %{content: %Buffer{ref: ref} = buffer}} <- results,
          MapSet.member?(written, ref),
          do: buffer

    outputs =
      for %Buffer{ref: ref} = buffer <- Enum.uniq_by(outputs, & &1.ref),
          do: {ref, port(buffer.shape, buffer.dtype)}

    places = outputs |> Enum.with_index() |> Map.new(fn {{ref, _port}, n} -> {ref, n} end)
    outputs_by_ref = Map.new(outputs)
    inputs = Enum.sort(Map.keys(ports))

    pipeline = pipeline(stages, outputs_by_ref)
    output_ports = Enum.map(outputs, fn {_ref, port} -> port.ref end)
    :ok = Native.pipeline_ports(pipeline.ref, Enum.map(inputs, &ports[&1].ref), output_ports)

    %__MODULE__{
      pipeline: pipeline,
      inputs: inputs,
      results: Enum.map(results, &{%{&1 | data: nil}, source(&1.data.content, places, params)})
    }
  end

  defp pipeline(stages, outputs) do
    swap = &Map.get(outputs, &1.ref, &1)

    Enum.reduce(stages, Pipeline.new(), fn {kernel, inputs, output, params}, pipeline ->
      inputs = Enum.map(inputs, swap)
      Pipeline.run_kernel(pipeline, kernel, inputs, swap.(output), params)
    end)
  end

  defp source(%Buffer{ref: ref} = buffer, places, params) do
    case {places, params} do
      {%{^ref => place}, _params} -> {:output, place}
      {_places, %{^ref => index}} -> {:param, index}
      _constant -> {:content, buffer}
    end
  end

  defp source(binary, _places, _params), do: {:content, binary}

  @doc """
  Submits the pipeline, and returns its results immediately. `param` returns a parameter by its index.
  """
  @spec run(t(), (non_neg_integer() -> Data.tensor())) :: [Data.tensor()]
  def run(%__MODULE__{} = plan, param) do
    params = Map.new(plan.inputs, &{&1, param.(&1)})
    inputs = Enum.map(plan.inputs, &Data.buffer(Map.fetch!(params, &1)).ref)
    Runtime.ensure!()
    Runtime.collect_if_grown()
    Watcher.monitor_caller()

    refs = Command.started!(fn -> call(plan, inputs) end)
    outputs = List.to_tuple(refs)

    {results, _used} =
      Enum.map_reduce(plan.results, %{}, fn {template, source}, used ->
        {result(template, source, outputs, params, used), Map.put(used, source, true)}
      end)

    results
  end

  defp call(%{pipeline: %{ref: ref}}, inputs) do
    with :lengthy <- Native.pipeline_call(ref, inputs),
         do: Native.pipeline_call_dirty(ref, inputs)
  end

  # Each result has a buffer of its own.
  defp result(%{shape: shape, type: type} = template, {:output, place} = source, outputs, _, used) do
    buffer = %Buffer{ref: elem(outputs, place), shape: shape, dtype: Data.dtype(type)}

    if is_map_key(used, source),
      do: Data.put_view(template, buffer),
      else: Data.put(template, buffer)
  end

  defp result(template, {:param, index}, _outputs, params, _used),
    do: copy(template, Data.content(Map.fetch!(params, index)))

  defp result(template, {:content, content}, _outputs, _params, _used),
    do: copy(template, content)

  defp copy(template, %Buffer{} = buffer), do: Data.put_view(template, buffer)
  defp copy(template, binary), do: Data.put(template, binary)
end
