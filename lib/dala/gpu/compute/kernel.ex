defmodule Dala.Gpu.Compute.Kernel do
  @moduledoc """
  Runs, lists and registers kernels.

  `list/0` describes every kernel: its inputs, element types, parameters with defaults and ranges,
  and the output it requires.

  ## Custom kernels

  For one formula per element, use `elementwise/3`:

      iex> alias Dala.Gpu.Compute.{Buffer, Kernel}
      iex> Kernel.elementwise(:doc_swish, "x / (1 + exp(-x))")
      :ok
      iex> x = Buffer.new([0, 100], {2})
      iex> Kernel.run(:doc_swish, [x], x)
      :ok
      iex> Buffer.read_list(x)
      [0.0, 100.0]

  For everything else, `register/3` takes OpenCL C. The pointer named `output` is the output, or the
  pointers named by the option `:outputs` are; the other pointers, which must be `const`, are the
  inputs in order. A scalar is the parameter of that name, except for these, which are set
  automatically:

  | Argument | Value |
  |---|---|
  | `n` | the length of the (first) output, in elements of its pointer's type |
  | `width`, `height`, `channels` | of the image: an output (or first input) of shape `{height, width}` or `{height, width, channels}`; for other shapes the parameters of these names |
  | `mask_n`, `mask_width`, `mask_height`, `mask_channels` | the same for the input whose pointer is named `mask`; a single input can also be called `input`, and several `input0`, `input1` and so on. The same for each of several outputs |

  A kernel that is told only the size of the output would read past the end of a smaller input, so
  such a call is the error `:shape_mismatch`, unless the kernel takes a length of that input, or was
  registered with the option `:sizes`. The same goes for outputs after the first.

      iex> alias Dala.Gpu.Compute.{Buffer, Kernel}
      iex> Kernel.register(:doc_threshold, \"\"\"
      ...> __kernel void doc_threshold(__global const float *input, __global float *output,
      ...>                             float level, int n) {
      ...>   int i = get_global_id(0);
      ...>   if (i < n) output[i] = input[i] >= level ? 1.0f : 0.0f;
      ...> }
      ...> \"\"\", inputs: 1, params: [:level])
      :ok
      iex> x = Buffer.new([0.2, 0.6, 0.8], {3})
      iex> Kernel.run(:doc_threshold, [x], x, level: 0.5)
      :ok
      iex> Buffer.read_list(x)
      [0.0, 1.0, 1.0]

  A custom kernel runs with the rights of the VM: an index out of bounds is undefined behaviour, as
  in any C code, so guard every index. The guide on custom kernels lists what is rejected at
  registration. A kernel that is not trusted is registered with `isolate: true`, and runs in a VM of
  its own.
  """

  alias Dala.Telemetry
  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Native, Placement, Remote}
  alias Dala.Gpu.Compute.{Runtime, Watcher}
  alias Dala.Gpu.Compute.Kernel.{Isolation, Options}

  @type name :: atom() | String.t()

  @type param :: %{
          name: String.t(),
          kind: atom(),
          default: term(),
          required: boolean(),
          min: number() | nil,
          max: number() | nil,
          choices: [atom()],
          summary: String.t()
        }

  @type info :: %{
          name: String.t(),
          summary: String.t(),
          inputs: non_neg_integer(),
          optional_inputs: non_neg_integer(),
          outputs: pos_integer(),
          dtypes: [Buffer.dtype()],
          output: String.t(),
          custom: boolean(),
          params: [param()]
        }

  # The native side has tighter limits; these keep far longer texts from being copied.
  @most_source 2 * 1024 * 1024
  @most_expression 64 * 1024

  @doc """
  Runs a kernel and returns when it has finished; only the calling process waits.

  The output may also be one of the inputs. A call that fails validation writes to no buffer.

  ## Parameters

    * `kernel` - the name, an atom or a string
    * `inputs` - a list of buffers
    * `output` - the buffer to write to; a list of buffers for a kernel with several outputs
    * `params` - the kernel's parameters, a map or keyword list, `%{}` by default

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2, 3], {3})
      iex> Dala.Gpu.Compute.Kernel.run(:scalar_mul, [a], a, scalar: 10)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [10.0, 20.0, 30.0]
  """
  @spec run(name(), [Command.buffer()], Command.output(), Command.params()) ::
          :ok | {:error, Error.t()}
  def run(kernel, inputs, output, params \\ %{}) do
    kernel = Command.kernel!(kernel)
    params = Command.params!(params)

    case Command.operands!(inputs, output) do
      {:here, inputs, output} -> run_here(kernel, inputs, output, params)
      {:there, device, inputs, output} -> run_there(device, kernel, inputs, output, params)
      {:error, _error} = mismatch -> mismatch
    end
  end

  defp run_here(kernel, inputs, output, params) do
    with :ok <- Runtime.ensure() do
      Telemetry.span([:dala, :command], %{op: :run_kernel, name: kernel}, fn ->
        run = &Native.submit(:run_kernel, kernel, inputs, output, params, {:reply, &1})

        with {:error, %Error{details: %{isolated: ^kernel}}} <- Command.run(run),
             do: Isolation.run(kernel, inputs, output, params)
      end)
    end
  end

  defp run_there(device, kernel, inputs, output, params) do
    Telemetry.span([:dala, :command], %{op: :run_kernel, name: kernel}, fn ->
      Remote.run(device, :run_kernel, kernel, inputs, output, params)
    end)
  end

  @doc """
  Submits a kernel call and returns the id of the command immediately.

  This is a shorthand for `Dala.Gpu.Compute.submit/2`.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2, 3], {3})
      iex> id = Dala.Gpu.Compute.Kernel.async_run(:neg, [a], a)
      iex> Dala.Gpu.Compute.wait(id)
      :ok
  """
  @spec async_run(name(), [Command.buffer()], Command.output(), Command.params()) :: Command.id()
  def async_run(kernel, inputs, output, params \\ %{}) do
    Command.submit(%{
      op: :run_kernel,
      kernel: kernel,
      inputs: inputs,
      output: output,
      params: params
    })
  end

  @doc """
  Submits a kernel whose output is a new buffer, and returns that buffer immediately.

  Reading the buffer waits for the kernel, as for any command. A call that is wrong raises
  `Dala.Gpu.Compute.Error`. A kernel that fails later leaves the buffer without content: reading it,
  or running another kernel on it, is then the same error.

  ## Parameters

    * `kernel`, `inputs`, `params` - as for `run/4`; the kernel must write all of its output
    * `shape`, `dtype` - of the output

  ## Example

      iex> alias Dala.Gpu.Compute.{Buffer, Kernel}
      iex> a = Buffer.new([1, 2, 3], {3})
      iex> b = Kernel.compute(:elementwise_mul, [a, a], {3}, :f32)
      iex> Buffer.read_list(b)
      [1.0, 4.0, 9.0]
  """
  @spec compute(
          name(),
          [Command.buffer()],
          Buffer.shape() | [non_neg_integer()],
          Buffer.dtype(),
          Command.params()
        ) :: Buffer.t()
  def compute(kernel, inputs, shape, dtype, params \\ %{}) do
    kernel = Command.kernel!(kernel)
    dims = Buffer.dims!(shape)
    dtype = Buffer.dtype!(dtype)
    params = Command.params!(params)

    # A kernel without inputs runs where the process makes its buffers.
    ref =
      case Command.operands!(inputs, :none) do
        {:here, [], []} -> compute_on(Placement.current(), kernel, [], dims, dtype, params)
        {:here, inputs, []} -> compute_on(nil, kernel, inputs, dims, dtype, params)
        {:there, device, inputs, []} -> compute_on(device, kernel, inputs, dims, dtype, params)
        {:error, error} -> raise error
      end

    %Buffer{ref: ref, shape: List.to_tuple(dims), dtype: dtype}
  end

  defp compute_on(nil, kernel, inputs, dims, dtype, params) do
    Runtime.ensure!()
    Runtime.collect_if_grown()
    Watcher.monitor_caller()
    Command.started!(fn -> Native.compute(kernel, inputs, dims, dtype, params) end)
  end

  defp compute_on(device, kernel, inputs, dims, dtype, params),
    do: device |> Remote.compute(kernel, inputs, dims, dtype, params) |> Error.value!()

  @doc """
  Registers a kernel written in OpenCL C, or replaces the custom kernel of that name.

  The source is compiled immediately, in a separate operating system process. If that fails, or
  takes longer than `config :dala_gpu, build_timeout:` allows, the error's reason is `:build_failed`.
  Its message has the first line of your source that does not compile, `details.line` and
  `details.column` the place, and `details.log` the compiler's output. Sources with constructs that no kernel needs, such as
  inline assembly or files to include, are rejected with `:invalid_param`.

  ## Options

    * `:inputs` - the number of input buffers, 1 by default
    * `:outputs` - the names of the arguments that are outputs, such as `[:low, :high]`, or their
      number: with 1, the default, the argument is named `output`, with more `output0`, `output1` and
      so on. A call of such a kernel gets a list of buffers in that order
    * `:params` - the names of the parameters, up to 64 atoms or strings, none by default
    * `:range` - the number of work items: `:elements` is one per element of the output, `:pixels`
      is width by height of the image, `:auto` (the default) is `:pixels` if the source calls
      `get_global_id(1)`, `:elements` otherwise. A tuple of one to three integers, such as `{64, 64}`,
      is the same number for every call
    * `:local` - the number of work items in a work-group, a tuple such as `{16, 16}`, by default chosen
      by the library. The range is rounded up to a multiple of it, so the kernel must check its indices
    * `:local_memory` - the number of elements of each `__local` pointer, by argument name:
      `[tile: 256]`
    * `:entry` - the name of the kernel function, by default the registered name, or the only kernel
      function of the source
    * `:summary` - a sentence for `list/0`
    * `:headers` - a map of texts that the source may `#include`, by name; none by default. No file
      is read
    * `:sizes` - the minimum number of elements of buffers whose size is independent of the
      output's, by argument name: `[table: 256]`. `[table: :any]` disables the check for that
      argument, `:any` for all arguments
    * `:isolate` - `true` to keep the kernel away from this VM: it is registered on an isolated device,
      with a deadline of ten seconds for each call. `run/4` copies buffers of this VM there, and the
      outputs back. The handle of an isolated device with other limits is taken too; `false` by
      default. See `Dala.Gpu.Compute.Isolated`
    * `:trusted` - whether the kernel is known not to write to its inputs, `false` by default. If an
      input shares memory with an Erlang binary, a kernel that is not trusted gets a copy

  ## Example

      iex> Dala.Gpu.Compute.Kernel.register(:doc_broken, "__kernel void doc_broken(", inputs: 1)
      ...> |> elem(1)
      ...> |> Map.fetch!(:reason)
      :build_failed
  """
  @spec register(name(), String.t(), keyword()) :: :ok | {:error, Error.t()}
  def register(name, source, opts \\ []) do
    name = Command.kernel!(name)
    source = Options.text!(:source, source)

    {isolate, opts} = opts |> Argument.keyword!() |> Keyword.pop(:isolate, false)
    native = Options.register!(opts)

    text = [source, Enum.map(native.headers, &elem(&1, 1))]

    with :ok <- check_size(name, "source", text, @most_source),
         {:ok, device} <- Isolation.device!(isolate),
         do: register_on(device, name, source, native)
  end

  defp register_on(nil, name, source, native) do
    with :ok <- build(:register, name, source, native) do
      if Placement.current() == nil, do: Isolation.take(name)
      :ok
    end
  end

  defp register_on(device, name, source, native) do
    build = fn -> build(:register, name, source, native) end

    with :ok <- Runtime.ensure(),
         :ok <- Placement.run(device, build),
         do: Isolation.put(name, device)
  end

  # Where the process makes its buffers.
  defp build(kind, name, text, native) do
    case Placement.current() do
      nil -> with :ok <- Runtime.ensure(), do: build_here(kind, name, text, native)
      device -> told(name, fn -> Remote.register(device, kind, name, text, native) end)
    end
  end

  defp build_here(:register, name, source, native),
    do: told(name, fn -> Runtime.answer(&Native.kernel_register(name, source, native, &1)) end)

  defp build_here(:elementwise, name, expression, native) do
    told(name, fn -> Runtime.answer(&Native.kernel_elementwise(name, expression, native, &1)) end)
  end

  defp told(name, build),
    do: Telemetry.span([:dala, :program, :build], %{kind: :kernel, name: name}, build)

  @doc """
  Registers a kernel that computes one expression per element.

  The expression is OpenCL C. The elements of the inputs are `x`, `y`, `z` and `w`, in order;
  parameters are used by name. All values have the output's type, `:f32`, `:f64`, or `:f16` or
  `:bf16`, which are computed as `:f32`, and inputs broadcast to the output's shape. The expression
  has at most 4096 characters and 64 levels of parentheses.

  ## Options

    * `:inputs` - the number of input buffers, 1 to 4, 1 by default
    * `:params` - the names of up to four parameters, atoms or strings, none by default
    * `:summary` - a sentence for `list/0`, the expression by default

  ## Example

      iex> alias Dala.Gpu.Compute.Kernel
      iex> Kernel.elementwise(:doc_lerp, "x + (y - x) * t", inputs: 2, params: [:t])
      :ok
      iex> a = Dala.Gpu.Compute.buffer([0, 10], {2})
      iex> b = Dala.Gpu.Compute.buffer([1, 20], {2})
      iex> Kernel.run(:doc_lerp, [a, b], a, t: 0.5)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [0.5, 15.0]
  """
  @spec elementwise(name(), String.t(), keyword()) :: :ok | {:error, Error.t()}
  def elementwise(name, expression, opts \\ []) do
    name = Command.kernel!(name)
    expression = Options.text!(:expression, expression)
    native = Options.elementwise!(opts)

    with :ok <- check_size(name, "expression", expression, @most_expression),
         do: build(:elementwise, name, expression, native)
  end

  @doc """
  Removes a custom kernel; a built-in or unknown kernel is the error `:unknown_kernel`.

  ## Example

      iex> Dala.Gpu.Compute.Kernel.elementwise(:doc_square, "x * x")
      :ok
      iex> Dala.Gpu.Compute.Kernel.unregister(:doc_square)
      :ok
  """
  @spec unregister(name()) :: :ok | {:error, Error.t()}
  def unregister(name) do
    name = Command.kernel!(name)

    device = Placement.current() || Isolation.take(name)

    case call_native(device, :kernel_unregister, [name]) do
      {:ok, true} ->
        :ok

      {:ok, false} ->
        {:error,
         %Error{reason: :unknown_kernel, message: "there is no custom kernel named #{name}"}}

      {:error, _error} = failed ->
        failed
    end
  end

  defp call_native(nil, function, arguments) do
    with :ok <- Runtime.ensure(), do: {:ok, apply(Native, function, arguments)}
  end

  defp call_native(device, function, arguments),
    do: Remote.apply(device, Native, function, arguments)

  @doc """
  Describes every kernel, built-in or custom, sorted by name.

  ## Example

      iex> names = Enum.map(Dala.Gpu.Compute.Kernel.list(), & &1.name)
      iex> Enum.all?(["elementwise_add", "matmul", "relu"], &(&1 in names))
      true
  """
  @spec list() :: [info()]
  def list do
    device = Placement.current()
    kernels = device |> call_native(:kernels, []) |> Error.value!()
    if device, do: kernels, else: Enum.sort_by(kernels ++ Isolation.list(), & &1.name)
  end

  @doc """
  Describes one kernel, or returns `:error` if no kernel has that name.

  ## Example

      iex> {:ok, relu} = Dala.Gpu.Compute.Kernel.lookup(:relu)
      iex> {relu.inputs, relu.custom, Enum.map(relu.params, & &1.name)}
      {1, false, ["slope"]}
      iex> Dala.Gpu.Compute.Kernel.lookup(:no_such_kernel)
      :error
  """
  @spec lookup(name()) :: {:ok, info()} | :error
  def lookup(name) do
    name = Command.kernel!(name)

    case Enum.find(list(), &(&1.name == name)) do
      nil -> :error
      kernel -> {:ok, kernel}
    end
  end

  defp check_size(name, what, text, most) do
    case IO.iodata_length(text) do
      size when size <= most ->
        :ok

      size ->
        message = "the #{what} of #{name} has #{size} bytes, the limit is #{most}"
        {:error, %Error{reason: :invalid_param, message: message}}
    end
  end
end
