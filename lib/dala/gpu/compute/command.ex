defmodule Dala.Gpu.Compute.Command do
  @moduledoc """
  Asynchronous work on the device, identified by an id.

  Commands on the same buffers take effect in the order of submission; commands on different
  buffers may overlap. A waiting process just waits for a message, so any number of processes can
  wait.

  A command is a map:

    * `:op` - `:run_kernel` or `:copy_buffer`
    * `:kernel` - the kernel's name, an atom or a string (`:run_kernel` only)
    * `:inputs` - a list of buffers; for `:copy_buffer` the source
    * `:output` - the buffer to write to; a list of buffers for a kernel with several outputs
    * `:params` - the kernel's parameters, a map or keyword list, `%{}` by default

  A buffer is a `Dala.Gpu.Compute.Buffer` or its `ref`. A command has at most 1024 inputs and 256
  params; a list param has at most 1024 numbers, a string param at most 1024 bytes.

  ## When the submitting process exits

  A command that has started always finishes. For commands that have not:

    * If the process exits normally (`:normal`, `:shutdown`, `{:shutdown, _}`), its submitted
      commands still run and send their notifications.
    * If the process is killed or crashes, its commands are dropped with the reason `:freed`, except
      for those that another process is to be notified of or has waited for.
    * A command that its process was waiting for (`Dala.Gpu.Compute.run_kernel/4`, a pipeline, a
      prediction) is dropped, since no process would receive its result.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, Native, Remote, Runtime, Watcher}
  alias Dala.Gpu.Compute.Kernel.Provider
  alias Dala.Gpu.Compute.Remote.{Commands, Link}
  alias Dala.Telemetry

  @keys [:op, :kernel, :inputs, :output, :params]
  @max_id 0x7FFFFFFFFFFFFFFF
  @longest_name 255
  @most_inputs 1024
  @most_params 256

  @type id :: non_neg_integer()
  @type kernel :: atom() | String.t()
  @type buffer :: Buffer.t() | Buffer.ref()
  @type output :: buffer() | [buffer(), ...]
  @type param :: number() | boolean() | atom() | String.t() | tuple() | [number()]
  @type params :: %{optional(atom() | String.t()) => param()} | keyword(param())
  @type spec :: %{
          required(:op) => :run_kernel | :copy_buffer,
          required(:inputs) => [buffer()],
          required(:output) => output(),
          optional(:kernel) => kernel() | nil,
          optional(:params) => params()
        }

  @doc """
  Submits a command and returns its id immediately.

  A malformed map raises `ArgumentError`. A well-formed command that cannot run, say because its
  shapes are incompatible, gets an id for which `poll/1` and `wait/1` return the error. If very many
  commands are queued, the calling process waits until there is room for more.

  ## Options

    * `:notify` - a local process that is sent `{:dala_gpu, id, :ok | {:error, error}}` when the
      command has finished; by default no process is notified

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
    notify = Argument.options!(opts, notify: nil)[:notify]
    mode = mode!(notify)

    case operands!(inputs, output) do
      {:here, inputs, output} ->
        start = fn -> provided(op, kernel, inputs, output, params, mode) end
        accepted(start, mode, op, kernel)

      {:there, device, inputs, output} ->
        tell(Remote.submit(device, op, kernel, inputs, output, params, notify), op, kernel)

      {:error, error} ->
        Remote.submit_failure(error, notify)
    end
  end

  defp accepted(start, mode, op, kernel) do
    Runtime.ensure!()
    Watcher.monitor_caller()
    id = enqueue(start, mode)
    take_turn()
    tell(id, op, kernel)
  end

  defp provided(op, kernel, inputs, output, params, mode) do
    case Provider.ensure(kernel) do
      :ok ->
        Native.submit(op, kernel, inputs, output, params, mode)

      {:error, _error} = failed ->
        failed_command(failed, mode)
    end
  end

  defp failed_command({:error, %Error{reason: reason, message: message} = error}, mode) do
    details = Map.filter(error.details, fn {_key, value} -> detail?(value) end)
    Native.submit_failure(Atom.to_string(reason), message, details, mode)
  end

  defp detail?(value), do: is_integer(value) or (is_binary(value) and byte_size(value) <= 1024)

  defp tell(id, op, kernel) do
    if Telemetry.listening?([:dala, :command, :submit]) do
      Telemetry.execute(
        [:dala, :command, :submit],
        %{system_time: System.system_time()},
        %{op: op, name: kernel, id: id}
      )
    end

    id
  end

  @doc """
  Returns the state of a command; it can be polled repeatedly.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> id = Dala.Gpu.Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: a})
      iex> Dala.Gpu.Compute.Command.poll(id) in [:pending, :completed]
      true
  """
  @spec poll(id()) :: :pending | :completed | {:error, Error.t()}
  def poll(id) when is_integer(id) and id > @max_id do
    case Commands.remote?(id) && Commands.find(id) do
      {:pending, link} -> if Process.alive?(link), do: :pending, else: Link.wait(link, id, 0)
      :ok -> :completed
      {:error, _error} = failed -> failed
      _unknown -> unknown(id)
    end
  end

  def poll(id) do
    with :ok <- known(id), :ok <- Runtime.ensure(), do: Native.command_poll(id)
  end

  @doc """
  Waits until a command has finished; only the calling process waits.

  `timeout` is in milliseconds or `:infinity`, the default. When it expires, the result is an error
  with the reason `:timeout`; the command itself keeps running.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> id = Dala.Gpu.Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: a})
      iex> Dala.Gpu.Compute.Command.wait(id, 60_000)
      :ok
  """
  @spec wait(id(), timeout()) :: :ok | {:error, Error.t()}
  def wait(id, timeout \\ :infinity) do
    timeout = Argument.timeout!(timeout)
    if is_integer(id) and id > @max_id, do: wait_there(id, timeout), else: wait_here(id, timeout)
  end

  defp wait_there(id, timeout) do
    case Commands.remote?(id) && Commands.find(id) do
      {:pending, link} ->
        with :timeout <- Link.wait(link, id, timeout), do: too_long(id, timeout)

      result when result == :ok or is_tuple(result) ->
        result

      _unknown ->
        unknown(id)
    end
  end

  defp wait_here(id, timeout) do
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

  @doc """
  Cancels a command that has not started, or the remaining runs of a pipeline that runs many times.

  Processes that wait for it, or are to be notified, immediately get an error with the reason
  `:cancelled`; its output keeps its content. Cancelling again returns `:ok`. A command that is on
  the device, or has finished, is not affected: that is an error with the reason `:unsupported`.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> id = Dala.Gpu.Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: a})
      iex> :ok = Dala.Gpu.Compute.wait(id)
      iex> {:error, error} = Dala.Gpu.Compute.Command.cancel(id)
      iex> error.reason
      :unsupported
  """
  @spec cancel(id()) :: :ok | {:error, Error.t()}
  def cancel(id) when is_integer(id) and id > @max_id do
    case Commands.remote?(id) && Commands.find(id) do
      {:pending, _link} -> too_late(id, "is on the device of another VM")
      result when result == :ok or is_tuple(result) -> too_late(id, "has ended")
      _unknown -> unknown(id)
    end
  end

  def cancel(id) do
    with :ok <- known(id), :ok <- Runtime.ensure() do
      case Native.command_cancel(id) do
        :ok -> :ok
        :started -> too_late(id, "has started")
        :ended -> too_late(id, "has ended")
        :unknown -> unknown(id)
        {:error, _error} = failed -> failed
      end
    end
  end

  defp too_late(id, state) do
    {:error,
     %Error{
       reason: :unsupported,
       message:
         "command #{id} #{state}; only a command of this VM's device that has not started can be " <>
           "cancelled",
       details: %{id: id}
     }}
  end

  # The functions below are for the other domain modules.

  @doc false
  # Submits and waits for the result. `start` takes the reference of the completion message.
  @spec run((reference() -> Native.started())) :: :ok | {:error, Error.t()}
  def run(start), do: Runtime.collecting(fn -> Provider.finding(fn -> attempt(start) end) end)

  defp attempt(start) do
    ref = make_ref()

    with {:ok, _id} <- start.(ref) do
      receive do
        {^ref, result} -> result
      end
    end
  end

  @doc false
  # Submits what `start`, which takes the mode, submits. An error is that of the id returned.
  @spec submit_with(pid() | nil, atom(), (term() -> Native.started())) :: id()
  def submit_with(notify, op, start) do
    mode = mode!(notify)

    accepted(
      fn ->
        case Provider.finding(fn -> start.(mode) end) do
          {:error, %Error{reason: reason}} = failed when reason != :out_of_memory ->
            failed_command(failed, mode)

          result ->
            result
        end
      end,
      mode,
      op,
      nil
    )
  end

  @doc false
  # Back-pressure: waits while very many commands are queued.
  @spec take_turn() :: :ok
  def take_turn, do: Runtime.take_turn(&Native.command_turn/1)

  @doc false
  # Submits what is not to be waited for, and returns the value of `{:ok, value}`.
  @spec started!((() -> {:ok, value} | {:error, Error.t()})) :: value when value: term()
  def started!(start) do
    case Runtime.collecting(fn -> Provider.finding(start) end) do
      {:ok, value} ->
        take_turn()
        value

      {:error, error} ->
        raise error
    end
  end

  @doc false
  @spec kernel!(kernel()) :: String.t()
  def kernel!(name) when is_binary(name) and byte_size(name) > @longest_name do
    raise ArgumentError,
          "expected the kernel's name to have at most #{@longest_name} bytes, " <>
            "got: #{byte_size(name)}"
  end

  def kernel!(name) when is_binary(name) and name != "" do
    if String.valid?(name),
      do: name,
      else: Argument.refuse!("the kernel's name as text in UTF-8", name)
  end

  def kernel!(name) when is_atom(name) and name not in [nil, true, false],
    do: Atom.to_string(name)

  def kernel!(other) do
    raise ArgumentError,
          "expected the kernel's name as an atom or a string, got: #{Argument.show(other)}"
  end

  @doc false
  # Where the buffers of a call are: on the device of this VM, or all on another one. References are
  # those of this VM's device, so the usual case costs a look at each of them.
  # A call that makes its output has `:none`.
  @spec operands!([buffer()], output() | :none) ::
          {:here, [reference()], reference() | [reference()]}
          | {:there, struct(), [Remote.t()], Remote.t() | [Remote.t()]}
          | {:error, Error.t()}
  def operands!(inputs, output) do
    inputs = each_input!(inputs, &Buffer.any_ref!/1)
    output = if output == :none, do: [], else: each_output!(output, &Buffer.any_ref!/1)
    all = if is_list(output), do: output ++ inputs, else: [output | inputs]

    if Enum.all?(all, &is_reference/1),
      do: {:here, inputs, output},
      else: there(inputs, output, all)
  end

  defp there(inputs, output, all) do
    case all |> Enum.map(&device/1) |> Enum.uniq_by(&(&1 && &1.place)) do
      [device] -> {:there, device, inputs, output}
      [one, other | _more] -> {:error, Remote.mismatch(one, other)}
    end
  end

  defp device(%Remote{device: device}), do: device
  defp device(_reference), do: nil

  @doc false
  @spec inputs!([buffer()]) :: [reference()]
  def inputs!(inputs), do: each_input!(inputs, &Buffer.ref!/1)

  defp each_input!(inputs, _ref) when length(inputs) > @most_inputs do
    raise ArgumentError,
          "expected inputs to be at most #{@most_inputs} buffers, got: #{length(inputs)}"
  end

  defp each_input!(inputs, ref) when length(inputs) >= 0, do: Enum.map(inputs, ref)

  defp each_input!(other, _ref) do
    raise ArgumentError, "expected inputs to be a list of buffers, got: #{Argument.show(other)}"
  end

  defp each_output!([_ | _] = outputs, ref) when length(outputs) <= @most_inputs,
    do: Enum.map(outputs, ref)

  defp each_output!(outputs, _ref) when is_list(outputs),
    do: Argument.refuse!("the outputs to be a list of 1 to #{@most_inputs} buffers", outputs)

  defp each_output!(output, ref), do: ref.(output)

  @doc false
  @spec params!(params()) :: %{optional(atom() | String.t()) => param()}
  def params!(params) when is_map(params) and map_size(params) > @most_params,
    do: too_many_params!(map_size(params))

  def params!(params) when length(params) > @most_params, do: too_many_params!(length(params))

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

  @doc false
  # Stages of pipelines have the same limits.
  @spec most(:inputs | :params) :: pos_integer()
  def most(:inputs), do: @most_inputs
  def most(:params), do: @most_params

  defp too_many_params!(count) do
    raise ArgumentError, "expected at most #{@most_params} params, got: #{count}"
  end

  defp enqueue(start, mode) do
    case Runtime.collecting(start) do
      {:ok, id} ->
        id

      {:error, %Error{reason: :out_of_memory}} = failed ->
        enqueue(fn -> failed_command(failed, mode) end, mode)

      {:error, error} ->
        raise error
    end
  end

  # The command may finish between the timeout and the unwatch. In that case its message is on its
  # way and must not be left in the mailbox.
  defp give_up(id, ref, timeout) do
    case Native.command_unwatch(id, ref) do
      true ->
        too_long(id, timeout)

      false ->
        receive do
          {^ref, result} -> result
        end

      {:error, _error} = failed ->
        failed
    end
  end

  defp too_long(id, timeout) do
    {:error,
     %Error{
       reason: :timeout,
       message: "command #{id} had not finished after #{timeout} ms",
       details: %{id: id, timeout: timeout}
     }}
  end

  defp known(id) when is_integer(id) and id in 0..@max_id, do: :ok

  defp known(id) when is_integer(id), do: unknown(id)

  defp known(other) do
    raise ArgumentError, "expected the id of a command, an integer, got: #{Argument.show(other)}"
  end

  defp unknown(id) do
    {:error,
     %Error{
       reason: :unknown_command,
       message: "no command has the id #{Argument.show(id)}",
       details: %{id: id}
     }}
  end

  defp spec!(spec) when is_map(spec) and not is_struct(spec) do
    for {key, _value} <- spec, key not in @keys do
      raise ArgumentError,
            "a command has no key #{inspect(key)}; it takes " <>
              Enum.map_join(@keys, ", ", &inspect/1)
    end

    op = op!(spec)

    {op, spec_kernel!(op, spec), fetch!(spec, :inputs), fetch!(spec, :output),
     params!(Map.get(spec, :params, %{}))}
  end

  defp spec!(other) do
    raise ArgumentError, "expected a command as a map, got: #{Argument.show(other)}"
  end

  defp op!(spec) do
    case fetch!(spec, :op) do
      op when op in [:run_kernel, :copy_buffer] ->
        op

      other ->
        raise ArgumentError,
              "expected op to be :run_kernel or :copy_buffer, got: #{Argument.show(other)}"
    end
  end

  defp spec_kernel!(:run_kernel, spec), do: kernel!(fetch!(spec, :kernel))
  defp spec_kernel!(:copy_buffer, _spec), do: ""

  defp fetch!(spec, key) do
    case spec do
      %{^key => value} -> value
      _ -> raise ArgumentError, "the command has no #{inspect(key)}: #{Argument.show(spec)}"
    end
  end

  defp mode!(notify) do
    case notify do
      nil ->
        :async

      pid when is_pid(pid) and node(pid) == node() ->
        {:notify, pid}

      other ->
        raise ArgumentError,
              "expected notify: to be a local process, got: #{Argument.show(other)}"
    end
  end

  defp check_param!({key, value}) when is_atom(key) or is_binary(key) do
    unless param?(value) do
      raise ArgumentError,
            "expected param #{key} to be a number, boolean, atom, string, or a tuple or list of " <>
              "numbers, got: #{Argument.show(value)}"
    end
  end

  defp check_param!({key, _value}) do
    raise ArgumentError, "expected params to have atom or string keys, got: #{Argument.show(key)}"
  end

  defp param?(nil), do: false
  defp param?(value) when is_number(value) or is_atom(value) or is_binary(value), do: true
  defp param?(value) when is_tuple(value), do: value |> Tuple.to_list() |> param?()
  defp param?(value) when length(value) >= 0, do: Enum.all?(value, &is_number/1)
  defp param?(_value), do: false

  defp bad_params!(params) do
    raise ArgumentError,
          "expected params to be a map or keyword list, got: #{Argument.show(params)}"
  end
end
