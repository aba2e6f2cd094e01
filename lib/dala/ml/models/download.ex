defmodule Dala.ML.Models.Download do
  @moduledoc false
  # Downloads a file over https, or takes one from the disk, and verifies its SHA-256. Received
  # bytes are kept in the `.part` file, so that an interrupted download is resumed, in this call or
  # in the next one. A file with the wrong checksum is removed.
  #
  # Plain http is allowed for localhost only.

  import Dala.ML.Models.Failure

  alias Dala.Gpu.Compute.RegularFile
  alias Dala.ML.Models.Http

  @most_bytes 8 * 1024 * 1024 * 1024
  @attempts 3
  @chunk 1_048_576

  @type wanted :: %{address: String.t(), bytes: pos_integer() | nil, sha256: String.t()}

  @doc "Returns the path of the verified file: the part file, or the file of a `file:` URL."
  @spec fetch(wanted(), Path.t(), (term() -> any())) :: Path.t()
  def fetch(%{address: address} = wanted, part, report) do
    uri = URI.parse(address)

    cond do
      uri.scheme == "file" and uri.host in [nil, "", "localhost"] ->
        from_disk(wanted, URI.decode(uri.path || ""))

      uri.scheme == "https" or (uri.scheme == "http" and loopback?(uri.host)) ->
        from_network(wanted, part, report)

      true ->
        fail!(
          :invalid_param,
          "expected an https: or file: URL (http: only for localhost), got: #{address}"
        )
    end
  end

  @doc "Returns the SHA-256 of a file, and its size."
  @spec checksum(Path.t()) :: {String.t(), non_neg_integer()}
  def checksum(path) do
    {hash, bytes} = hash_file(path)
    {finish(hash), bytes}
  end

  @doc "Raises if a checksum is not the expected one."
  @spec check!(String.t(), String.t(), String.t()) :: :ok
  def check!(_what, sha256, sha256), do: :ok

  def check!(what, expected, got) do
    fail!(
      :checksum_mismatch,
      "#{what} has SHA-256 #{got}, expected #{expected}",
      %{expected: expected, got: got}
    )
  end

  defp loopback?(host), do: host in ["localhost", "127.0.0.1", "::1"]

  defp from_disk(wanted, path) do
    # Reading a pipe would block.
    with {:error, {:type, _type} = problem} <- RegularFile.size(path),
         do: fail!(:storage_error, "cannot read #{path}: #{RegularFile.explain(problem)}")

    {sha256, _bytes} = checksum(path)
    check!(path, wanted.sha256, sha256)
    path
  end

  defp from_network(wanted, part, report) do
    {hash, have} = if File.regular?(part), do: hash_file(part), else: {new_hash(), 0}
    have? = have > 0 and finish(hash) == wanted.sha256

    cond do
      have? -> part
      too_long?(wanted, have) -> part |> drop() |> start_over(wanted, report)
      true -> attempt(%{wanted: wanted, part: part, report: report, hash: hash, have: have}, 1)
    end
  end

  defp start_over(part, wanted, report) do
    attempt(%{wanted: wanted, part: part, report: report, hash: new_hash(), have: 0}, 1)
  end

  # A part file that has the full length but the wrong checksum is useless.
  defp too_long?(%{bytes: bytes}, have), do: is_integer(bytes) and have >= bytes

  # The attempts are counted anew after one that made progress.
  defp attempt(state, count) do
    device = state.part |> File.open([:append, :raw, :binary]) |> file!("write", state.part)
    {outcome, after_it} = transfer(state, device)
    progress? = after_it.have > state.have

    case outcome do
      :done ->
        finished(after_it)

      {:lost, _why} when progress? ->
        attempt(after_it, 1)

      {:lost, _why} when count < @attempts ->
        attempt(after_it, count + 1)

      {:lost, why} ->
        if after_it.have == 0, do: drop(state.part)

        fail!(
          :download_failed,
          "cannot download #{state.wanted.address}: #{why}#{kept(after_it.have)}",
          %{address: state.wanted.address, bytes: after_it.have}
        )
    end
  end

  defp kept(0), do: ""

  defp kept(have) do
    "; the #{Dala.Gpu.Compute.Bytes.format(have)} received so far are kept for the next attempt"
  end

  defp transfer(state, device) do
    start = fn total, offset -> begin(state, device, total, offset) end
    Http.get(state.wanted.address, state.have, state, start, &arrived(&1, &2, device))
  after
    File.close(device)
  end

  # The server may send the whole file instead of the requested range.
  defp begin(state, device, total, offset) do
    state = if offset == state.have, do: state, else: restart(state, device)
    total = state.wanted.bytes || total
    state.report.({:progress, state.have, total})
    Map.put(state, :total, total)
  end

  defp restart(state, device) do
    # The file is open for appending, so after truncation the next bytes go to its start.
    {:ok, 0} = :file.position(device, 0)
    :file.truncate(device) |> file!("write", state.part)
    %{state | have: 0, hash: new_hash()}
  end

  defp arrived(bytes, state, device) do
    have = state.have + byte_size(bytes)

    if have > (state.wanted.bytes || @most_bytes) do
      drop(state.part)

      fail!(
        :checksum_mismatch,
        "#{state.wanted.address} has more than the expected #{state.wanted.bytes || @most_bytes} bytes"
      )
    end

    with {:error, reason} <- :file.write(device, bytes) do
      # Removing the part file frees the space on a full disk.
      drop(state.part)
      file_failed!(reason, "write", state.part)
    end

    state.report.({:progress, have, state.total})
    %{state | have: have, hash: :crypto.hash_update(state.hash, bytes)}
  end

  defp finished(%{wanted: %{bytes: bytes}, have: have} = state)
       when is_integer(bytes) and have < bytes do
    fail!(
      :download_failed,
      "#{state.wanted.address} ended after #{have} of #{bytes} bytes, which are kept for the " <>
        "next attempt",
      %{address: state.wanted.address, bytes: have}
    )
  end

  defp finished(state) do
    sha256 = finish(state.hash)
    unless sha256 == state.wanted.sha256, do: drop(state.part)
    check!(state.wanted.address, state.wanted.sha256, sha256)
    state.part
  end

  defp drop(part) do
    File.rm(part)
    part
  end

  defp hash_file(path) do
    device = path |> File.open([:read, :raw, :binary]) |> file!("read", path)

    try do
      hash_rest(device, path, new_hash(), 0)
    after
      File.close(device)
    end
  end

  defp hash_rest(device, path, hash, bytes) do
    case :file.read(device, @chunk) do
      {:ok, data} ->
        hash_rest(device, path, :crypto.hash_update(hash, data), bytes + byte_size(data))

      :eof ->
        {hash, bytes}

      {:error, reason} ->
        file_failed!(reason, "read", path)
    end
  end

  defp new_hash, do: :crypto.hash_init(:sha256)
  defp finish(hash), do: hash |> :crypto.hash_final() |> Base.encode16(case: :lower)
end
