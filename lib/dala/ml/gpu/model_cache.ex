defmodule Dala.ML.Gpu.ModelCache do
  @moduledoc false
  # Named models that the library itself uses, such as the segmentation model of filters. Each is
  # loaded once per VM, and reloaded when its file has changed.
  #
  # The process owns the ETS table and loads one model at a time; callers read the table directly.
  # It is started with the application and loads models on demand. After a restart, models are
  # loaded again at their next use.

  use GenServer

  alias Dala.Gpu.Compute.{Buffer, Error, Server}
  alias Dala.ML.Gpu
  alias Dala.ML.Gpu.Model
  alias Dala.ML.Models.Location

  @table __MODULE__

  @spec start_link(term()) :: GenServer.on_start()
  def start_link(_arg), do: GenServer.start_link(__MODULE__, nil, name: __MODULE__)

  @doc "Returns the installed model of that name, which is a kernel under the name `kernel`."
  @spec fetch(atom(), String.t()) :: {:ok, Model.t()} | {:error, Error.t()}
  def fetch(name, kernel) do
    with {:ok, path} <- Location.find(name, nil) do
      version = version(path)

      case lookup({:model, kernel}) do
        {^version, model} -> {:ok, model}
        _none_or_another -> call({:load, name, kernel, version})
      end
    end
  end

  # Without the time of the last access, which loading the file changes.
  defp version(path) do
    with {:ok, stat} <- File.stat(path), do: {path, stat.inode, stat.size, stat.mtime}
  end

  @doc """
  Returns the shape and type of a model's output for an input of that shape, and prepares the model
  for it. The model has one input and one output.
  """
  @spec output(Model.t(), tuple()) :: {:ok, {tuple(), Buffer.dtype()}} | {:error, Error.t()}
  def output(model, shape) do
    case lookup({:output, model.ref, shape}) do
      nil -> call({:predict, model, shape})
      output -> {:ok, output}
    end
  end

  defp call(request), do: Server.call(__MODULE__, __MODULE__, "cache of models", request)

  defp lookup(key) do
    with table when table != :undefined <- :ets.whereis(@table),
         [{_key, value}] <- :ets.lookup(table, key) do
      value
    else
      _none -> nil
    end
  end

  @impl true
  def init(nil) do
    {:ok, :ets.new(@table, [:named_table, :protected, read_concurrency: true])}
  end

  # Another process may have requested the same model first.
  @impl true
  def handle_call({:load, name, kernel, version}, _from, table) do
    case lookup({:model, kernel}) do
      {^version, model} -> {:reply, {:ok, model}, table}
      before -> {:reply, load(name, kernel, version, before), table}
    end
  end

  def handle_call({:predict, model, shape}, _from, table) do
    case lookup({:output, model.ref, shape}) do
      nil -> {:reply, predict(model, shape), table}
      output -> {:reply, {:ok, output}, table}
    end
  end

  defp load(name, kernel, version, before) do
    with {:ok, model} <- Gpu.load_model(name, as: kernel) do
      with {_version, old} <- before, do: :ets.match_delete(@table, {{:output, old.ref, :_}, :_})
      :ets.insert(@table, {{:model, kernel}, {version, model}})
      {:ok, model}
    end
  end

  # The shape of the output is known only after the model has run.
  defp predict(model, shape) do
    with {:ok, output} <- Gpu.predict(model, Buffer.zeros(shape, hd(model.inputs).dtype)) do
      known = {output.shape, output.dtype}
      :ets.insert(@table, {{:output, model.ref, shape}, known})
      {:ok, known}
    end
  rescue
    error in Error -> {:error, error}
  end
end
