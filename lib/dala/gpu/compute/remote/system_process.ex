defmodule Dala.Gpu.Compute.Remote.SystemProcess do
  @moduledoc false
  # The operating system process of an isolated device: an Erlang VM that is not distributed, and is
  # spoken to over two pipes that it finds as its file descriptors 3 and 4. Its standard output stays
  # out of this, because kernels can print; and no socket is open to other users of the machine, as
  # one of `:peer` would be. The VM ends when the pipes are closed, and so with ours.

  alias Dala.Gpu.Compute.Native

  @type limits :: %{memory: pos_integer() | :infinity, cpu_time: pos_integer() | :infinity}

  # A VM that has lived so many milliseconds is started again at once.
  @long_life 10_000

  # Limits hold for what is executed next; core files and crash dumps would be left behind by every
  # crash. Every large buffer takes a file descriptor.
  @script "ulimit -c 0; ulimit -S -n \"$(ulimit -H -n)\" 2>/dev/null; LIMITS exec \"$@\" </dev/null"

  @doc "Starts the VM, which calls `module.main()` first."
  @spec start(module(), limits(), [{String.t(), String.t()}]) :: port()
  def start(module, limits, env) do
    Port.open({:spawn_executable, ~c"/bin/sh"}, [
      :binary,
      {:packet, 4},
      :nouse_stdio,
      :exit_status,
      # A VM that is suspended must not suspend the process that watches over it.
      {:busy_limits_port, :disabled},
      {:busy_limits_msgq, :disabled},
      args: ["-c", script(limits), "sh" | command(module)],
      env: Enum.map(own_env() ++ env, fn {name, value} -> {to_charlist(name), value(value)} end)
    ])
  end

  @doc "The number of the VM's process, nil when it has ended."
  @spec os_pid(port() | nil) :: pos_integer() | nil
  def os_pid(nil), do: nil

  def os_pid(port) do
    with {:os_pid, os_pid} <- Port.info(port, :os_pid), do: os_pid
  end

  @doc "Ends the VM at once, whatever it is doing."
  @spec kill(port()) :: :ok
  def kill(port) do
    with os_pid when is_integer(os_pid) <- os_pid(port),
         do: System.cmd("/bin/sh", ["-c", "kill -9 #{os_pid}"], stderr_to_stdout: true)

    :ok
  end

  @doc "Ends the VM and waits until it is gone."
  @spec stop(port()) :: :ok
  def stop(port) do
    kill(port)

    receive do
      {^port, {:exit_status, _status}} -> :ok
    after
      5_000 -> :ok
    end
  end

  @doc "How many milliseconds to wait before a VM that has lived that long is started again."
  @spec delay(Range.t(), non_neg_integer(), non_neg_integer()) :: non_neg_integer()
  def delay(first.._last, lived, _previous) when lived >= @long_life, do: first
  def delay(first..last, _lived, previous), do: min(last, max(2 * previous, max(first, 1)))

  @doc """
  Removes the folder in which the driver of a VM that was killed has left its files. The VM said where
  it is, so only a folder that is named like one is removed.
  """
  @spec remove_folder(String.t() | nil) :: :ok
  def remove_folder(path) do
    if is_binary(path) and Path.basename(path) =~ ~r/^dala_gpu-work-\w{6}$/, do: File.rm_rf(path)
    :ok
  end

  @doc "Says what an exit status means."
  @spec explain(non_neg_integer()) :: String.t()
  def explain(134), do: "SIGABRT: the driver found its own state to be wrong"
  def explain(135), do: "SIGBUS: an access to memory that is not there"
  def explain(136), do: "SIGFPE: an arithmetic error"
  def explain(132), do: "SIGILL: an instruction that this processor does not have"
  def explain(137), do: "SIGKILL, from outside or because memory ran out"
  def explain(139), do: "SIGSEGV: an access outside of all buffers"
  def explain(152), do: "SIGXCPU: its CPU time is used up"
  def explain(status) when status > 128, do: "signal #{status - 128}"
  def explain(status), do: "exit status #{status}"

  defp script(limits) do
    data = if is_integer(limits.memory), do: "ulimit -d #{div(limits.memory, 1024)};", else: ""
    time = cpu_time(limits.cpu_time)
    String.replace(@script, "LIMITS", data <> time)
  end

  # The signal of the soft limit tells what happened, that of the hard one does not.
  defp cpu_time(:infinity), do: ""
  defp cpu_time(seconds), do: "ulimit -S -t #{seconds}; ulimit -H -t #{seconds + 1};"

  # Flags of this VM's environment could make that one a node, or start an application in it.
  defp own_env do
    for(name <- ~w(ERL_AFLAGS ERL_FLAGS ERL_ZFLAGS ERL_LIBS), do: {name, nil}) ++
      [{"ERL_CRASH_DUMP", "/dev/null"}, {"ERL_CRASH_DUMP_BYTES", "0"}]
  end

  defp value(nil), do: false
  defp value(text), do: to_charlist(text)

  # The threads of the VM do nothing but hand over, so they need not wait awake.
  defp command(module) do
    [erl() | boot()] ++
      ~w(-noshell -noinput +Bd +sbwt none +sbwtdcpu none +sbwtdio none) ++
      Enum.flat_map(paths(), &["-pa", &1]) ++ ["-eval", "'#{module}':main()."]
  end

  # The library, Elixir, and whatever else the library may find here, but not what OTP has anyway.
  defp paths do
    root = List.to_string(:code.lib_dir())
    own = for module <- [Native, Kernel, Logger], path = folder(module), do: path
    given = for path <- :code.get_path(), path = Path.expand(List.to_string(path)), do: path
    Enum.uniq(own ++ Enum.reject(given, &String.starts_with?(&1, root)))
  end

  defp folder(module) do
    case :code.which(module) do
      path when is_list(path) -> path |> List.to_string() |> Path.dirname() |> Path.expand()
      _preloaded_or_missing -> nil
    end
  end

  defp erl do
    root = List.to_string(:code.root_dir())
    erts = "erts-#{:erlang.system_info(:version)}"
    candidates = [Path.join(root, "bin/erl"), Path.join([root, erts, "bin/erl"])]
    Enum.find(candidates, &File.exists?/1) || System.find_executable("erl") || "erl"
  end

  # In a release, the boot files of OTP are where the release has its own.
  defp boot do
    root = List.to_string(:code.root_dir())
    release = Path.join(["#{System.get_env("RELEASE_ROOT")}", "releases"])
    start_clean = Path.join([release, "#{System.get_env("RELEASE_VSN")}", "start_clean"])

    cond do
      File.exists?(Path.join(root, "bin/no_dot_erlang.boot")) ->
        ["-boot", "no_dot_erlang"]

      File.exists?(start_clean <> ".boot") ->
        ["-boot", start_clean, "-boot_var", "RELEASE_LIB", Path.join(root, "lib")]

      true ->
        []
    end
  end
end
