defmodule Dala.ML.Batch do
  @moduledoc false
  # Runs a model on images, in one batch if its input accepts one, and splits the outputs by image.

  alias Dala.Gpu.Compute.{Buffer, Error}
  alias Dala.ML.{Gpu, Output}

  @doc """
  Returns the outputs for each image as a list of `{name, buffer}` in the model's order. `prepare`
  creates the f32 input of a list of images.
  """
  def run(model, pictures, prepare) do
    if one_by_one?(model, length(pictures)) do
      Enum.reduce_while(pictures, {:ok, []}, fn picture, {:ok, done} ->
        case predict(model, prepare.([picture])) do
          {:ok, outputs} -> {:cont, {:ok, [outputs | done]}}
          {:error, error} -> {:halt, {:error, error}}
        end
      end)
      |> then(&with({:ok, done} <- &1, do: {:ok, Enum.reverse(done)}))
    else
      with {:ok, outputs} <- predict(model, prepare.(pictures)),
           do: {:ok, split!(outputs, length(pictures))}
    end
  end

  defp one_by_one?(_model, 1), do: true

  defp one_by_one?(%{inputs: [%{shape: shape} | _]}, _count) when is_tuple(shape),
    do: elem(shape, 0) == 1

  defp one_by_one?(_model, _count), do: false

  defp predict(model, input) do
    with {:ok, outputs} <- Gpu.predict(model, as_taken(input, model)) do
      case {model.outputs, outputs} do
        {[port], output} -> {:ok, [{port.name, Output.real!(output, port)}]}
        {ports, outputs} -> {:ok, for(port <- ports, do: {port.name, real!(outputs, port)})}
      end
    end
  end

  defp real!(outputs, port), do: Output.real!(outputs[port.name], port)

  # Integer inputs are levels from 0 to 255; adding 0.5 before the truncating cast rounds. Inputs of
  # signed bytes are levels minus 128.
  defp as_taken(input, %{inputs: [%{dtype: dtype} = port | _]})
       when dtype in [:u8, :s32, :u32, :s64] do
    levels =
      :elementwise_add
      |> Output.with!(input, 0.5)
      |> then(&Output.run!(:cast, &1, &1.shape, dtype))

    if port[:type] == :i8, do: Output.with!(:elementwise_sub, levels, 128), else: levels
  end

  defp as_taken(input, _model), do: input

  defp split!(outputs, count) do
    parts = for {name, output} <- outputs, do: {name, parts!(name, output, count)}

    for index <- 0..(count - 1)//1,
        do: for({name, parts} <- parts, do: {name, Enum.at(parts, index)})
  end

  defp parts!(_name, %Buffer{shape: shape} = output, count)
       when tuple_size(shape) > 0 and elem(shape, 0) == count do
    bytes = Buffer.read(output)
    size = div(byte_size(bytes), count)
    shape = put_elem(shape, 0, 1)

    for index <- 0..(count - 1)//1,
        do: bytes |> binary_part(index * size, size) |> Buffer.from_binary(shape, output.dtype)
  end

  defp parts!(name, output, count) do
    raise %Error{
      reason: :shape_mismatch,
      message:
        "the output #{inspect(name)} has shape #{inspect(output.shape)}, expected #{count} as " <>
          "its first dimension; try one image at a time",
      details: %{}
    }
  end
end
