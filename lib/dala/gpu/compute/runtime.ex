defmodule Dala.Gpu.Compute.Runtime do
  @moduledoc false
  # Starts the device at first use. After that, `ensure/0` is one read of a persistent term, which
  # is cheaper than any message. If several processes call it concurrently first, the native side
  # starts one runtime and answers all of them.

  alias Dala.Gpu.Compute.{Error, Native, Tree, Watcher}

  @defaults %{
    device: :auto,
    device_class: :auto,
    matmul: :auto,
    cache_dir: "",
    zero_copy: true,
    pin_threads: true,
    executor: true,
    fusion: true,
    tune: false,
    memory_limit: 0,
    cache_limit: 1_073_741_824,
    kernel_timeout: 0,
    build_timeout: 60_000
  }

  @doc "Starts the device unless it is running; that there is no device is remembered."
  @spec ensure() :: :ok | {:error, Error.t()}
  def ensure do
    case Native.state() do
      :started -> :ok
      nil -> start()
      %Error{} = error -> {:error, error}
    end
  end

  @doc "Starts the device unless it is running, or raises the error."
  @spec ensure!() :: :ok
  def ensure! do
    with {:error, error} <- ensure(), do: raise(error)
  end

  @doc "Calls a native function that answers with a message, and waits for the answer."
  @spec answer((reference() -> :ok | {:error, Error.t()})) :: term()
  def answer(ask) do
    ref = make_ref()

    case ask.(ref) do
      :ok ->
        receive do
          {^ref, answer} -> answer
        end

      {:error, _error} = refused ->
        refused
    end
  end

  @doc """
  Waits for the caller's turn to submit more, if the native side says that it has to.
  """
  @spec take_turn((reference() -> :ok | :pending | {:error, Error.t()})) :: :ok
  def take_turn(ask) do
    ref = make_ref()

    if ask.(ref) == :pending do
      receive do
        {^ref, _result} -> :ok
      end
    else
      :ok
    end
  end

  # How long a call that runs out of memory waits for pending commands to release some.
  @patience_ms 2_000

  @doc """
  Calls a native function; if it runs out of memory, collects garbage and retries.

  Garbage may hold the memory that is missing. The VM runs the destructors of collected resources a
  little later, when its schedulers get to it. Pending commands also hold memory and release it when
  they finish; while there are any, the call is retried for up to #{@patience_ms} ms.
  """
  @spec collecting((() -> result)) :: result when result: term()
  def collecting(call) do
    with {:error, %Error{reason: :out_of_memory}} <- call.() do
      :erlang.garbage_collect()
      retry(call, 10, System.monotonic_time(:millisecond) + @patience_ms)
    end
  end

  @doc """
  Collects the caller's garbage if the memory in use has doubled since the last collection.

  To the VM a buffer is a few words, so a loop over large buffers would fill the device before the
  process is ever collected.
  """
  @spec collect_if_grown() :: :ok
  def collect_if_grown do
    if Native.memory_should_collect() == true do
      :erlang.garbage_collect()
      # The VM runs the destructors of collected resources when a process yields.
      :erlang.yield()
    end

    :ok
  end

  defp retry(call, attempts, until) do
    with {:error, %Error{reason: :out_of_memory}} = refused <- call.() do
      if attempts > 0 or (Native.commands_pending() == true and before?(until)) do
        receive do
        after
          1 -> retry(call, attempts - 1, until)
        end
      else
        refused
      end
    end
  end

  defp before?(time), do: System.monotonic_time(:millisecond) < time

  @doc "Returns the configured memory limit in bytes; 0 is no limit."
  @spec memory_limit() :: non_neg_integer()
  def memory_limit do
    with text when is_binary(text) <- System.get_env("DALA_GPU_MEMORY_LIMIT"),
         {bytes, ""} when bytes >= 0 <- Integer.parse(text) do
      bytes
    else
      _none -> setting!(:memory_limit, Application.get_env(:dala_gpu, :memory_limit, 0))
    end
  end

  @doc "Returns the validated application environment, in the form the native side expects."
  @spec config() :: map()
  def config, do: :dala_gpu |> Application.get_all_env() |> check!()

  @doc "Validates settings as those of the application environment."
  @spec check!(keyword()) :: map()
  def check!(settings) do
    # The native side uses neither the models directory nor the settings of the layers above.
    given = Keyword.drop(settings, [:included_applications, :models_dir, :nx])

    for {key, _value} <- given, not is_map_key(@defaults, key) do
      raise ArgumentError,
            "config :dala_gpu has no key #{inspect(key)}; it takes " <>
              ([:models_dir, :nx | Map.keys(@defaults)]
               |> Enum.sort()
               |> Enum.map_join(", ", &inspect/1))
    end

    Map.new(@defaults, fn {key, default} ->
      {key, setting!(key, Keyword.get(given, key, default))}
    end)
  end

  @doc "Returns the configured directory for compiled kernels, or an empty string."
  @spec cache_dir() :: String.t()
  def cache_dir do
    case Application.get_env(:dala_gpu, :cache_dir) do
      path when is_binary(path) -> path
      _default_or_a_mistake -> ""
    end
  end

  defp start do
    Tree.ensure()
    Watcher.attach()

    {tune, config} = Map.pop!(config(), :tune)

    case answer(&Native.runtime_start(config, &1)) do
      :ok ->
        Native.put_state(:started)
        if tune?(tune) and Native.untuned() == true, do: tune()
        :ok

      {:error, %Error{reason: :no_device} = error} ->
        Native.put_state(error)
        {:error, error}

      {:error, _error} = failed ->
        failed
    end
  end

  @tune_ms 300_000

  defp tune?(configured) do
    case System.get_env("DALA_GPU_TUNE") do
      empty when empty in [nil, ""] -> configured
      flag -> flag in ["1", "true"]
    end
  end

  # The search runs on a native thread; its messages go to a process that has ended.
  defp tune do
    spawn(fn -> Native.tune(@tune_ms, make_ref()) end)
  end

  defp setting!(:device, name) when name in [:auto, :gpu, :cpu], do: Atom.to_string(name)
  defp setting!(:device, name) when is_binary(name) and name != "", do: name
  defp setting!(:device_class, class) when class in [:auto, :cpu, :gpu], do: Atom.to_string(class)

  defp setting!(:matmul, choice) when choice in [:auto, :builtin, :clblast],
    do: Atom.to_string(choice)

  defp setting!(:cache_dir, path) when is_binary(path), do: path

  defp setting!(key, flag)
       when key in [:zero_copy, :pin_threads, :executor, :fusion, :tune] and is_boolean(flag),
       do: flag

  defp setting!(key, bytes)
       when key in [:memory_limit, :cache_limit] and is_integer(bytes) and
              bytes in 0..0x7FFFFFFFFFFFFFFF,
       do: bytes

  defp setting!(key, ms)
       when key in [:kernel_timeout, :build_timeout] and is_integer(ms) and ms in 0..0x7FFFFFFF,
       do: ms

  defp setting!(key, value) do
    raise ArgumentError,
          "config :dala_gpu, #{key}: expected #{expected(key)}, got: #{inspect(value)}"
  end

  defp expected(:device), do: ":auto, :gpu, :cpu or part of a device's name"
  defp expected(:device_class), do: ":auto, :cpu or :gpu"
  defp expected(:matmul), do: ":auto, :builtin or :clblast"
  defp expected(:cache_dir), do: "the path of a directory"

  defp expected(key) when key in [:zero_copy, :pin_threads, :executor, :fusion, :tune],
    do: "true or false"

  defp expected(:memory_limit), do: "a number of bytes (0 is what the device has)"
  defp expected(:cache_limit), do: "a number of bytes (0 is no limit)"

  defp expected(key) when key in [:kernel_timeout, :build_timeout],
    do: "a number of milliseconds (0 is no limit)"
end
