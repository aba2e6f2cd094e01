defmodule Dala.Gpu.Compute.Native do
  @moduledoc false
  # One stub per NIF. None of them blocks a scheduler: long work is answered later by a message that
  # carries the given reference.

  alias Dala.Gpu.Compute.Error

  @on_load :load

  @type failure :: {:error, Error.t()}
  @type result :: :ok | failure()
  @type id :: non_neg_integer()
  @type dtype :: Dala.Gpu.Compute.Buffer.dtype()
  @type dims :: [non_neg_integer()]
  @type swaps :: [{reference(), reference()}]
  # The result of starting a command: accepted, with this id (0 for one that is still being planned),
  # or refused.
  @type started :: {:ok, id()} | failure()
  # Whether to wait, for a message with the given reference, before submitting more.
  @type turn :: :ok | :pending | failure()

  # The state of the device: not started (nil), running, or the error why there is none. It is kept
  # here because calling this module loads the library, if necessary, before the state is read.
  @state __MODULE__
  @problem {__MODULE__, :problem}

  @spec state() :: nil | :started | Error.t()
  def state, do: :persistent_term.get(@state, nil)

  @spec put_state(:started | Error.t()) :: :ok
  def put_state(state), do: :persistent_term.put(@state, state)

  @doc false
  def load do
    path = Path.join(priv_dir(), "dala_gpu_nif")

    case :erlang.load_nif(String.to_charlist(path), 0) do
      :ok ->
        # A library that was unloaded and reloaded has no device yet.
        _ = :persistent_term.erase(@state)
        :ok

      {:error, {:load_failed, text}} ->
        # The module is loaded anyway, so that every call can report the problem.
        :persistent_term.put(@problem, explain(path, List.to_string(text)))

      {:error, {reason, text}} ->
        {:error, {reason, List.to_string(text)}}
    end
  end

  defp explain(path, text) do
    if File.exists?(path <> ".so") do
      "the native library of :dala_gpu cannot be loaded: #{text}"
    else
      "the native library of :dala_gpu, #{path}.so, does not exist; `mix compile` builds it " <>
        "(`mix deps.compile dala_gpu --force` in an application that depends on it)"
    end
  end

  # Mix loads this module during compilation, before the code server knows the application.
  defp priv_dir do
    case :code.priv_dir(:dala_gpu) do
      path when is_list(path) -> List.to_string(path)
      {:error, :bad_name} -> Path.join(app_path(), "priv")
    end
  end

  defp app_path do
    if Code.ensure_loaded?(Mix.Project) and Mix.Project.get() != nil do
      Path.join([Mix.Project.build_path(), "lib", "dala_gpu"])
    else
      "."
    end
  end

  @spec version() :: String.t()
  def version, do: missing()

  # Device. runtime_start and survey answer with a message.

  @spec runtime_start(map(), reference()) :: result()
  def runtime_start(_config, _ref), do: missing()

  # The process is sent `{:dala_gpu_lost, {:error, error}}` when the device is lost, and
  # `{:dala_gpu_note, text}` when a setting could not be honoured.
  @spec report_to(pid()) :: :ok
  def report_to(_pid), do: missing()

  @spec runtime_info() :: {:ok, map()} | failure()
  def runtime_info, do: missing()

  @spec survey(String.t(), reference()) :: result()
  def survey(_cache_dir, _ref), do: missing()

  @spec counters() :: {:ok, map()} | failure()
  def counters, do: missing()

  @spec memory_info() :: {:ok, map()} | failure()
  def memory_info, do: missing()

  @spec memory_should_collect() :: boolean() | failure()
  def memory_should_collect, do: missing()

  # Buffers.

  @spec buffer_from_list([term()], dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_from_list(_list, _shape, _dtype), do: missing()

  @spec buffer_from_list_dirty([term()], dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_from_list_dirty(_list, _shape, _dtype), do: missing()

  # The size of this library's binary that the given one is a sub-binary of, or 0.
  @spec binary_whole(binary()) :: non_neg_integer()
  def binary_whole(_binary), do: missing()

  # Both take the result of `:binary.referenced_byte_size/1`.
  @spec buffer_from_binary(binary(), dims(), dtype(), non_neg_integer()) ::
          {:ok, reference()} | failure()
  def buffer_from_binary(_binary, _shape, _dtype, _referenced), do: missing()

  @spec buffer_write(reference(), binary(), non_neg_integer()) :: result()
  def buffer_write(_buffer, _binary, _referenced), do: missing()

  @spec buffer_zeros(dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_zeros(_shape, _dtype), do: missing()

  # Returns the new buffer that the kernel writes to; reading it after the kernel has failed is the
  # kernel's error.
  @spec compute(String.t(), [reference()], dims(), dtype(), map()) ::
          {:ok, reference()} | failure()
  def compute(_kernel, _inputs, _shape, _dtype, _params), do: missing()

  # The content of now under another shape, or as elements of another type of the same size.
  @spec buffer_view(reference(), dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_view(_buffer, _shape, _dtype), do: missing()

  @spec buffer_temporary(dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_temporary(_shape, _dtype), do: missing()

  @spec buffer_type(reference()) :: {:ok, {dims(), dtype()}} | failure()
  def buffer_type(_buffer), do: missing()

  @spec buffer_free(reference()) :: result()
  def buffer_free(_buffer), do: missing()

  @spec buffer_state(reference()) :: :memory | :temporary | :freed
  def buffer_state(_buffer), do: missing()

  # :pending means that the readback has the bytes once the command has finished or failed.
  @spec buffer_read(reference()) :: {:ok, binary()} | {:pending, id(), reference()} | failure()
  def buffer_read(_buffer), do: missing()

  @spec buffer_read_part(reference(), non_neg_integer(), non_neg_integer()) ::
          {:ok, binary()} | {:pending, id(), reference()} | failure()
  def buffer_read_part(_buffer, _offset, _count), do: missing()

  @spec readback_binary(reference()) :: binary()
  def readback_binary(_readback), do: missing()

  @spec decode_list(binary(), dtype()) :: [term()]
  def decode_list(_binary, _dtype), do: missing()

  @spec decode_list_dirty(binary(), dtype()) :: [term()]
  def decode_list_dirty(_binary, _dtype), do: missing()

  # Commands.

  @spec submit(
          :run_kernel | :copy_buffer,
          String.t(),
          [reference()],
          reference(),
          map(),
          {:reply, reference()} | :async | {:notify, pid()}
        ) :: started()
  def submit(_op, _kernel, _inputs, _output, _params, _mode), do: missing()

  @spec submit_failure(String.t(), String.t(), map(), :async | {:notify, pid()}) :: started()
  def submit_failure(_reason, _message, _details, _mode), do: missing()

  @spec command_turn(reference()) :: turn()
  def command_turn(_ref), do: missing()

  @spec commands_pending() :: boolean() | failure()
  def commands_pending, do: missing()

  @spec command_poll(id()) :: :pending | :completed | failure()
  def command_poll(_id), do: missing()

  @spec command_watch(id(), reference()) :: :pending | result()
  def command_watch(_id, _ref), do: missing()

  @spec command_watch_end(id(), reference()) :: :pending | result()
  def command_watch_end(_id, _ref), do: missing()

  # Returns false if it is too late: the message has been sent or is about to be.
  @spec command_unwatch(id(), reference()) :: boolean() | failure()
  def command_unwatch(_id, _ref), do: missing()

  @spec command_cancel(id()) :: :ok | :started | :ended | :unknown | failure()
  def command_cancel(_id), do: missing()

  # Drops commands of the process from that id on, 0 at first; {:more, id} to continue.
  @spec client_killed(pid(), id()) :: result() | {:more, id()}
  def client_killed(_pid, _from), do: missing()

  # Answers with several messages.
  @spec warm_up([dtype()], [String.t()] | nil, reference()) :: result()
  def warm_up(_dtypes, _names, _ref), do: missing()

  # Answers with several messages.
  @spec tune(non_neg_integer(), reference()) :: result()
  def tune(_limit_ms, _ref), do: missing()

  # Whether the device runs kernels for GPUs and no search was finished on it.
  @spec untuned() :: boolean() | failure()
  def untuned, do: missing()

  # Profiles.

  @spec profile_start() :: {:ok, reference()} | failure()
  def profile_start, do: missing()

  # This profile counts only commands that are submitted with it.
  @spec profile_new() :: reference()
  def profile_new, do: missing()

  @spec profile_read(reference()) :: {:ok, [map()]} | failure()
  def profile_read(_profile), do: missing()

  @spec profile_stop(reference()) :: {:ok, [map()]} | failure()
  def profile_stop(_profile), do: missing()

  # Pipelines.

  @spec pipeline_new() :: reference()
  def pipeline_new, do: missing()

  @spec pipeline_add(reference(), map()) :: result()
  def pipeline_add(_pipeline, _stage), do: missing()

  @spec pipeline_count(reference()) :: {:ok, non_neg_integer()} | failure()
  def pipeline_count(_pipeline), do: missing()

  @spec pipeline_stages(reference()) :: {:ok, [map()]} | failure()
  def pipeline_stages(_pipeline), do: missing()

  # The stage is an index or a name.
  @spec pipeline_set(reference(), non_neg_integer() | atom() | String.t(), map()) ::
          result() | :unknown
  def pipeline_set(_pipeline, _stage, _params), do: missing()

  @spec pipeline_run(reference(), pos_integer(), swaps(), reference(), reference() | nil) ::
          started()
  def pipeline_run(_pipeline, _times, _swaps, _ref, _profile), do: missing()

  # :pending means that `{ref, {:ok, id} | {:error, error}}` will come as a message.
  @spec pipeline_submit(
          reference(),
          pos_integer(),
          swaps(),
          :async | {:notify, pid()},
          reference()
        ) :: started() | :pending
  def pipeline_submit(_pipeline, _times, _swaps, _mode, _ref), do: missing()

  # Answers with a message.
  @spec pipeline_explain(reference(), reference()) :: result()
  def pipeline_explain(_pipeline, _ref), do: missing()

  # A pipeline over ports, which are temporary buffers. A call puts buffers in the place of input
  # ports, and returns new buffers for output ports. `:lengthy` asks for the dirty function.
  @spec pipeline_ports(reference(), [reference()], [reference()]) :: result()
  def pipeline_ports(_pipeline, _inputs, _outputs), do: missing()

  @spec pipeline_call(reference(), [reference()]) :: {:ok, [reference()]} | :lengthy | failure()
  def pipeline_call(_pipeline, _inputs), do: missing()

  @spec pipeline_call_dirty(reference(), [reference()]) :: {:ok, [reference()]} | failure()
  def pipeline_call_dirty(_pipeline, _inputs), do: missing()

  @spec pipeline_free(reference()) :: :ok
  def pipeline_free(_pipeline), do: missing()

  # Models. All but model_info, model_turn and model_register answer with a message.

  @spec model_load({:path | :binary, binary()}, reference()) :: result()
  def model_load(_source, _ref), do: missing()

  @spec model_get_ready(reference(), [[non_neg_integer()]], reference()) :: result()
  def model_get_ready(_model, _shapes, _ref), do: missing()

  @spec model_info(reference()) :: {:ok, map()} | failure()
  def model_info(_model), do: missing()

  @spec model_predict(reference(), [reference()], reference()) :: {:ok, reference()} | failure()
  def model_predict(_model, _inputs, _ref), do: missing()

  @spec model_turn(reference()) :: turn()
  def model_turn(_ref), do: missing()

  @spec model_give_up(reference()) :: :ok | :sending | :sent | failure()
  def model_give_up(_prediction), do: missing()

  @spec model_profile(reference(), [reference()], reference()) :: result()
  def model_profile(_model, _inputs, _ref), do: missing()

  @spec model_register(reference(), String.t(), boolean()) :: result()
  def model_register(_model, _name, _keep), do: missing()

  @spec model_free(reference(), reference()) :: result()
  def model_free(_model, _ref), do: missing()

  # States of models: pairs of outputs and inputs, and the first values of inputs by name. Returns
  # the indices of the inputs that a prediction is given, and of the outputs that it returns.
  # state_predict and state_values answer with a message.

  @spec state_new(reference(), [{String.t(), String.t()}], [String.t()], [reference()]) ::
          {:ok, reference(), [non_neg_integer()], [non_neg_integer()]} | failure()
  def state_new(_model, _pairs, _names, _values), do: missing()

  @spec state_predict(reference(), [reference()], reference()) :: {:ok, reference()} | failure()
  def state_predict(_state, _inputs, _ref), do: missing()

  @spec state_turn(reference(), reference()) :: turn()
  def state_turn(_state, _ref), do: missing()

  @spec state_reset(reference()) :: result()
  def state_reset(_state), do: missing()

  @spec state_values(reference(), reference()) :: result()
  def state_values(_state, _ref), do: missing()

  # Kernels. kernel_register and kernel_elementwise answer with a message.

  @spec kernels() :: [map()]
  def kernels, do: missing()

  @spec kernel_register(String.t(), String.t(), map(), reference()) :: result()
  def kernel_register(_name, _source, _options, _ref), do: missing()

  @spec kernel_elementwise(String.t(), String.t(), map(), reference()) :: result()
  def kernel_elementwise(_name, _expression, _options, _ref), do: missing()

  @spec kernel_known(String.t()) :: boolean() | failure()
  def kernel_known(_name), do: missing()

  @spec kernel_unregister(String.t()) :: boolean()
  def kernel_unregister(_name), do: missing()

  # Image files, on dirty schedulers.

  # The memory limit applies if no device has been started yet.
  @spec image_decode(binary(), pos_integer(), non_neg_integer()) ::
          {:ok, {pos_integer(), pos_integer(), binary()}} | failure()
  def image_decode(_file, _max_pixels, _memory_limit), do: missing()

  @spec image_encode(binary(), pos_integer(), pos_integer(), :png | :jpeg, 1..100) ::
          {:ok, binary()} | failure()
  def image_encode(_rgba, _width, _height, _format, _quality), do: missing()

  # Memory shared with another process, and tokens for what another process keeps. `pid` is sent
  # `{:dala_gpu_released, tag}` when the binary or the token has been collected.

  @type place ::
          {fd :: non_neg_integer(), inode :: non_neg_integer(), offset :: non_neg_integer()}

  @spec segments_share() :: result()
  def segments_share, do: missing()

  @spec segments_trim() :: result()
  def segments_trim, do: missing()

  @spec segment_copy(binary()) :: {:ok, binary()} | failure()
  def segment_copy(_binary), do: missing()

  @spec segment_place(binary()) :: {:ok, place()} | failure()
  def segment_place(_binary), do: missing()

  @spec segment_map(place(), pos_integer(), pid(), non_neg_integer()) ::
          {:ok, binary()} | failure()
  def segment_map(_place, _bytes, _pid, _tag), do: missing()

  @spec token_new(pid(), non_neg_integer()) :: reference()
  def token_new(_pid, _tag), do: missing()

  # nif_error/1 raises an exception that is given as the reason.
  defp missing do
    :erlang.nif_error(%RuntimeError{message: :persistent_term.get(@problem, "not loaded")})
  end
end
