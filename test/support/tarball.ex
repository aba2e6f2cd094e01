defmodule Dala.Test.Tarball do
  @moduledoc false
  # Writes .tar.gz archives, also such as no honest program writes.

  @doc "Entries are `{path, content}`, or `{path, content, type}` with the type's character."
  def new(entries) do
    blocks = for entry <- entries, do: entry(entry)
    :zlib.gzip([blocks, <<0::unit(8)-size(1024)>>])
  end

  defp entry({path, content}), do: entry({path, content, ?0})

  defp entry({path, content, type}) do
    size = byte_size(content)
    padding = rem(512 - rem(size, 512), 512)
    [header(path, size, type), content, <<0::unit(8)-size(padding)>>]
  end

  defp header(path, size, type) do
    before = [
      pad(path, 100),
      "0000644\0" <> "0000000\0" <> "0000000\0",
      octal(size, 11) <> "\0",
      octal(0, 11) <> "\0"
    ]

    rest = [<<type>>, pad("target", 100), "ustar\0" <> "00", <<0::unit(8)-size(247)>>]
    block = IO.iodata_to_binary([before, "        ", rest])
    sum = for <<byte <- block>>, reduce: 0, do: (sum -> sum + byte)
    block = IO.iodata_to_binary([before, octal(sum, 6) <> "\0 ", rest])
    512 = byte_size(block)
    block
  end

  defp octal(number, digits),
    do: number |> Integer.to_string(8) |> String.pad_leading(digits, "0")

  defp pad(text, size) when byte_size(text) <= size,
    do: text <> :binary.copy(<<0>>, size - byte_size(text))
end
