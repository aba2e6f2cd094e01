defmodule Dala.Gpu.Compute.Remote.Failure do
  @moduledoc false
  # The errors of devices in other VMs that have ended, or cannot be reached.

  alias Dala.Gpu.Compute.Error
  alias Dala.Telemetry

  @typedoc "Why the VM of an isolated device has ended."
  @type cause :: {:deadline, seq :: pos_integer()} | {:ended, String.t()}

  @doc "The error of a call to a link that has exited."
  @spec gone(term()) :: Error.t()
  def gone(exit), do: lost("the connection to the device has ended: #{exit_text(exit)}")

  defp exit_text({{:shutdown, {:lost, text}}, _call}), do: text
  defp exit_text({:noproc, _call}), do: "it was stopped, or its node is gone"
  defp exit_text({reason, {GenServer, :call, _arguments}}), do: inspect(reason)
  defp exit_text(reason), do: inspect(reason)

  @doc "The error of a request that was under way when the VM of an isolated device ended."
  @spec ended(String.t(), pos_integer(), cause(), timeout()) :: Error.t()
  def ended(name, seq, {:deadline, seq}, deadline) do
    %Error{
      reason: :deadline,
      message: "the command had not finished after #{deadline} ms on the isolated device #{name}",
      details: %{device: name, deadline: deadline}
    }
  end

  def ended(name, _seq, cause, _deadline),
    do: lost("the isolated device #{name} has ended: #{text(cause)}", %{device: name})

  @doc "Says in words why a VM has ended."
  @spec text(cause()) :: String.t()
  def text({:deadline, _seq}), do: "a command was over its deadline"
  def text({:ended, text}), do: text

  @doc "Tells the log, and handlers of telemetry, that a VM has ended."
  @spec report(String.t(), cause()) :: :ok
  def report(name, cause) do
    message = "the isolated device #{name} has ended: #{text(cause)}"
    :logger.error("dala_gpu: " <> message)

    Telemetry.execute(
      [:dala, :device, :lost],
      %{system_time: System.system_time()},
      %{reason: :device_lost, message: message}
    )

    :ok
  end

  @doc "The error of a request that waited for a VM which did not start."
  @spec not_started(String.t(), cause()) :: Error.t()
  def not_started(name, cause),
    do: lost("the isolated device #{name} did not start: #{text(cause)}", %{device: name})

  @doc "The error of a buffer that an earlier VM or connection had."
  @spec buffer(String.t()) :: Error.t()
  def buffer(name) do
    lost("the buffer was lost when the device #{name} ended; send its content again", %{
      device: name
    })
  end

  @doc "The error of a node that does not answer, or has not got the library."
  @spec unreachable(node(), term()) :: Error.t()
  def unreachable(node, {:exception, :undef, _stack}) do
    message = "the library is not there on #{node}"
    %Error{reason: :no_device, message: message, details: %{node: node}}
  end

  def unreachable(node, reason),
    do: lost("cannot reach the device of #{node}: #{inspect(reason)}", %{node: node})

  @doc "The error of a device that has gone."
  @spec lost(String.t(), map()) :: Error.t()
  def lost(message, details \\ %{}),
    do: %Error{reason: :device_lost, message: message, details: details}
end
