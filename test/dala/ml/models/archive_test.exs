defmodule Dala.ML.Models.ArchiveTest do
  use ExUnit.Case, async: true

  import Dala.Test.GpuCase, only: [assert_raises: 3, scratch_dir: 1]

  alias Dala.ML.Models.Archive
  alias Dala.Test.Tarball

  defp write(bytes) do
    path = Path.join(scratch_dir("archive"), "package.tgz")
    File.write!(path, bytes)
    path
  end

  defp refused(entries, text) do
    archive = write(Tarball.new(entries))
    target = Path.join(Path.dirname(archive), "out")

    for function <- [
          fn -> Archive.list(archive) end,
          fn -> Archive.extract(archive, %{"package/wanted" => target}) end
        ] do
      assert_raises(:invalid_archive, ["the archive package.tgz is refused: ", text], function)
    end
  end

  test "archives of tar, with large files, long names and directories" do
    dir = scratch_dir("tar")
    long = Path.join(String.duplicate("deep/", 30), String.duplicate("n", 90))
    large = :crypto.strong_rand_bytes(300_000)

    for {name, content} <- [{"a", "first"}, {"empty", ""}, {"large.bin", large}, {long, "long"}] do
      path = Path.join([dir, "package", name])
      File.mkdir_p!(Path.dirname(path))
      File.write!(path, content)
    end

    for format <- ~w(gnu pax ustar) do
      archive = Path.join(dir, "#{format}.tgz")

      {_output, 0} =
        System.cmd("tar", ["-C", dir, "--format", format, "-czf", archive, "package"])

      paths = for name <- ["a", "empty", "large.bin", long], do: Path.join("package", name)
      assert Enum.sort(Archive.list(archive)) == Enum.sort(paths)

      out = Path.join(dir, "out-" <> format)
      wanted = Map.new(paths, &{&1, Path.join(out, Path.basename(&1))})
      written = Archive.extract(archive, Map.put(wanted, "package/absent", "/nowhere"))
      assert Enum.sort(Map.keys(written)) == Enum.sort(paths)
      assert File.read!(Path.join(out, "large.bin")) == large
      assert File.read!(Path.join(out, Path.basename(long))) == "long"
      sha256 = Base.encode16(:crypto.hash(:sha256, large), case: :lower)
      assert %{bytes: 300_000, sha256: ^sha256} = written["package/large.bin"]
    end
  end

  test "a path that leads out, a link or a device refuses the whole archive" do
    wanted = {"package/wanted", "yes"}
    refused([wanted, {"package/../../evil", "x"}], ~s("package/../../evil" in it leads elsewhere))
    refused([{"../evil", "x"}, wanted], ~s("../evil" in it leads elsewhere))
    refused([wanted, {"/etc/evil", "x"}], ~s("/etc/evil" in it leads elsewhere))
    refused([wanted, {"a\\..\\evil", "x"}], "leads elsewhere")
    refused([wanted, {"C:/evil", "x"}], "leads elsewhere")
    refused([wanted, {"package/link", "", ?2}], ~s("package/link" in it is a link))
    refused([wanted, {"package/hard", "", ?1}], ~s("package/hard" in it is a link))
    refused([wanted, {"package/device", "", ?3}], "is neither a file nor a folder")
    refused([wanted, {"package/fifo", "", ?6}], "is neither a file nor a folder")
    refused([{"name", "../../evil\0", ?L}, {"short", "x"}, wanted], ~s("../../evil" in it))
    refused([{"pax", "22 path=/tmp/evil.txt\n", ?x}, {"short", "x"}], ~s("/tmp/evil.txt" in it))
    refused([{"pax", "99 path=x\n", ?x}, wanted], "a header of it is damaged")
  end

  test "the same path twice is not overwritten" do
    archive = write(Tarball.new([{"package/wanted", "one"}, {"package/wanted", "two"}]))
    out = Path.join(Path.dirname(archive), "out")

    assert_raises(:invalid_archive, "twice", fn ->
      Archive.extract(archive, %{"package/wanted" => out})
    end)
  end

  test "an archive that ends early or is damaged, at any place, is refused" do
    content = :crypto.strong_rand_bytes(2000)
    whole = Tarball.new([{"package/wanted", content}, {"package/other", "x"}])
    out = Path.join(scratch_dir("cut"), "out")

    for size <- Enum.to_list(0..byte_size(whole)//97) ++ [byte_size(whole) - 1] do
      archive = write(binary_part(whole, 0, size))
      File.rm(out)

      assert_raises(:invalid_archive, "the archive package.tgz is refused", fn ->
        Archive.extract(archive, %{"package/wanted" => out})
      end)
    end

    damaged = Tarball.new([{"package/wanted", "x"}]) |> :zlib.gunzip()
    <<head::binary-10, _byte, rest::binary>> = damaged
    archive = write(:zlib.gzip(head <> "!" <> rest))
    assert_raises(:invalid_archive, "a header of it is damaged", fn -> Archive.list(archive) end)

    assert_raises(:invalid_archive, "it is not a gzip file", fn ->
      Archive.list(write("this is no archive"))
    end)
  end

  test "a file that says it is huge is refused before anything is written" do
    <<head::binary-124, _size::binary-12, rest::binary-376, more::binary>> =
      :zlib.gunzip(Tarball.new([{"package/wanted", "x"}]))

    # The sum of the header stays right: the digits only change places with those of the sum.
    block = head <> <<128, 0::24, 1, 0::56>> <> rest
    <<before::binary-148, _sum::binary-8, behind::binary>> = block
    sum = for <<byte <- before <> "        " <> behind>>, reduce: 0, do: (sum -> sum + byte)
    sum = sum |> Integer.to_string(8) |> String.pad_leading(6, "0")
    archive = write(:zlib.gzip(before <> sum <> "\0 " <> behind <> more))

    assert_raises(:invalid_archive, "a file in it is too large", fn -> Archive.list(archive) end)
  end
end
