defmodule Dala.Gpu.Compute.Kernel do
  @moduledoc """
  Kernels: running them, listing them, and adding your own.

  `list/0` describes every kernel there is: its inputs, element types, parameters with defaults and
  ranges, and the output it needs.

  ## Your own kernels

  For one formula per element, `elementwise/3` is enough:

      iex> alias Dala.Gpu.Compute.{Buffer, Kernel}
      iex> Kernel.elementwise(:doc_swish, "x / (1 + exp(-x))")
      :ok
      iex> x = Buffer.new([0, 100], {2})
      iex> Kernel.run(:doc_swish, [x], x)
      :ok
      iex> Buffer.read_list(x)
      [0.0, 100.0]

  For everything else, `register/3` takes OpenCL C. The pointer named `output` is the output, the
  others, which must be `const`, are the inputs in order. A scalar is the parameter of that name,
  unless it is one that is filled in:

  | Argument | Value |
  |---|---|
  | `n` | the number of elements of the output |
  | `width`, `height`, `channels` | of the image: an output (or first input) of shape `{height, width}` or `{height, width, channels}`, or else the parameters of these names |

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

  A custom kernel runs with the rights of the VM: an index out of bounds in it is undefined
  behaviour, as in any C code, so guard every index.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Native, Runtime}

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

  @doc """
  Runs a kernel and returns when the result is there; only the calling process waits.

  The output may also be one of the inputs. A call that is wrong writes to no buffer.

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
      Command.run(&Native.submit(:run_kernel, kernel, inputs, output, params, {:reply, &1}))
    end
  end

  @doc """
  Hands a kernel call to the device and returns the id of the command at once.

  See `Dala.Gpu.Compute.submit/2`, which this is a shorthand for.

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
  Adds a kernel written in OpenCL C, or replaces the custom kernel of that name.

  The source is compiled right away; when that fails, the error's reason is `:build_failed` and
  its `details.log` what the compiler said.

  ## Options

    * `:inputs` - the number of input buffers, 1 by default
    * `:params` - the names of the parameters, atoms or strings, none by default
    * `:range` - how many work items run: `:elements` is one per element of the output, `:pixels`
      is width by height of the image, `:auto` (the default) is `:pixels` when the source has
      `get_global_id(1)`, `:elements` otherwise
    * `:entry` - the name of the kernel function, by default the registered name, or the only one
    * `:summary` - a sentence for `list/0`

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

    opts = Argument.options!(opts, inputs: 1, params: [], range: :auto, entry: nil, summary: "")

    native = %{
      inputs: count!(opts[:inputs]),
      params: names!(opts[:params]),
      range: range!(opts[:range]),
      entry: entry!(opts[:entry]),
      summary: text!(:summary, opts[:summary])
    }

    with :ok <- Runtime.ensure() do
      Runtime.answer(&Native.kernel_register(name, source, native, &1))
    end
  end

  @doc """
  Adds a kernel that computes one expression per element.

  The expression is OpenCL C. The elements of the inputs are `x`, `y`, `z` and `w`, in order;
  parameters go by their names. All are of the output's type, `:f32` or `:f64`, and inputs broadcast
  to the output's shape.

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

    with :ok <- Runtime.ensure() do
      Runtime.answer(&Native.kernel_elementwise(name, expression, native, &1))
    end
  end

  @doc """
  Removes a custom kernel; one that is built in, or not there, is the error `:unknown_kernel`.

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
  Describes every kernel, built in or custom, sorted by name.

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
  Describes one kernel, or gives `:error` when no kernel has that name.

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
    raise ArgumentError, "expected the #{what} as a string, got: #{inspect(other)}"
  end

  defp count!(count) when is_integer(count) and count in 0..64, do: count

  defp count!(other) do
    raise ArgumentError, "expected inputs: to be an integer in 0..64, got: #{inspect(other)}"
  end

  defp names!(names) when length(names) >= 0, do: Enum.map(names, &name!/1)

  defp names!(other) do
    raise ArgumentError, "expected params: to be a list of names, got: #{inspect(other)}"
  end

  defp name!(name) when is_binary(name) and name != "", do: name
  defp name!(name) when is_atom(name) and name not in [nil, true, false], do: Atom.to_string(name)

  defp name!(other) do
    raise ArgumentError,
          "expected params: to be a list of atoms or strings, got: #{inspect(other)}"
  end

  defp range!(range) when range in [:auto, :elements, :pixels], do: Atom.to_string(range)

  defp range!(other) do
    raise ArgumentError,
          "expected range: to be :auto, :elements or :pixels, got: #{inspect(other)}"
  end

  defp entry!(nil), do: ""
  defp entry!(entry) when is_atom(entry), do: Atom.to_string(entry)
  defp entry!(entry) when is_binary(entry), do: entry

  defp entry!(other) do
    raise ArgumentError,
          "expected entry: to be the name of a kernel function, got: #{inspect(other)}"
  end
end
