defmodule Dala.ML.Supervisor do
  @moduledoc false
  # The supervisor of the model layer. Starting it registers the modules that lower layers call: the
  # provider of named models as kernels, and the segmenter of filters.

  use Supervisor

  alias Dala.Gpu.Compute.Kernel.Provider
  alias Dala.ML.Gpu.{AsKernel, ModelCache}
  alias Dala.ML.Segmentation.Stages
  alias Dala.ML.Serving.Cluster

  @spec start_link(term()) :: Supervisor.on_start()
  def start_link(_arg), do: Supervisor.start_link(__MODULE__, nil, name: __MODULE__)

  @impl true
  def init(nil) do
    :ok = Provider.register(AsKernel)
    :ok = Dala.Media.Gpu.Segmenter.register(Stages)
    :ok = Cluster.new_table()
    Supervisor.init([ModelCache | Cluster.children()], strategy: :one_for_one)
  end
end
