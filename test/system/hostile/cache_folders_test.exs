defmodule Dala.System.Hostile.CacheFoldersTest do
  # The directories that compiled kernels are stored in and loaded from, and the notes about others.
  use Dala.Test.CacheCase, async: true

  @no_mount Dala.Test.CacheCase.no_mount()
  @no_chown Dala.Test.CacheCase.no_chown()

  describe "an unusable directory" do
    @describetag skip: @no_mount

    test "because it is mounted noexec keeps the kernels, which are loaded from another one",
         %{root: root, cache: cache, tmp: tmp} do
      mount!(cache, "size=256m,noexec,mode=700")
      output = run!(where(), env(root))
      assert note!(output) =~ "#{cache} is mounted noexec; the driver loads kernels from #{tmp}/"
      assert output =~ "kept in #{cache}\n"
      assert output =~ "loaded from #{tmp}\n"
      assert kept(cache) != []
    end

    test "because it is read-only is replaced", %{root: root, cache: cache} do
      mount!(cache, "size=256m,ro,mode=700")
      output = run!(where(), env(root))
      home = Path.join(root, "home/.cache/dala_gpu")

      assert note!(output) ==
               "#{cache} is on a read-only file system; compiled kernels are kept in #{home}"

      assert output =~ "kept in #{home}\n"
      assert output =~ "loaded from #{home}\n"
    end

    test "because it is full is replaced", %{root: root, cache: cache} do
      mount!(cache, "size=100m,mode=700")
      fill!(cache, 1_000_000)
      output = run!(where(), env(root))
      home = Path.join(root, "home/.cache/dala_gpu")
      assert note!(output) =~ ~r/^#{cache} has no room: .* are free, a build may take 64.0 MiB; /
      assert output =~ "kept in #{home}\n"
      assert kept(cache) == []
    end

    test "does not start a driver that would abort the VM", %{root: root} do
      # Every place that can be written is noexec.
      places = ~w(home tmp cache)
      for place <- places, do: root |> Path.join(place) |> mount!("size=100m,noexec,mode=700")

      code = """
      for place <- ~w(/tmp /var/tmp /dev/shm /run) do
        {_, 0} = System.cmd("mount", ["-t", "tmpfs", "-o", "size=100m,noexec", "tmpfs", place])
      end
      {:error, error} = Dala.Gpu.Compute.Runtime.ensure()
      IO.puts([inspect(error.reason), " ", error.message])
      """

      # In a separate mount namespace.
      args = ~w(--mount elixir -pa) ++ [ChildVM.ebin(), "-e", code]
      assert {output, 0} = ChildVM.run_program("unshare", args, env: env(root))
      assert output =~ ":no_device"
      assert output =~ "is mounted noexec"
      assert output =~ "the driver cannot load kernels anywhere"
    end
  end

  describe "directories of other users" do
    @describetag skip: @no_chown

    test "are not used as cache_dir", %{root: root, cache: cache} do
      File.chown!(cache, 65_534)
      output = run!(where(), env(root))
      home = Path.join(root, "home/.cache/dala_gpu")

      assert note!(output) ==
               "#{cache} belongs to another user (uid 65534); compiled kernels are kept in #{home}"

      assert output =~ "kept in #{home}\n"
      assert File.ls!(cache) == []
      assert permissions(home) == 0o700
    end

    test "are not used as the predictable one when HOME is unset", %{root: root, tmp: tmp} do
      predictable = Path.join(tmp, "dala_gpu-0")
      File.mkdir_p!(predictable)
      File.chmod!(predictable, 0o777)
      File.chown!(predictable, 65_534)
      output = run!(where(), env(root, %{"HOME" => nil, "DALA_GPU_CACHE_DIR" => nil}))

      assert note!(output) ==
               "#{predictable} belongs to another user (uid 65534); compiled kernels are not kept"

      assert File.ls!(predictable) == []
      assert output =~ "loaded from #{tmp}\n"
    end

    test "are not used behind a link", %{root: root, tmp: tmp} do
      target = Path.join(tmp, "target")
      File.mkdir_p!(target)
      link = Path.join(tmp, "dala_gpu-0")
      File.ln_s!(target, link)
      {_output, 0} = System.cmd("chown", ["-h", "65534", link])
      output = run!(where(), env(root, %{"HOME" => nil, "DALA_GPU_CACHE_DIR" => nil}))
      assert note!(output) =~ "#{link} is a symbolic link of another user (uid 65534)"
      assert File.ls!(target) == []
    end
  end

  describe "write permission" do
    test "to cache_dir decides whether it is used, and its mode stays", %{
      root: root,
      cache: cache
    } do
      File.chmod!(cache, 0o777)
      output = run!(where(), env(root))
      assert note!(output) =~ "#{cache} can be written by others (mode 777); compiled kernels are"
      assert File.ls!(cache) == []
      assert permissions(cache) == 0o777
    end

    test "to a folder above it, too", %{root: root} do
      above = Path.join(root, "open")
      File.mkdir_p!(above)
      File.chmod!(above, 0o777)
      output = run!(where(), env(root, %{"DALA_GPU_CACHE_DIR" => Path.join(above, "cache")}))
      assert note!(output) =~ "can be replaced by others: everyone may write to #{above}; "
    end

    test "to the user's cache is put right, and what is there is not trusted", %{root: root} do
      env = env(root, %{"DALA_GPU_CACHE_DIR" => nil})
      home = Path.join(root, "home/.cache/dala_gpu")
      run!(sum(), env)
      [planted] = kept(home)
      File.write!(planted, "planted")
      File.chmod!(home, 0o775)
      output = run!(where(), env)
      refute output =~ "dala_gpu: "
      assert output =~ "kept in #{home}\n"
      assert permissions(home) == 0o700
      assert File.read!(planted) != "planted"
    end
  end

  test "without HOME a folder of the user's own is made among the temporary ones",
       %{root: root, tmp: tmp} do
    output = run!(where(), env(root, %{"HOME" => nil, "DALA_GPU_CACHE_DIR" => nil}))
    refute output =~ "dala_gpu: "
    assert [own] = tmp |> Path.join("dala_gpu-*") |> Path.wildcard()
    assert output =~ "kept in #{own}\n"
    assert permissions(own) == 0o700
    assert kept(own) != []
  end

  test "the doctor shows the folders, their size and why", %{root: root, cache: cache} do
    run!(sum(), env(root))
    output = run!("IO.puts(Dala.Gpu.Compute.doctor())", env(root))
    assert output =~ "compiled kernels are kept in #{cache}, because cache_dir names it"
    assert output =~ ~r/ [1-9][\d.]* (K|M)iB so far, at most 1 GiB/
    assert output =~ "the CPU driver loads them from #{cache}/dala_gpu-work-"
    assert output =~ ", because the kernels are kept there"
  end
end
