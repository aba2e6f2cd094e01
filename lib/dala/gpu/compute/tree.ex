defmodule Dala.Gpu.Compute.Tree do
  @moduledoc false
  # Starts the application's supervision tree if it is not running yet. In an application that has
  # this one as a dependency it is already running.

  @spec ensure() :: :ok
  def ensure do
    if Enum.all?([:dala_gpu | applications()], &loaded?/1) do
      _ = Application.ensure_all_started(:dala_gpu)
      :ok
    else
      start_alone()
    end
  end

  defp applications do
    _ = Application.load(:dala_gpu)
    Application.spec(:dala_gpu, :applications)
  end

  defp loaded?(application) do
    Application.load(application) in [:ok, {:error, {:already_loaded, application}}]
  end

  # A program may lack an application that this one lists. The tree then runs without an
  # application, under a process spawned for it, since a supervisor exits with the process that
  # started it.
  defp start_alone do
    {:ok, {module, parts}} = :application.get_key(:dala_gpu, :mod)
    caller = self()

    {holder, monitor} =
      spawn_monitor(fn ->
        # If another process has started the tree first, this one exits.
        with {:ok, _supervisor} <- module.start(:normal, parts) do
          send(caller, {self(), :started})
          Process.sleep(:infinity)
        end
      end)

    receive do
      {^holder, :started} -> Process.demonitor(monitor, [:flush])
      {:DOWN, ^monitor, :process, ^holder, _reason} -> :ok
    end

    :ok
  end
end
