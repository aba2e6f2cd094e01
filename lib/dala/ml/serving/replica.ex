defmodule Dala.ML.Serving.Replica do
  @moduledoc false
  # Runs one batch at a time and answers its requests, then tells the serving it is linked to. It
  # knows the serving only by its pid.

  use GenServer

  alias Dala.Gpu.Compute.Error
  alias Dala.ML.Serving.{Engine, Entry, Wire}
  alias Dala.Telemetry

  @prefix [:dala, :serving, :batch]
  @idle 1_000

  @type outcome :: :ok | atom() | {:crashed, {atom(), term(), list()}}

  @spec start_link(map()) :: GenServer.on_start()
  def start_link(about),
    do: GenServer.start_link(__MODULE__, {self(), about}, spawn_opt: [fullsweep_after: 10])

  @doc "Gives it what later batches run on."
  @spec use_engine(pid(), Engine.t()) :: :ok
  def use_engine(replica, engine), do: GenServer.cast(replica, {:use, engine})

  @doc "Starts a batch; `{:batch_done, replica, batch, duration, outcomes}` goes to the serving."
  @spec run(pid(), reference(), [Entry.t()], non_neg_integer()) :: :ok
  def run(replica, batch, entries, waiting),
    do: GenServer.cast(replica, {:run, batch, entries, waiting})

  @impl true
  def init({serving, about}), do: {:ok, {serving, about, nil}}

  @impl true
  def handle_cast({:use, engine}, {serving, about, _before}),
    do: {:noreply, {serving, about, engine}, @idle}

  def handle_cast({:run, batch, entries, waiting}, {serving, about, engine} = state) do
    started = System.monotonic_time()
    metadata = Map.put(about, :model, Engine.name(engine))
    counts = %{batch_size: length(entries), queue_length: waiting}
    tell(:start, fn -> {Map.merge(Telemetry.times(started), counts), metadata} end)

    results = Engine.run(engine, hd(entries).kind, Enum.map(entries, & &1.input))
    Enum.each(Enum.zip(entries, results), fn {entry, result} -> answer(entry, result) end)
    outcomes = Enum.map(results, &outcome/1)
    duration = System.monotonic_time() - started
    send(serving, {:batch_done, about.replica, batch, duration, outcomes})
    ended(Map.merge(Telemetry.ended(started), counts), metadata, outcomes)

    {:noreply, state, @idle}
  end

  # Garbage that refers to buffers of the last batch is not kept until the next one comes.
  @impl true
  def handle_info(:timeout, state) do
    :erlang.garbage_collect()
    {:noreply, state}
  end

  def handle_info(_other, state), do: {:noreply, state}

  defp answer(entry, {:crashed, error, _what}),
    do: Wire.reply(entry.ref, {:answer, {:error, error}})

  defp answer(entry, result), do: Wire.reply(entry.ref, {:answer, result})

  defp outcome({:ok, _value}), do: :ok
  defp outcome({:error, %Error{reason: reason}}), do: reason
  defp outcome({:crashed, _error, what}), do: {:crashed, what}

  defp ended(measurements, metadata, outcomes) do
    case Enum.find(outcomes, &is_tuple/1) do
      {:crashed, {kind, reason, stacktrace}} ->
        failure = %{kind: kind, reason: reason, stacktrace: stacktrace}
        tell(:exception, fn -> {measurements, Map.merge(metadata, failure)} end)

      nil ->
        result = Enum.find(outcomes, :ok, &(&1 != :ok))
        tell(:stop, fn -> {measurements, Map.put(metadata, :result, result)} end)
    end
  end

  defp tell(what, event), do: Telemetry.execute_lazily(@prefix ++ [what], event)
end
