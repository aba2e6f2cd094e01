defmodule Dala.ML.Models.Archive do
  @moduledoc false
  # Reads .tar.gz archives in chunks. Paths in an archive are only compared, never used: the caller
  # determines where each file is written. An archive that contains a path outside of it, a link or
  # a device is rejected as a whole, whether or not that entry is wanted.

  import Dala.ML.Models.Failure

  @chunk 65_536
  @block 512
  @most_entries 100_000
  @most_bytes 8 * 1024 * 1024 * 1024
  @longest_name 4096

  @type written :: %{to: Path.t(), bytes: non_neg_integer(), sha256: String.t()}

  @doc "Returns the paths of all files."
  @spec list(Path.t()) :: [String.t()]
  def list(archive) do
    archive
    |> each([], fn
      {path, _size}, paths, reader -> {[path | paths], reader}
    end)
    |> Enum.reverse()
  end

  @doc """
  Extracts files: `wanted` maps paths in the archive to output paths. Returns the written files by
  path in the archive, without those that the archive does not have.
  """
  @spec extract(Path.t(), %{String.t() => Path.t()}) :: %{String.t() => written()}
  def extract(archive, wanted) do
    each(archive, %{}, fn {path, size}, written, reader ->
      case wanted do
        %{^path => to} ->
          if is_map_key(written, path), do: bad!(archive, "it has #{inspect(path)} twice")
          {sha256, reader} = write(reader, size, to)
          {Map.put(written, path, %{to: to, bytes: size, sha256: sha256}), reader}

        _unwanted ->
          {written, reader}
      end
    end)
  end

  # Calls the function for each regular file, and skips the bytes it does not read.
  defp each(archive, acc, function) do
    device = archive |> File.open([:read, :raw, :binary]) |> file!("read", archive)
    z = :zlib.open()

    try do
      :ok = :zlib.inflateInit(z, 31, :reset)
      reader = %{archive: archive, device: device, z: z, buffer: "", more: nil, taken: 0}
      entries(reader, acc, function, 0, %{})
    after
      :zlib.close(z)
      File.close(device)
    end
  end

  defp entries(_reader, _acc, _function, @most_entries, _next) do
    fail!(:invalid_archive, "the archive has more than #{@most_entries} entries")
  end

  defp entries(reader, acc, function, count, next) do
    case header(reader) do
      {:end, reader} ->
        complete!(reader)
        acc

      {%{type: type, size: size} = header, reader} when type in [?x, ?L] ->
        if size > @longest_name * 16, do: bad!(reader.archive, "it has a name that is too long")
        {body, reader} = take!(reader, size)
        reader = skip!(reader, padding(size))
        next = Map.merge(next, extended(header, body, reader.archive))
        entries(reader, acc, function, count + 1, next)

      {%{type: ?g, size: size}, reader} ->
        entries(skip!(reader, size + padding(size)), acc, function, count + 1, next)

      {header, reader} ->
        header = Map.merge(header, next)
        check_path!(header.path, reader.archive)
        check_kind!(header, reader.archive)
        {acc, reader} = entry(header, reader, acc, function)
        entries(reader, acc, function, count + 1, %{})
    end
  end

  defp entry(%{type: type} = header, reader, acc, function) when type in [?0, 0] do
    from = reader.taken
    {acc, reader} = function.({header.path, header.size}, acc, reader)
    unread = header.size - (reader.taken - from)
    {acc, skip!(reader, unread + padding(header.size))}
  end

  defp entry(_folder, reader, acc, _function), do: {acc, reader}

  # A block of zeros marks the end.
  defp header(reader) do
    case take(reader, @block) do
      {<<0::unit(8)-size(@block)>>, reader} -> {:end, reader}
      {<<block::binary-size(@block)>>, reader} -> {parse(block, reader.archive), reader}
      {_short, reader} -> bad!(reader.archive, "it ends early")
    end
  end

  # Reads on to the checksum at the end of the compressed data.
  defp complete!(reader) do
    case inflate(%{reader | buffer: ""}) do
      {:more, %{buffer: rest} = reader} -> complete!(count!(reader, byte_size(rest)))
      {:end, %{z: z}} -> :zlib.inflateEnd(z)
    end
  rescue
    ErlangError -> bad!(reader.archive, "it ends early")
  end

  defp parse(block, archive) do
    <<name::binary-100, _mode_and_owner::binary-24, size::binary-12, _time::binary-12,
      checksum::binary-8, type, _link::binary-100, magic::binary-6, _version_and_names::binary-82,
      prefix::binary-155, _rest::binary>> = block

    <<before::binary-148, _::binary-8, rest::binary>> = block
    sum = for <<byte <- before <> "        " <> rest>>, reduce: 0, do: (sum -> sum + byte)
    unless number(checksum, archive) == sum, do: bad!(archive, "a header of it is damaged")

    prefix = if magic == "ustar\0", do: text(prefix), else: ""
    path = if prefix == "", do: text(name), else: prefix <> "/" <> text(name)
    %{path: path, size: size!(size, archive), type: type}
  end

  defp size!(field, archive) do
    size = number(field, archive)
    if size > @most_bytes, do: bad!(archive, "a file in it is too large")
    size
  end

  # Octal digits, or a number of 88 bits after the byte 128.
  defp number(<<128, number::unsigned-88>>, _archive), do: number

  defp number(field, archive) do
    case field |> text() |> String.trim() |> Integer.parse(8) do
      {number, ""} when number >= 0 -> number
      _other -> bad!(archive, "a header of it is damaged")
    end
  end

  defp text(field), do: field |> :binary.split(<<0>>) |> hd()

  defp padding(size), do: rem(@block - rem(size, @block), @block)

  # Metadata for the next entry: GNU's long name, or POSIX key-value pairs.
  defp extended(%{type: ?L}, body, _archive), do: %{path: text(body)}
  defp extended(%{type: ?x}, body, archive), do: pairs(body, %{}, archive)

  defp pairs("", found, _archive), do: found

  defp pairs(body, found, archive) do
    with {length, " " <> _rest = after_length} <- Integer.parse(body),
         digits = byte_size(body) - byte_size(after_length),
         true <- length > digits + 2 and length <= byte_size(body),
         <<_::binary-size(digits), " ", pair::binary-size(length - digits - 2), "\n",
           rest::binary>> <-
           body,
         [key, value] <- :binary.split(pair, "=") do
      found =
        case key do
          "path" -> Map.put(found, :path, value)
          "size" -> Map.put(found, :size, size_of_pair!(value, archive))
          "linkpath" -> Map.put(found, :type, ?2)
          _other -> found
        end

      pairs(rest, found, archive)
    else
      _other -> bad!(archive, "a header of it is damaged")
    end
  end

  defp size_of_pair!(value, archive) do
    case Integer.parse(value) do
      {size, ""} when size in 0..@most_bytes -> size
      _other -> bad!(archive, "a header of it is damaged")
    end
  end

  defp check_path!(path, archive) do
    parts = String.split(path, ["/", "\\"])

    if path == "" or byte_size(path) > @longest_name or not String.valid?(path) or ".." in parts or
         hd(parts) == "" or path =~ ~r/^[A-Za-z]:/ do
      bad!(archive, "the path #{inspect(path)} in it leads elsewhere")
    end
  end

  defp check_kind!(%{type: type}, _archive) when type in [?0, 0, ?5], do: :ok

  defp check_kind!(%{type: type, path: path}, archive) when type in [?1, ?2],
    do: bad!(archive, "#{inspect(path)} in it is a link")

  defp check_kind!(%{path: path}, archive),
    do: bad!(archive, "#{inspect(path)} in it is neither a file nor a folder")

  defp write(reader, size, to) do
    File.mkdir_p(Path.dirname(to)) |> file!("make", Path.dirname(to))
    device = to |> File.open([:write, :exclusive, :raw, :binary]) |> file!("write", to)

    try do
      {hash, reader} = copy(reader, size, device, to, :crypto.hash_init(:sha256))
      :file.sync(device) |> file!("write", to)
      {hash |> :crypto.hash_final() |> Base.encode16(case: :lower), reader}
    after
      File.close(device)
    end
  end

  defp copy(reader, 0, _device, _to, hash), do: {hash, reader}

  defp copy(reader, left, device, to, hash) do
    {bytes, reader} = take!(reader, min(left, @chunk))
    :file.write(device, bytes) |> file!("write", to)
    copy(reader, left - byte_size(bytes), device, to, :crypto.hash_update(hash, bytes))
  end

  defp skip!(reader, 0), do: reader

  defp skip!(reader, count) do
    {bytes, reader} = take!(reader, min(count, @chunk))
    skip!(reader, count - byte_size(bytes))
  end

  defp take!(reader, count) do
    case take(reader, count) do
      {<<bytes::binary-size(count)>>, reader} -> {bytes, reader}
      {_short, reader} -> bad!(reader.archive, "it ends early")
    end
  end

  # Returns that many bytes, or fewer at the end of the archive.
  defp take(%{buffer: buffer} = reader, count) when byte_size(buffer) >= count do
    <<bytes::binary-size(count), rest::binary>> = buffer
    {bytes, count!(%{reader | buffer: rest}, count)}
  end

  defp take(reader, count) do
    case inflate(reader) do
      {:more, reader} -> take(reader, count)
      {:end, reader} -> {reader.buffer, %{reader | buffer: ""}}
    end
  end

  defp count!(%{taken: taken} = reader, count) do
    if taken + count > @most_bytes, do: bad!(reader.archive, "it unpacks to more than 8 GiB")
    %{reader | taken: taken + count}
  end

  # safeInflate returns a bounded amount at a time, however large the output.
  defp inflate(%{more: nil} = reader) do
    case :file.read(reader.device, @chunk) do
      {:ok, bytes} -> inflated(reader, bytes)
      :eof -> {:end, reader}
      {:error, reason} -> file_failed!(reason, "read", reader.archive)
    end
  end

  defp inflate(reader), do: inflated(reader, [])

  defp inflated(reader, bytes) do
    {state, output} = :zlib.safeInflate(reader.z, bytes)
    more = if state == :continue, do: :more
    {:more, %{reader | buffer: IO.iodata_to_binary([reader.buffer | output]), more: more}}
  rescue
    ErlangError -> bad!(reader.archive, "it is not a gzip file, or it is damaged")
  end

  @spec bad!(Path.t(), String.t()) :: no_return()
  defp bad!(archive, why),
    do:
      fail!(:invalid_archive, "the archive #{Path.basename(archive)} is refused: #{why}", %{
        path: archive
      })
end
