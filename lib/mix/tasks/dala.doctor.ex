defmodule Mix.Tasks.Dala.Doctor do
  @shortdoc "Shows the OpenCL devices and which one is used"

  @moduledoc """
  Prints the OpenCL drivers, platforms and devices, which device is used and why, and what to
  install if there is none.

      $ mix dala.doctor

  The exit status is 1 if no device is usable. There are no options.
  """

  use Mix.Task

  alias Dala.Gpu.Compute

  @impl true
  @spec run([String.t()]) :: :ok
  def run([]) do
    Mix.Task.run("app.config")
    Mix.shell().info(Compute.doctor())
    unless Compute.available?(), do: exit({:shutdown, 1})
    :ok
  end

  def run(args) do
    Mix.raise("mix dala.doctor takes no arguments, got: #{Enum.join(args, " ")}")
  end
end
