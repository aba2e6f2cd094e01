defmodule Dala.Gpu.Compute.Device do
  @moduledoc """
  The device in use, and the other devices of the machine.

  One device is chosen at first use and kept. `config :dala_gpu, device: ...` or the environment
  variable `DALA_GPU_DEVICE` selects it: `:auto` (a GPU if there is one, otherwise the CPU), `:gpu`,
  `:cpu`, or part of a device's name.

  A device is a struct with the fields of `t:t/0`. Its `:place` says where it is: `:here` in this VM,
  `{:isolated, server}` in a VM of its own (see `Dala.Gpu.Compute.Isolated`), `{:node, node}` on
  another node. `Dala.Gpu.Compute.with_device/2` makes buffers on a device.
  """

  alias Dala.Gpu.Compute.{Argument, Error, Native, Placement, Remote, Runtime}

  @enforce_keys [:name, :place]
  defstruct [:name, :place, :gpu, :vendor, :version, :driver, :platform, :type] ++
              [:compute_units, :global_memory, :max_allocation, :local_memory, :fp64, :available]

  @type t :: %__MODULE__{
          name: String.t(),
          place: :here | {:isolated, GenServer.server()} | {:node, node()},
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
  `:cache_note` says why the configured directories are not used, or is `nil`. Inside of
  `Dala.Gpu.Compute.with_device/2`, this and the functions below are about that device.

  ## Example

      iex> %{name: name, gpu: gpu} = Dala.Gpu.Compute.Device.info()
      iex> is_binary(name) and is_boolean(gpu)
      true
  """
  @spec info() :: info()
  def info, do: there(:info) || info_here()

  # The result of that function in the VM of the process's device; nil if that is this VM.
  defp there(function) do
    with device when device != nil <- Placement.current(),
         do: device |> Remote.apply(__MODULE__, function, []) |> Error.value!()
  end

  defp info_here do
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
  @spec list() :: [t()]
  def list do
    for platform <- survey().platforms, device <- platform.devices do
      struct!(
        __MODULE__,
        Map.merge(device, %{place: :here, platform: platform.name, gpu: device.type == :gpu})
      )
    end
  end

  @doc """
  Lists every OpenCL device of a node, usable or not.

  For this node, the result is that of `list/0`. A node that cannot be reached, or that has not got
  this library, raises `Dala.Gpu.Compute.Error`.

  ## Example

      iex> Dala.Gpu.Compute.Device.list(node()) == Dala.Gpu.Compute.Device.list()
      true
  """
  @spec list(node()) :: [t()]
  def list(node) when node == node(), do: list()

  def list(node) when is_atom(node) and node not in [nil, true, false] do
    for device <- on(node, :list), do: %{device | place: {:node, node}}
  end

  def list(other), do: Argument.refuse!("the name of a node", other)

  defp on(node, function) do
    :erpc.call(node, __MODULE__, function, [], 60_000)
  catch
    :error, {:exception, %Error{} = error, _stack} ->
      raise error

    _kind, reason ->
      raise %Error{
        reason: :device_lost,
        message: "cannot reach the devices of #{node}: #{inspect(reason)}",
        details: %{node: node}
      }
  end

  @doc """
  Returns the device of this VM that is in use; raises `Dala.Gpu.Compute.Error` if there is none.

  ## Example

      iex> Dala.Gpu.Compute.Device.default().name == Dala.Gpu.Compute.Device.info().name
      true
  """
  @spec default() :: t()
  def default, do: from_info(info_here(), :here)

  @doc false
  @spec from_info(info(), term()) :: t()
  def from_info(info, place) do
    fields =
      info |> Map.take(Map.keys(%__MODULE__{name: "", place: nil})) |> Map.delete(:__struct__)

    struct!(
      __MODULE__,
      Map.merge(fields, %{place: place, version: info.opencl_version, available: true})
    )
  end

  @doc false
  # The device for `Placement`, nil for this VM's own. One that this VM or the other node does not
  # use is an error: each has one device at a time.
  @spec place!(t()) :: t() | nil
  def place!(%__MODULE__{place: :here} = device) do
    used!(device, info_here(), "this VM")
    nil
  end

  def place!(%__MODULE__{place: {:node, node}} = device) do
    used!(device, Error.value!(Remote.apply(device, __MODULE__, :info, [])), "#{node}")
    device
  end

  def place!(%__MODULE__{} = device), do: device

  def place!(other), do: Argument.refuse!("a %Dala.Gpu.Compute.Device{}", other)

  defp used!(%{name: name, platform: platform}, %{name: name, platform: platform}, _where),
    do: :ok

  defp used!(device, info, where) do
    raise %Error{
      reason: :unsupported,
      message:
        "#{where} uses #{info.name} (#{info.platform}), not #{device.name} (#{device.platform}); " <>
          "config :dala_gpu, device: chooses another one, and Dala.Gpu.Compute.start_isolated/1 " <>
          "takes a device: for a VM of its own",
      details: %{used: info.name, given: device.name}
    }
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
  def counters, do: there(:counters) || counters_here()

  defp counters_here do
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
  def memory, do: there(:memory) || memory_here()

  defp memory_here do
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

  defimpl Inspect do
    alias Dala.Gpu.Compute.Placement

    def inspect(device, _opts), do: "#Dala.Gpu.Compute.Device<#{Placement.label(device)}>"
  end
end
