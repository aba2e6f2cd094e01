defmodule Dala.Gpu.Compute.Runtime do
  @moduledoc false
  # Starts the device at first use. Afterwards `ensure/0` is one look at a persistent term, which
  # costs less than any message. Several processes may come first at once: the native side starts
  # one runtime and answers all of them.

  alias Dala.Gpu.Compute.{Error, Native}

  @defaults %{
    device: :auto,
    device_class: :auto,
    matmul: :auto,
    cache_dir: "",
    zero_copy: true,
    pin_threads: true,
    fusion: true,
    memory_limit: 0
  }

  @doc "Starts the device unless it runs; a machine without one is remembered."
  @spec ensure() :: :ok | {:error, Error.t()}
  def ensure do
    case Native.state() do
      :started -> :ok
      nil -> start()
      %Error{} = error -> {:error, error}
    end
  end

  @doc "Starts the device unless it runs, or raises why there is none."
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

  @doc "The application environment, checked, as the native side takes it."
  @spec config() :: map()
  def config do
    # The folder of models is not the native side's business.
    given =
      :dala_gpu
      |> Application.get_all_env()
      |> Keyword.drop([:included_applications, :models_dir])

    for {key, _value} <- given, not is_map_key(@defaults, key) do
      raise ArgumentError,
            "config :dala_gpu has no key #{inspect(key)}; it takes " <>
              ([:models_dir | Map.keys(@defaults)]
               |> Enum.sort()
               |> Enum.map_join(", ", &inspect/1))
    end

    Map.new(@defaults, fn {key, default} ->
      {key, setting!(key, Keyword.get(given, key, default))}
    end)
  end

  defp start do
    case answer(&Native.runtime_start(config(), &1)) do
      :ok ->
        Native.put_state(:started)

      {:error, %Error{reason: :no_device} = error} ->
        Native.put_state(error)
        {:error, error}

      {:error, _error} = failed ->
        failed
    end
  end

  defp setting!(:device, name) when name in [:auto, :gpu, :cpu], do: Atom.to_string(name)
  defp setting!(:device, name) when is_binary(name) and name != "", do: name
  defp setting!(:device_class, class) when class in [:auto, :cpu, :gpu], do: Atom.to_string(class)

  defp setting!(:matmul, choice) when choice in [:auto, :builtin, :clblast],
    do: Atom.to_string(choice)

  defp setting!(:cache_dir, path) when is_binary(path), do: path

  defp setting!(key, flag) when key in [:zero_copy, :pin_threads, :fusion] and is_boolean(flag),
    do: flag

  defp setting!(:memory_limit, bytes) when is_integer(bytes) and bytes in 0..0x7FFFFFFFFFFFFFFF,
    do: bytes

  defp setting!(key, value) do
    raise ArgumentError,
          "config :dala_gpu, #{key}: expected #{expected(key)}, got: #{inspect(value)}"
  end

  defp expected(:device), do: ":auto, :gpu, :cpu or part of a device's name"
  defp expected(:device_class), do: ":auto, :cpu or :gpu"
  defp expected(:matmul), do: ":auto, :builtin or :clblast"
  defp expected(:cache_dir), do: "the path of a folder"
  defp expected(key) when key in [:zero_copy, :pin_threads, :fusion], do: "true or false"
  defp expected(:memory_limit), do: "a number of bytes (0 is what the device has)"
end
