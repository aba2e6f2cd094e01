defmodule Dala.ML.Models.Lock do
  @moduledoc false
  # One process at a time, of this VM or of any other on the machine: a file that says who holds it.
  # It appears with its content in one step (a hard link), and one whose holder is gone is broken.

  import Dala.ML.Models.Failure

  @pause 100

  @doc "Runs the function while holding the lock; `waiting` is called once when another has it."
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
      error -> file!(error, "lock", path)
    end
  end

  # Where there are no hard links, a file that is new, and empty for a moment.
  defp link(own, path) do
    case File.ln(own, path) do
      {:error, reason} when reason in [:eperm, :enotsup, :eopnotsupp, :enosys] ->
        File.write(path, File.read!(own), [:exclusive])

      linked ->
        linked
    end
  end

  # It was given back between the two, or the folder went away with it.
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

  # Another process may have broken it first, and the file be a new holder's by now: that is only
  # seen once it is out of the way, and then goes back.
  defp break(path, stale) do
    aside = "#{path}.#{System.pid()}-#{System.unique_integer([:positive])}"

    with :ok <- File.rename(path, aside) do
      unless File.read(aside) == {:ok, stale}, do: File.ln(aside, path)
      File.rm(aside)
    end

    :ok
  end

  # The process of the operating system and when it began, the host, and the process in the VM.
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

  # A number alone would be that of another process one day.
  defp started(os_pid) do
    case File.read("/proc/#{os_pid}/stat") do
      {:ok, stat} -> stat |> String.split(") ") |> List.last() |> String.split() |> Enum.at(19)
      {:error, _no_proc} -> started_elsewhere(os_pid)
    end
  end

  # Systems without /proc; on those with it the process is gone.
  defp started_elsewhere(os_pid) do
    if File.exists?("/proc/self/stat") do
      "gone"
    else
      {text, _status} = System.cmd("ps", ["-o", "lstart=", "-p", os_pid])
      String.replace(text, ~r/\s+/, "_")
    end
  end
end
