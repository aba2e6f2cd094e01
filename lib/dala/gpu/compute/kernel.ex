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

  For everything else, `register/3` takes OpenCL C. The pointer named `output` is the output; the
  other pointers, which must be `const`, are the inputs in order. A scalar is the parameter of that
  name, except for these, which are set automatically:

  | Argument | Value |
  |---|---|
  | `n` | the length of the output, in elements of its pointer's type |
  | `width`, `height`, `channels` | of the image: an output (or first input) of shape `{height, width}` or `{height, width, channels}`; for other shapes the parameters of these names |
  | `mask_n`, `mask_width`, `mask_height`, `mask_channels` | the same for the input whose pointer is named `mask`; a single input can also be called `input`, and several `input0`, `input1` and so on |

  A kernel that is told only the size of the output would read past the end of a smaller input, so
  such a call is the error `:shape_mismatch`, unless the kernel takes a length of that input, or was
  registered with the option `:sizes`.

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
  registration.
  """

  alias Dala.Telemetry
  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Native, Runtime}

  @most_params 64

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
    * `output` - the buffer to write to
    * `params` - the kernel's parameters, a map or keyword list, `%{}` by default

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([1, 2, 3], {3})
      iex> Dala.Gpu.Compute.Kernel.run(:scalar_mul, [a], a, scalar: 10)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [10.0, 20.0, 30.0]
  """
  @spec run(name(), [Command.buffer()], Command.buffer(), Command.params()) ::
          :ok | {:error, Error.t()}
  def run(kernel, inputs, output, params \\ %{}) do
    kernel = Command.kernel!(kernel)
    inputs = Command.inputs!(inputs)
    output = Buffer.ref!(output)
    params = Command.params!(params)

    with :ok <- Runtime.ensure() do
      Telemetry.span([:dala, :command], %{op: :run_kernel, name: kernel}, fn ->
        Command.run(&Native.submit(:run_kernel, kernel, inputs, output, params, {:reply, &1}))
      end)
    end
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
  @spec async_run(name(), [Command.buffer()], Command.buffer(), Command.params()) :: Command.id()
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
  Registers a kernel written in OpenCL C, or replaces the custom kernel of that name.

  The source is compiled immediately, in a separate operating system process. If that fails, or
  takes longer than `config :dala_gpu, build_timeout:` allows, the error's reason is `:build_failed`
  and `details.log` is the compiler's output. Sources with constructs that no kernel needs, such as
  inline assembly or files to include, are rejected with `:invalid_param`.

  ## Options

    * `:inputs` - the number of input buffers, 1 by default
    * `:params` - the names of the parameters, up to 64 atoms or strings, none by default
    * `:range` - the number of work items: `:elements` is one per element of the output, `:pixels`
      is width by height of the image, `:auto` (the default) is `:pixels` if the source calls
      `get_global_id(1)`, `:elements` otherwise
    * `:entry` - the name of the kernel function, by default the registered name, or the only kernel
      function of the source
    * `:summary` - a sentence for `list/0`
    * `:headers` - a map of texts that the source may `#include`, by name; none by default. No file
      is read
    * `:sizes` - the minimum number of elements of buffers whose size is independent of the
      output's, by argument name: `[table: 256]`. `[table: :any]` disables the check for that
      argument, `:any` for all arguments
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
    source = text!(:source, source)

    opts =
      Argument.options!(opts,
        inputs: 1,
        params: [],
        range: :auto,
        entry: nil,
        summary: "",
        headers: %{},
        sizes: [],
        trusted: false
      )

    native = %{
      inputs: count!(opts[:inputs]),
      params: names!(opts[:params]),
      range: range!(opts[:range]),
      entry: entry!(opts[:entry]),
      summary: text!(:summary, opts[:summary]),
      headers: headers!(opts[:headers]),
      sizes: sizes!(opts[:sizes]),
      trusted: flag!(:trusted, opts[:trusted])
    }

    with :ok <- Runtime.ensure(),
         :ok <- check_size(name, "source", [source, Map.values(opts[:headers])], @most_source) do
      Telemetry.span([:dala, :program, :build], %{kind: :kernel, name: name}, fn ->
        Runtime.answer(&Native.kernel_register(name, source, native, &1))
      end)
    end
  end

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
    expression = text!(:expression, expression)
    opts = Argument.options!(opts, inputs: 1, params: [], summary: "")

    native = %{
      inputs: count!(opts[:inputs]),
      params: names!(opts[:params]),
      summary: text!(:summary, opts[:summary])
    }

    with :ok <- Runtime.ensure(),
         :ok <- check_size(name, "expression", expression, @most_expression) do
      Telemetry.span([:dala, :program, :build], %{kind: :kernel, name: name}, fn ->
        Runtime.answer(&Native.kernel_elementwise(name, expression, native, &1))
      end)
    end
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

    with :ok <- Runtime.ensure() do
      if Native.kernel_unregister(name) do
        :ok
      else
        {:error,
         %Error{reason: :unknown_kernel, message: "there is no custom kernel named #{name}"}}
      end
    end
  end

  @doc """
  Describes every kernel, built-in or custom, sorted by name.

  ## Example

      iex> names = Enum.map(Dala.Gpu.Compute.Kernel.list(), & &1.name)
      iex> Enum.all?(["elementwise_add", "matmul", "relu"], &(&1 in names))
      true
  """
  @spec list() :: [info()]
  def list do
    Runtime.ensure!()
    Native.kernels()
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

  defp text!(_what, text) when is_binary(text), do: text

  defp text!(what, other) do
    raise ArgumentError, "expected the #{what} as a string, got: #{Argument.show(other)}"
  end

  defp count!(count) when is_integer(count) and count in 0..64, do: count

  defp count!(other) do
    raise ArgumentError,
          "expected inputs: to be an integer in 0..64, got: #{Argument.show(other)}"
  end

  defp names!(names) when length(names) > @most_params do
    raise ArgumentError,
          "expected params: to be at most #{@most_params} names, got: #{length(names)}"
  end

  defp names!(names) when length(names) >= 0, do: Enum.map(names, &name!/1)

  defp names!(other) do
    raise ArgumentError, "expected params: to be a list of names, got: #{Argument.show(other)}"
  end

  defp name!(name) when is_binary(name) and name != "", do: name
  defp name!(name) when is_atom(name) and name not in [nil, true, false], do: Atom.to_string(name)

  defp name!(other) do
    raise ArgumentError,
          "expected params: to be a list of atoms or strings, got: #{Argument.show(other)}"
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

  defp headers!(headers) when is_map(headers) do
    for {name, text} <- headers, do: {text!(:header_name, name), text!(:header, text)}
  end

  defp headers!(other) do
    raise ArgumentError,
          "expected headers: to be a map of names and texts, got: #{inspect(other)}"
  end

  # The empty name stands for all buffers.
  defp sizes!(:any), do: [{"", 0}]

  defp sizes!(sizes) when is_map(sizes) or is_list(sizes) do
    Enum.map(sizes, fn
      {name, :any} -> {name!(name), 0}
      {name, size} when size in 0..0xFFFFFFFFFFFF -> {name!(name), size}
      _other -> bad_sizes!(sizes)
    end)
  end

  defp sizes!(other), do: bad_sizes!(other)

  defp bad_sizes!(sizes) do
    raise ArgumentError,
          "expected sizes: to be :any or a list such as [table: 256], got: #{inspect(sizes)}"
  end

  defp flag!(_key, flag) when is_boolean(flag), do: flag

  defp flag!(key, other) do
    raise ArgumentError, "expected #{key}: to be true or false, got: #{inspect(other)}"
  end

  defp range!(range) when range in [:auto, :elements, :pixels], do: Atom.to_string(range)

  defp range!(other) do
    raise ArgumentError,
          "expected range: to be :auto, :elements or :pixels, got: #{Argument.show(other)}"
  end

  defp entry!(nil), do: ""
  defp entry!(entry) when is_atom(entry), do: Atom.to_string(entry)
  defp entry!(entry) when is_binary(entry), do: entry

  defp entry!(other) do
    raise ArgumentError,
          "expected entry: to be the name of a kernel function, got: #{Argument.show(other)}"
  end
end
