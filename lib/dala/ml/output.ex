defmodule Dala.ML.Output do
  @moduledoc false
  # Outputs of models, as what the decoders read them: f32 binaries, in which NaN and infinity are
  # not floats for Elixir and so match no float pattern.

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Buffer, Error, NxBridge}

  @doc "Gives the buffer of an output, whichever it is."
  def buffer!(%Buffer{} = buffer), do: buffer
  def buffer!(%{__struct__: Nx.Tensor} = tensor), do: NxBridge.from_nx(tensor)

  def buffer!(other) do
    raise ArgumentError, "expected a buffer or Nx tensor, got: #{inspect(other, limit: 5)}"
  end

  @doc "Gives all outputs as `{name, buffer}`, in the order they came in; a list has no names."
  def named!(outputs) when is_map(outputs) and not is_struct(outputs),
    do: for({name, output} <- outputs, do: {to_string(name), buffer!(output)})

  def named!(outputs) when is_list(outputs) do
    for output <- outputs do
      case output do
        {name, output} -> {to_string(name), buffer!(output)}
        output -> {nil, buffer!(output)}
      end
    end
  end

  def named!(output), do: [{nil, buffer!(output)}]

  @doc """
  Gives the one output that a decoder reads: that of the name, or the only one there is, or the only
  one that fits. `wanted` says what fits means.
  """
  def one!(outputs, nil, wanted, fits?) do
    case named!(outputs) do
      [{_name, buffer}] ->
        buffer

      several ->
        case Enum.filter(several, fn {_name, buffer} -> fits?.(buffer) end) do
          [{_name, buffer}] -> buffer
          [] -> unfit!("none of the outputs is #{wanted}: #{list(several)}; output: names one")
          fit -> unfit!("several outputs are #{wanted}: #{list(fit)}; output: names one")
        end
    end
  end

  def one!(outputs, name, _wanted, _fits?) do
    several = named!(outputs)

    case List.keyfind(several, to_string(name), 0) do
      {_name, buffer} ->
        buffer

      nil ->
        raise ArgumentError, "there is no output #{inspect(name)}, there is #{list(several)}"
    end
  end

  @doc "Raises that outputs are not those of the task."
  def unfit!(message), do: raise(%Error{reason: :shape_mismatch, message: message, details: %{}})

  @doc ~s(Lists outputs for people: "scores" {1, 10}, "boxes" {1, 10, 4})
  def list(named) do
    Enum.map_join(named, ", ", fn
      {nil, buffer} -> inspect(buffer.shape)
      {name, buffer} -> "#{inspect(name)} #{inspect(buffer.shape)}"
    end)
  end

  @doc "Gives the same as f32."
  def f32!(output) do
    case buffer!(output) do
      %Buffer{dtype: :f32} = buffer -> buffer
      buffer -> run!(:cast, buffer, buffer.shape, :f32)
    end
  end

  @doc "Gives the real numbers that the integers of a quantized model's output stand for."
  def real!(output, %{quantization: %{scale: scale, zero_point: zero_point}}) do
    shifted = with!(:elementwise_sub, f32!(output), zero_point)
    with!(:elementwise_mul, shifted, scale)
  end

  def real!(output, _port), do: output

  @doc "Runs a kernel of two on a buffer and one number."
  def with!(kernel, buffer, number) do
    output = Buffer.zeros(buffer.shape, buffer.dtype)

    case Compute.run_kernel(kernel, [buffer, Buffer.new([number], {1}, buffer.dtype)], output) do
      :ok -> output
      {:error, error} -> raise error
    end
  end

  @doc "Runs a kernel with one input into a buffer of its own."
  def run!(kernel, input, shape, dtype, params \\ %{}) do
    run_into!(kernel, input, Buffer.zeros(shape, dtype), params)
  end

  @doc "The same into a buffer that is there."
  def run_into!(kernel, input, output, params) do
    case Compute.run_kernel(kernel, [input], output, params) do
      :ok -> output
      {:error, error} -> raise error
    end
  end

  @doc "The float at a place of an f32 binary, or nil for what is none."
  def at(binary, index) do
    case binary_part(binary, 4 * index, 4) do
      <<number::float-32-native>> -> number
      _no_number -> nil
    end
  end

  @doc "Raises what an output should have looked like."
  def mismatch!(buffer, wanted) do
    raise %Error{
      reason: :shape_mismatch,
      message: "the output has shape #{inspect(buffer.shape)}, expected #{wanted}",
      details: %{}
    }
  end

  @doc "The label of a class: its name where there is one, its index otherwise."
  def label(nil, index), do: index
  def label(labels, index) when index < tuple_size(labels), do: elem(labels, index)
  def label(_labels, index), do: index

  @doc "Checks a list of labels."
  def labels!(nil), do: nil
  def labels!(labels) when is_list(labels), do: List.to_tuple(labels)

  def labels!(other) do
    raise ArgumentError, "expected labels: to be a list, got: #{inspect(other, limit: 5)}"
  end

  @doc "Checks a number between 0 and 1."
  def share!(_name, number) when is_number(number) and number >= 0 and number <= 1, do: number

  def share!(name, other) do
    raise ArgumentError, "expected #{name}: to be from 0 to 1, got: #{inspect(other)}"
  end

  @doc "Checks a positive integer."
  def count!(_name, count) when is_integer(count) and count > 0, do: count

  def count!(name, other) do
    raise ArgumentError, "expected #{name}: to be a positive integer, got: #{inspect(other)}"
  end

  @doc "Checks one of several atoms."
  def choice!(name, choice, choices) do
    if choice in choices do
      choice
    else
      raise ArgumentError,
            "expected #{name}: to be #{Enum.map_join(choices, " or ", &inspect/1)}, got: " <>
              inspect(choice)
    end
  end

  @doc "1 / (1 + exp(-x)), also where exp would be too large."
  def sigmoid(x) when x >= 0, do: 1 / (1 + :math.exp(-min(x, 700.0)))

  def sigmoid(x) do
    e = :math.exp(max(x, -700.0))
    e / (1 + e)
  end
end
