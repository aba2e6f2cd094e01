defmodule Dala.ML.Models.SourcesTest do
  # Models from addresses and files of the user's own, and disks that they do not fit on.

  use ExUnit.Case, async: true

  import Dala.Test.GpuCase, only: [assert_raises: 3, scratch_dir: 1]
  import Dala.Test.ModelPackage

  alias Dala.ML.Models.{Installer, Receipt}
  alias Dala.Test.{ChildVM, FileServer, Tarball}

  @manifest ~s({"weightsManifest": [{"paths": ["shard1", "shard2"]}]})

  describe "custom sources" do
    test "a file, an archive with one, and a TF.js model in an archive" do
      onnx = "pretends to be ONNX"

      tfjs =
        Tarball.new([
          {"web/model.json", @manifest},
          {"web/shard1", "one"},
          {"web/shard2", "two"},
          {"web/._model.json", "what a Mac adds"},
          {"README", "read me"}
        ])

      for {name, content, files} <- [
            {"a.onnx", onnx, ["model.onnx"]},
            {"a.tar.gz", Tarball.new([{"x/deep/net.onnx", onnx}]), ["model.onnx"]},
            {"web.tgz", tfjs, ["model.json", "shard1", "shard2"]}
          ] do
        dir = scratch_dir("models")
        server = FileServer.start(content, [:serve])
        source = [source: "#{server}/#{name}?raw=1", sha256: String.upcase(sha256(content))]
        entry = entry({:npm, "unused@1", 1})
        assert {:installed, folder} = Installer.install(entry, options(dir, source))
        assert Enum.sort(File.ls!(folder)) == Enum.sort(["dala.json" | files])
        assert Receipt.read(folder).model == hd(files)
        assert Receipt.damaged(folder, Receipt.read(folder)) == []
      end
    end

    test "need a checksum, and have to be a model" do
      dir = scratch_dir("models")
      entry = entry({:npm, "unused@1", 1})

      for sha256 <- [nil, "", "123", String.duplicate("z", 64)] do
        assert_raises(:invalid_param, ", 64 hexadecimal digits, got: ", fn ->
          Installer.install(entry, options(dir, source: "https://a/b.onnx", sha256: sha256))
        end)
      end

      assert_raises(:invalid_param, "sha256 was given without a source", fn ->
        Installer.install(entry, options(dir, sha256: sha256("x")))
      end)

      for {name, content, text} <- [
            {"a.txt", "x", "expected an .onnx, .tflite, model.json or .tar.gz file, got: "},
            {"a.tgz", Tarball.new([{"README", "x"}]), "has no .onnx or .tflite file"},
            {"a.tgz", Tarball.new([{"a.onnx", "x"}, {"b.tflite", "x"}]),
             "several models: a.onnx, b"},
            {"a.tgz", Tarball.new([{"model.json", @manifest}, {"shard1", "x"}]), "has no shard2"},
            {"a.tgz", Tarball.new([{"model.json", "{}"}]), "it has no list of weights"},
            {"a.tgz",
             Tarball.new([{"model.json", String.replace(@manifest, "shard1", "../../evil")}]),
             "it has no list of weights"}
          ] do
        path = Path.join(scratch_dir("source"), name)
        File.write!(path, content)
        source = [source: "file://" <> path, sha256: sha256(content)]

        error =
          assert_raise Dala.Gpu.Compute.Error, fn ->
            Installer.install(entry, options(dir, source))
          end

        assert error.message =~ text
        nothing_installed(dir)
      end
    end

    test "local files" do
      from = scratch_dir("from")
      dir = scratch_dir("models")
      entry = entry({:npm, "unused@1", 1})

      for {name, content} <- [{"model.json", @manifest}, {"shard1", "1"}, {"shard2", "2"}],
          do: File.write!(Path.join(from, name), content)

      assert {:installed, folder} = Installer.import(entry, from, options(dir))
      assert Enum.sort(File.ls!(folder)) == ["dala.json", "model.json", "shard1", "shard2"]
      assert Receipt.read(folder).source == "file:" <> from

      tflite = Path.join(from, "own.TFLITE")
      File.write!(tflite, model())
      assert {:installed, ^folder} = Installer.import(entry, tflite, options(dir))
      assert Enum.sort(File.ls!(folder)) == ["dala.json", "model.tflite"]

      File.rm!(Path.join(from, "shard2"))

      assert_raises(:model_not_found, "#{from}/shard2 does not exist", fn ->
        Installer.import(entry, from, options(dir))
      end)

      assert_raises(:invalid_model, "does not load", fn ->
        check = fn _path ->
          Dala.ML.Models.Failure.fail!(:invalid_model, "does not load")
        end

        Installer.import(entry, tflite, options(dir, check: check))
      end)

      # The previous model is still installed.
      assert Enum.sort(File.ls!(folder)) == ["dala.json", "model.tflite"]
      assert Receipt.damaged(folder, Receipt.read(folder)) == []
      File.write!(Path.join(folder, "model.tflite"), "gone bad")

      assert [{"model.tflite", "it has 8 bytes instead of 20"}] =
               Receipt.damaged(folder, Receipt.read(folder))
    end
  end

  describe "a disk" do
    test "that is not writable" do
      path = Path.join(scratch_dir("models"), "file")
      File.write!(path, "not a folder")

      assert_raises(:storage_error, "cannot make #{path}/models: not a directory", fn ->
        Installer.install(entry({:npm, "unused@1", 1}), options(path <> "/models"))
      end)
    end

    # With user namespaces, mounting a small disk for a child VM needs no privileges.
    case System.cmd("sh", ["-c", "unshare -rm mount -t tmpfs -o size=64k dala /mnt 2>&1"]) do
      {_output, 0} -> :ok
      {_output, _status} -> @tag skip: "no small disk can be made here (unshare, mount)"
    end

    test "that becomes full while files are unpacked" do
      from = Path.join(scratch_dir("from"), "package.tgz")
      File.write!(from, Tarball.new([{"big.onnx", :crypto.strong_rand_bytes(100_000)}]))
      small = Path.join(Path.dirname(from), "small.tgz")
      File.write!(small, Tarball.new([{"small.onnx", "x"}]))

      code = """
      install = fn path ->
        sha256 = Base.encode16(:crypto.hash(:sha256, File.read!(path)), case: :lower)
        opts = [models_dir: "/mnt/models", source: "file://" <> path, sha256: sha256]
        case Dala.ML.Models.install("blazeface", opts) do
          {:ok, folder} -> IO.puts("ok " <> folder)
          {:error, error} -> IO.puts("\#{error.reason}: \#{error.message}")
        end
        IO.inspect(Path.wildcard("/mnt/models/**", match_dot: true))
      end
      install.(#{inspect(from)})
      install.(#{inspect(small)})
      """

      elixir = System.find_executable("elixir")

      script = """
      mount -t tmpfs -o size=64k dala /mnt && exec "#{elixir}" -pa "#{ChildVM.ebin()}" -e "$0"
      """

      {output, 0} = ChildVM.run_program("unshare", ["-rm", "sh", "-c", script, code])

      assert output =~
               ~r/^storage_error: cannot write \/mnt\/models\/\.install\/\S+: no space left/

      assert output =~ "; free some space, or choose another directory with --models-dir\n[]\n"
      assert output =~ "ok /mnt/models/blazeface\n"
      assert output =~ "/mnt/models/blazeface/model.onnx"
      refute output =~ ".install\","
    end
  end
end
