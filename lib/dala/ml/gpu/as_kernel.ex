defmodule Dala.ML.Gpu.AsKernel do
  @moduledoc false
  # Models with a name are kernels of that name, and are loaded when they are first used as one.

  alias Dala.Gpu.Compute.{Error, Native}
  alias Dala.ML.Gpu
  alias Dala.ML.Gpu.{Model, Models}

  @names Map.new(Models.names(), &{Atom.to_string(&1), &1})

  @doc "Makes a model a kernel; `keep` false: for as long as somebody has the model."
  @spec register(Model.t(), String.t(), boolean()) :: :ok | {:error, Error.t()}
  def register(%Model{ref: ref}, name, keep), do: Native.model_register(ref, name, keep)

  @doc "Loads the model of that name unless it is there, or the name is another kernel's."
  @spec ensure(String.t()) :: :ok | {:error, Error.t()}
  def ensure(name) when is_map_key(@names, name) do
    if Native.kernel_known(name), do: :ok, else: load(name)
  end

  def ensure(_other_kernel), do: :ok

  @doc "Loads the model that a call did not find; any other error stays."
  @spec found(Error.t()) :: :ok | {:error, Error.t()}
  def found(%Error{reason: :unknown_kernel, details: %{kernel: name}} = unknown)
      when is_map_key(@names, name) do
    with {:error, error} <- load(name), do: {:error, in_stage(error, unknown.details)}
  end

  def found(%Error{} = error), do: {:error, error}

  defp load(name) do
    with {:ok, _model} <- Gpu.load_model(Map.fetch!(@names, name), as: name), do: :ok
  end

  defp in_stage(error, %{stage: stage}) do
    details = Map.put(error.details, :stage, stage)
    %{error | message: "stage #{stage}: #{error.message}", details: details}
  end

  defp in_stage(error, _details), do: error
end
