defmodule Dala.Gpu.Compute.Kernel.Provider do
  @moduledoc """
  A behaviour for kernels that are loaded at first use.

  A provider lists the names of its kernels, and loads a kernel when a call, a command or a stage of
  a pipeline uses one that is not loaded. This is how named models are kernels; an application can
  register its own providers:

      iex> defmodule DocTriple do
      ...>   @behaviour Dala.Gpu.Compute.Kernel.Provider
      ...>
      ...>   @impl true
      ...>   def kernels, do: ["doc_triple"]
      ...>
      ...>   @impl true
      ...>   def load("doc_triple"), do: Dala.Gpu.Compute.Kernel.elementwise(:doc_triple, "3 * x")
      ...> end
      iex> Dala.Gpu.Compute.Kernel.Provider.register(DocTriple)
      :ok
      iex> a = Dala.Gpu.Compute.buffer([1, 2], {2})
      iex> Dala.Gpu.Compute.run_kernel(:doc_triple, [a], a)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [3.0, 6.0]
      iex> Dala.Gpu.Compute.Kernel.Provider.unregister(DocTriple)
      :ok

  A registration lasts until `unregister/1`, or until the application `:dala_gpu` stops. It is not
  tied to the process that made it.
  """

  alias Dala.Gpu.Compute.{Error, Native, Registrations}

  @doc "Returns the names of the kernels that `c:load/1` can load, as strings."
  @callback kernels() :: [String.t()]

  @doc """
  Loads the kernel of that name, for example with `Dala.Gpu.Compute.Kernel.register/3`.

  It runs in the process that used the kernel. Several processes may call it concurrently for the
  same name.
  """
  @callback load(name :: String.t()) :: :ok | {:error, Error.t()}

  @doc """
  Registers a provider; registering it again has no effect.

  Raises `ArgumentError` if another provider already has one of its kernels.
  """
  @spec register(module()) :: :ok
  def register(provider) do
    for name <- names!(provider) do
      with {:taken, other} <- Registrations.put(:kernel, name, provider) do
        raise ArgumentError,
              "#{inspect(provider)} cannot provide the kernel #{name}: " <>
                "#{inspect(other)} already provides it"
      end
    end

    :ok
  end

  @doc "Removes a provider; kernels that it has loaded stay registered."
  @spec unregister(module()) :: :ok
  def unregister(provider), do: Registrations.delete(:kernel, provider)

  @doc false
  # Loads the kernel of that name if a provider has it and it is not loaded.
  @spec ensure(String.t()) :: :ok | {:error, Error.t()}
  def ensure(name) do
    case Registrations.get(:kernel, name) do
      nil -> :ok
      provider -> if Native.kernel_known(name), do: :ok, else: load(provider, name)
    end
  end

  @doc false
  # Makes a call; if it does not find a kernel that a provider has, loads the kernel and calls again.
  @spec finding((() -> result)) :: result | {:error, Error.t()} when result: term()
  def finding(call) do
    with {:error, %Error{} = error} <- call.(), :ok <- find(error), do: finding(call)
  end

  # Loads the kernel that a call did not find. Any other error is returned unchanged.
  defp find(%Error{reason: :unknown_kernel, details: %{kernel: name}} = unknown) do
    with provider when provider != nil <- Registrations.get(:kernel, name),
         {:error, error} <- load(provider, name) do
      {:error, in_stage(error, unknown.details)}
    else
      nil -> {:error, unknown}
      :ok -> :ok
    end
  end

  defp find(%Error{} = error), do: {:error, error}

  # A provider that returns :ok without loading the kernel would otherwise be called in a loop.
  defp load(provider, name) do
    with :ok <- provider.load(name) do
      if Native.kernel_known(name) do
        :ok
      else
        {:error,
         %Error{
           reason: :unknown_kernel,
           message:
             "#{inspect(provider)}.load/1 returned :ok but did not load the kernel #{name}",
           details: %{provider: provider}
         }}
      end
    end
  end

  defp in_stage(error, %{stage: stage}) do
    details = Map.put(error.details, :stage, stage)
    %{error | message: "stage #{stage}: #{error.message}", details: details}
  end

  defp in_stage(error, _details), do: error

  defp names!(provider) do
    if is_atom(provider) and Code.ensure_loaded?(provider) and
         function_exported?(provider, :kernels, 0) and function_exported?(provider, :load, 1) do
      provider.kernels()
    else
      raise ArgumentError,
            "expected a module with kernels/0 and load/1, got: #{inspect(provider)}"
    end
  end
end
