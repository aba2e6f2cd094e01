defmodule Dala.ML.Supervisor do
  @moduledoc false
  # The supervisor of the model layer. Starting it registers the modules that lower layers call: the
  # provider of named models as kernels, and the segmenter of filters.

  use Supervisor

  alias Dala.Gpu.Compute.Kernel.Provider
  alias Dala.ML.Gpu.{AsKernel, ModelCache}
  alias Dala.ML.Segmentation.Stages
  alias Dala.ML.Serving.Cluster

  # Five seconds, as a supervisor gives a worker to shut down.
  @exit_timeout 5_000

  @spec start_link(term()) :: Supervisor.on_start()
  def start_link(_arg), do: Supervisor.start_link(__MODULE__, nil, name: __MODULE__)

  @impl true
  def init(nil) do
    :ok = Provider.register(AsKernel)
    :ok = Dala.Media.Gpu.Segmenter.register(Stages)
    :ok = Cluster.new_table()
    children = [ModelCache | Cluster.children()]
    for child <- children, do: await_exit(Supervisor.child_spec(child, []).id)
    Supervisor.init(children, strategy: :one_for_one)
  end

  # If this supervisor was killed, its children exit a little later, and keep their names until then.
  # Starting others before would fail, again and again, until the application gives up.
  defp await_exit(name) do
    with pid when is_pid(pid) <- Process.whereis(name) do
      monitor = Process.monitor(pid)

      receive do
        {:DOWN, ^monitor, :process, ^pid, _reason} -> :ok
      after
        @exit_timeout -> Process.demonitor(monitor, [:flush])
      end
    end
  end
end
