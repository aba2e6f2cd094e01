defmodule Dala.Gpu.Compute.Remote.SystemProcessTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute.Remote.SystemProcess

  test "the wait before a restart doubles with short lives, up to a limit" do
    waits = Stream.iterate(50, &SystemProcess.delay(50..1000, 10, &1))
    assert Enum.take(waits, 7) == [50, 100, 200, 400, 800, 1000, 1000]
    assert SystemProcess.delay(50..1000, 10_000, 800) == 50
    assert SystemProcess.delay(0..0, 10, 0) == 0
    assert SystemProcess.delay(0..100, 10, 0) == 1
  end

  test "exit statuses are explained" do
    assert SystemProcess.explain(139) =~ "SIGSEGV"
    assert SystemProcess.explain(134) =~ "SIGABRT"
    assert SystemProcess.explain(128 + 7) =~ "SIGBUS"
    assert SystemProcess.explain(128 + 30) == "signal 30"
    assert SystemProcess.explain(1) == "exit status 1"
  end

  test "only a folder of a driver is removed" do
    folder = scratch_dir("folders")
    work = Path.join(folder, "dala_gpu-work-aBc123")
    other = Path.join(folder, "documents")
    for path <- [work, other], do: File.mkdir_p!(Path.join(path, "inside"))
    for path <- [work, other, folder, nil], do: assert(SystemProcess.remove_folder(path) == :ok)
    refute File.exists?(work)
    assert File.dir?(other)
  end
end
