defmodule Dala.Test.CacheCase do
  @moduledoc false
  # Shared by tests of the kernel cache: child VMs whose home, temporary directory and cache belong
  # to the test, and file systems that are mounted for it.

  use ExUnit.CaseTemplate

  import Bitwise, only: [band: 2]
  import Dala.Test.GpuCase, only: [scratch_dir: 1]

  alias Dala.Test.ChildVM

  @sum """
  alias Dala.Gpu.Compute
  a = Compute.buffer([1, 2, 3], {3})
  :ok = Compute.add(a, a, a)
  [2.0, 4.0, 6.0] = Compute.read_list(a)
  """

  using do
    quote do
      alias Dala.Test.ChildVM
      import Dala.Test.CacheCase
    end
  end

  setup do
    root = scratch_dir("cache")
    for name <- ~w(home tmp cache), do: root |> Path.join(name) |> File.mkdir_p!()
    %{root: root, cache: Path.join(root, "cache"), tmp: Path.join(root, "tmp")}
  end

  @doc "Code that runs one kernel."
  def sum, do: @sum

  @doc "Code that runs several kernels and says ok."
  def many do
    @sum <>
      """
      :ok = Compute.run_kernel(:relu, [a], a)
      m = Compute.buffer(Enum.to_list(1..9), {3, 3})
      out = Compute.buffer_zeros({3, 3}, :f32)
      :ok = Compute.matmul(m, m, out)
      30.0 = hd(Compute.read_list(out))
      :ok = Compute.run_kernel(:softmax, [m], out)
      IO.puts("ok")
      """
  end

  @doc "Code that runs one kernel and says which folders were used."
  def where do
    @sum <>
      """
      info = Compute.Device.info()
      IO.puts("kept in " <> info.cache_dir)
      IO.puts("loaded from " <> Path.dirname(info.work_dir))
      """
  end

  @doc "The environment of a child VM in the test's folder."
  def env(root, more \\ []) do
    Map.merge(
      %{
        "HOME" => Path.join(root, "home"),
        "TMPDIR" => Path.join(root, "tmp"),
        "XDG_CACHE_HOME" => nil,
        "XDG_RUNTIME_DIR" => nil,
        "POCL_CACHE_DIR" => nil,
        "DALA_GPU_CACHE_DIR" => Path.join(root, "cache")
      },
      Map.new(more)
    )
    |> Map.to_list()
  end

  @doc "Runs code to completion, and returns its output."
  def run!(code, env) do
    assert {output, 0} = ChildVM.run(code, env: env)
    output
  end

  @doc "Returns why a test cannot mount a file system, or false."
  def no_mount do
    probe = Path.join(System.tmp_dir!(), "dala_mount_#{System.pid()}")
    File.mkdir_p!(probe)
    {output, status} = command("mount", ~w(-t tmpfs -o size=1m tmpfs #{probe}))
    if status == 0, do: command("umount", [probe])
    File.rmdir(probe)
    status != 0 and "mount is not possible here: #{String.trim(output)}"
  end

  @doc "Returns why a test cannot change the owner of a directory, or false."
  def no_chown, do: command("id", ["-u"]) != {"0\n", 0} and "only root can change owners"

  defp command(program, args) do
    System.cmd(program, args, stderr_to_stdout: true)
  rescue
    error in ErlangError -> {Exception.message(error), 1}
  end

  @doc "Mounts a file system in memory until the test ends."
  def mount!(folder, options) do
    {_output, 0} = command("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder])
    on_exit(fn -> command("umount", ["-l", folder]) end)
  end

  @doc "Fills a file system except for so many bytes; returns the file that fills it."
  def fill!(folder, but_for) do
    {output, 0} = command("df", ["--output=avail", "-B1", folder])
    [_title, free] = String.split(output)
    file = Path.join(folder, "filler")
    {_output, 0} = command("fallocate", ["-l", "#{String.to_integer(free) - but_for}", file])
    file
  end

  @doc "Who may do what with a folder, such as 0o755."
  def permissions(path), do: band(File.stat!(path).mode, 0o777)

  @doc "The files of a cache."
  def kept(folder), do: folder |> Path.join("*.{pack,bin}") |> Path.wildcard() |> Enum.sort()

  @doc "The folders of drivers."
  def work_folders(folder), do: folder |> Path.join("**/dala_gpu-work-*") |> Path.wildcard()

  @doc "The one line about folders in the log."
  def note!(output) do
    assert [_before, note] = String.split(output, "dala_gpu: ")
    note |> String.split("\n") |> hd()
  end
end
