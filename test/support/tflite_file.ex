defmodule Dala.Test.TfliteFile do
  @moduledoc false
  # Writes TFLite files for tests: flatbuffers by hand. Fields of tables are known by number; each
  # is {:raw, bytes}, {:table, fields}, {:tables, [fields]}, or {:vector, count, bytes}.

  @doc """
  A file of tensors, `{name, dims, type}` with `scale: {scale, zero_point}`, `data: bytes` and
  `variable: true` as options, known by their places in the list; and of operators, `{code, inputs, outputs, options}`.
  """
  def model(tensors, operators, inputs, outputs) do
    buffers = for {_, _, _, opts} <- tensors, data = opts[:data], do: %{0 => bytes(data)}

    {tables, _count} =
      Enum.map_reduce(tensors, 1, fn {name, dims, type, opts}, next ->
        buffer = if opts[:data], do: %{2 => {:raw, <<next::little-32>>}}, else: %{}
        {described(name, dims, type, opts, buffer), next + map_size(buffer)}
      end)

    codes = for {code, _, _, _} <- operators, do: %{0 => {:raw, <<code, 0, 0, 0>>}}

    nodes =
      for {{_code, from, to, options}, index} <- Enum.with_index(operators) do
        %{0 => {:raw, <<index::little-32>>}, 1 => integers(from), 2 => integers(to)}
        |> Map.put(4, {:table, options})
      end

    graph = %{0 => {:tables, tables}, 1 => integers(inputs), 2 => integers(outputs)}

    root = %{
      0 => {:raw, <<3::little-32>>},
      1 => {:tables, codes},
      2 => {:tables, [Map.put(graph, 3, {:tables, nodes})]},
      3 => bytes("dala tests"),
      4 => {:tables, [%{} | buffers]}
    }

    {written, at} = table(root, 8)
    <<at::little-32, "TFL3", written::binary>>
  end

  def integers(list), do: {:vector, length(list), for(n <- list, into: "", do: <<n::little-32>>)}

  defp bytes(bytes), do: {:vector, byte_size(bytes), bytes}

  defp described(name, dims, type, opts, buffer) do
    fields = %{0 => integers(dims), 1 => {:raw, <<type, 0, 0, 0>>}, 3 => bytes(name)}
    fields = if opts[:variable], do: Map.put(fields, 5, {:raw, <<1, 0, 0, 0>>}), else: fields

    case opts[:scale] do
      nil ->
        Map.merge(fields, buffer)

      {scale, zero_point} ->
        scales = {:vector, 1, <<scale::float-little-32>>}
        zeros = {:vector, 1, <<zero_point::little-64>>}
        fields |> Map.put(4, {:table, %{2 => scales, 3 => zeros}}) |> Map.merge(buffer)
    end
  end

  # The bytes of a table that starts at a place of the file, and where in the file it is: first the
  # places of its fields, then the fields, then all that they point to.
  defp table(fields, at) do
    count = if fields == %{}, do: 0, else: Enum.max(Map.keys(fields)) + 1
    list = 4 + 2 * count
    here = at + list
    sorted = Enum.sort(fields)

    {places, size} =
      Enum.map_reduce(sorted, 4, fn {field, value}, place ->
        {{field, place}, place + inline(value)}
      end)

    places = Map.new(places)
    slots = for field <- 0..(count - 1)//1, into: "", do: <<places[field] || 0::little-16>>

    {inside, behind} =
      Enum.reduce(sorted, {"", ""}, fn
        {_field, {:raw, raw}}, {inside, behind} ->
          {inside <> raw, behind}

        {field, value}, {inside, behind} ->
          {bytes, target} = pointed(value, here + size + byte_size(behind))
          {inside <> <<target - here - places[field]::little-32>>, behind <> bytes}
      end)

    {<<list::little-16, size::little-16>> <> slots <> <<list::little-32>> <> inside <> behind,
     here}
  end

  defp inline({:raw, raw}), do: byte_size(raw)
  defp inline(_pointer), do: 4

  defp pointed({:table, fields}, at), do: table(fields, at)
  defp pointed({:vector, count, bytes}, at), do: {<<count::little-32, bytes::binary>>, at}

  defp pointed({:tables, tables}, at) do
    first = at + 4
    behind = first + 4 * length(tables)

    {offsets, bytes, _end} =
      tables
      |> Enum.with_index()
      |> Enum.reduce({"", "", behind}, fn {fields, index}, {offsets, bytes, free} ->
        {written, target} = table(fields, free)
        offset = <<target - first - 4 * index::little-32>>
        {offsets <> offset, bytes <> written, free + byte_size(written)}
      end)

    {<<length(tables)::little-32>> <> offsets <> bytes, at}
  end
end
