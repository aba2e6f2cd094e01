defmodule Dala.Test.ChildVM do
  @moduledoc false
  # Programs in an operating system process of their own, for what would end this VM or needs
  # another environment. Every wait has a bound; a child that is over it is killed.

  import ExUnit.Assertions

  @enforce_keys [:port, :os_pid]
  defstruct [:port, :os_pid]

  @bound 120_000

  @doc "Runs Elixir code with the library on its path; returns its output and exit status."
  def run(code, opts \\ []) do
    code |> start(opts) |> await_exit(Keyword.get(opts, :timeout, @bound))
  end

  @doc "Starts Elixir code. Options: `:env`, a list of pairs; `:args` for the elixir command."
  def start(code, opts \\ []) do
    args = Keyword.get(opts, :args, []) ++ ["-pa", ebin(), "-e", code]
    start_program("elixir", args, opts)
  end

  @doc "Runs any program to its end."
  def run_program(program, args, opts \\ []) do
    program |> start_program(args, opts) |> await_exit(Keyword.get(opts, :timeout, @bound))
  end

  @doc "Sends a signal, such as `TERM`."
  def signal(%__MODULE__{os_pid: os_pid}, name) do
    {_output, 0} = System.cmd("kill", ["-#{name}", "#{os_pid}"])
    :ok
  end

  @doc "Waits until the child has printed the text; returns all output so far."
  def await_output(child, text, timeout \\ @bound, output \\ "") do
    if output =~ text do
      output
    else
      case next(child, timeout) do
        {:data, data} -> await_output(child, text, timeout, output <> data)
        {:exit_status, status} -> flunk("the child ended with #{status}:\n#{output}")
        :timeout -> kill(child, "no #{inspect(text)} in time", output)
      end
    end
  end

  @doc "Waits for the child to exit; returns the remaining output and the exit status."
  def await_exit(child, timeout \\ @bound, output \\ "") do
    case next(child, timeout) do
      {:data, data} -> await_exit(child, timeout, output <> data)
      {:exit_status, status} -> {without_noise(output), status}
      :timeout -> kill(child, "no end in time", output)
    end
  end

  @doc "The folder with the compiled modules of the library."
  def ebin, do: Path.join(Mix.Project.app_path(), "ebin")

  # Compilers inside OpenCL drivers count their warnings on standard error.
  defp without_noise(output), do: String.replace(output, ~r/^\d+ warnings? generated\.\n/m, "")

  defp start_program(program, args, opts) do
    env =
      for {name, value} <- Keyword.get(opts, :env, []) do
        {String.to_charlist(name), value && String.to_charlist(value)}
      end

    # A variable that is to be removed is `false` to the port.
    env = for {name, value} <- env, do: {name, value || false}
    path = System.find_executable(program) || flunk("#{program} is not installed")

    port =
      Port.open(
        {:spawn_executable, path},
        [:binary, :exit_status, :stderr_to_stdout, :hide, args: args, env: env] ++
          Keyword.take(opts, [:cd])
      )

    {:os_pid, os_pid} = Port.info(port, :os_pid)
    %__MODULE__{port: port, os_pid: os_pid}
  end

  defp next(%__MODULE__{port: port}, timeout) do
    receive do
      {^port, event} -> event
    after
      timeout -> :timeout
    end
  end

  defp kill(child, why, output) do
    signal(child, "KILL")
    flunk("the child VM: #{why}; its output:\n#{output}")
  end
end
