defmodule Dala.Gpu.Compute.Native do
  @moduledoc false
  # The functions of the native library, one stub each. None of them blocks a scheduler: whatever
  # takes long is answered later with a message that carries the given reference.

  alias Dala.Gpu.Compute.Error

  @on_load :load

  @type failure :: {:error, Error.t()}
  @type result :: :ok | failure()
  @type id :: non_neg_integer()
  @type dtype :: Dala.Gpu.Compute.Buffer.dtype()
  @type dims :: [non_neg_integer()]
  # A command: started under this id, refused, or to be tried again: once another one is done, or
  # once the message with the reference has come.
  @type started :: {:ok, id()} | {:full, id()} | {:wait, reference()} | failure()

  # What is known of the device: nothing yet (nil), that it runs, or why there is none. It lives
  # here because a call into this module loads the library if need be, before the look.
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
        # A library that was unloaded and loaded anew has no device yet.
        _ = :persistent_term.erase(@state)
        :ok

      {:error, {:load_failed, text}} ->
        # The module loads all the same, so that every call can say what is wrong.
        :persistent_term.put(@problem, explain(path, List.to_string(text)))

      {:error, {reason, text}} ->
        {:error, {reason, List.to_string(text)}}
    end
  end

  defp explain(path, text) do
    if File.exists?(path <> ".so") do
      "the native library of :dala_gpu cannot be loaded: #{text}"
    else
      "the native library of :dala_gpu, #{path}.so, is not there; `mix compile` builds it " <>
        "(`mix deps.compile dala_gpu --force` in an application that depends on it)"
    end
  end

  # Mix loads this module while it compiles it, before the code server knows the application.
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

  # The device. runtime_start and survey answer with a message.

  @spec runtime_start(map(), reference()) :: result()
  def runtime_start(_config, _ref), do: missing()

  @spec runtime_info() :: {:ok, map()} | failure()
  def runtime_info, do: missing()

  @spec survey(reference()) :: result()
  def survey(_ref), do: missing()

  @spec counters() :: {:ok, map()} | failure()
  def counters, do: missing()

  @spec memory_info() :: {:ok, map()} | failure()
  def memory_info, do: missing()

  # Buffers.

  @spec buffer_from_list([term()], dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_from_list(_list, _shape, _dtype), do: missing()

  @spec buffer_from_list_dirty([term()], dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_from_list_dirty(_list, _shape, _dtype), do: missing()

  @spec buffer_from_binary(binary(), dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_from_binary(_binary, _shape, _dtype), do: missing()

  @spec buffer_write(reference(), binary()) :: result()
  def buffer_write(_buffer, _binary), do: missing()

  @spec buffer_zeros(dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_zeros(_shape, _dtype), do: missing()

  @spec buffer_temporary(dims(), dtype()) :: {:ok, reference()} | failure()
  def buffer_temporary(_shape, _dtype), do: missing()

  @spec buffer_type(reference()) :: {:ok, {dims(), dtype()}} | failure()
  def buffer_type(_buffer), do: missing()

  @spec buffer_free(reference()) :: result()
  def buffer_free(_buffer), do: missing()

  @spec buffer_state(reference()) :: :memory | :temporary | :freed
  def buffer_state(_buffer), do: missing()

  # Pending: the bytes are in the readback once the command is done, however it ends.
  @spec buffer_read(reference()) :: {:ok, binary()} | {:pending, id(), reference()} | failure()
  def buffer_read(_buffer), do: missing()

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

  @spec submit_failure(String.t(), String.t(), :async | {:notify, pid()}) :: started()
  def submit_failure(_reason, _message, _mode), do: missing()

  @spec command_poll(id()) :: :pending | :completed | failure()
  def command_poll(_id), do: missing()

  @spec command_watch(id(), reference()) :: :pending | result()
  def command_watch(_id, _ref), do: missing()

  # False: too late, the message is there or on its way.
  @spec command_unwatch(id(), reference()) :: boolean() | failure()
  def command_unwatch(_id, _ref), do: missing()

  # Answers with several messages.
  @spec warm_up([dtype()], reference()) :: result()
  def warm_up(_dtypes, _ref), do: missing()

  # Profiles.

  @spec profile_start() :: {:ok, reference()} | failure()
  def profile_start, do: missing()

  # Counts only what is submitted with it.
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

  @spec pipeline_stages(reference()) :: {:ok, [map()]} | failure()
  def pipeline_stages(_pipeline), do: missing()

  @spec pipeline_run(reference(), reference(), reference() | nil) :: started()
  def pipeline_run(_pipeline, _ref, _profile), do: missing()

  @spec pipeline_explain(reference()) :: {:ok, map()} | {:wait, reference()} | failure()
  def pipeline_explain(_pipeline), do: missing()

  @spec pipeline_free(reference()) :: :ok
  def pipeline_free(_pipeline), do: missing()

  # Models. All but model_info and model_register answer with a message.

  @spec model_load({:path | :binary, binary()}, reference()) :: result()
  def model_load(_source, _ref), do: missing()

  @spec model_get_ready(reference(), [[non_neg_integer()]], reference()) :: result()
  def model_get_ready(_model, _shapes, _ref), do: missing()

  @spec model_info(reference()) :: {:ok, map()} | failure()
  def model_info(_model), do: missing()

  @spec model_predict(reference(), [reference()], reference()) :: result()
  def model_predict(_model, _inputs, _ref), do: missing()

  @spec model_profile(reference(), [reference()], reference()) :: result()
  def model_profile(_model, _inputs, _ref), do: missing()

  @spec model_register(reference(), String.t(), boolean()) :: result()
  def model_register(_model, _name, _keep), do: missing()

  @spec model_free(reference(), reference()) :: result()
  def model_free(_model, _ref), do: missing()

  # Kernels. The two that build answer with a message.

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

  # Picture files, on dirty schedulers.

  @spec image_decode(binary()) :: {:ok, {pos_integer(), pos_integer(), binary()}} | failure()
  def image_decode(_file), do: missing()

  @spec image_encode(binary(), pos_integer(), pos_integer(), :png | :jpeg, 1..100) ::
          {:ok, binary()} | failure()
  def image_encode(_rgba, _width, _height, _format, _quality), do: missing()

  # An exception as the reason is raised as such.
  defp missing do
    :erlang.nif_error(%RuntimeError{message: :persistent_term.get(@problem, "not loaded")})
  end
end
