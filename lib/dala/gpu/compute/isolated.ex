defmodule Dala.Gpu.Compute.Isolated do
  @moduledoc """
  Devices in a VM of their own, for kernels that are not trusted.

  A kernel that writes out of bounds, a driver that aborts, or a loop that never ends takes the
  operating system process down, or a thread of it for ever. An isolated device runs in another
  Erlang VM on this machine: that VM ends, this one does not. Commands that were under way return an
  error with the reason `:device_lost`, or `:deadline` for the one that was over its deadline. The VM
  is started again, with the kernels that were registered on it; its buffers are lost, and their
  content has to be sent again.

      iex> alias Dala.Gpu.Compute
      iex> {:ok, device} = Compute.start_isolated(deadline: 10_000)
      iex> a = Compute.buffer([1, 2, 3], {3}, :f32, device: device)
      iex> Compute.scale(a, 10, a)
      :ok
      iex> Compute.read_list(a)
      [10.0, 20.0, 30.0]
      iex> Compute.stop_isolated(device)
      :ok

  The VM is not a node, and this one need not be one. The two speak over pipes; the content of large
  buffers is in memory that both map, so reading it copies nothing and sending it copies it once.

  Under a supervisor of your own, with a name that stands for the device after a restart too:

      children = [{Dala.Gpu.Compute.Isolated, name: Sandbox, deadline: 1_000}]

      Dala.Gpu.Compute.Isolated.device(Sandbox)

  A device that was started by `start/1` stops when the process that started it exits.
  """

  alias Dala.Gpu.Compute.{Argument, Device, Error, Placement, Remote, Runtime, Server}
  alias Dala.Gpu.Compute.Remote.{Link, Links}

  @defaults [
    name: nil,
    device: nil,
    deadline: :infinity,
    memory: :infinity,
    cpu_time: :infinity,
    backoff: 50..5_000,
    start_timeout: 60_000,
    env: []
  ]

  @shared_deadline 10_000

  # Below this, an Erlang VM with a driver does not start.
  @least_memory 256 * 1024 * 1024

  @doc """
  Starts an isolated device and returns when it can be used.

  ## Options

    * `:deadline` - how long a command may take, in milliseconds from when it is given to the device,
      or `:infinity`, the default. When one takes longer, the VM is ended
    * `:memory` - how many bytes the VM may have for data, at least 256 MiB, or `:infinity`, the
      default. Memory of large buffers, which is shared, is not part of it; it has the same limit by
      itself
    * `:cpu_time` - how many seconds of CPU time the VM may use before it is ended and started again,
      or `:infinity`, the default
    * `:device` - which OpenCL device the VM uses, as for `config :dala_gpu, device:`, which is the
      default
    * `:backoff` - a range of milliseconds: how long to wait before the VM is started again, first
      and at most. The wait doubles as long as the VM lives shorter than ten seconds; `50..5_000` by
      default
    * `:start_timeout` - how long the VM may take to start, in milliseconds, 60 seconds by default
    * `:env` - environment variables of the VM, a map or list of pairs of strings
    * `:name` - a name under which the device's process is registered

  ## Example

      iex> {:ok, device} = Dala.Gpu.Compute.Isolated.start(memory: 1_073_741_824)
      iex> Dala.Gpu.Compute.Isolated.stop(device)
      :ok
  """
  @spec start(keyword()) :: {:ok, Device.t()} | {:error, Error.t()}
  def start(opts \\ []) do
    {server, arguments, options} = arguments!(opts, self())

    with {:ok, pid} <- Links.start(arguments, options) do
      with {:error, error} <- describe(server || pid) do
        Links.stop(pid)
        {:error, error}
      end
    end
  end

  @doc false
  # The device of kernels that are registered with `isolate: true`; started at first use.
  @spec shared() :: {:ok, Device.t()} | {:error, Error.t()}
  def shared do
    {server, arguments, options} =
      arguments!([name: __MODULE__.Shared, deadline: @shared_deadline], nil)

    with {:ok, _pid} <- Links.start(arguments, options), do: describe(server)
  end

  @doc false
  @spec child_spec(keyword()) :: Supervisor.child_spec()
  def child_spec(opts) do
    %{id: opts[:name] || __MODULE__, start: {__MODULE__, :start_link, [opts]}, shutdown: 10_000}
  end

  @doc """
  Starts the process of an isolated device, linked to the caller, for supervisors.

  The options are those of `start/1`. The VM starts meanwhile; the first call waits for it.
  """
  @spec start_link(keyword()) :: GenServer.on_start()
  def start_link(opts \\ []) do
    {_server, arguments, options} = arguments!(opts, nil)
    Link.start_link(arguments, options)
  end

  @doc """
  Stops an isolated device: its VM ends, and its buffers are lost. A second time is fine.

  ## Example

      iex> {:ok, device} = Dala.Gpu.Compute.Isolated.start()
      iex> Dala.Gpu.Compute.Isolated.stop(device)
      :ok
      iex> Dala.Gpu.Compute.Isolated.stop(device)
      :ok
  """
  @spec stop(Device.t() | GenServer.server()) :: :ok
  def stop(device), do: device |> server!() |> Links.stop()

  @doc """
  Returns the device of a process that a supervisor has started, by its name or pid; raises
  `Dala.Gpu.Compute.Error` if it is not running.
  """
  @spec device(GenServer.server()) :: Device.t()
  def device(server), do: server |> describe() |> Error.value!()

  @doc """
  Returns the state of an isolated device: the `:os_pid` of its VM, whether it is `:up`, how many
  `:restarts` there were, how many requests are `:pending`, and whether memory is shared with it
  (`:sharing`).

  ## Example

      iex> {:ok, device} = Dala.Gpu.Compute.Isolated.start()
      iex> %{up: true, restarts: 0, pending: 0} = Dala.Gpu.Compute.Isolated.info(device)
      iex> Dala.Gpu.Compute.Isolated.stop(device)
      :ok
  """
  @spec info(Device.t() | GenServer.server()) :: map()
  def info(device), do: device |> server!() |> Link.info() |> Error.value!()

  defp describe(server) do
    place = %{place: {:isolated, server}, name: "#{inspect(server)}"}

    with {:ok, info} <- Remote.apply(place, Device, :info, []),
         do: {:ok, Device.from_info(info, {:isolated, server})}
  end

  defp server!(%Device{place: {:isolated, server}}), do: server

  defp server!(%Device{} = other),
    do: Argument.refuse!("an isolated device", Placement.label(other))

  defp server!(server), do: server

  defp arguments!(opts, creator) do
    opts = Argument.options!(opts, @defaults)
    name = opts[:name]

    unless name == nil or Server.server?(name),
      do: Argument.refuse!("name: to be an atom, {:global, term} or {:via, module, term}", name)

    memory = bytes!(opts[:memory])

    settings = %{
      creator: creator,
      deadline: milliseconds!(:deadline, opts[:deadline]),
      limits: %{memory: memory, cpu_time: seconds!(opts[:cpu_time])},
      backoff: backoff!(opts[:backoff]),
      start_timeout: Argument.integer!(:start_timeout, opts[:start_timeout], 1..0xFFFFFFFF),
      env: without(opts[:device], memory) ++ env!(opts[:env]),
      config: config(opts[:device], memory)
    }

    options = if name, do: [name: name], else: []
    {name, {:isolated, label(name), settings}, options}
  end

  defp label(nil), do: "of #{inspect(self())}"
  defp label(name), do: inspect(name)

  # Variables of this VM's environment go before settings, but not before options of a device.
  defp without(device, memory) do
    for {option, name} <- [
          {device, "DALA_GPU_DEVICE"},
          {is_integer(memory) || nil, "DALA_GPU_MEMORY_LIMIT"}
        ],
        option != nil,
        do: {name, nil}
  end

  # The settings of this VM's device, checked here already.
  defp config(device, memory) do
    given = Application.get_all_env(:dala_gpu) |> Keyword.delete(:included_applications)
    given = if device, do: Keyword.put(given, :device, device), else: given
    given = if is_integer(memory), do: Keyword.put(given, :memory_limit, memory), else: given
    Runtime.check!(given)
    given
  end

  defp bytes!(:infinity), do: :infinity
  defp bytes!(bytes), do: Argument.integer!(:memory, bytes, @least_memory..0x7FFFFFFFFFFFFFFF)

  defp seconds!(:infinity), do: :infinity
  defp seconds!(seconds), do: Argument.integer!(:cpu_time, seconds, 1..0x7FFFFFFF)

  defp milliseconds!(_name, :infinity), do: :infinity
  defp milliseconds!(name, value), do: Argument.integer!(name, value, 1..0xFFFFFFFF)

  defp backoff!(first..last//1 = range) when first >= 0 and last <= 0xFFFFFFFF, do: range

  defp backoff!(other),
    do: Argument.refuse!("backoff: to be a range of milliseconds such as 50..5_000", other)

  defp env!(env) when is_map(env), do: env |> Map.to_list() |> env!()

  defp env!(env) when is_list(env) do
    unless Enum.all?(env, &match?({name, value} when is_binary(name) and is_binary(value), &1)),
      do: Argument.refuse!("env: to be pairs of strings", env)

    env
  end

  defp env!(other), do: Argument.refuse!("env: to be pairs of strings", other)
end
