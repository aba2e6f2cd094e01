defmodule Dala.Gpu.Compute.Kernel.Isolation do
  @moduledoc false
  # Kernels registered with `isolate:`. They are on an isolated device, and a call with buffers of this
  # VM copies them there and the outputs back.
  #
  # To the device of this VM such a kernel is one that a provider has and cannot load: whatever finds
  # it missing gets the error of `load/1`, and `Kernel.run/4` then comes here. Other kernels pay
  # nothing.

  @behaviour Dala.Gpu.Compute.Kernel.Provider

  alias Dala.Gpu.Compute.{
    Argument,
    Buffer,
    Device,
    Error,
    Isolated,
    Native,
    Registrations,
    Remote
  }

  @doc "The isolated device for the value of `isolate:`, nil for none."
  @spec device!(term()) :: {:ok, Device.t() | nil} | {:error, Error.t()}
  def device!(false), do: {:ok, nil}
  def device!(true), do: Isolated.shared()
  def device!(%Device{place: {:isolated, _server}} = device), do: {:ok, device}

  def device!(other),
    do: Argument.refuse!("isolate: to be true, false or an isolated device", other)

  @doc "Remembers where a kernel is."
  @spec put(String.t(), Device.t()) :: :ok
  def put(name, device) do
    with {:taken, other} <- Registrations.put(:kernel, name, __MODULE__) do
      raise ArgumentError, "#{inspect(other)} already provides the kernel #{name}"
    end

    _ = Native.kernel_unregister(name)
    Registrations.replace(:isolated_kernel, name, device)
  end

  @doc "Forgets a kernel, and returns where it was."
  @spec take(String.t()) :: Device.t() | nil
  def take(name) do
    device = Registrations.get(:isolated_kernel, name)

    if device do
      Registrations.remove(:isolated_kernel, name)
      Registrations.remove(:kernel, name)
    end

    device
  end

  @impl true
  def kernels, do: Enum.map(Registrations.all(:isolated_kernel), &elem(&1, 0))

  @impl true
  def load(name) do
    {:error,
     %Error{
       reason: :unsupported,
       message:
         "the kernel #{name} is isolated: run_kernel/4 runs it, on buffers of this VM or of its " <>
           "isolated device; commands and pipelines of this VM do not",
       details: %{isolated: name}
     }}
  end

  @doc "Describes the kernels whose devices are running."
  @spec list() :: [map()]
  def list do
    by_device = Enum.group_by(Registrations.all(:isolated_kernel), &elem(&1, 1), &elem(&1, 0))

    for {device, names} <- by_device,
        {:ok, kernels} <- [Remote.apply(device, Native, :kernels, [])],
        kernel <- kernels,
        kernel.name in names,
        do: kernel
  end

  @doc "Runs a kernel on buffers of this VM. None is written to unless it succeeds."
  @spec run(String.t(), [reference()], reference() | [reference()], map()) ::
          :ok | {:error, Error.t()}
  def run(name, inputs, output, params) do
    device = Registrations.get(:isolated_kernel, name)
    outputs = List.wrap(output)

    # Elements that the kernel does not write keep their values, so outputs are copied there as well.
    copies = Map.new(Enum.uniq(outputs ++ inputs), &{&1, copy!(&1, device)})
    there = if is_list(output), do: Enum.map(output, &copies[&1]), else: copies[output]

    with :ok <-
           Remote.run(device, :run_kernel, name, Enum.map(inputs, &copies[&1]), there, params) do
      read = for ref <- outputs, do: {ref, Error.value!(Remote.read(copies[ref]))}
      for {ref, bytes} <- read, do: Buffer.write(ref, bytes)
      for {_ref, copy} <- copies, do: Remote.free(copy)
      :ok
    end
  rescue
    error in [Error] -> {:error, error}
  end

  defp copy!(ref, device) do
    {dims, dtype} = Error.value!(Native.buffer_type(ref))
    Error.value!(Remote.create(device, {:binary, Buffer.read(ref)}, dims, dtype))
  end
end
