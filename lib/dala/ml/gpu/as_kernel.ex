defmodule Dala.ML.Gpu.AsKernel do
  @moduledoc false
  # Makes named models available as kernels, loaded at first use.

  @behaviour Dala.Gpu.Compute.Kernel.Provider

  alias Dala.ML.Gpu
  alias Dala.ML.Models.Registry

  @impl true
  def kernels, do: Enum.map(Registry.names(), &Atom.to_string/1)

  @impl true
  def load(name) do
    with {:ok, _model} <- Gpu.load_model(String.to_existing_atom(name), as: name), do: :ok
  end
end
