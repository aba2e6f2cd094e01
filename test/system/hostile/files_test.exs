defmodule Dala.System.Hostile.FilesTest do
  # Files and servers that mean no good: an error with a sentence, soon, and with little memory.
  use Dala.Test.GpuCase, async: false

  alias Dala.Media.{Image, Lut}
  alias Dala.ML.Models.Download
  alias Dala.Test.{ChildVM, FileServer, PngFile}

  @moduletag timeout: 300_000

  # The most that this VM has used since a call began, in bytes.
  defp growth(function) do
    before = :erlang.memory(:total)
    test = self()

    watcher =
      spawn_link(fn ->
        watch = fn watch, most ->
          receive do
            :stop -> send(test, {:most, most})
          after
            1 -> watch.(watch, max(most, :erlang.memory(:total)))
          end
        end

        watch.(watch, 0)
      end)

    result = function.()
    send(watcher, :stop)
    assert_receive {:most, most}, 10_000
    {result, most - before}
  end

  defp soon(function) do
    {micros, result} = :timer.tc(function)
    assert micros < 20_000_000
    result
  end

  describe ".cube" do
    test "numbers of very many digits" do
      digits = String.duplicate("1", 200_000)

      for {text, message} <- [
            {"LUT_1D_SIZE 2\n0 0 #{digits}\n",
             ~r/^line 2 of the .cube file is "0 0 1{56}", expected a line of at most 1024 bytes$/},
            {"LUT_1D_SIZE #{digits}\n", ~r/expected a line of at most 1024 bytes$/},
            {"LUT_1D_SIZE 2\n0 0 #{String.duplicate("1", 900)}\n", ~r/expected three numbers$/},
            {"LUT_1D_SIZE 2\n0 0 #{String.duplicate("9", 50)}e300\n",
             ~r/expected three numbers$/},
            {"LUT_1D_SIZE 2\n0 0 1e999999999\n", ~r/expected three numbers$/},
            {"LUT_1D_SIZE #{String.duplicate("9", 900)}\n", ~r/expected a size from 2 to 65536$/}
          ] do
        error = soon(fn -> assert_error(Lut.parse(text), :invalid_param) end)
        assert error.message =~ message
        assert byte_size(error.message) < 300
      end
    end

    test "invalid sizes and numbers" do
      for size <- ["1000000000", "-5", "0", "1", "1e9", "nan", "2.0", ""] do
        assert_error(Lut.parse("LUT_3D_SIZE #{size}\n"), :invalid_param, "a size from 2 to 256")
      end

      for number <- ["nan", "inf", "-inf", "NaN", "0x1", "1e39", "-1e39", "1,5", "--1", <<255>>] do
        text = "LUT_1D_SIZE 2\n0 0 #{number}\n"
        assert_error(Lut.parse(text), :invalid_param, "expected three numbers")
      end

      assert_error(
        Lut.parse("LUT_1D_SIZE 2\nDOMAIN_MIN 0 0 0\nDOMAIN_MAX 0 1 1\n0 0 0\n1 1 1"),
        :invalid_param,
        "is not above its DOMAIN_MIN"
      )
    end

    test "endless lines, and too many lines" do
      for {text, message} <- [
            {:binary.copy("1", 100_000_000), "a line of at most 1024 bytes"},
            {"# " <> :binary.copy("x", 100_000_000), "a line of at most 1024 bytes"},
            {:binary.copy("\n", 50_000_000), "more than 100000 lines that are not entries"},
            {:binary.copy("# no\r\n", 10_000_000), "more than 100000 lines that are not entries"},
            {"LUT_1D_SIZE 2\n" <> :binary.copy("0 0 0\n", 10_000_000), "no more than 2 entries"},
            {:binary.copy(" ", 100_000_000), "a line of at most 1024 bytes"}
          ] do
        {result, bytes} = growth(fn -> soon(fn -> Lut.parse(text) end) end)
        assert_error(result, :invalid_param, message)
        assert bytes < 20_000_000
      end
    end

    test "parsing a large table takes little more than its memory" do
      n = 64
      lines = :binary.copy("0.12345678 0.12345678 0.12345678\n", n * n * n)
      text = "LUT_3D_SIZE #{n}\n" <> lines
      {{:ok, lut}, bytes} = growth(fn -> Lut.parse(text) end)
      assert byte_size(lut.data) == n * n * n * 12
      assert :binary.referenced_byte_size(lut.data) == n * n * n * 12
      assert bytes < 30_000_000
    end
  end

  describe "files that are not regular" do
    setup do
      dir = scratch_dir("pipes")
      pipe = Path.join(dir, "pipe.png")
      {"", 0} = System.cmd("mkfifo", [pipe])
      %{dir: dir, pipe: pipe}
    end

    test "pictures and tables", %{dir: dir, pipe: pipe} do
      for path <- [pipe, "/dev/zero", "/dev/random", "/dev/stdin"] do
        soon(fn ->
          for read <- [&Image.read/1, &Lut.read/1] do
            assert_error(read.(path), :invalid_param, [path, "it is not a regular file"])
          end
        end)
      end

      assert_error(Image.read(dir), :invalid_param, "illegal operation on a directory")
      assert_error(Lut.read(dir), :invalid_param, "illegal operation on a directory")
    end

    test "models", %{dir: dir, pipe: pipe} do
      model = Path.join(dir, "model.onnx")
      File.rename!(pipe, model)

      for path <- [model, "/dev/zero", dir] do
        soon(fn -> assert_error(Dala.ML.Gpu.load_model(path), :model_not_found) end)
      end

      # The threads for models are free.
      assert {:ok, _model} = Dala.ML.Gpu.load_model("examples/double.onnx")

      assert_raises(:storage_error, "cannot read #{model}: it is not a regular file", fn ->
        wanted = %{address: "file://" <> model, bytes: nil, sha256: "00"}
        Download.fetch(wanted, model <> ".part", fn _event -> :ok end)
      end)
    end

    test "files that are too large", %{dir: dir} do
      path = Path.join(dir, "large.png")
      {:ok, file} = :file.open(path, [:write, :raw])
      # Sparse: it takes no room on the disk.
      {:ok, _} = :file.position(file, 10_000_000_000)
      :ok = :file.truncate(file)
      :file.close(file)

      assert_error(
        Image.read(path),
        :invalid_param,
        "it has 10000000000 bytes, which is too large"
      )

      assert_error(Lut.read(path), :invalid_param, "it has 10000000000 bytes, which is too large")
    end
  end

  describe "pictures" do
    test "that are too large are refused before memory is allocated" do
      png = PngFile.zeros(9000, 9000)
      {result, bytes} = growth(fn -> Image.decode(png) end)

      assert_error(
        result,
        :unsupported,
        "the PNG file has 9000 by 9000 pixels, more than the limit of 67108864"
      )

      assert bytes < 10_000_000

      assert_error(Image.decode(PngFile.zeros(20, 20), max_pixels: 399), :unsupported, "of 399")
      assert {:ok, %{width: 20}} = Image.decode(PngFile.zeros(20, 20), max_pixels: 400)
      path = Path.join(scratch_dir("pixels"), "a.png")
      File.write!(path, PngFile.zeros(20, 20))
      assert_error(Image.read(path, max_pixels: 399), :unsupported, "more than the limit of 399")
      assert {:ok, %{width: 20}} = Image.read(path, max_pixels: 400)

      for wrong <- [0, -1, 134_217_729, 1.5, "1", nil] do
        assert_raise ArgumentError,
                     ~r/expected max_pixels: to be from 1 to 134217728, got: /,
                     fn ->
                       Image.decode(png, max_pixels: wrong)
                     end
      end
    end

    test "with texts that unpack to gigabytes" do
      text = "key" <> <<0, 0>> <> :zlib.compress(:binary.copy(<<?a>>, 7_000_000))
      profile = "name" <> <<0, 0>> <> :zlib.compress(:binary.copy(<<0>>, 7_000_000))
      chunks = List.duplicate({"zTXt", text}, 300) ++ [{"iCCP", profile}]
      path = Path.join(scratch_dir("texts"), "texts.png")
      File.write!(path, PngFile.zeros(10, 10, chunks))

      assert {"ok\n", 0} =
               ChildVM.run("""
               {:ok, %{width: 10}} = Dala.Media.Image.read(#{inspect(path)})
               "VmHWM:" <> peak =
                 "/proc/self/status" |> File.stream!() |> Enum.find(&(&1 =~ ~r/^VmHWM/))
               {kib, _} = peak |> String.trim() |> Integer.parse()
               true = kib < 300_000
               IO.puts("ok")
               """)
    end
  end

  describe "downloads" do
    setup do
      %{part: Path.join(scratch_dir("hostile_downloads"), "a.part")}
    end

    defp fetch(server, part, bytes \\ 10) do
      wanted = %{address: server <> "/a.onnx", bytes: bytes, sha256: String.duplicate("0", 64)}
      Download.fetch(wanted, part, fn _event -> :ok end)
    end

    defp assert_lost(server, part, texts),
      do: assert_raises(:download_failed, texts, fn -> fetch(server, part) end)

    test "redirects to other than https", %{part: part} do
      for {location, why} <- [
            {"file:///etc/passwd", "it redirects to file:///etc/passwd: only https is supported"},
            {"ftp://127.0.0.1/a", "only https is supported"},
            {"gopher:", "only https is supported"},
            {"data:text/plain,x", "only https is supported"},
            {"javascript:alert(1)", "only https is supported"},
            {"http://", "it has no valid host"},
            {"https:///a", "it has no valid host"},
            {"//", "it has no valid host"},
            {"http://[::1", "it is not a valid URL"},
            {"http://a:b/", "it is not a valid URL"},
            {"http://a:/", "it is not a valid URL"},
            {"http://ex ample/", "it is not a valid URL"},
            {"https://a:99999999999/", "99999999999 is not a valid port"},
            {"https://a:0/", "0 is not a valid port"},
            {"https://" <> String.duplicate("a", 300) <> "/", "it has no valid host"},
            {"http://example.com/a", "http://example.com/a, which is not https"},
            {<<255, 254>>, "it is not a valid URL"},
            {"\x01\x02", "it redirects to ??: it is not a valid URL"},
            {String.duplicate("x", 16_000), "it redirects too often"}
          ] do
        server = FileServer.start("", [{:redirect, location}])
        soon(fn -> assert_lost(server, part, why) end)
        refute File.exists?(part)
      end
    end

    test "https does not become http" do
      # Redirects from https are checked without a TLS server.
      for {location, result} <- [
            {"http://127.0.0.1/a", "it redirects to http://127.0.0.1/a, which is not https"},
            {"file:///etc/passwd", "it redirects to file:///etc/passwd: only https is supported"}
          ] do
        from = URI.parse("https://example.com/a")
        assert Dala.ML.Models.Http.redirected(from, location) == {:error, result}
      end
    end

    test "endless headers", %{part: part} do
      for {head, why} <- [
            {"HTTP/1.1 200 OK\r\nx: #{String.duplicate("x", 1_000_000)}\r\n\r\n",
             "a line of more than"},
            {"HTTP/1.1 200 " <> String.duplicate("x", 1_000_000), "a line of more than"},
            {"HTTP/1.1 200 OK\r\n" <> String.duplicate("a: b\r\n", 100_000), "too many headers"},
            {String.duplicate("HTTP/1.1 100 Go\r\n\r\n", 100_000), "too many headers"},
            {"SSH-2.0-OpenSSH_9.2\r\n", "the server does not speak http"},
            {String.duplicate("x", 1_000_000), "a line of more than 16384 bytes"},
            {"", "the connection was cut"},
            {"HTTP/1.1 200 OK\r\n", "the connection was cut"},
            {"HTTP/1.1 999999999999 No\r\n\r\n", "the server"},
            {"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", "an invalid Content-Length"},
            {"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "an invalid Content-Length"},
            {"HTTP/1.1 200 OK\r\ncontent-length: #{String.duplicate("9", 1000)}\r\n\r\n",
             "an invalid Content-Length"},
            {"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n",
             "an unsupported Transfer-Encoding"},
            {"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
             "an invalid chunk size"},
            {"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n",
             "an invalid chunk size"},
            {"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" <>
               String.duplicate("1", 5_000), "an invalid chunk size"},
            {"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
             "a chunk that does not have its announced size"}
          ] do
        server = FileServer.start("", [{:raw, head}])
        {_error, bytes} = growth(fn -> soon(fn -> assert_lost(server, part, why) end) end)
        assert bytes < 20_000_000
      end
    end

    test "an endless error page", %{part: part} do
      for head <- ["HTTP/1.1 404 No\r\n\r\n", "HTTP/1.1 302 Found\r\nlocation: ftp:\r\n\r\n"] do
        server = FileServer.start("", [{:endless, head}])
        {_error, bytes} = growth(fn -> soon(fn -> assert_lost(server, part, []) end) end)
        assert bytes < 20_000_000
      end
    end

    test "more bytes than announced", %{part: part} do
      server = FileServer.start("", [{:endless, "HTTP/1.1 200 OK\r\n\r\n"}])

      {_error, bytes} =
        growth(fn ->
          assert_raises(:checksum_mismatch, "has more than the expected 10 bytes", fn ->
            fetch(server, part)
          end)
        end)

      assert bytes < 20_000_000
      refute File.exists?(part)

      # Bytes after the announced length are ignored.
      head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789"
      server = FileServer.start("", [{:endless, head}])
      assert_raises(:checksum_mismatch, " has SHA-256 ", fn -> fetch(server, part) end)
    end

    test "chunks are put together", %{part: part} do
      sha256 = :sha256 |> :crypto.hash("0123456789") |> Base.encode16(case: :lower)

      body = "3;x=y\r\n012\r\n7\r\n3456789\r\n0\r\n\r\n"
      head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      server = FileServer.start("", [{:raw, head <> body}])
      wanted = %{address: server <> "/a.onnx", bytes: 10, sha256: sha256}
      assert Download.fetch(wanted, part, fn _event -> :ok end) == part
      assert File.read!(part) == "0123456789"
    end
  end
end
