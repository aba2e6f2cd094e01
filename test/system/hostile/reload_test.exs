defmodule Dala.System.Hostile.ReloadTest do
  use ExUnit.Case, async: true

  alias Dala.Test.ChildVM

  test "a reloaded module outlives the buffers of the previous one" do
    {output, status} =
      ChildVM.run("""
      alias Dala.Gpu.Compute
      alias Dala.Gpu.Compute.Native

      for round <- 1..3 do
        # Another process holds the buffer, and with it the library that created it.
        {owner, monitor} =
          spawn_monitor(fn ->
            a = Compute.buffer([1, 2], {2})
            :ok = Compute.add(a, a, a)
            receive do: (:go -> [2.0, 4.0] = Compute.read_list(a))
          end)

        b = Compute.buffer([round], {1})
        :ok = Compute.run_kernel(:neg, [b], b)
        true = :code.delete(Native)
        :code.purge(Native)
        c = Compute.buffer([round], {1})
        Process.exit(owner, :kill)
        receive do: ({:DOWN, ^monitor, _, _, _} -> :ok)
        :erlang.garbage_collect()

        # The last buffer of the first library has been freed; the second library works.
        for _ <- 1..20 do
          :ok = Compute.run_kernel(:neg, [c], c)
          true = Compute.read_list(c) == [round * 1.0] or Compute.read_list(c) == [-round * 1.0]
        end
      end

      IO.puts("ok")
      """)

    assert {output, status} == {"ok\n", 0}
  end
end
