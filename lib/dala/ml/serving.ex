defmodule Dala.ML.Serving do
  @moduledoc """
  A model as a service: a supervised process in front of a model, with a bounded queue, batches,
  deadlines and priorities, on one node or on many.

      children = [
        {Dala.ML.Serving, name: Faces, model: :blazeface, batch: [max: 8, delay: 0], queue: 256}
      ]

      Supervisor.start_link(children, strategy: :one_for_one)
      {:ok, faces} = Dala.ML.Serving.run(Faces, image, timeout: 200)

  The [guide](serving.md) has a drawing of it, and a table of its telemetry.

  ## Inputs and results

  A model takes a picture, a `Dala.Media.Image` or `{rgba, width, height}`, and gives what the
  function of `Dala.ML` for its task gives: faces, classes, a pose. Or it takes what
  `Dala.ML.Gpu.predict/2` takes, and gives what that gives. Buffers that are an input must not be
  written to before the result is there.

  A function takes a list of inputs, which may be any terms, and gives the list of their results in
  the same order. A result `{:error, error}` with a `Dala.Gpu.Compute.Error` is the error of that
  request alone.

      {Dala.ML.Serving, name: Lengths, function: fn texts -> Enum.map(texts, &String.length/1) end}

  ## Batches

  A replica that is free takes what waits, up to `max`, and does not wait for more unless `delay`
  says so. The numbers of requests in a batch are those that plans were made for when the serving
  was started. Only inputs of the same kind run together: pictures, or tensors of the same type whose
  first dimension is 1. Others run alone. A model can be batched when the first dimension of all its
  inputs and outputs is the same free one, or the same fixed number: then batches are filled up to
  that number. Where a batch fails, its requests run one by one, so that each gets its own error.

  ## Several nodes

  Servings of the same name on connected nodes find each other, and `run/3` on any of these nodes
  uses all of them. A request goes to the less loaded of two, and to the own node when they are equal.
  When a node is lost, its requests go to another one, each to any serving once at most; so a request
  may be run twice, and is answered once. Nodes are connected by the program (`Node.connect/1`, or a
  library for that), not by this module.

  ## Errors

  | Reason | Meaning |
  |---|---|
  | `:overloaded` | the queues of the servings that were tried are full |
  | `:deadline` | no answer within `timeout:` |
  | `:device_lost` | the serving ended with the request, and there was no other |
  | `:crashed` | the function, or twice the process that ran the request, has crashed |
  | `:freed` | no serving of that name is running, or it is shutting down |

  Others come from the model, as from `Dala.ML.Gpu.predict/2`.

  ## Options

    * `:name` - an atom, required: the name of the process on its node, and of the group of servings
      on all nodes
    * `:model` - what `Dala.ML.Gpu.load_model/2` takes, or a model that it gave; or
    * `:function` - of a list of inputs, which gives the list of their results
    * `:task` - what pictures are for: `:classify`, `:detect`, `:faces`, `:pose` or `:segment`, or
      such a name with options, `{:classify, labels: labels}`. By default that of a model with a name
    * `:models_dir`, `:shapes` - as for `Dala.ML.Gpu.load_model/2`
    * `:warmup` - an input to run in all sizes of batches before the serving takes work. By default
      a picture for a model with a task, and zeros for one with known dimensions; a function is not
      run
    * `:batch` - a keyword list:
      * `:max` - the most requests of a batch, from 1 to 1024, 8 by default
      * `:delay` - how many milliseconds a request waits for others, 0 by default
      * `:sizes` - the numbers of requests that plans are made for, by default 1, 2, 4 and so on, and
        `max`
      * `:goal` - a latency in milliseconds: batches are no larger than the time that is left of it
        allows, by the measured time of batches of that size; none by default
    * `:queue` - the most requests that wait, 256 by default
    * `:replicas` - how many batches run at once, 2 by default: one is prepared while the other
      computes
    * `:drain` - how many milliseconds a serving that is shut down goes on with what waits, 5,000 by
      default
    * `:id` - of the child specification, by default the name
  """

  alias Dala.Gpu.Compute.{Argument, Error}
  alias Dala.ML.Serving.{Client, Cluster, Counters, Request, Server, Settings}

  @type name :: atom()
  @type option ::
          {:timeout, timeout()}
          | {:priority, :high | :normal | :low}
          | {:key, term()}
          | {:hedge, non_neg_integer()}
  @type result :: {:ok, term()} | {:error, Error.t()}

  @doc """
  Gives the specification of a serving as a child; see the options above.

  ## Example

      iex> Dala.ML.Serving.child_spec(name: Faces, model: :blazeface).id
      Faces
  """
  @spec child_spec(keyword()) :: Supervisor.child_spec()
  def child_spec(opts) do
    {id, opts} = opts |> Argument.keyword!() |> Keyword.pop(:id, opts[:name] || __MODULE__)
    settings = Settings.new!(opts)

    %{
      id: id,
      start: {__MODULE__, :start_link, [opts]},
      # Some time beyond that of draining, to answer what is left.
      shutdown: settings.drain + 1_000
    }
  end

  @doc """
  Starts a serving that ends with the calling process, usually a supervisor; see the options above.

  It returns when the model is loaded, and has run in all sizes of batches.

  ## Example

      iex> {:ok, _pid} = Dala.ML.Serving.start_link(name: DocDouble, model: "examples/double.onnx")
      iex> input = Dala.Gpu.Compute.buffer([1, 2, 3], {1, 3})
      iex> {:ok, output} = Dala.ML.Serving.run(DocDouble, input)
      iex> Dala.Gpu.Compute.read_list(output)
      [2.0, 4.0, 6.0]
  """
  @spec start_link(keyword()) :: {:ok, pid()} | {:error, Error.t() | {:already_started, pid()}}
  def start_link(opts) do
    settings = Settings.new!(opts)
    Cluster.ensure()
    Server.start_link(settings)
  end

  @doc """
  Runs one input and waits for its result; only the calling process waits.

  ## Options

    * `:timeout` - in milliseconds, 5,000 by default, or `:infinity`. A request that has not been
      answered by then is the error `:deadline`, wherever it is; one that still waits in a queue does
      not run any more
    * `:priority` - `:high`, `:normal` (the default) or `:low`. Those of a higher priority run
      first, and take the place of the latest of a lower priority in a full queue
    * `:key` - any term. Requests of one key and priority run in their order, on the same replica of
      the same node as long as it is there; none by default
    * `:hedge` - when there is no answer after so many milliseconds, the request also goes to a
      second serving, and the first answer counts; none by default

  ## Example

      iex> {:ok, _pid} =
      ...>   Dala.ML.Serving.start_link(
      ...>     name: DocLengths,
      ...>     function: fn texts -> Enum.map(texts, &String.length/1) end
      ...>   )
      iex> Dala.ML.Serving.run(DocLengths, "four", timeout: 1_000)
      {:ok, 4}
      iex> {:error, error} = Dala.ML.Serving.run(NoSuchServing, "four")
      iex> error.message
      "the serving NoSuchServing is not running"
  """
  @spec run(name(), term(), [option()]) :: result()
  def run(name, input, opts \\ []), do: Client.run(name, input, opts)

  @doc """
  Starts a request and returns at once; `await/2` gives its result. The options are those of `run/3`.

  The result arrives at the calling process as one message `{request.ref, result}`. When that process
  ends, the request is cancelled.

  ## Example

      iex> {:ok, _pid} = Dala.ML.Serving.start_link(name: DocSelf, function: & &1)
      iex> requests = for n <- 1..3, do: Dala.ML.Serving.async_run(DocSelf, n)
      iex> Enum.map(requests, &Dala.ML.Serving.await/1)
      [{:ok, 1}, {:ok, 2}, {:ok, 3}]
  """
  @spec async_run(name(), term(), [option()]) :: Request.t()
  def async_run(name, input, opts \\ []), do: Client.async_run(name, input, opts)

  @doc """
  Waits for a request that this process made.

  `timeout` is in milliseconds or `:infinity`, the default: the request's own `timeout:` ends it.
  When it runs out the request is given up: it does not run if it has not started, and no message
  comes later. The result is then an error with the reason `:timeout`.

  ## Example

      iex> {:ok, _pid} = Dala.ML.Serving.start_link(name: DocAwait, function: & &1)
      iex> DocAwait |> Dala.ML.Serving.async_run("a") |> Dala.ML.Serving.await(1_000)
      {:ok, "a"}
  """
  @spec await(Request.t(), timeout()) :: result()
  def await(request, timeout \\ :infinity) do
    with nil <- yield(request, timeout) do
      Client.give_up(request, fn ->
        {:error,
         %Error{
           reason: :timeout,
           message: "the request was not answered after #{timeout} ms",
           details: %{serving: request.serving, timeout: timeout}
         }}
      end)
    end
  end

  @doc """
  Waits for a request as `await/2` does, but gives `nil` when the time runs out.

  The request goes on, and can be waited for again.

  ## Example

      iex> {:ok, _pid} = Dala.ML.Serving.start_link(name: DocYield, function: & &1)
      iex> request = Dala.ML.Serving.async_run(DocYield, "a")
      iex> {Dala.ML.Serving.yield(request, 1_000), Dala.ML.Serving.yield(request, 0)}
      {{:ok, "a"}, nil}
  """
  @spec yield(Request.t(), timeout()) :: result() | nil
  def yield(request, timeout) do
    %{owner: owner} = Argument.struct!(request, Request, "a request, as async_run/3 gives it")

    timeout = Argument.timeout!(timeout)

    unless owner == self() do
      raise ArgumentError,
            "a request is waited for by the process that made it, #{inspect(owner)}, " <>
              "not by #{inspect(self())}"
    end

    Client.wait(request, timeout)
  end

  @doc """
  Puts another model or function in the place of the one that the serving of this node runs.

  The new one is loaded and warmed up while the old one goes on; then batches that start use the new
  one. No request is lost, and none fails for it. When the new one cannot be loaded, its error comes
  back and the old one stays. The options are `:model` or `:function`, `:task`, `:models_dir`,
  `:shapes` and `:warmup` of a serving.

  ## Example

      iex> {:ok, _pid} = Dala.ML.Serving.start_link(name: DocReplace, function: & &1)
      iex> Dala.ML.Serving.replace(DocReplace, function: fn list -> Enum.map(list, &(-&1)) end)
      :ok
      iex> Dala.ML.Serving.run(DocReplace, 1)
      {:ok, -1}
  """
  @spec replace(name(), keyword()) :: :ok | {:error, Error.t()}
  def replace(name, opts) do
    with {:raise, error} <- call(name, {:replace, opts}), do: raise(error)
  end

  @doc """
  Tells how the serving of this node is doing; raises when there is none.

    * `:name`, `:node`, `:model`, `:queue`, `:replicas` - what it is
    * `:waiting`, `:running` - requests at the moment
    * `:batch` - `:max`, `:sizes`, `:delay` and `:goal`, and the `:milliseconds` that batches take by
      their size
    * `:received`, `:results`, `:batches` - numbers since it was started
    * `:replacing` - whether a replacement is being loaded
    * `:cluster` - the servings of that name on all nodes: `:node`, `:pid`, `:load` as far as known,
      and whether it is `:suspect`, since nothing was heard of it for a second

  ## Example

      iex> {:ok, _pid} = Dala.ML.Serving.start_link(name: DocInfo, function: & &1, queue: 10)
      iex> Dala.ML.Serving.run(DocInfo, "a")
      iex> info = Dala.ML.Serving.info(DocInfo)
      iex> {info.received, info.queue, info.batch.sizes}
      {1, 10, [1, 2, 4, 8]}
  """
  @spec info(name()) :: map()
  def info(name) do
    case call(name, :info) do
      {:error, error} ->
        raise error

      info ->
        cluster =
          for member <- Cluster.members(name), do: Map.put(member, :node, node(member.pid))

        Map.put(info, :cluster, cluster)
    end
  end

  @doc """
  Gives the numbers of one serving of this node, of several, or of all (`:all`), as text in the
  format of Prometheus.

  ## Example

      iex> {:ok, _pid} = Dala.ML.Serving.start_link(name: DocMetrics, function: & &1)
      iex> Dala.ML.Serving.run(DocMetrics, "a")
      iex> Dala.ML.Serving.metrics(DocMetrics) =~
      ...>   ~s(dala_serving_received_total{serving="DocMetrics"} 1)
      true
  """
  @spec metrics(name() | [name()] | :all) :: String.t()
  def metrics(:all), do: Cluster.local_names() |> Enum.sort() |> metrics()

  def metrics(names) do
    names
    |> List.wrap()
    |> Enum.map(fn name ->
      case Cluster.local(Settings.name!(name)) do
        {_pid, counters, info} -> {name, info.model, info.limit, info.replicas, counters}
        nil -> raise Client.not_running(name)
      end
    end)
    |> Counters.text()
  end

  @doc """
  Ends the serving of this node after what waits is done, for as long as `drain:` allows.

  A supervisor that it is a permanent child of starts it again; `Supervisor.terminate_child/2` ends
  it in the same way, and for good.

  ## Example

      iex> {:ok, _pid} = Dala.ML.Serving.start_link(name: DocStop, function: & &1)
      iex> Dala.ML.Serving.stop(DocStop)
      :ok
  """
  @spec stop(name()) :: :ok
  def stop(name) do
    with {pid, _counters, _info} <- Cluster.local(Settings.name!(name)), do: GenServer.stop(pid)
    :ok
  catch
    :exit, _reason -> :ok
  end

  defp call(name, request) do
    case Cluster.local(Settings.name!(name)) do
      nil -> {:error, Client.not_running(name)}
      {pid, _counters, _info} -> GenServer.call(pid, request, :infinity)
    end
  catch
    :exit, _reason -> {:error, Client.not_running(name)}
  end
end
