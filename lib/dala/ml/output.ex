defmodule Dala.ML.Output do
  @moduledoc false
  # Helpers of the decoders for model outputs. Outputs are read as f32 binaries; NaN and infinity
  # are not floats in Elixir, so they match no float pattern.

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Buffer, Error, NxBridge}

  @doc "Returns the buffer of an output, which is a buffer or an Nx tensor."
  def buffer!(%Buffer{} = buffer), do: buffer
  def buffer!(%{__struct__: Nx.Tensor} = tensor), do: NxBridge.from_nx(tensor)

  def buffer!(other) do
    raise ArgumentError, "expected a buffer or Nx tensor, got: #{inspect(other, limit: 5)}"
  end

  @doc "Returns all outputs as `{name, buffer}`, in order; outputs of a plain list have no names."
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
  Returns the output for a decoder: the one with the given name, or the only output, or the only one
  that fits. `wanted` describes the expected shape.
  """
  def one!(outputs, nil, wanted, fits?) do
    case named!(outputs) do
      [{_name, buffer}] ->
        buffer

      several ->
        case Enum.filter(several, fn {_name, buffer} -> fits?.(buffer) end) do
          [{_name, buffer}] ->
            buffer

          [] ->
            unfit!("no output has shape #{wanted}: #{list(several)}; select one with output:")

          fit ->
            unfit!("several outputs have shape #{wanted}: #{list(fit)}; select one with output:")
        end
    end
  end

  def one!(outputs, name, _wanted, _fits?) do
    several = named!(outputs)

    case List.keyfind(several, to_string(name), 0) do
      {_name, buffer} ->
        buffer

      nil ->
        raise ArgumentError,
              "the model has no output #{inspect(name)}; its outputs are #{list(several)}"
    end
  end

  @doc "Raises the error for outputs that do not match the task."
  def unfit!(message), do: raise(%Error{reason: :shape_mismatch, message: message, details: %{}})

  @doc ~s(Formats outputs for a message: "scores" {1, 10}, "boxes" {1, 10, 4})
  def list(named) do
    Enum.map_join(named, ", ", fn
      {nil, buffer} -> inspect(buffer.shape)
      {name, buffer} -> "#{inspect(name)} #{inspect(buffer.shape)}"
    end)
  end

  @doc "Returns an output as an f32 buffer."
  def f32!(output) do
    case buffer!(output) do
      %Buffer{dtype: :f32} = buffer -> buffer
      buffer -> run!(:cast, buffer, buffer.shape, :f32)
    end
  end

  @doc "Dequantizes the output of a quantized model."
  def real!(output, %{quantization: %{scale: scale, zero_point: zero_point}}) do
    shifted = with!(:elementwise_sub, f32!(output), zero_point)
    with!(:elementwise_mul, shifted, scale)
  end

  def real!(output, _port), do: output

  @doc "Runs a binary kernel on a buffer and a number."
  def with!(kernel, buffer, number) do
    output = Buffer.zeros(buffer.shape, buffer.dtype)

    case Compute.run_kernel(kernel, [buffer, Buffer.new([number], {1}, buffer.dtype)], output) do
      :ok -> output
      {:error, error} -> raise error
    end
  end

  @doc "Runs a kernel with one input into a new buffer."
  def run!(kernel, input, shape, dtype, params \\ %{}) do
    run_into!(kernel, input, Buffer.zeros(shape, dtype), params)
  end

  @doc "Runs a kernel with one input into a given buffer."
  def run_into!(kernel, input, output, params) do
    case Compute.run_kernel(kernel, [input], output, params) do
      :ok -> output
      {:error, error} -> raise error
    end
  end

  @doc "Returns the float at an index of an f32 binary, or nil if it is not finite."
  def at(binary, index) do
    case binary_part(binary, 4 * index, 4) do
      <<number::float-32-native>> -> number
      _no_number -> nil
    end
  end

  @doc "Raises the error for an output of an unexpected shape."
  def mismatch!(buffer, wanted) do
    raise %Error{
      reason: :shape_mismatch,
      message: "the output has shape #{inspect(buffer.shape)}, expected #{wanted}",
      details: %{}
    }
  end

  @doc "Returns the label of a class: its name if it has one, its index otherwise."
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

  @doc "Computes 1 / (1 + exp(-x)) without overflow."
  def sigmoid(x) when x >= 0, do: 1 / (1 + :math.exp(-min(x, 700.0)))

  def sigmoid(x) do
    e = :math.exp(max(x, -700.0))
    e / (1 + e)
  end
end
