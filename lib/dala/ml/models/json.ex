defmodule Dala.ML.Models.Json do
  @moduledoc false
  # JSON for receipts and the weight lists of TF.js models: OTP 25 has no module for it. Objects are
  # maps with string keys. The input is not trusted, so nesting is limited and anything unexpected
  # is `:error`.

  @depth 64

  @doc "Encodes a value, indented and with sorted keys."
  @spec encode(term()) :: String.t()
  def encode(value), do: IO.iodata_to_binary([write(value, ""), "\n"])

  @doc "Decodes a value."
  @spec decode(binary()) :: {:ok, term()} | :error
  def decode(text) when is_binary(text) do
    with {value, rest} <- value(space(text), @depth), "" <- space(rest) do
      {:ok, value}
    else
      _unexpected -> :error
    end
  catch
    :unexpected -> :error
  end

  defp write(map, indent) when is_map(map) do
    members =
      for {key, value} <- Enum.sort(map) do
        ["\n", indent, "  ", write(to_string(key), ""), ": ", write(value, indent <> "  ")]
      end

    ["{", Enum.intersperse(members, ","), "\n", indent, "}"]
  end

  defp write(list, indent) when is_list(list) do
    items = for item <- list, do: ["\n", indent, "  ", write(item, indent <> "  ")]
    ["[", Enum.intersperse(items, ","), "\n", indent, "]"]
  end

  defp write(nil, _indent), do: "null"
  defp write(flag, _indent) when is_boolean(flag), do: to_string(flag)
  defp write(number, _indent) when is_number(number), do: to_string(number)
  defp write(name, indent) when is_atom(name), do: write(Atom.to_string(name), indent)

  defp write(text, _indent) when is_binary(text),
    do: [?", for(<<char::utf8 <- text>>, do: escape(char)), ?"]

  defp escape(?"), do: "\\\""
  defp escape(?\\), do: "\\\\"
  defp escape(?\n), do: "\\n"

  defp escape(char) when char < 32,
    do: ["\\u", char |> Integer.to_string(16) |> String.pad_leading(4, "0")]

  defp escape(char), do: <<char::utf8>>

  defp value(_text, 0), do: throw(:unexpected)
  defp value("{" <> rest, depth), do: object(space(rest), %{}, depth - 1)
  defp value("[" <> rest, depth), do: array(space(rest), [], depth - 1)
  defp value("\"" <> rest, _depth), do: string(rest, [])
  defp value("true" <> rest, _depth), do: {true, rest}
  defp value("false" <> rest, _depth), do: {false, rest}
  defp value("null" <> rest, _depth), do: {nil, rest}

  defp value(text, _depth) do
    case Regex.run(~r/\A-?\d+(\.\d+)?([eE][+-]?\d+)?/, text) do
      [integer] -> {String.to_integer(integer), after_number(text, integer)}
      [number | _parts] -> {float(number), after_number(text, number)}
      nil -> throw(:unexpected)
    end
  end

  defp after_number(text, number),
    do: binary_part(text, byte_size(number), byte_size(text) - byte_size(number))

  # Float.parse/1 requires a decimal point, and raises outside the range of a double.
  defp float(number) do
    number = if number =~ ".", do: number, else: String.replace(number, ~r/e/i, ".0e")

    case Float.parse(number) do
      {float, ""} -> float
      _other -> throw(:unexpected)
    end
  rescue
    ArgumentError -> throw(:unexpected)
  end

  defp object("}" <> rest, members, _depth), do: {members, rest}

  defp object("\"" <> rest, members, depth) do
    {key, rest} = string(rest, [])

    with ":" <> rest <- space(rest) do
      {value, rest} = value(space(rest), depth)
      members = Map.put(members, key, value)

      case space(rest) do
        "," <> rest -> more_members(space(rest), members, depth)
        "}" <> rest -> {members, rest}
        _other -> throw(:unexpected)
      end
    else
      _other -> throw(:unexpected)
    end
  end

  defp object(_other, _members, _depth), do: throw(:unexpected)

  defp more_members("\"" <> _rest = text, members, depth), do: object(text, members, depth)
  defp more_members(_other, _members, _depth), do: throw(:unexpected)

  defp array("]" <> rest, [], _depth), do: {[], rest}

  defp array(text, items, depth) do
    {item, rest} = value(text, depth)

    case space(rest) do
      "," <> rest -> array(space(rest), [item | items], depth)
      "]" <> rest -> {Enum.reverse([item | items]), rest}
      _other -> throw(:unexpected)
    end
  end

  defp string("\"" <> rest, parts), do: {parts |> Enum.reverse() |> IO.iodata_to_binary(), rest}

  defp string("\\u" <> <<hex::binary-4, rest::binary>>, parts) do
    case {code(hex), rest} do
      {high, "\\u" <> <<hex::binary-4, rest::binary>>} when high in 0xD800..0xDBFF ->
        pair(high, code(hex), rest, parts)

      {code, _rest} when code in 0xD800..0xDFFF ->
        throw(:unexpected)

      {code, rest} ->
        string(rest, [<<code::utf8>> | parts])
    end
  end

  defp string(<<?\\, char, rest::binary>>, parts) do
    case char do
      char when char in [?", ?\\, ?/] -> string(rest, [char | parts])
      ?n -> string(rest, [?\n | parts])
      ?t -> string(rest, [?\t | parts])
      ?r -> string(rest, [?\r | parts])
      ?b -> string(rest, [?\b | parts])
      ?f -> string(rest, [?\f | parts])
      _other -> throw(:unexpected)
    end
  end

  defp string(<<char::utf8, rest::binary>>, parts) when char >= 32,
    do: string(rest, [<<char::utf8>> | parts])

  defp string(_other, _parts), do: throw(:unexpected)

  defp pair(high, low, rest, parts) when low in 0xDC00..0xDFFF do
    code = 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00)
    string(rest, [<<code::utf8>> | parts])
  end

  defp pair(_high, _low, _rest, _parts), do: throw(:unexpected)

  defp code(hex) do
    case Integer.parse(hex, 16) do
      {code, ""} when code >= 0 -> code
      _other -> throw(:unexpected)
    end
  end

  defp space(<<char, rest::binary>>) when char in [?\s, ?\t, ?\n, ?\r], do: space(rest)
  defp space(rest), do: rest
end
