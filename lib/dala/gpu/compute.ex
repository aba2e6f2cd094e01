defmodule Dala.Gpu.Compute do
  @moduledoc """
  GPU compute: buffers in device memory, kernels that operate on them, and pipelines of kernels.

  Everything runs on one OpenCL device: a GPU if there is one, otherwise the CPU. It is chosen at
  first use (see `Dala.Gpu.Compute.Device`). Buffers can also be on a device of another node, or in a
  VM of its own for kernels that are not trusted; see `with_device/2` and `start_isolated/1`.

  ## Example

      iex> alias Dala.Gpu.Compute
      iex> a = Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
      iex> b = Compute.buffer([4.0, 5.0, 6.0], {3}, :f32)
      iex> c = Compute.buffer_zeros({3}, :f32)
      iex> Compute.add(a, b, c)
      :ok
      iex> Compute.read_list(c)
      [5.0, 7.0, 9.0]
      iex> Compute.free_many([a, b, c])
      :ok

  ## Guarantees

    * No function blocks a scheduler. `run_kernel/4`, `wait/1`, `read/1` and similar functions wait
      for a message, so thousands of processes can wait at the same time.
    * Commands on the same buffers take effect in the order of submission; others may overlap.
    * A call that fails validation writes to no buffer. It returns `{:error, error}`, or raises if
      the function returns a bare value; `error` is a `Dala.Gpu.Compute.Error` with a `reason` to
      match on.
    * A buffer lives until `free/1`, or until no process references it.
    * A binary that was read never changes, even if it shares memory with the buffer.

  ## Element types

  Floats `:f16`, `:bf16`, `:f32` and `:f64`, integers `:s8`, `:s16`, `:s32` and `:s64`, `:u8`,
  `:u16`, `:u32` and `:u64`, and complex numbers `:c64`, in native byte order, row-major. Integer
  arithmetic wraps around, integer division by zero returns 0, and floats follow IEEE 754; those of
  16 bits are computed as `:f32` and rounded. `Dala.Gpu.Compute.Buffer` describes them.

  From Erlang, the module is `dala_gpu`.
  """

  alias Dala.Gpu.Compute.{
    Buffer,
    Command,
    Device,
    Doctor,
    Error,
    Isolated,
    Kernel,
    NxBridge,
    Pipeline,
    Placement,
    Profile,
    Warmup
  }

  alias Dala.Gpu.Compute.{Argument, Runtime, Sink}
  alias Dala.Gpu.Compute.Kernel.Provider

  # The device

  @doc """
  Describes the device in use: its `:name`, whether it is a `:gpu`, the `:version` of this library,
  and more.

  ## Example

      iex> %{name: name, gpu: gpu, version: version} = Dala.Gpu.Compute.device_info()
      iex> is_binary(name) and is_boolean(gpu) and version == Dala.Gpu.Compute.version()
      true
  """
  @spec device_info() :: Device.info()
  defdelegate device_info, to: Device, as: :info

  @doc """
  Lists every OpenCL device on this machine, usable or not.

  ## Example

      iex> Dala.Gpu.Compute.device_info().name in Enum.map(Dala.Gpu.Compute.devices(), & &1.name)
      true
  """
  @spec devices() :: [Device.t()]
  defdelegate devices, to: Device, as: :list

  @doc """
  Lists every OpenCL device of a node; see `Dala.Gpu.Compute.Device.list/1`.

  ## Example

      iex> Dala.Gpu.Compute.devices(node()) == Dala.Gpu.Compute.devices()
      true
  """
  @spec devices(node()) :: [Device.t()]
  defdelegate devices(node), to: Device, as: :list

  @doc """
  Runs a function whose buffers are made on a device, and returns its result.

  It is the calling process that gets another default, until the function returns or raises. Within,
  buffers are created there, kernels are registered and listed there, and `device_info/0`,
  `memory_info/0` and `counters/0` describe that device. Commands run where their buffers are,
  inside and outside; buffers of different devices in one call are the error `:device_mismatch`.

  Pipelines, models, streams and surfaces work on the device of this VM only.

  ## Parameters

    * `device` - from `devices/1`, `start_isolated/1` or `Dala.Gpu.Compute.Buffer.device/1`. A node
      and this VM have one device in use; another one of `devices/0` raises an error with the reason
      `:unsupported`
    * `fun` - a function without arguments

  ## Example

      iex> alias Dala.Gpu.Compute
      iex> device = Compute.Device.default()
      iex> Compute.with_device(device, fn -> Compute.buffer([1, 2], {2}) |> Compute.read_list() end)
      [1.0, 2.0]
  """
  @spec with_device(Device.t(), (() -> result)) :: result when result: var
  def with_device(device, fun) when is_function(fun, 0),
    do: device |> Device.place!() |> Placement.run(fun)

  def with_device(_device, other), do: Argument.refuse!("a function without arguments", other)

  @doc """
  Starts a device in a VM of its own, for kernels that are not trusted; see
  `Dala.Gpu.Compute.Isolated`, whose `start/1` has the options.

  ## Example

      iex> alias Dala.Gpu.Compute
      iex> {:ok, device} = Compute.start_isolated(deadline: 10_000)
      iex> Compute.with_device(device, fn -> Compute.device_info().name end) == device.name
      true
      iex> Compute.stop_isolated(device)
      :ok
  """
  @spec start_isolated(keyword()) :: {:ok, Device.t()} | {:error, Error.t()}
  defdelegate start_isolated(opts \\ []), to: Isolated, as: :start

  @doc """
  Stops an isolated device; a second time is fine.

  ## Example

      iex> {:ok, device} = Dala.Gpu.Compute.start_isolated()
      iex> Dala.Gpu.Compute.stop_isolated(device)
      :ok
  """
  @spec stop_isolated(Device.t() | GenServer.server()) :: :ok
  defdelegate stop_isolated(device), to: Isolated, as: :stop

  @doc """
  Returns whether there is a usable device; never raises.

  ## Example

      iex> Dala.Gpu.Compute.available?()
      true
  """
  @spec available?() :: boolean()
  defdelegate available?, to: Device

  @doc """
  Returns whether the device in use is a GPU.

  ## Example

      iex> is_boolean(Dala.Gpu.Compute.gpu?())
      true
  """
  @spec gpu?() :: boolean()
  defdelegate gpu?, to: Device

  @doc """
  Returns the version of this library.

  ## Example

      iex> {:ok, _version} = Version.parse(Dala.Gpu.Compute.version())
  """
  @spec version() :: String.t()
  defdelegate version, to: Device

  @doc """
  Returns a human-readable report: drivers, devices, which device is used and why, and what to
  install if there is none. `mix dala.doctor` prints it.

  ## Example

      iex> Dala.Gpu.Compute.doctor() =~ Dala.Gpu.Compute.device_info().name
      true
  """
  @spec doctor() :: String.t()
  defdelegate doctor, to: Doctor, as: :report

  @doc """
  Returns the memory use in bytes: `:in_use` by buffers, its `:peak`, `:pooled` for reuse, `:shared`
  with binaries, and the `:limit`; see `Dala.Gpu.Compute.Device.memory/0`.

  ## Example

      iex> Dala.Gpu.Compute.memory_info() |> Map.keys() |> Enum.sort()
      [:in_use, :limit, :peak, :pooled, :shared]
  """
  @spec memory_info() :: Device.memory()
  defdelegate memory_info, to: Device, as: :memory

  @doc """
  Returns counters of the library's activity, such as allocations and copies; see
  `Dala.Gpu.Compute.Device.counters/0`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer_zeros({3}, :f32)
      iex> %{reads: reads} = Dala.Gpu.Compute.counters()
      iex> Dala.Gpu.Compute.read(buffer)
      iex> Dala.Gpu.Compute.counters().reads > reads
      true
  """
  @spec counters() :: Device.counters()
  defdelegate counters, to: Device

  @doc """
  Describes every kernel: its inputs, element types and parameters, and the output it requires.

  ## Example

      iex> add = Enum.find(Dala.Gpu.Compute.kernels(), &(&1.name == "elementwise_add"))
      iex> {add.inputs, Enum.take(add.dtypes, 4)}
      {2, [:f32, :f64, :s32, :s64]}
  """
  @spec kernels() :: [Kernel.info()]
  defdelegate kernels, to: Kernel, as: :list

  @doc """
  Compiles all built-in kernels ahead of time; see `Dala.Gpu.Compute.Warmup.run/1`.

  ## Example

      iex> Dala.Gpu.Compute.warmup(dtypes: [])
      :ok
  """
  @spec warmup(keyword()) :: :ok | {:error, Error.t()}
  defdelegate warmup(opts \\ []), to: Warmup, as: :run

  @doc """
  Runs a function and profiles the device meanwhile; see `Dala.Gpu.Compute.Profile.run/1`.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> {:ok, profile} = Dala.Gpu.Compute.profile(fn -> Dala.Gpu.Compute.relu(a, a) end)
      iex> profile.wall_ms > 0
      true
  """
  @spec profile((() -> result)) :: {result, Profile.t()} when result: var
  defdelegate profile(fun), to: Profile, as: :run

  # Buffers

  @doc """
  Creates a buffer from a flat list of numbers; see `Dala.Gpu.Compute.Buffer.new/3`.

  ## Parameters

    * `list` - numbers; for float types also `:nan`, `:infinity` and `:neg_infinity`; for `:c64` pairs
      `{real, imaginary}`
    * `shape` - a tuple of dimensions, `{3}` for a vector of three
    * `dtype` - an element type, `:f32` by default
    * `opts` - `:device`, where the buffer is to be, by default that of `with_device/2` or of this VM

  ## Example

      iex> Dala.Gpu.Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
      #Dala.Gpu.Compute.Buffer<f32[3] 12 B>
  """
  @spec buffer([Buffer.element()], tuple() | [non_neg_integer()], Buffer.dtype(), [
          Buffer.option()
        ]) :: Buffer.t()
  defdelegate buffer(list, shape, dtype \\ :f32, opts \\ []), to: Buffer, as: :new

  @doc """
  Creates a buffer from the bytes of its elements, without a copy if the device allows it. The option
  `:device` is that of `buffer/4`.

  ## Example

      iex> Dala.Gpu.Compute.buffer_from_binary(<<1, 2, 3, 4, 5, 6>>, {2, 3}, :u8)
      #Dala.Gpu.Compute.Buffer<u8[2][3] 6 B>
  """
  @spec buffer_from_binary(binary(), tuple() | [non_neg_integer()], Buffer.dtype(), [
          Buffer.option()
        ]) :: Buffer.t()
  defdelegate buffer_from_binary(binary, shape, dtype, opts \\ []), to: Buffer, as: :from_binary

  @doc """
  Creates a buffer filled with zeros; `dtype` is `:f32` by default. The option `:device` is that of
  `buffer/4`.

  ## Example

      iex> Dala.Gpu.Compute.buffer_zeros({256, 256}, :f32)
      #Dala.Gpu.Compute.Buffer<f32[256][256] 256 KiB>
      iex> Dala.Gpu.Compute.buffer_zeros({3})
      #Dala.Gpu.Compute.Buffer<f32[3] 12 B>
  """
  @spec buffer_zeros(tuple() | [non_neg_integer()], Buffer.dtype(), [Buffer.option()]) ::
          Buffer.t()
  defdelegate buffer_zeros(shape, dtype \\ :f32, opts \\ []), to: Buffer, as: :zeros

  @doc """
  Copies a buffer to a device; see `Dala.Gpu.Compute.Buffer.copy_to/2`.

  ## Example

      iex> alias Dala.Gpu.Compute
      iex> a = Compute.buffer([1, 2, 3], {3})
      iex> a |> Compute.copy_to(Compute.Buffer.device(a)) |> Compute.read_list()
      [1.0, 2.0, 3.0]
  """
  @spec copy_to(Buffer.t(), Device.t()) :: Buffer.t()
  defdelegate copy_to(buffer, device), to: Buffer

  @doc """
  Replaces the content of a buffer; see `Dala.Gpu.Compute.Buffer.write/2`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer_zeros({3}, :u8)
      iex> Dala.Gpu.Compute.write(buffer, <<1, 2, 3>>)
      :ok
      iex> Dala.Gpu.Compute.read(buffer)
      <<1, 2, 3>>
  """
  @spec write(Buffer.t(), binary()) :: :ok
  defdelegate write(buffer, binary), to: Buffer

  @doc """
  Returns the shape of a buffer as a tuple.

  ## Example

      iex> Dala.Gpu.Compute.shape(Dala.Gpu.Compute.buffer_zeros({480, 640, 4}, :u8))
      {480, 640, 4}
  """
  @spec shape(Buffer.t()) :: tuple()
  defdelegate shape(buffer), to: Buffer

  @doc """
  Returns the element type of a buffer.

  ## Example

      iex> Dala.Gpu.Compute.dtype(Dala.Gpu.Compute.buffer_zeros({3}, :s64))
      :s64
  """
  @spec dtype(Buffer.t()) :: Buffer.dtype()
  defdelegate dtype(buffer), to: Buffer

  @doc """
  Returns the size of a buffer in bytes.

  ## Example

      iex> Dala.Gpu.Compute.size(Dala.Gpu.Compute.buffer_zeros({480, 640, 4}, :u8))
      1228800
  """
  @spec size(Buffer.t()) :: non_neg_integer()
  defdelegate size(buffer), to: Buffer

  @doc """
  Reads the bytes of a buffer, after all commands submitted on it.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer([5.0, 7.0, 9.0], {3}, :f32)
      iex> Dala.Gpu.Compute.read(buffer)
      <<5.0::float-32-native, 7.0::float-32-native, 9.0::float-32-native>>
  """
  @spec read(Buffer.t()) :: binary()
  defdelegate read(buffer), to: Buffer

  @doc """
  Reads the bytes of `count` elements of a buffer from `offset` on; see
  `Dala.Gpu.Compute.Buffer.read/3`.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer([1, 2, 3, 4], {2, 2}, :u8)
      iex> Dala.Gpu.Compute.read(buffer, 2, 1)
      <<3>>
  """
  @spec read(Buffer.t(), non_neg_integer(), non_neg_integer()) :: binary()
  defdelegate read(buffer, offset, count), to: Buffer

  @doc """
  Reads the bytes of a buffer; the same as `read/1`.

  If the device shares memory with the host, nothing is copied, however large the buffer.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer([1, 2, 3], {3}, :u8)
      iex> Dala.Gpu.Compute.read_binary(buffer)
      <<1, 2, 3>>
  """
  @spec read_binary(Buffer.t()) :: binary()
  defdelegate read_binary(buffer), to: Buffer, as: :read

  @doc """
  Reads the elements of a buffer as a flat list.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer([1, 2.5, :nan], {3}, :f32)
      iex> Dala.Gpu.Compute.read_list(buffer)
      [1.0, 2.5, :nan]
  """
  @spec read_list(Buffer.t()) :: [Buffer.element()]
  defdelegate read_list(buffer), to: Buffer

  @doc """
  Reads `count` elements of a buffer from `offset` on as a flat list.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer([1, 2, 3, 4], {2, 2})
      iex> Dala.Gpu.Compute.read_list(buffer, 1, 2)
      [2.0, 3.0]
  """
  @spec read_list(Buffer.t(), non_neg_integer(), non_neg_integer()) :: [Buffer.element()]
  defdelegate read_list(buffer, offset, count), to: Buffer

  @doc """
  Gives the memory of a buffer back at once; a second time is fine.

  ## Example

      iex> buffer = Dala.Gpu.Compute.buffer_zeros({3}, :f32)
      iex> Dala.Gpu.Compute.free(buffer)
      :ok
  """
  @spec free(Buffer.t()) :: :ok
  defdelegate free(buffer), to: Buffer

  @doc """
  Frees several buffers.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer_zeros({3}, :f32)
      iex> b = Dala.Gpu.Compute.buffer_zeros({3}, :f32)
      iex> Dala.Gpu.Compute.free_many([a, b])
      :ok
  """
  @spec free_many([Buffer.t()]) :: :ok
  defdelegate free_many(buffers), to: Buffer

  # Kernels

  @doc """
  Runs a kernel and returns when it has finished.

  ## Parameters

    * `kernel` - the kernel's name, an atom or a string; `kernels/0` lists them
    * `inputs` - a list of buffers
    * `output` - the buffer to write to; it may be one of the inputs. A list of buffers for a custom
      kernel with several outputs
    * `params` - the kernel's parameters, a map or keyword list, `%{}` by default

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-10.0, 10.0], {2}, :f32)
      iex> b = Dala.Gpu.Compute.buffer_zeros({2}, :f32)
      iex> Dala.Gpu.Compute.run_kernel(:relu, [a], b, %{slope: 0.5})
      :ok
      iex> Dala.Gpu.Compute.read_list(b)
      [-5.0, 10.0]
  """
  @spec run_kernel(Kernel.name(), [Command.buffer()], Command.output(), Command.params()) ::
          :ok | {:error, Error.t()}
  defdelegate run_kernel(kernel, inputs, output, params \\ %{}), to: Kernel, as: :run

  @doc """
  Submits a kernel as an asynchronous command, then waits for it.

  The result is the same as that of `run_kernel/4`. To do other work meanwhile, use `submit/2`.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1.0, 2.0], {2}, :f32)
      iex> Dala.Gpu.Compute.run_kernel_async(:neg, [a], a)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [-1.0, -2.0]
  """
  @spec run_kernel_async(Kernel.name(), [Command.buffer()], Command.output(), Command.params()) ::
          :ok | {:error, Error.t()}
  def run_kernel_async(kernel, inputs, output, params \\ %{}) do
    kernel |> Kernel.async_run(inputs, output, params) |> Command.wait()
  rescue
    # That there is no device is the only error that is not that of the command.
    error in [Error] -> {:error, error}
  end

  @doc """
  Runs a kernel and copies the result to a surface, without reading it back to the host.

  The kernel writes to `output`, a `:u8` buffer with the same number of bytes as the surface; the
  pixels are then copied on the device. Returns when the copy has finished; `Dala.Gpu.present/1`
  shows the result.

  ## Parameters

    * `kernel`, `inputs`, `output`, `params` - as for `run_kernel/4`
    * `surface` - created by `Dala.Gpu.create_surface/3`, or the name of a supervised surface

  ## Example

      iex> {:ok, surface} = Dala.Gpu.create_surface(2, 1)
      iex> output = Dala.Gpu.Compute.buffer_zeros({1, 2, 4}, :u8)
      iex> Dala.Gpu.Compute.run_to_surface(:fill, [], output, surface, %{value: 255})
      :ok
      iex> Dala.Gpu.get_pixels(surface)
      <<255, 255, 255, 255, 255, 255, 255, 255>>
  """
  @spec run_to_surface(
          Kernel.name(),
          [Command.buffer()],
          Command.buffer(),
          GenServer.server(),
          Command.params()
        ) :: :ok | {:error, Error.t()}
  def run_to_surface(kernel, inputs, output, surface, params \\ %{}) do
    kernel = Command.kernel!(kernel)
    inputs = Command.inputs!(inputs)
    output = Buffer.ref!(output)
    params = Command.params!(params)

    with :ok <- Runtime.ensure(), :ok <- Provider.ensure(kernel) do
      Sink.run_kernel(surface, kernel, inputs, output, params)
    end
  end

  @doc """
  Adds two buffers elementwise: output = a + b.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2, 3], {3}, :s32)
      iex> Dala.Gpu.Compute.add(a, a, a)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [2, 4, 6]
  """
  @spec add(Command.buffer(), Command.buffer(), Command.buffer()) :: :ok | {:error, Error.t()}
  def add(a, b, output), do: run_kernel(:elementwise_add, [a, b], output)

  @doc """
  Multiplies two buffers elementwise: output = a * b.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2, 3], {3}, :s32)
      iex> Dala.Gpu.Compute.multiply(a, a, a)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [1, 4, 9]
  """
  @spec multiply(Command.buffer(), Command.buffer(), Command.buffer()) ::
          :ok | {:error, Error.t()}
  def multiply(a, b, output), do: run_kernel(:elementwise_mul, [a, b], output)

  @doc """
  Replaces negative elements by zero: output = max(0, input).

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 0, 2], {3})
      iex> Dala.Gpu.Compute.relu(a, a)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [0.0, 0.0, 2.0]
  """
  @spec relu(Command.buffer(), Command.buffer()) :: :ok | {:error, Error.t()}
  def relu(input, output), do: run_kernel(:relu, [input], output)

  @doc """
  Multiplies a buffer by a number: output = input * scalar.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2], {2})
      iex> Dala.Gpu.Compute.scale(a, 2.5, a)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [2.5, 5.0]
  """
  @spec scale(Command.buffer(), number(), Command.buffer()) :: :ok | {:error, Error.t()}
  def scale(input, scalar, output),
    do: run_kernel(:scalar_mul, [input], output, %{scalar: scalar})

  @doc """
  Multiplies two matrices, or two batches of them: output = a · b.

  Leading dimensions are batch dimensions; they broadcast as in Nx and NumPy.

  ## Parameters

    * `params` - a map or keyword list, `%{}` by default:
      * `:transpose_a`, `:transpose_b` - whether the operand is stored transposed, `false` by
        default
      * `:activation` - applied to each result: `:none` (the default), `:relu` or `:relu6`

  A bias to add to every row is passed as a third input:
  `run_kernel(:matmul, [a, b, bias], output)`.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2, 3, 4], {2, 2})
      iex> b = Dala.Gpu.Compute.buffer([5, 6, 7, 8], {2, 2})
      iex> c = Dala.Gpu.Compute.buffer_zeros({2, 2}, :f32)
      iex> Dala.Gpu.Compute.matmul(a, b, c)
      :ok
      iex> Dala.Gpu.Compute.read_list(c)
      [19.0, 22.0, 43.0, 50.0]
      iex> Dala.Gpu.Compute.matmul(a, b, c, transpose_b: true)
      :ok
      iex> Dala.Gpu.Compute.read_list(c)
      [17.0, 23.0, 39.0, 53.0]
  """
  @spec matmul(Command.buffer(), Command.buffer(), Command.buffer(), Command.params()) ::
          :ok | {:error, Error.t()}
  def matmul(a, b, output, params \\ %{}), do: run_kernel(:matmul, [a, b], output, params)

  # Commands

  @doc """
  Submits a command and returns its id immediately; see `Dala.Gpu.Compute.Command`.

  A malformed map raises `ArgumentError`; a command that cannot run gets an id for which `poll/1`
  and `wait/1` return the error.

  ## Options

    * `:notify` - a local process that is sent `{:dala_gpu, id, :ok | {:error, error}}` when the
      command has finished; by default no process is notified

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1.0, 2.0], {2}, :f32)
      iex> b = Dala.Gpu.Compute.buffer_zeros({2}, :f32)
      iex> id = Dala.Gpu.Compute.submit(%{
      ...>   op: :run_kernel,
      ...>   kernel: "relu",
      ...>   inputs: [a.ref],
      ...>   output: b.ref,
      ...>   params: %{}
      ...> })
      iex> Dala.Gpu.Compute.wait(id)
      :ok
  """
  @spec submit(Command.spec(), notify: pid()) :: Command.id()
  defdelegate submit(spec, opts \\ []), to: Command

  @doc """
  Returns the state of a command: `:pending`, `:completed` or `{:error, error}`.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer_zeros({2}, :f32)
      iex> id = Dala.Gpu.Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: a})
      iex> Dala.Gpu.Compute.wait(id)
      :ok
      iex> Dala.Gpu.Compute.poll(id)
      :completed
  """
  @spec poll(Command.id()) :: :pending | :completed | {:error, Error.t()}
  defdelegate poll(id), to: Command

  @doc """
  Waits until a command has finished; only the calling process waits.

  `timeout` is in milliseconds or `:infinity`, the default. When it expires, the result is an error
  with the reason `:timeout`, and the command keeps running.

  ## Example

      iex> {:error, error} = Dala.Gpu.Compute.wait(987_654_321_000)
      iex> error.reason
      :unknown_command
  """
  @spec wait(Command.id(), timeout()) :: :ok | {:error, Error.t()}
  defdelegate wait(id, timeout \\ :infinity), to: Command

  @doc """
  Cancels a command that has not started; see `Dala.Gpu.Compute.Command.cancel/1`.

  ## Example

      iex> {:error, error} = Dala.Gpu.Compute.cancel(987_654_321_000)
      iex> error.reason
      :unknown_command
  """
  @spec cancel(Command.id()) :: :ok | {:error, Error.t()}
  defdelegate cancel(id), to: Command

  # Pipelines

  @doc """
  Creates an empty pipeline; see `Dala.Gpu.Compute.Pipeline`.

  ## Example

      iex> Dala.Gpu.Compute.pipeline()
      #Dala.Gpu.Compute.Pipeline<empty>
  """
  @spec pipeline() :: Pipeline.t()
  defdelegate pipeline, to: Pipeline, as: :new

  @doc """
  Adds a stage to a pipeline and returns the pipeline.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> Dala.Gpu.Compute.pipeline()
      ...> |> Dala.Gpu.Compute.pipeline_add(%{op: :run_kernel, kernel: :neg, inputs: [a], output: a})
      ...> |> Dala.Gpu.Compute.pipeline_add(%{op: :run_kernel, kernel: :relu, inputs: [a], output: a})
      #Dala.Gpu.Compute.Pipeline<2 stages: neg, relu>
  """
  @spec pipeline_add(Pipeline.t(), map()) :: Pipeline.t()
  defdelegate pipeline_add(pipeline, stage), to: Pipeline, as: :add

  @doc """
  Runs all stages of a pipeline in order and waits for the last one.

  A stage that cannot run is an error, with its index in `details.stage`, before any stage has run.
  The options `:times` and `:swap` run it many times; see `Dala.Gpu.Compute.Pipeline.run/2`.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> pipeline = Dala.Gpu.Compute.pipeline()
      iex> relu = %{op: :run_kernel, kernel: :relu, inputs: [a], output: a}
      iex> Dala.Gpu.Compute.pipeline_add(pipeline, relu)
      iex> Dala.Gpu.Compute.pipeline_run(pipeline)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [0.0, 2.0]
  """
  @spec pipeline_run(Pipeline.t(), [Pipeline.run_option()]) :: :ok | {:error, Error.t()}
  defdelegate pipeline_run(pipeline, opts \\ []), to: Pipeline, as: :run

  @doc """
  Submits a run of a pipeline and returns the id of its command; see
  `Dala.Gpu.Compute.Pipeline.submit/2`.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2], {2})
      iex> pipeline = Dala.Gpu.Compute.pipeline()
      iex> neg = %{op: :run_kernel, kernel: :neg, inputs: [a], output: a}
      iex> Dala.Gpu.Compute.pipeline_add(pipeline, neg)
      iex> id = Dala.Gpu.Compute.pipeline_submit(pipeline, times: 3)
      iex> Dala.Gpu.Compute.wait(id)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [-1.0, -2.0]
  """
  @spec pipeline_submit(Pipeline.t(), [Pipeline.run_option() | {:notify, pid()}]) :: Command.id()
  defdelegate pipeline_submit(pipeline, opts \\ []), to: Pipeline, as: :submit

  @doc """
  Changes parameters of a stage, by its index or name; see `Dala.Gpu.Compute.Pipeline.set/3`.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2], {2})
      iex> pipeline = Dala.Gpu.Compute.pipeline()
      iex> mul = %{op: :run_kernel, kernel: :scalar_mul, inputs: [a], output: a, params: %{scalar: 2}}
      iex> Dala.Gpu.Compute.pipeline_add(pipeline, mul)
      iex> Dala.Gpu.Compute.pipeline_set(pipeline, 0, scalar: 10)
      iex> Dala.Gpu.Compute.pipeline_run(pipeline)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [10.0, 20.0]
  """
  @spec pipeline_set(Pipeline.t(), non_neg_integer() | Pipeline.name(), Command.params()) ::
          Pipeline.t()
  defdelegate pipeline_set(pipeline, stage, params), to: Pipeline, as: :set

  @doc """
  Returns the plan of a pipeline: which stages are fused, and how many bytes they move.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> pipeline = Dala.Gpu.Compute.pipeline()
      iex> relu = %{op: :run_kernel, kernel: :relu, inputs: [a], output: a}
      iex> Dala.Gpu.Compute.pipeline_add(pipeline, relu)
      iex> plan = Dala.Gpu.Compute.pipeline_explain(pipeline)
      iex> plan |> to_string() |> String.split("\\n")
      [
        "stages  kernel  writes   moves",
        "0       relu    f32 {2}  16 B",
        "1 kernel for 1 stage; moves 16 B; temporary memory 0 B"
      ]
  """
  @spec pipeline_explain(Pipeline.t()) :: Pipeline.Plan.t()
  defdelegate pipeline_explain(pipeline), to: Pipeline, as: :explain

  @doc """
  Releases a pipeline and its references to buffers.

  ## Example

      iex> Dala.Gpu.Compute.free_pipeline(Dala.Gpu.Compute.pipeline())
      :ok
  """
  @spec free_pipeline(Pipeline.t()) :: :ok
  defdelegate free_pipeline(pipeline), to: Pipeline, as: :free

  # Nx

  @doc """
  Creates a buffer from an Nx tensor; see `Dala.Gpu.Compute.NxBridge`.

  ## Example

      tensor = Nx.tensor([1.0, 2.0, 3.0])
      buffer = Dala.Gpu.Compute.from_nx(tensor)
  """
  @spec from_nx(Nx.Tensor.t()) :: Buffer.t()
  defdelegate from_nx(tensor), to: NxBridge

  @doc """
  Reads a buffer as an Nx tensor of its own shape and type.

  ## Example

      tensor = Dala.Gpu.Compute.to_nx(buffer)
  """
  @spec to_nx(Buffer.t()) :: Nx.Tensor.t()
  defdelegate to_nx(buffer), to: NxBridge

  @doc """
  Reads a buffer as an Nx tensor of the given shape; the type must be the buffer's.

  ## Example

      tensor = Dala.Gpu.Compute.to_nx(buffer, {3}, :f32)
  """
  @spec to_nx(Buffer.t(), tuple(), Buffer.dtype()) :: Nx.Tensor.t()
  defdelegate to_nx(buffer, shape, dtype), to: NxBridge
end
