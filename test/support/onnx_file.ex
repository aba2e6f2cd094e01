defmodule Dala.Test.OnnxFile do
  @moduledoc false
  # Writes small ONNX files, byte by byte as protocol buffers, so that tests need nothing else.

  import Bitwise

  @types %{f32: 1, u8: 2, i8: 3, i32: 6, i64: 7, bool: 9, f16: 10, f64: 11}

  @doc "A model of nodes, with inputs and outputs as {name, type, dims} and constants by name."
  def model(nodes, inputs, outputs, opts \\ []) do
    constants =
      for {name, tensor} <- Keyword.get(opts, :constants, []), do: {5, tensor(name, tensor)}

    graph =
      message(
        Enum.map(nodes, &{1, node_proto(&1)}) ++
          [{2, "graph"}] ++
          constants ++
          Enum.map(inputs, &{11, value_info(&1)}) ++ Enum.map(outputs, &{12, value_info(&1)})
      )

    opset = message([{1, ""}, {2, Keyword.get(opts, :opset, 17)}])
    message([{1, 8}, {2, "dala tests"}, {7, graph}, {8, opset}])
  end

  # {op, inputs, outputs} or {op, inputs, outputs, attributes}
  defp node_proto({op, inputs, outputs}), do: node_proto({op, inputs, outputs, []})

  defp node_proto({op, inputs, outputs, attributes}) do
    message(
      Enum.map(inputs, &{1, &1}) ++
        Enum.map(outputs, &{2, &1}) ++
        [{3, "#{op}_#{hd(outputs)}"}, {4, op}] ++ Enum.map(attributes, &{5, attribute(&1)})
    )
  end

  defp attribute({name, value}) when is_integer(value),
    do: message([{1, to_string(name)}, {3, value}, {20, 2}])

  defp attribute({name, value}) when is_float(value),
    do: message([{1, to_string(name)}, {2, {:float, value}}, {20, 1}])

  defp attribute({name, value}) when is_binary(value),
    do: message([{1, to_string(name)}, {4, value}, {20, 3}])

  defp attribute({name, values}) when is_list(values),
    do: message([{1, to_string(name)}] ++ Enum.map(values, &{8, &1}) ++ [{20, 7}])

  defp value_info({name, type, dims}) do
    dims = for dim <- dims, do: {1, message([if(is_integer(dim), do: {1, dim}, else: {2, dim})])}

    tensor = message([{1, Map.fetch!(@types, type)}, {2, message(dims)}])
    message([{1, name}, {2, message([{1, tensor}])}])
  end

  # {type, dims, bytes}
  defp tensor(name, {type, dims, bytes}) do
    message(Enum.map(dims, &{1, &1}) ++ [{2, Map.fetch!(@types, type)}, {8, name}, {9, bytes}])
  end

  defp message(fields), do: for({number, value} <- fields, into: <<>>, do: field(number, value))

  defp field(number, value) when is_integer(value),
    do: varint(number <<< 3) <> varint(value &&& 0xFFFFFFFFFFFFFFFF)

  defp field(number, {:float, value}),
    do: varint(number <<< 3 ||| 5) <> <<value::float-32-little>>

  defp field(number, bytes) when is_binary(bytes),
    do: varint(number <<< 3 ||| 2) <> varint(byte_size(bytes)) <> bytes

  defp varint(value) when value < 0x80, do: <<value>>
  defp varint(value), do: <<(value &&& 0x7F) ||| 0x80, varint(value >>> 7)::binary>>
end
