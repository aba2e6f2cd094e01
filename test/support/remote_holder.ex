defmodule Dala.Test.RemoteHolder do
  @moduledoc false
  # For nodes that tests start: holds a buffer of another node's device.

  alias Dala.Gpu.Compute

  @doc "Makes a buffer of four million bytes on the owner, and holds it in a process that stays."
  def hold(owner) do
    caller = self()

    {pid, monitor} =
      spawn_monitor(fn ->
        device = owner |> Compute.devices() |> Enum.find(& &1.available)
        held = Compute.buffer_zeros({1_000_000}, :f32, device: device)
        send(caller, {self(), :holds})
        receive do: (:go -> Compute.size(held))
      end)

    receive do
      {^pid, :holds} -> :ok
      {:DOWN, ^monitor, :process, ^pid, reason} -> {:error, reason}
    end
  end
end
