defmodule Dala.Gpu.Compute.Sink do
  @moduledoc false
  # A process that receives the result of a kernel on the device, without a copy to the host, such
  # as a surface. The module of the process implements this behaviour, so that this layer does not
  # refer to it.

  alias Dala.Gpu.Compute.{Argument, Command, Error, Server}

  @doc "Runs a kernel and copies its `output` to the process; returns when the copy has finished."
  @callback run_kernel(
              GenServer.server(),
              String.t(),
              inputs :: [reference()],
              output :: reference(),
              params :: Command.params()
            ) :: :ok | {:error, Error.t()}

  @spec run_kernel(GenServer.server(), String.t(), [reference()], reference(), Command.params()) ::
          :ok | {:error, Error.t()}
  def run_kernel(sink, kernel, inputs, output, params) do
    unless Server.server?(sink), do: Argument.refuse!("a surface, by its pid or name", sink)
    module = Server.module(sink)

    cond do
      sink?(module) -> module.run_kernel(sink, kernel, inputs, output, params)
      Server.running?(sink) -> Argument.refuse!("a surface", sink)
      true -> {:error, Server.not_running(sink, "surface")}
    end
  end

  defp sink?(nil), do: false

  defp sink?(module),
    do: Code.ensure_loaded?(module) and function_exported?(module, :run_kernel, 5)
end
