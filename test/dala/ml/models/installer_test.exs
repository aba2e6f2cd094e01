defmodule Dala.ML.Models.InstallerTest do
  # Installs small files that stand for models, from a server of the test's own and from an npm that
  # is a script, and interrupts it.

  use ExUnit.Case, async: true

  import Dala.Test.GpuCase, only: [assert_raises: 3, eventually: 1, scratch_dir: 1]

  import Dala.Test.ModelPackage

  alias Dala.ML.Models.{Installer, Receipt}
  alias Dala.Test.{ChildVM, FileServer, Tarball}

  describe "from an address" do
    test "it appears atomically, and is downloaded once" do
      archive = package()
      server = FileServer.start(archive, [:serve])
      dir = scratch_dir("models")
      entry = url_entry(server, archive)
      folder = Path.join(dir, "blazeface")

      assert Installer.install(entry, options(dir)) == {:installed, folder}
      assert_installed(folder)
      assert Receipt.read(folder).source == server <> "/package.tgz"
      assert Receipt.read(folder).licence == "MIT"
      assert_received {:request, _path, nil}

      assert Installer.install(entry, options(dir)) == {:already, folder}
      refute_received {:request, _path, _from}
      assert Installer.install(entry, options(dir, force: true)) == {:installed, folder}
      assert_received {:request, _path, nil}
      assert_installed(folder)

      assert Installer.remove(entry, options(dir)) == :removed
      assert File.ls!(dir) == []
      assert Installer.remove(entry, options(dir)) == :not_installed
    end

    test "a wrong checksum, of the archive or of a file in it" do
      dir = scratch_dir("models")
      archive = package()
      other = package(String.upcase(model()))
      server = FileServer.start(other, [:serve])

      assert_raises(:checksum_mismatch, "has SHA-256 #{sha256(other)}, expected", fn ->
        Installer.install(
          %{url_entry(server, archive) | source: bare(server, other, archive)},
          options(dir)
        )
      end)

      nothing_installed(dir)

      assert_raises(:checksum_mismatch, "package/model.tflite has SHA-256 ", fn ->
        Installer.install(url_entry(server, other), options(dir))
      end)

      nothing_installed(dir)
      right = FileServer.start(archive, [:serve])
      assert {:installed, folder} = Installer.install(url_entry(right, archive), options(dir))
      assert_installed(folder)
    end

    # As long as `served`, with the checksum of another.
    defp bare(server, served, other),
      do: {:url, server <> "/package.tgz", byte_size(served), sha256(other)}

    test "an archive with a path that leads out, or without a file" do
      dir = scratch_dir("models")
      evil = package(model(), [{"../../evil", "x"}])
      server = FileServer.start(evil, [:serve])

      assert_raises(:invalid_archive, ~s("../../evil" in it leads elsewhere), fn ->
        Installer.install(url_entry(server, evil), options(dir))
      end)

      nothing_installed(dir)
      refute File.exists?(Path.join(Path.dirname(dir), "evil"))
      poor = Tarball.new([{"package/model.tflite", model()}])

      assert_raises(:invalid_archive, "has no package/weights.bin", fn ->
        server = FileServer.start(poor, [:serve])
        Installer.install(url_entry(server, poor), options(dir))
      end)

      nothing_installed(dir)
    end

    test "killed between any two steps: nothing is half-installed, and the next attempt works" do
      archive = package()
      server = FileServer.start(archive, [:serve])

      for step <- [:begun, :fetched, :unpacked, :prepared, :replaced, :committed] do
        dir = scratch_dir("models")
        entry = url_entry(server, archive)
        killed(entry, dir, step)
        folder = Path.join(dir, "blazeface")

        if step == :committed,
          do: assert(File.read!(Path.join(folder, "weights.bin")) == weights()),
          else: refute(File.exists?(folder))

        assert {_outcome, ^folder} = Installer.install(entry, options(dir))
        assert_installed(folder)
      end
    end

    test "killed while replacing an older one: one of the two is installed" do
      new_model = "a newer graph"
      new = package(new_model)
      new_server = FileServer.start(new, [:serve])
      old = package()
      old_server = FileServer.start(old, [:serve])

      for step <- [:fetched, :prepared, :replaced, :committed] do
        dir = scratch_dir("models")
        {:installed, folder} = Installer.install(url_entry(old_server, old), options(dir))
        killed(url_entry(new_server, new, new_model), dir, step)

        # The next process repairs the state first.
        assert {:already, ^folder} = Installer.install(url_entry(old_server, old), options(dir))
        assert_installed(folder, if(step == :committed, do: new_model, else: model()))
      end
    end

    defp killed(entry, dir, step) do
      opts =
        options(dir,
          force: true,
          step: fn now -> if now == step, do: Process.exit(self(), :kill) end
        )

      {pid, monitor} = spawn_monitor(fn -> Installer.install(entry, opts) end)
      assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, 30_000
    end

    test "two concurrently: one downloads, both succeed" do
      archive = package()
      server = FileServer.start(archive, [:serve])
      dir = scratch_dir("models")
      entry = url_entry(server, archive)
      opts = options(dir)

      outcomes =
        for(_ <- 1..4, do: Task.async(fn -> Installer.install(entry, opts) end))
        |> Task.await_many(60_000)
        |> Enum.map(&elem(&1, 0))

      assert Enum.sort(outcomes) == [:already, :already, :already, :installed]
      assert_received {:request, _path, nil}
      refute_received {:request, _path, _from}
      assert_installed(Path.join(dir, "blazeface"))
    end

    test "a VM killed while downloading: the waiting one resumes" do
      model = :crypto.strong_rand_bytes(400_000)
      archive = package(model)
      server = FileServer.start(archive, [{:stall, 300_000}, :serve])
      dir = scratch_dir("models")

      child =
        ChildVM.start("""
        Dala.ML.Models.install("blazeface",
          models_dir: #{inspect(dir)},
          source: "#{server}/package.tgz",
          sha256: "#{sha256(archive)}"
        )
        """)

      assert_receive :stalled, 60_000
      part = Path.join([dir, ".install", "blazeface-#{binary_part(sha256(archive), 0, 16)}.part"])
      eventually(fn -> match?({:ok, %{size: size}} when size > 200_000, File.stat(part)) end)
      assert_received {:request, _path, nil}

      entry = url_entry(server, archive, model)
      opts = options(dir)
      task = Task.async(fn -> Installer.install(entry, opts) end)
      who = "process #{child.os_pid}"
      assert_receive {:locked, :blazeface, ^who}, 30_000
      ChildVM.signal(child, "KILL")

      assert {:installed, folder} = Task.await(task, 60_000)
      assert_received {:request, _path, from} when from > 200_000
      assert_installed(folder, model)
    end
  end

  describe "from npm" do
    # A script that is called npm, and what it says it was called with.
    defp npm(script) do
      bin = scratch_dir("bin")
      path = Path.join(bin, "npm")
      File.write!(path, "#!/bin/sh\necho \"$@\" > #{bin}/args\n" <> script)
      File.chmod!(path, 0o755)
      bin
    end

    # In a child VM whose PATH starts with the script.
    defp with_npm(bin, dir, entry, before \\ "") do
      code = """
      #{before}
      entry = #{inspect(entry, structs: false, limit: :infinity, printable_limit: :infinity)}
      report = fn event -> IO.inspect(event) end
      opts = [models_dir: #{inspect(dir)}, report: report, step: fn _ -> :ok end]
      try do
        IO.inspect(Dala.ML.Models.Installer.install(entry, opts))
      rescue
        error in Dala.Gpu.Compute.Error -> IO.puts("\#{error.reason}: \#{error.message}")
      end
      """

      ChildVM.run(code, env: [{"PATH", bin <> ":" <> System.get_env("PATH")}])
    end

    test "a package is fetched by npm pack, and nothing of it is run" do
      dir = scratch_dir("models")
      archive = Path.join(scratch_dir("npm"), "test-face-1.0.0.tgz")
      File.write!(archive, package())
      bin = npm("cp #{archive} \"$4\"\n")
      {output, 0} = with_npm(bin, dir, entry({:npm, "@test/face@1.0.0", 1234}))
      assert output =~ ~s({:fetch, "npm package @test/face@1.0.0", 1234})
      assert output =~ "{:installed, "
      assert_installed(Path.join(dir, "blazeface"))
      args = File.read!(Path.join(bin, "args"))
      assert args =~ ~r/^pack @test\/face@1\.0\.0 --pack-destination \S+ --ignore-scripts/
    end

    test "npm fails, writes no archive, or is not installed" do
      dir = scratch_dir("models")
      entry = entry({:npm, "@test/face@1.0.0", 1234})

      bin = npm("echo 'npm error code E404' >&2; exit 1\n")
      {output, 0} = with_npm(bin, dir, entry)

      assert output =~
               "download_failed: cannot fetch the npm package @test/face@1.0.0: npm ended with 1, " <>
                 "saying:\nnpm error code E404"

      nothing_installed(dir)

      {output, 0} = with_npm(npm("exit 0\n"), dir, entry)

      assert output =~
               "download_failed: cannot fetch the npm package @test/face@1.0.0: it left no"

      nothing_installed(dir)

      {output, 0} = with_npm(npm("exit 0\n"), dir, entry, ~s[System.put_env("PATH", "/")])
      assert output =~ "download_failed: npm was not found; it fetches @test/face@1.0.0"
      nothing_installed(dir)
    end
  end
end
