defmodule Dala.Gpu.Compute.Device do
  @moduledoc """
  The device that everything runs on, and the others that are there.

  One device is chosen at first use and kept. `config :dala_gpu, device: ...` or the environment
  variable `DALA_GPU_DEVICE` choose: `:auto` (a GPU where there is one, otherwise the CPU), `:gpu`,
  `:cpu`, or part of a device's name.
  """

  alias Dala.Gpu.Compute.{Error, Native, Runtime}

  @type type :: :cpu | :gpu | :accelerator | :custom

  @type info :: %{
          name: String.t(),
          gpu: boolean(),
          version: String.t(),
          opencl_version: String.t(),
          vendor: String.t(),
          driver: String.t(),
          platform: String.t(),
          type: type(),
          class: :cpu | :gpu,
          compute_units: non_neg_integer(),
          global_memory: non_neg_integer(),
          max_allocation: non_neg_integer(),
          local_memory: non_neg_integer(),
          fp64: boolean(),
          zero_copy: boolean(),
          why: String.t(),
          cache_dir: String.t()
        }

  @type listed :: %{
          name: String.t(),
          gpu: boolean(),
          vendor: String.t(),
          version: String.t(),
          driver: String.t(),
          platform: String.t(),
          type: type(),
          compute_units: non_neg_integer(),
          global_memory: non_neg_integer(),
          max_allocation: non_neg_integer(),
          local_memory: non_neg_integer(),
          fp64: boolean(),
          available: boolean()
        }

  @type memory :: %{
          in_use: non_neg_integer(),
          peak: non_neg_integer(),
          pooled: non_neg_integer(),
          limit: non_neg_integer()
        }

  @type counters :: %{
          allocations: non_neg_integer(),
          compiled: non_neg_integer(),
          reads: non_neg_integer(),
          bytes_in: non_neg_integer(),
          bytes_out: non_neg_integer()
        }

  @doc """
  Describes the chosen device; raises `Dala.Gpu.Compute.Error` when there is none.

  `:version` is the version of this library, `:opencl_version` that of the device; memory is in
  bytes; `:why` says in a sentence why this device was chosen.

  ## Example

      iex> %{name: name, gpu: gpu} = Dala.Gpu.Compute.Device.info()
      iex> is_binary(name) and is_boolean(gpu)
      true
  """
  @spec info() :: info()
  def info do
    Runtime.ensure!()
    {opencl_version, info} = Native.runtime_info() |> Error.value!() |> Map.pop!(:version)

    Map.merge(info, %{
      opencl_version: opencl_version,
      version: version(),
      gpu: info.type == :gpu
    })
  end

  @doc """
  Lists every OpenCL device on this machine, usable or not.

  ## Example

      iex> Dala.Gpu.Compute.Device.list() |> Enum.any?(& &1.available)
      true
  """
  @spec list() :: [listed()]
  def list do
    for platform <- survey().platforms, device <- platform.devices do
      Map.merge(device, %{platform: platform.name, gpu: device.type == :gpu})
    end
  end

  @doc """
  Tells whether there is a usable device; never raises.

  ## Example

      iex> Dala.Gpu.Compute.Device.available?()
      true
  """
  @spec available?() :: boolean()
  def available? do
    Runtime.ensure() == :ok
  rescue
    # A mistake in the configuration, or no native library; every other call says which.
    _error in [ArgumentError, RuntimeError] -> false
  end

  @doc """
  Tells whether the chosen device is a GPU; `false` when there is no device at all.

  ## Example

      iex> Dala.Gpu.Compute.Device.gpu?() == Dala.Gpu.Compute.Device.info().gpu
      true
  """
  @spec gpu?() :: boolean()
  def gpu?, do: available?() and info().gpu

  @doc """
  Counts what the library has done so far: `:allocations` of memory that was not in the pool,
  programs `:compiled` from source, `:reads` of buffers, and the bytes that were copied from
  (`:bytes_in`) and to the host (`:bytes_out`). Where memory is shared, most reads copy nothing.

  ## Example

      iex> %{allocations: before} = Dala.Gpu.Compute.Device.counters()
      iex> is_integer(before)
      true
  """
  @spec counters() :: counters()
  def counters do
    Runtime.ensure!()
    Error.value!(Native.counters())
  end

  @doc """
  Gives the memory of the device in bytes: in use, the peak of that, kept for reuse, and the limit.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer_zeros({1024}, :f32)
      iex> memory = Dala.Gpu.Compute.Device.memory()
      iex> memory.in_use >= Dala.Gpu.Compute.size(buffer) and memory.in_use <= memory.limit
      true
  """
  @spec memory() :: memory()
  def memory do
    Runtime.ensure!()
    Error.value!(Native.memory_info())
  end

  @doc """
  Gives the version of this library.

  ## Example

      iex> {:ok, _version} = Version.parse(Dala.Gpu.Compute.Device.version())
  """
  @spec version() :: String.t()
  def version, do: Native.version()

  @doc false
  @spec survey() :: %{problem: String.t() | nil, platforms: [map()]}
  def survey do
    case Runtime.answer(&Native.survey(&1)) do
      %{} = survey -> survey
      {:error, error} -> raise error
    end
  end
end
