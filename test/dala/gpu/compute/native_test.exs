defmodule Dala.Gpu.Compute.NativeTest do
  # Loading, reloading and unloading the library, each in a child VM.
  use ExUnit.Case, async: true

  alias Dala.Gpu.Compute.Native
  alias Dala.Test.ChildVM

  test "every stub is replaced by a native function" do
    for {name, arity} <- Native.__info__(:functions), name not in [:load, :state, :put_state] do
      assert {Native, name, arity} in native_functions(), "#{name}/#{arity}"
    end
  end

  # A native function is no longer a stub that raises; the VM lists them as such.
  defp native_functions do
    for {name, arity} <- Native.module_info(:nifs), do: {Native, name, arity}
  end

  @use """
  defmodule Use do
    alias Dala.Gpu.Compute

    def it do
      a = Compute.buffer([1, 2], {2})
      :ok = Compute.add(a, a, a)
      [2.0, 4.0] = Compute.read_list(a)
      a
    end
  end
  """

  test "a missing library is reported clearly" do
    path = Path.join(System.tmp_dir!(), "dala_gpu_missing_#{System.pid()}")
    app = Path.join([path, "dala_gpu"])
    File.mkdir_p!(app)
    File.cp_r!(ChildVM.ebin(), Path.join(app, "ebin"))

    {output, status} =
      ChildVM.run_program("elixir", [
        "-pa",
        Path.join(app, "ebin"),
        "-e",
        "false = Dala.Gpu.Compute.available?(); Dala.Gpu.Compute.version()"
      ])

    File.rm_rf!(path)
    assert status == 1
    assert output =~ "** (RuntimeError) the native library of :dala_gpu, "
    assert output =~ "/dala_gpu_nif.so, does not exist; `mix compile` builds it"
  end

  test "the module may be unloaded and loaded again" do
    assert {"ok\n", 0} =
             ChildVM.run(
               @use <>
                 """
                 for _ <- 1..3 do
                   Task.await(Task.async(fn -> Use.it(); :ok end), 60_000)
                   true = :code.delete(Dala.Gpu.Compute.Native)
                   _ = :code.purge(Dala.Gpu.Compute.Native)
                   :erlang.garbage_collect()
                 end

                 Use.it()
                 IO.puts("ok")
                 """
             )
  end

  test "unloading while buffers, binaries and commands exist" do
    assert {"ok\n", 0} =
             ChildVM.run(
               @use <>
                 """
                 alias Dala.Gpu.Compute
                 a = Use.it()
                 big = Compute.buffer(List.duplicate(1, 100_000), {100_000})
                 binary = Compute.read(big)
                 for _ <- 1..100, do: Compute.submit(%{op: :run_kernel, kernel: :exp, inputs: [big], output: big})
                 true = :code.delete(Compute.Native)
                 _ = :code.purge(Compute.Native)
                 true = binary == :binary.copy(<<1.0::float-32-native>>, 100_000)
                 # A buffer of the unloaded library counts as freed.
                 try do
                   Compute.read(a)
                 rescue
                   error in Compute.Error -> true = error.reason in [:freed, :no_device]
                 end
                 Use.it()
                 IO.puts("ok")
                 """
             )
  end

  test "a hot upgrade is refused, and running code continues" do
    {output, 0} =
      ChildVM.run(
        @use <>
          """
          a = Use.it()
          {:error, :on_load_failure} = :code.load_file(Dala.Gpu.Compute.Native)
          :ok = Dala.Gpu.Compute.add(a, a, a)
          [4.0, 8.0] = Dala.Gpu.Compute.read_list(a)
          Use.it()
          IO.puts("ok")
          """
      )

    assert output =~ "ok\n"
  end
end
