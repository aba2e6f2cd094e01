defmodule Bench.Json do
  # Writes JSON; OTP has no module for it yet, and no package is needed for this little.

  def encode(map) when is_map(map) and not is_struct(map) do
    "{" <>
      Enum.map_join(Enum.sort(map), ",", fn {key, value} ->
        encode(to_string(key)) <> ":" <> encode(value)
      end) <> "}"
  end

  def encode(list) when is_list(list), do: "[" <> Enum.map_join(list, ",\n", &encode/1) <> "]"
  def encode(nil), do: "null"
  def encode(flag) when is_boolean(flag), do: to_string(flag)
  def encode(name) when is_atom(name), do: encode(to_string(name))
  def encode(number) when is_number(number), do: to_string(number)

  def encode(text) when is_binary(text) do
    escaped = for <<char::utf8 <- text>>, into: "", do: escape(char)
    "\"" <> escaped <> "\""
  end

  defp escape(?"), do: "\\\""
  defp escape(?\\), do: "\\\\"
  defp escape(char) when char < 32, do: " "
  defp escape(char), do: <<char::utf8>>
end
