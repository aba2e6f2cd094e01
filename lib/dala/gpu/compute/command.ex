defmodule Dala.Gpu.Compute.Command do
  @moduledoc """
  Work that was handed to the device and has an id.

  Commands on the same buffers take effect in the order of submission; commands on different
  buffers may overlap. A process that waits is just waiting for a message, so any number of them
  may wait.

  A command is a map:

    * `:op` - `:run_kernel` or `:copy_buffer`
    * `:kernel` - the kernel's name, an atom or a string (`:run_kernel` only)
    * `:inputs` - a list of buffers; for `:copy_buffer` the one to copy from
    * `:output` - the buffer to write to
    * `:params` - the kernel's parameters, a map or keyword list, `%{}` by default

  A buffer is a `Dala.Gpu.Compute.Buffer` or its `ref`.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, Native, Runtime}
  alias Dala.ML.Gpu.AsKernel

  @keys [:op, :kernel, :inputs, :output, :params]
  @max_id 0x7FFFFFFFFFFFFFFF

  @type id :: non_neg_integer()
  @type kernel :: atom() | String.t()
  @type buffer :: Buffer.t() | reference()
  @type param :: number() | boolean() | atom() | String.t() | tuple() | [number()]
  @type params :: %{optional(atom() | String.t()) => param()} | keyword(param())
  @type spec :: %{
          required(:op) => :run_kernel | :copy_buffer,
          required(:inputs) => [buffer()],
          required(:output) => buffer(),
          optional(:kernel) => kernel() | nil,
          optional(:params) => params()
        }

  @doc """
  Hands a command to the device and returns its id at once.

  A malformed map raises `ArgumentError`. A well-formed command that cannot run, say because the
  shapes do not fit, gets an id whose `poll/1` and `wait/1` are the error. When very many commands
  are queued, the calling process first waits until there is room.

  ## Options

    * `:notify` - a local process that is sent `{:dala_gpu, id, :ok | {:error, error}}` when the
      command is done; nobody by default

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> b = Dala.Gpu.Compute.buffer_zeros({2}, :f32)
      iex> relu = %{op: :run_kernel, kernel: :relu, inputs: [a], output: b}
      iex> id = Dala.Gpu.Compute.Command.submit(relu, notify: self())
      iex> receive do
      ...>   {:dala_gpu, ^id, result} -> result
      ...> end
      :ok
  """
  @spec submit(spec(), notify: pid()) :: id()
  def submit(spec, opts \\ []) do
    {op, kernel, inputs, output, params} = spec!(spec)
    mode = mode!(opts)
    Runtime.ensure!()

    enqueue(fn ->
      case AsKernel.ensure(kernel) do
        :ok ->
          Native.submit(op, kernel, inputs, output, params, mode)

        {:error, %Error{reason: reason, message: message}} ->
          Native.submit_failure(Atom.to_string(reason), message, mode)
      end
    end)
  end

  @doc """
  Tells how a command is doing; may be asked again and again.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> id = Dala.Gpu.Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: a})
      iex> Dala.Gpu.Compute.Command.poll(id) in [:pending, :completed]
      true
  """
  @spec poll(id()) :: :pending | :completed | {:error, Error.t()}
  def poll(id) do
    with :ok <- known(id), :ok <- Runtime.ensure(), do: Native.command_poll(id)
  end

  @doc """
  Waits until a command is done; only the calling process waits.

  `timeout` is in milliseconds or `:infinity`, the default. When it runs out the result is an
  error with the reason `:timeout`; the command itself goes on.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> id = Dala.Gpu.Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: a})
      iex> Dala.Gpu.Compute.Command.wait(id, 60_000)
      :ok
  """
  @spec wait(id(), timeout()) :: :ok | {:error, Error.t()}
  def wait(id, timeout \\ :infinity) do
    timeout = Argument.timeout!(timeout)

    with :ok <- known(id), :ok <- Runtime.ensure() do
      ref = make_ref()

      case Native.command_watch(id, ref) do
        :pending ->
          receive do
            {^ref, result} -> result
          after
            timeout -> give_up(id, ref, timeout)
          end

        result ->
          result
      end
    end
  end

  # What follows is for the other domain modules.

  @doc false
  # Submits and waits for the result. `start` gets the reference of the message to wait for.
  @spec run((reference() -> Native.started())) :: :ok | {:error, Error.t()}
  def run(start) do
    ref = make_ref()

    case start.(ref) do
      {:ok, _id} ->
        receive do
          {^ref, result} -> result
        end

      {:full, id} ->
        _ = wait(id)
        run(start)

      {:wait, ready} ->
        prepared(ready)
        run(start)

      {:error, error} ->
        with :ok <- AsKernel.found(error), do: run(start)
    end
  end

  @doc false
  # Waits until something that a call needs first is there, such as the plan of a model. The call,
  # made again, says what went wrong.
  @spec prepared(reference()) :: :ok
  def prepared(ref) do
    receive do
      {^ref, _result} -> :ok
    end
  end

  @doc false
  @spec kernel!(kernel()) :: String.t()
  def kernel!(name) when is_binary(name) and name != "", do: name

  def kernel!(name) when is_atom(name) and name not in [nil, true, false],
    do: Atom.to_string(name)

  def kernel!(other) do
    raise ArgumentError,
          "expected the kernel's name as an atom or a string, got: #{inspect(other)}"
  end

  @doc false
  @spec inputs!([buffer()]) :: [reference()]
  def inputs!(inputs) when length(inputs) >= 0, do: Enum.map(inputs, &Buffer.ref!/1)

  def inputs!(other) do
    raise ArgumentError, "expected inputs to be a list of buffers, got: #{inspect(other)}"
  end

  @doc false
  @spec params!(params()) :: %{optional(atom() | String.t()) => param()}
  def params!(params) when is_map(params) and not is_struct(params) do
    Enum.each(params, &check_param!/1)
    params
  end

  def params!([]), do: %{}

  def params!(params) when is_list(params) do
    unless Keyword.keyword?(params), do: bad_params!(params)
    params |> Map.new() |> params!()
  end

  def params!(other), do: bad_params!(other)

  defp enqueue(start) do
    case start.() do
      {:ok, id} ->
        id

      {:full, id} ->
        _ = wait(id)
        enqueue(start)

      {:wait, ready} ->
        prepared(ready)
        enqueue(start)

      {:error, error} ->
        raise error
    end
  end

  # The command may finish between the timeout and the unwatch. Then its message comes, and must
  # not stay in the mailbox.
  defp give_up(id, ref, timeout) do
    case Native.command_unwatch(id, ref) do
      true ->
        {:error,
         %Error{
           reason: :timeout,
           message: "command #{id} was not done after #{timeout} ms",
           details: %{id: id, timeout: timeout}
         }}

      false ->
        receive do
          {^ref, result} -> result
        end

      {:error, _error} = failed ->
        failed
    end
  end

  defp known(id) when is_integer(id) and id in 0..@max_id, do: :ok

  defp known(id) when is_integer(id) do
    {:error,
     %Error{
       reason: :unknown_command,
       message: "no command has the id #{id}",
       details: %{id: id}
     }}
  end

  defp known(other) do
    raise ArgumentError, "expected the id of a command, an integer, got: #{inspect(other)}"
  end

  defp spec!(spec) when is_map(spec) and not is_struct(spec) do
    for {key, _value} <- spec, key not in @keys do
      raise ArgumentError,
            "a command has no key #{inspect(key)}; it takes " <>
              Enum.map_join(@keys, ", ", &inspect/1)
    end

    op = op!(spec)

    {op, spec_kernel!(op, spec), inputs!(fetch!(spec, :inputs)),
     Buffer.ref!(fetch!(spec, :output)), params!(Map.get(spec, :params, %{}))}
  end

  defp spec!(other) do
    raise ArgumentError, "expected a command as a map, got: #{inspect(other)}"
  end

  defp op!(spec) do
    case fetch!(spec, :op) do
      op when op in [:run_kernel, :copy_buffer] ->
        op

      other ->
        raise ArgumentError,
              "expected op to be :run_kernel or :copy_buffer, got: #{inspect(other)}"
    end
  end

  defp spec_kernel!(:run_kernel, spec), do: kernel!(fetch!(spec, :kernel))
  defp spec_kernel!(:copy_buffer, _spec), do: ""

  defp fetch!(spec, key) do
    case spec do
      %{^key => value} -> value
      _ -> raise ArgumentError, "the command has no #{inspect(key)}: #{inspect(spec)}"
    end
  end

  defp mode!(opts) do
    case Argument.options!(opts, notify: nil)[:notify] do
      nil ->
        :async

      pid when is_pid(pid) and node(pid) == node() ->
        {:notify, pid}

      other ->
        raise ArgumentError, "expected notify: to be a local process, got: #{inspect(other)}"
    end
  end

  defp check_param!({key, value}) when is_atom(key) or is_binary(key) do
    unless param?(value) do
      raise ArgumentError,
            "expected param #{key} to be a number, boolean, atom, string, or a tuple or list of " <>
              "numbers, got: #{inspect(value)}"
    end
  end

  defp check_param!({key, _value}) do
    raise ArgumentError, "expected params to have atom or string keys, got: #{inspect(key)}"
  end

  defp param?(nil), do: false
  defp param?(value) when is_number(value) or is_atom(value) or is_binary(value), do: true
  defp param?(value) when is_tuple(value), do: value |> Tuple.to_list() |> param?()
  defp param?(value) when length(value) >= 0, do: Enum.all?(value, &is_number/1)
  defp param?(_value), do: false

  defp bad_params!(params) do
    raise ArgumentError, "expected params to be a map or keyword list, got: #{inspect(params)}"
  end
end
