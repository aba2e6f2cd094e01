defmodule Dala.Media.Gpu.Streams do
  @moduledoc false
  # Supervises the streams of `Dala.Media.Gpu.start_pipeline/3`, each until its owner exits.

  use DynamicSupervisor

  @spec start_link(term()) :: Supervisor.on_start()
  def start_link(_arg), do: DynamicSupervisor.start_link(__MODULE__, nil, name: __MODULE__)

  @impl true
  def init(nil), do: DynamicSupervisor.init(strategy: :one_for_one)
end
