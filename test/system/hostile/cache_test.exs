defmodule Dala.System.Hostile.CacheTest do
  # Nothing that happens to compiled kernels on disk may crash a VM.
  use Dala.Test.CacheCase, async: true

  import Bitwise

  @no_mount Dala.Test.CacheCase.no_mount()

  describe "a disk that becomes full" do
    @describetag skip: @no_mount

    test "is a clean error while it is full", %{root: root, cache: cache} do
      mount!(cache, "size=200m,mode=700")

      child =
        ChildVM.start(
          sum() <>
            """
            IO.puts("started")
            IO.gets("")
            # A program that is built, a kernel that is launched with more work, a custom kernel.
            {:error, softmax} = Compute.run_kernel(:softmax, [a], a)
            IO.puts([inspect(softmax.reason), " ", softmax.message])
            large = Compute.buffer_zeros({10_000_000}, :f32)
            {:error, add} = Compute.run_kernel(:elementwise_add, [large, large], large)
            IO.puts([inspect(add.reason), " ", add.message])
            source = "__kernel void one(__global const float *in, __global float *output) { *output = *in; }"
            {:error, one} = Compute.Kernel.register(:one, source, inputs: 1)
            IO.puts([inspect(one.reason), " ", one.message])
            # Kernels that were compiled before work.
            :ok = Compute.add(a, a, a)
            IO.puts("full")
            IO.gets("")
            b = Compute.buffer_zeros({3}, :f32)
            :ok = Compute.run_kernel(:softmax, [a], b)
            :ok = Compute.run_kernel(:elementwise_add, [large, large], large)
            :ok = Compute.Kernel.register(:one, source, inputs: 1)
            [4.0, 8.0, 12.0] = Compute.read_list(a)
            IO.puts("room again")
            """,
          # On the executor, more work needs nothing that is not compiled already.
          env: env(root, %{"DALA_GPU_EXECUTOR" => "0"})
        )

      ChildVM.await_output(child, "started\n")
      filler = fill!(cache, 8_000_000)
      Port.command(child.port, "\n")
      output = ChildVM.await_output(child, "full\n")

      assert output =~
               ~r/:build_failed the program cannot be compiled: #{cache}\S* has no room: .* MiB are/

      assert output =~ ~r/:build_failed the kernel cannot be compiled: #{cache}\S* has no room/
      File.rm!(filler)
      Port.command(child.port, "\n")
      assert {output, 0} = ChildVM.await_exit(child)
      assert output =~ "room again"
    end
  end

  describe "damaged files" do
    @damages [
      empty: quote(do: fn _bytes -> "" end),
      truncated: quote(do: fn bytes -> binary_part(bytes, 0, div(byte_size(bytes), 2)) end),
      flipped: quote(do: &__MODULE__.flip/1),
      grown: quote(do: fn bytes -> bytes <> "more" end),
      replaced: quote(do: fn bytes -> String.duplicate("\x7fELF", div(byte_size(bytes), 4)) end)
    ]

    for {name, damage} <- @damages do
      test "#{name} are removed and made again", %{root: root, cache: cache} do
        assert run!(many(), env(root)) =~ "ok"
        files = kept(cache)
        assert length(files) >= 3
        before = Map.new(files, &{&1, File.read!(&1)})
        for {file, bytes} <- before, do: File.write!(file, unquote(damage).(bytes))
        assert run!(many(), env(root)) =~ "ok"
        assert kept(cache) == files

        for {file, bytes} <- before,
            do: assert(abs(File.stat!(file).size - byte_size(bytes)) < 99)

        # And these serve again as they are.
        inodes = for file <- files, do: File.stat!(file).inode
        assert run!(many(), env(root)) =~ "ok"
        assert inodes == for(file <- files, do: File.stat!(file).inode)
      end
    end

    test "in the driver's own cache are not read", %{root: root, cache: cache} do
      # Files of earlier versions, and possible content of POCL_CACHE_DIR.
      for folder <- ["pocl", "elsewhere"], part <- ["AB", "tempfile_1.so"] do
        path = Path.join([cache, folder, part, "program.bc"])
        File.mkdir_p!(Path.dirname(path))
        File.write!(path, "")
      end

      env = env(root, %{"POCL_CACHE_DIR" => Path.join(cache, "elsewhere")})
      assert run!(many(), env) =~ "ok"
      assert work_folders(root) == []
    end
  end

  @doc false
  def flip(bytes) do
    for at <- [byte_size(bytes) - 1, div(byte_size(bytes), 3), 20], reduce: bytes do
      bytes ->
        <<head::binary-size(at), byte, rest::binary>> = bytes
        <<head::binary, bxor(byte, 1 <<< rem(at, 8)), rest::binary>>
    end
  end

  test "eight cold VMs on one cache do not disturb each other", %{root: root, cache: cache} do
    children = for _ <- 1..8, do: ChildVM.start(many(), env: env(root))
    for child <- children, do: assert({"ok\n", 0} = ChildVM.await_exit(child, 240_000))
    assert run!(many(), env(root)) == "ok\n"
    assert work_folders(root) == []
    # Nothing but whole files.
    assert cache |> File.ls!() |> Enum.map(&Path.join(cache, &1)) |> Enum.sort() == kept(cache)
  end

  test "the folder of a VM that was killed is removed by the next one", %{root: root} do
    child = ChildVM.start(sum() <> "IO.puts(~s(started)); IO.gets(~s())", env: env(root))
    ChildVM.await_output(child, "started\n")
    assert [_in_use] = work_folders(root)
    # It is in use: another VM leaves it alone.
    run!(sum(), env(root))
    assert [_in_use] = work_folders(root)
    ChildVM.signal(child, "KILL")
    ChildVM.await_exit(child)
    run!(sum(), env(root))
    assert work_folders(root) == []
  end

  test "the least recently used files are removed beyond the limit",
       %{root: root, cache: cache} do
    run!(sum(), env(root))
    [oldest] = kept(cache)
    limit = 2 * File.stat!(oldest).size
    File.touch!(oldest, System.os_time(:second) - 1000)
    run!(many(), env(root, %{"DALA_GPU_CACHE_LIMIT" => "#{limit}"}))
    sizes = for file <- kept(cache), do: File.stat!(file).size
    assert sizes != []
    assert Enum.sum(sizes) <= limit
  end

  test "a custom kernel's files are removed with it", %{root: root, cache: cache} do
    output =
      run!(
        sum() <>
          """
          alias Dala.Gpu.Compute.Kernel
          source = "__kernel void twice(__global const float *in, __global float *output) { *output = 2 * *in; }"
          :ok = Kernel.register(:twice, source, inputs: 1)
          :ok = Kernel.elementwise(:third, "x / 3", inputs: 1)
          for name <- [:twice, :third], do: :ok = Kernel.run(name, [a], a)
          files = fn -> "#{cache}/*.pack" |> Path.wildcard() |> length() end
          wait = fn wait, count, left ->
            cond do
              files.() == count -> count
              left == 0 -> raise "there are \#{files.()} files"
              true -> receive do after 10 -> wait.(wait, count, left - 1) end
            end
          end
          3 = wait.(wait, 3, 3000)
          for name <- [:twice, :third], do: :ok = Kernel.unregister(name)
          1 = wait.(wait, 1, 3000)
          # The same source can be registered again.
          :ok = Kernel.register(:twice, source, inputs: 1)
          :ok = Kernel.run(:twice, [a], a)
          2 = wait.(wait, 2, 3000)
          IO.puts("ok")
          """,
        env(root)
      )

    assert output == "ok\n"
    assert length(kept(cache)) == 2
  end
end
