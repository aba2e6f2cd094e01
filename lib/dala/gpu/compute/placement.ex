defmodule Dala.Gpu.Compute.Placement do
  @moduledoc false
  # The device on which the calling process makes its buffers, as `Dala.Gpu.Compute.with_device/2`
  # sets it: nil for the device of this VM, otherwise the handle of a device elsewhere.

  @key __MODULE__

  @typedoc "A `Dala.Gpu.Compute.Device` that is not this VM's own."
  @type device :: %{
          required(:place) => {:isolated, GenServer.server()} | {:node, node()},
          required(:name) => String.t(),
          optional(term()) => term()
        }

  @spec current() :: device() | nil
  def current, do: Process.get(@key)

  @doc "Runs a function with another device, and restores the one from before in any case."
  @spec run(device() | nil, (() -> result)) :: result when result: var
  def run(device, fun) do
    before = Process.put(@key, device)

    try do
      fun.()
    after
      if before, do: Process.put(@key, before), else: Process.delete(@key)
    end
  end

  @doc "Names a device for messages."
  @spec label(device()) :: String.t()
  def label(%{place: {:isolated, server}}), do: "the isolated device #{inspect(server)}"
  def label(%{place: {:node, node}, name: name}), do: "#{name} of #{node}"
  def label(%{place: :here, name: name}), do: name
end
