defmodule Dala.System.SignalsTest do
  # OpenCL drivers replace signal handlers; the VM must have its own back afterwards.
  use Dala.Test.GpuCase, async: true

  alias Dala.Test.ChildVM

  @work """
  a = Dala.Gpu.Compute.buffer([1, 2], {2})
  :ok = Dala.Gpu.Compute.add(a, a, a)
  [2.0, 4.0] = Dala.Gpu.Compute.read_list(a)
  """

  # Cold caches, because drivers do most of their work when they build a kernel.
  defp cold do
    path = scratch_dir("cold")
    for name <- ["pocl", "dala"], do: File.mkdir_p!(Path.join(path, name))
    [{"POCL_CACHE_DIR", path <> "/pocl"}, {"DALA_GPU_CACHE_DIR", path <> "/dala"}]
  end

  test "a VM with cold caches survives the first kernel" do
    env = cold()
    assert {"ok\n", 0} = ChildVM.run(@work <> ~s|IO.puts("ok")|, env: env)
    # And one that finds what the first has left.
    assert {"ok\n", 0} = ChildVM.run(@work <> ~s|IO.puts("ok")|, env: env)
  end

  test "programs can still be run" do
    assert {"hello\n", 0} =
             ChildVM.run(
               @work <> ~s|{"hello\\n", 0} = System.cmd("echo", ["hello"]); IO.puts("hello")|
             )
  end

  test "SIGTERM stops the VM cleanly" do
    child = ChildVM.start(@work <> ~s|IO.puts("ready"); Process.sleep(:infinity)|, env: cold())
    ChildVM.await_output(child, "ready")
    ChildVM.signal(child, "TERM")
    {output, status} = ChildVM.await_exit(child)
    assert status == 0, output
    assert output =~ "SIGTERM received - shutting down"
  end

  test "signals that the application handles still reach it" do
    child =
      ChildVM.start("""
      defmodule Handler do
        @behaviour :gen_event
        def init(parent), do: {:ok, parent}
        def handle_call(_request, parent), do: {:ok, :ok, parent}

        def handle_event(signal, parent) do
          send(parent, {:signal, signal})
          {:ok, parent}
        end
      end

      for signal <- [:sighup, :sigquit, :sigusr1, :sigusr2], do: :os.set_signal(signal, :handle)
      :ok = :gen_event.delete_handler(:erl_signal_server, :erl_signal_handler, []) |> then(fn _ -> :ok end)
      :ok = :gen_event.add_handler(:erl_signal_server, Handler, self())
      #{@work}
      IO.puts("ready")

      for _ <- 1..4 do
        receive do
          {:signal, signal} -> IO.puts("got \#{signal}")
        after
          30_000 -> System.halt(3)
        end
      end
      """)

    ChildVM.await_output(child, "ready")

    for name <- ["HUP", "QUIT", "USR1", "USR2"] do
      ChildVM.signal(child, name)
      ChildVM.await_output(child, "got sig#{String.downcase(name)}")
    end

    assert {_rest, 0} = ChildVM.await_exit(child)
  end
end
