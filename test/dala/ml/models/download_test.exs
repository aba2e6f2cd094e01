defmodule Dala.ML.Models.DownloadTest do
  use ExUnit.Case, async: true

  import Dala.Test.GpuCase, only: [assert_raises: 3, scratch_dir: 1]

  alias Dala.ML.Models.Download
  alias Dala.Test.FileServer

  @content :binary.copy("what a model weighs ", 20_000)
  @sha256 Base.encode16(:crypto.hash(:sha256, @content), case: :lower)
  @size byte_size(@content)

  setup do
    %{part: Path.join(scratch_dir("download"), "model.part")}
  end

  defp fetch(server, part, opts \\ []) do
    test = self()
    address = server <> "/models/a.onnx"
    wanted = Map.merge(%{address: address, bytes: @size, sha256: @sha256}, Map.new(opts))
    Download.fetch(wanted, part, &send(test, &1))
  end

  test "a file, with its progress", %{part: part} do
    server = FileServer.start(@content, [:serve])
    assert fetch(server, part) == part
    assert File.read!(part) == @content
    assert_received {:request, "/models/a.onnx", nil}
    assert_received {:progress, 0, @size}
    assert_received {:progress, @size, @size}
    # The next call finds the file.
    assert fetch(server, part) == part
    refute_received {:request, _path, _from}
  end

  test "a connection that is cut repeatedly is resumed", %{part: part} do
    cuts = for size <- [0, 70_000, 100_000, 50_000], do: {:cut, size}
    server = FileServer.start(@content, cuts ++ [:serve])
    assert fetch(server, part) == part
    assert File.read!(part) == @content
    starts = for _ <- 1..5, do: receive(do: ({:request, _path, from} -> from))
    # The last bytes before a cut may be lost.
    assert [nil, nil | later] = starts
    assert later == Enum.sort(later) and hd(later) > 0
  end

  test "received bytes are kept for the next call", %{part: part} do
    server = FileServer.start(@content, [{:cut, 123_456}, {:status, 503}])

    error =
      assert_raises(
        :download_failed,
        ["the server answers 503 No", "; the 120.6 KiB received so far are kept"],
        fn -> fetch(server, part) end
      )

    assert error.details.bytes == 123_456
    assert File.stat!(part).size == 123_456
    assert fetch(FileServer.start(@content, [:serve]), part) == part
    assert File.read!(part) == @content
  end

  test "a server without range support starts over", %{part: part} do
    server = FileServer.start(@content, [{:cut, 50_000}, :whole])
    assert fetch(server, part) == part
    assert File.read!(part) == @content
    # Also without knowing the size.
    File.write!(part, "something else, shorter")
    assert fetch(server, part, bytes: nil) == part
    assert File.read!(part) == @content
  end

  test "wrong content is rejected and removed", %{part: part} do
    wrong = String.replace(@content, "model", "xxxxx")

    for bytes <- [@size, nil] do
      assert_raises(
        :checksum_mismatch,
        ["/models/a.onnx has SHA-256 ", @sha256],
        fn ->
          fetch(FileServer.start(wrong, [:serve]), part, bytes: bytes)
        end
      )

      refute File.exists?(part)
    end

    # The start of a wrong file, and the rest of the right one.
    File.write!(part, binary_part(wrong, 0, 1000))
    server = FileServer.start(@content, [:serve])
    assert_raises(:checksum_mismatch, "has SHA-256", fn -> fetch(server, part) end)
    assert fetch(server, part) == part
    assert File.read!(part) == @content
  end

  test "a download that is too long is aborted", %{part: part} do
    server = FileServer.start(@content <> "more", [:serve])

    assert_raises(:checksum_mismatch, "has more than the expected #{@size} bytes", fn ->
      fetch(server, part)
    end)

    refute File.exists?(part)
  end

  test "a download that is too short", %{part: part} do
    server = FileServer.start(@content, [{:short, 1000}])

    assert_raises(:download_failed, "ended after 1000 of #{@size} bytes", fn ->
      fetch(server, part)
    end)
  end

  test "a limited number of redirects is followed", %{part: part} do
    target = FileServer.start(@content, [:serve])
    server = FileServer.start("", [{:redirect, target <> "/there"}])
    assert fetch(server, part) == part
    assert_received {:request, "/models/a.onnx", nil}
    assert_received {:request, "/there", nil}

    File.rm!(part)
    round = FileServer.start("", [{:redirect, "/models/b.onnx"}])
    assert_raises(:download_failed, "it redirects too often", fn -> fetch(round, part) end)
  end

  test "no server, no such file", %{part: part} do
    {:ok, socket} = :gen_tcp.listen(0, [])
    {:ok, port} = :inet.port(socket)
    :gen_tcp.close(socket)

    assert_raises(:download_failed, "no connection: connection refused", fn ->
      fetch("http://127.0.0.1:#{port}", part)
    end)

    assert_raises(:download_failed, "the server answers 404 No", fn ->
      fetch(FileServer.start("", [{:status, 404}]), part)
    end)

    refute File.exists?(part)
  end

  @tag :capture_log
  test "an untrusted certificate is refused", %{part: part} do
    {:ok, _apps} = Application.ensure_all_started(:ssl)

    key = [digest: :sha256, key: {:namedCurve, :secp256r1}]
    chain = %{root: key, intermediates: [], peer: key}
    data = :public_key.pkix_test_data(%{server_chain: chain, client_chain: chain})

    {:ok, socket} = :ssl.listen(0, data.server_config ++ [ip: {127, 0, 0, 1}, reuseaddr: true])

    {:ok, {_ip, port}} = :ssl.sockname(socket)

    pid =
      spawn_link(fn ->
        for _attempt <- Stream.cycle([1]) do
          {:ok, client} = :ssl.transport_accept(socket)
          :ssl.handshake(client)
        end
      end)

    assert_raises(:download_failed, ["no secure connection: ", "Unknown CA"], fn ->
      fetch("https://localhost:#{port}", part)
    end)

    Process.unlink(pid)
    Process.exit(pid, :kill)
  end

  test "local files, and no other schemes", %{part: part} do
    path = part <> " a.onnx"
    File.write!(path, @content)
    wanted = %{address: "file://" <> URI.encode(path), bytes: nil, sha256: @sha256}
    assert Download.fetch(wanted, part, fn _event -> :ok end) == path
    refute File.exists?(part)

    for address <- [
          "http://example.com/a.onnx",
          "ftp://example.com/a",
          "file://other/a",
          "a.onnx"
        ] do
      assert_raises(:invalid_param, "expected an https: or file: URL", fn ->
        Download.fetch(%{wanted | address: address}, part, fn _event -> :ok end)
      end)
    end
  end

  if File.exists?("/dev/full") do
    test "a full disk", %{part: part} do
      File.ln_s!("/dev/full", part)

      assert_raises(
        :storage_error,
        ["cannot write #{part}: no space left on device; free some space"],
        fn -> fetch(FileServer.start(@content, [:serve]), part) end
      )

      refute File.exists?(part)
    end
  end
end
