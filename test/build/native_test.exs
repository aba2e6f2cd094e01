defmodule Dala.Gpu.Build.NativeTest do
  # The modules of build/, which mix.exs has loaded, on a project whose make writes two files. No test
  # here compiles C++; test/system/consumer_app_test.exs does.
  use ExUnit.Case, async: false

  import Dala.Test.GpuCase, only: [scratch_dir: 1]
  import ExUnit.CaptureIO

  alias Dala.Gpu.Build.{Archive, Cache, Error, Files, Native, Target}
  alias Dala.Test.FileServer

  @version "1.2.3"

  setup do
    root = scratch_dir("project")
    File.mkdir_p!(Path.join(root, "c_src"))
    File.write!(Path.join(root, "c_src/one.cpp"), "int one = 1;")
    File.write!(Path.join(root, "CMakeLists.txt"), "project(one)")

    # What make builds names the sources, and each run of it is counted.
    File.write!(Path.join(root, "Makefile"), """
    native:
    \t@mkdir -p $(MIX_APP_PATH)/priv $(MIX_APP_PATH)/obj
    \t@cat c_src/one.cpp >$(MIX_APP_PATH)/priv/dala_gpu_nif.so
    \t@echo compiler >$(MIX_APP_PATH)/priv/dala_gpu_compiler
    \t@echo run >>runs
    """)

    set("DALA_GPU_BUILD_CACHE", scratch_dir("build_cache"))
    set("XDG_CACHE_HOME", scratch_dir("user_cache"))
    set("DALA_GPU_PRECOMPILED", nil)
    {:ok, root: root, app: scratch_dir("app")}
  end

  defp set(name, value) do
    before = System.get_env(name)
    on_exit(fn -> if before, do: System.put_env(name, before), else: System.delete_env(name) end)
    if value, do: System.put_env(name, value), else: System.delete_env(name)
  end

  defp ensure(root, app) do
    output = capture_io(fn -> send(self(), Native.ensure!(root, @version, app)) end)
    assert_received result
    {result, output}
  end

  defp runs(root) do
    case File.read(Path.join(root, "runs")) do
      {:ok, text} -> length(String.split(text))
      {:error, :enoent} -> 0
    end
  end

  defp nif(app), do: File.read!(Path.join(app, "priv/dala_gpu_nif.so"))

  describe "building" do
    test "says what it does, and does nothing when nothing has changed", %{root: root, app: app} do
      {:ok, output} = ensure(root, app)
      assert output =~ "Building the native library of dala_gpu: 1 C++ files on "
      assert output =~ " steps are done; a step compiles the files of a folder"
      assert output =~ "ccache"
      assert output =~ System.get_env("DALA_GPU_BUILD_CACHE")
      assert {:noop, ""} = ensure(root, app)
      assert runs(root) == 1
    end

    test "a second application takes the library from the cache", %{root: root, app: app} do
      {:ok, _output} = ensure(root, app)
      other = scratch_dir("other")
      assert {:ok, ""} = ensure(root, other)
      assert nif(other) == "int one = 1;"
      assert runs(root) == 1

      assert File.stat!(Path.join(other, "priv/dala_gpu_compiler")).mode |> Bitwise.band(0o100) >
               0
    end

    test "other sources, flags and versions are built anew", %{root: root, app: app} do
      {:ok, _output} = ensure(root, app)
      File.write!(Path.join(root, "c_src/one.cpp"), "int one = 2;")
      {:ok, _output} = ensure(root, app)
      assert nif(app) == "int one = 2;"
      set("CXXFLAGS", "-O3")
      {:ok, _output} = ensure(root, app)
      assert runs(root) == 3

      # Back to the first: both of its keys are still there.
      System.delete_env("CXXFLAGS")
      File.write!(Path.join(root, "c_src/one.cpp"), "int one = 1;")
      assert {:ok, ""} = ensure(root, app)
      assert nif(app) == "int one = 1;"
      assert runs(root) == 3
    end

    test "a damaged entry of the cache is built anew", %{root: root, app: app} do
      {:ok, _output} = ensure(root, app)
      [entry] = Path.wildcard(Path.join(Cache.folder(), "*"))
      File.write!(Path.join(entry, "dala_gpu_nif.so"), "damaged")
      other = scratch_dir("other")
      {:ok, _output} = ensure(root, other)
      assert nif(other) == "int one = 1;"
      assert runs(root) == 2
    end

    test "the cache can be switched off, and need not be writable", %{root: root, app: app} do
      System.put_env("DALA_GPU_BUILD_CACHE", "0")
      {:ok, output} = ensure(root, app)
      assert output =~ "DALA_GPU_BUILD_CACHE switches that off"
      {:ok, _output} = ensure(root, scratch_dir("other"))
      assert runs(root) == 2

      System.put_env("DALA_GPU_BUILD_CACHE", "/proc/nowhere")
      {:ok, _output} = ensure(root, scratch_dir("third"))
      assert runs(root) == 3
    end

    test "the cache keeps the eight entries that were used last", %{root: root, app: app} do
      for number <- 1..10 do
        File.write!(Path.join(root, "c_src/one.cpp"), "int one = #{number};")
        {:ok, _output} = ensure(root, app)
        # Modification times have seconds.
        for entry <- Path.wildcard(Path.join(Cache.folder(), "*")) do
          File.touch!(entry, File.stat!(entry, time: :posix).mtime - 10)
        end
      end

      assert length(File.ls!(Cache.folder())) == 8
      assert {:ok, ""} = ensure(root, scratch_dir("last"))
      assert runs(root) == 10
    end

    test "sources that change during a build are built once more", %{root: root, app: app} do
      make = File.read!(Path.join(root, "Makefile"))
      File.write!(Path.join(root, "Makefile"), make <> "\t@echo 'int two;' >c_src/two.cpp\n")
      {:ok, _output} = ensure(root, app)
      assert File.ls!(Cache.folder()) == []
      {:ok, _output} = ensure(root, app)
      assert runs(root) == 2
      assert length(File.ls!(Cache.folder())) == 1
      assert {:noop, ""} = ensure(root, app)
    end

    test "a failed build is an error", %{root: root, app: app} do
      File.write!(Path.join(root, "Makefile"), "native:\n\t@false\n")

      assert_raise Error,
                   "The native library could not be built; see the compiler's output above.",
                   fn -> capture_io(fn -> Native.ensure!(root, @version, app) end) end
    end

    test "cleaning removes the library", %{root: root, app: app} do
      {:ok, _output} = ensure(root, app)
      :ok = Native.clean!(app)
      refute File.exists?(Path.join(app, "obj"))
      assert {:ok, ""} = ensure(root, app)
    end
  end

  describe "a precompiled archive" do
    setup %{root: root, app: app} do
      {:ok, _output} = ensure(root, app)
      folder = scratch_dir("artefacts")
      {path, sum} = Archive.pack!(Native.priv(app), root, @version, folder)
      {:ok, path: path, sum: sum, folder: folder, other: scratch_dir("other")}
    end

    defp install(place, root, app) do
      System.put_env("DALA_GPU_PRECOMPILED", place)
      Native.ensure!(root, @version, app)
    end

    defp refused(place, root, app) do
      message = assert_raise(Error, fn -> install(place, root, app) end).message
      refute File.exists?(Path.join(app, "priv/dala_gpu_nif.so"))
      message
    end

    # An archive whose manifest says something else, with a checksum that is right.
    defp with_manifest(path, key, value) do
      {:ok, files} = :erl_tar.extract(to_charlist(path), [:memory, :compressed])

      files =
        for {name, content} <- files do
          text = String.replace(content, ~r/^#{key}: .*$/m, "#{key}: #{value}")
          {name, if(name == 'manifest', do: text, else: content)}
        end

      :ok = :erl_tar.create(to_charlist(path), files, [:compressed])
      File.write!(path <> ".sha256", Files.digest(File.read!(path)))
    end

    test "is named after its target, and sha256sum can check it", context do
      name = "dala_gpu-nif-#{Target.nif_version()}-#{Target.triple()}-#{@version}.tar.gz"
      assert Path.basename(context.path) == name
      assert File.read!(context.path <> ".sha256") == "#{context.sum}  #{name}\n"
      {_output, 0} = System.cmd("sha256sum", ["-c", name <> ".sha256"], cd: context.folder)
    end

    test "is installed by path, by folder and by checksum", context do
      %{root: root, path: path, sum: sum} = context

      for place <- [path, context.folder, "#{path}#sha256=#{String.upcase(sum)}"] do
        app = scratch_dir("user")
        assert install(place, root, app) == :ok
        assert nif(app) == "int one = 1;"
        assert install(place, root, app) == :noop
      end

      assert runs(root) == 1
    end

    test "gives way to a build when it is no longer asked for", context do
      assert install(context.path, context.root, context.other) == :ok
      System.delete_env("DALA_GPU_PRECOMPILED")
      assert {:ok, ""} = ensure(context.root, context.other)
      assert {:noop, ""} = ensure(context.root, context.other)
    end

    test "is downloaded once, with its checksum", context do
      address = FileServer.start(File.read!(context.path), [:serve])
      place = "#{address}/x.tar.gz#sha256=#{context.sum}"
      assert install(place, context.root, context.other) == :ok
      assert_received {:request, "/x.tar.gz", nil}
      assert install(place, context.root, scratch_dir("second")) == :ok
      refute_received {:request, _path, _from}
    end

    test "must come with a checksum over the network", context do
      assert refused("https://example.com/x.tar.gz", context.root, context.other) ==
               "DALA_GPU_PRECOMPILED is an address without a checksum: " <>
                 "https://example.com/x.tar.gz\nAppend it as #sha256=..., from the .sha256 file " <>
                 "that mix dala.precompile wrote."
    end

    test "that cannot be downloaded is an error", context do
      address = FileServer.start("", [{:status, 404}])
      place = "#{address}/x.tar.gz#sha256=#{context.sum}"
      assert refused(place, context.root, context.other) =~ "x.tar.gz cannot be downloaded: 404"
    end

    test "with another checksum is refused, from a file and from the network", context do
      sum = String.duplicate("0", 64)
      message = refused("#{context.path}#sha256=#{sum}", context.root, context.other)
      assert message =~ "does not match.\n  expected: #{sum}\n  found:    #{context.sum}"

      address = FileServer.start(File.read!(context.path), [:serve])
      message = refused("#{address}/x#sha256=#{sum}", context.root, context.other)
      assert message =~ "expected: #{sum}\n  found:    #{context.sum}"
    end

    test "without a checksum beside it is refused", context do
      File.rm!(context.path <> ".sha256")

      assert refused(context.path, context.root, context.other) =~
               ".sha256, which has the checksum"
    end

    test "for another target is refused", context do
      with_manifest(context.path, "target", "armv7l-linux-gnueabihf")

      assert refused(context.path, context.root, context.other) ==
               "#{context.path} is for armv7l-linux-gnueabihf, this machine is #{Target.triple()}."
    end

    test "for a later OTP is refused", context do
      with_manifest(context.path, "nif_version", "2.99")
      message = refused(context.path, context.root, context.other)

      assert message =~
               "is for NIF version 2.99 (another OTP or later).\nThis VM has NIF version "

      assert message =~ "(OTP #{System.otp_release()})."
    end

    test "of another version or from other sources is refused", context do
      with_manifest(context.path, "version", "9.9.9")

      assert refused(context.path, context.root, context.other) ==
               "#{context.path} is dala_gpu 9.9.9, the sources are #{@version}."

      with_manifest(context.path, "version", @version)
      File.write!(Path.join(context.root, "c_src/one.cpp"), "int one = 2;")

      assert refused(context.path, context.root, context.other) =~
               "was built from other sources than those in #{context.root}.\nRun mix dala.precompile"
    end

    test "whose files are not those of its manifest is refused", context do
      with_manifest(context.path, "dala_gpu_compiler", "0")

      assert refused(context.path, context.root, context.other) =~
               "dala_gpu_compiler in #{context.path} does not match the manifest"
    end

    test "that is none, or does not exist, is refused", context do
      File.write!(context.path, "no archive at all, but a text that is long enough")
      File.write!(context.path <> ".sha256", Files.digest(File.read!(context.path)))

      assert refused(context.path, context.root, context.other) ==
               "#{context.path} is not an archive of mix dala.precompile."

      assert refused("/nowhere/x.tar.gz", context.root, context.other) ==
               "DALA_GPU_PRECOMPILED names a file that does not exist: /nowhere/x.tar.gz"

      File.rename!(context.path, Path.join(context.folder, "other.tar.gz"))
      message = refused(context.folder, context.root, context.other)
      assert message =~ "has no archive for this target, #{Path.basename(context.path)}."
      assert message =~ "It has: other.tar.gz"
    end
  end

  describe "targets" do
    test "are named as elixir_make names them" do
      assert Target.triple("x86_64-pc-linux-gnu") == "x86_64-linux-gnu"
      assert Target.triple("aarch64-unknown-linux-musl") == "aarch64-linux-musl"
      assert Target.triple("aarch64-apple-darwin22.4.0") == "aarch64-apple-darwin"
      assert Target.triple("x86_64-linux-gnu") == "x86_64-linux-gnu"
    end

    test "are taken from the environment for cross-compilation" do
      for {name, value} <- [TARGET_ARCH: "arm", TARGET_OS: "linux", TARGET_ABI: "gnueabihf"] do
        set(to_string(name), value)
      end

      assert Target.triple() == "arm-linux-gnueabihf"
    end

    test "a library loads into a VM with the same or a later minor NIF version" do
      assert Target.loads?("2.16", "2.16")
      assert Target.loads?("2.15", "2.17")
      refute Target.loads?("2.17", "2.16")
      refute Target.loads?("3.0", "2.17")
      refute Target.loads?("nonsense", "2.17")
    end
  end
end
