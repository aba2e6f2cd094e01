defmodule Dala.Test.PngFile do
  @moduledoc false
  # Writes PNG files for tests, also such as no honest program writes.

  @doc "A PNG file of transparent black pixels, with additional chunks after its header."
  def zeros(width, height, chunks \\ []) do
    # Rows are compressed one by one, so that a large image takes little memory here.
    stream = :zlib.open()
    :ok = :zlib.deflateInit(stream, 9)
    row = :binary.copy(<<0>>, 1 + width * 4)
    rows = for _ <- 1..height, do: :zlib.deflate(stream, row)
    pixels = [rows | :zlib.deflate(stream, "", :finish)]
    :ok = :zlib.deflateEnd(stream)
    :zlib.close(stream)

    IO.iodata_to_binary([
      <<0x89, "PNG\r\n", 0x1A, "\n">>,
      chunk("IHDR", <<width::32, height::32, 8, 6, 0, 0, 0>>),
      for({name, content} <- chunks, do: chunk(name, content)),
      chunk("IDAT", IO.iodata_to_binary(pixels)),
      chunk("IEND", "")
    ])
  end

  defp chunk(name, content),
    do: [<<byte_size(content)::32>>, name, content, <<:erlang.crc32([name, content])::32>>]
end
