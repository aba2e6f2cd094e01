defmodule Dala.Gpu.Compute.Pipeline.Stage do
  @moduledoc false
  # Stages as `Pipeline.add/2` takes them, checked as far as that is possible without the device.

  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Remote}

  @keys [:op, :kernel, :inputs, :output, :params, :name]

  @doc """
  Replaces buffers by their references and leaves anything invalid for `Pipeline.run/2` to report.
  """
  @spec new!(term()) :: map()
  def new!(spec) when is_map(spec) and not is_struct(spec) do
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
        |> put_name(Map.get(spec, :name))

      # The stage itself is discarded.
      problem ->
        %{op: nil, kernel: nil, inputs: [], output: nil, params: %{}, problem: problem}
    end
  end

  def new!(other) do
    raise ArgumentError, "expected a stage as a map, got: #{Argument.show(other)}"
  end

  defp put_name(stage, nil), do: stage
  defp put_name(stage, name), do: Map.put(stage, :name, Command.kernel!(name))

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
  defp large?(%Remote{}, _depth), do: false
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

  # A pipeline is on the device of this VM.
  defp refs(%Buffer{ref: %Remote{} = remote}), do: raise(Remote.not_here(remote))
  defp refs(%Remote{} = remote), do: raise(Remote.not_here(remote))
  defp refs(%Buffer{ref: ref}), do: ref
  defp refs(list) when length(list) >= 0, do: Enum.map(list, &refs/1)
  defp refs(other), do: other

  defp params(params), do: if(Keyword.keyword?(params), do: Map.new(params), else: params)
end
