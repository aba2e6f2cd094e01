defmodule Dala.ML.Models.Lock do
  @moduledoc false
  # A lock file that excludes other processes, in this VM and in other VMs of the machine. It names
  # its holder, is created atomically with its content (by a hard link), and is broken if its holder
  # no longer exists.

  import Dala.ML.Models.Failure

  @pause 100

  @doc "Runs the function while holding the lock; `waiting` is called once if it is taken."
  @spec hold(Path.t(), (String.t() -> any()), (() -> result)) :: result when result: var
  def hold(path, waiting, function) do
    acquire(path, content(), waiting)

    try do
      function.()
    after
      File.rm(path)
    end
  end

  defp acquire(path, content, waiting) do
    File.mkdir_p(Path.dirname(path)) |> file!("make", Path.dirname(path))
    own = "#{path}.#{System.pid()}-#{System.unique_integer([:positive])}"
    File.write(own, content) |> file!("write", own)

    try do
      take(path, own, waiting)
    after
      File.rm(own)
    end
  end

  defp take(path, own, waiting) do
    with {:error, :eexist} <- link(own, path), {:ok, held} <- File.read(path) do
      if held?(held), do: wait(held, waiting), else: break(path, held)
      take(path, own, nil)
    else
      :ok -> :ok
      {:error, :enoent} -> acquire_again(path, own, waiting)
      {:error, reason} -> file_failed!(reason, "lock", path)
    end
  end

  # On file systems without hard links, an exclusively created file, which is empty for a moment.
  defp link(own, path) do
    case File.ln(own, path) do
      {:error, reason} when reason in [:eperm, :enotsup, :eopnotsupp, :enosys] ->
        File.write(path, File.read!(own), [:exclusive])

      linked ->
        linked
    end
  end

  # The lock was released between the two calls, or its directory was removed.
  defp acquire_again(path, own, waiting) do
    unless File.exists?(own), do: fail!(:storage_error, "cannot lock #{path}: #{own} is gone")
    take(path, own, waiting)
  end

  defp wait(held, waiting) do
    if waiting, do: waiting.("process #{held |> String.split() |> hd()}")

    receive do
    after
      @pause -> :ok
    end
  end

  # Another process may have broken the lock first, so that the file belongs to a new holder. This
  # is detected after the rename, and the file is then put back.
  defp break(path, stale) do
    aside = "#{path}.#{System.pid()}-#{System.unique_integer([:positive])}"

    with :ok <- File.rename(path, aside) do
      unless File.read(aside) == {:ok, stale}, do: File.ln(aside, path)
      File.rm(aside)
    end

    :ok
  end

  # The operating system process and its start time, the host, and the Erlang process.
  defp content do
    os_pid = System.pid()
    Enum.join([os_pid, started(os_pid), host(), inspect(self())], " ")
  end

  defp held?(content) do
    case String.split(content, " ") do
      [os_pid, started, host, pid] ->
        cond do
          host != host() -> true
          os_pid == System.pid() -> alive?(pid)
          true -> started(os_pid) == started
        end

      _other ->
        false
    end
  end

  defp alive?("#PID" <> pid),
    do: pid |> String.to_charlist() |> :erlang.list_to_pid() |> Process.alive?()

  defp alive?(_other), do: false

  defp host do
    {:ok, name} = :inet.gethostname()
    List.to_string(name)
  end

  # The start time distinguishes processes that reuse a pid.
  defp started(os_pid) do
    case File.read("/proc/#{os_pid}/stat") do
      {:ok, stat} -> stat |> String.split(") ") |> List.last() |> String.split() |> Enum.at(19)
      {:error, _no_proc} -> started_elsewhere(os_pid)
    end
  end

  # For systems without /proc; on systems with it, the process no longer exists.
  defp started_elsewhere(os_pid) do
    if File.exists?("/proc/self/stat") do
      "gone"
    else
      {text, _status} = System.cmd("ps", ["-o", "lstart=", "-p", os_pid])
      String.replace(text, ~r/\s+/, "_")
    end
  end
end
