defmodule Dala.Gpu.Compute.Device do
  @moduledoc """
  The device in use, and the other devices of the machine.

  One device is chosen at first use and kept. `config :dala_gpu, device: ...` or the environment
  variable `DALA_GPU_DEVICE` selects it: `:auto` (a GPU if there is one, otherwise the CPU), `:gpu`,
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
          cache_dir: String.t(),
          cache_why: String.t() | nil,
          cache_limit: non_neg_integer(),
          cache_note: String.t() | nil,
          work_dir: String.t() | nil,
          work_why: String.t() | nil
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
          shared: non_neg_integer(),
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
  Describes the chosen device; raises `Dala.Gpu.Compute.Error` if there is none.

  `:version` is the version of this library and `:opencl_version` that of the device. Memory is in
  bytes. `:why` explains why this device was chosen. Compiled kernels are cached in `:cache_dir`, up
  to `:cache_limit` bytes; `:cache_why` explains the choice of that directory. A CPU driver loads
  them from `:work_dir`, a private directory of this VM, whose location `:work_why` explains.
  `:cache_note` says why the configured directories are not used, or is `nil`.

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
  Returns whether there is a usable device; never raises.

  ## Example

      iex> Dala.Gpu.Compute.Device.available?()
      true
  """
  @spec available?() :: boolean()
  def available? do
    Runtime.ensure() == :ok
  rescue
    # The configuration is invalid or the native library is missing; other calls raise the reason.
    _error in [ArgumentError, RuntimeError] -> false
  end

  @doc """
  Returns whether the chosen device is a GPU; `false` if there is no device.

  ## Example

      iex> Dala.Gpu.Compute.Device.gpu?() == Dala.Gpu.Compute.Device.info().gpu
      true
  """
  @spec gpu?() :: boolean()
  def gpu?, do: available?() and info().gpu

  @doc """
  Returns counters of the library's activity: `:allocations` that the pool could not serve, programs
  `:compiled` from source, `:reads` of buffers, and the bytes copied from the host (`:bytes_in`) and
  to the host (`:bytes_out`). If memory is shared, most reads copy nothing.

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
  Returns the memory use in bytes.

    * `:in_use` - by buffers and running commands, including buffers that use a binary without a
      copy
    * `:peak` - the maximum of `:in_use` so far
    * `:pooled` - kept for reuse; released before an allocation fails
    * `:shared` - held by binaries in addition: those returned by `read/1` without a copy whose
      buffer has been freed or written since, decoded images, and the rest of a binary of which a
      buffer uses only a part
    * `:limit` - the maximum of `:in_use` and `:shared` together (on a device with dedicated memory,
      binaries count only if `memory_limit` is set). Exceeding it is the error `:out_of_memory`

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
  Returns the version of this library.

  ## Example

      iex> {:ok, _version} = Version.parse(Dala.Gpu.Compute.Device.version())
  """
  @spec version() :: String.t()
  def version, do: Native.version()

  @doc false
  @spec survey() :: %{problem: String.t() | nil, platforms: [map()]}
  def survey do
    case Runtime.answer(&Native.survey(Runtime.cache_dir(), &1)) do
      %{} = survey -> survey
      {:error, error} -> raise error
    end
  end
end
