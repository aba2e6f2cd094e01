defmodule Dala.ML.Serving.Engine do
  @moduledoc false
  # The work of a serving: a model, or a function. It says which inputs can be run together, in
  # which numbers, and runs them. Nothing here depends on the processes around it.
  #
  # `sizes` are the numbers of inputs that a plan is ready for, ascending. A model whose first
  # dimension is fixed has one size, and rows that nobody asked for are computed with the others
  # (`padded`).

  alias Dala.Gpu.Compute.{Buffer, Error}
  alias Dala.Media.Image
  alias Dala.ML.Gpu
  alias Dala.ML.Serving.{Tensors, Wire}

  @tasks [:classify, :detect, :faces, :pose, :segment]

  @enforce_keys [:id, :kind]
  defstruct [:id, :kind, :function, :model, :task] ++
              [owned: false, sizes: [1], padded: false, times: %{}]

  @type result :: {:ok, term()} | {:error, Error.t()} | {:crashed, Error.t(), tuple()}
  @type t :: %__MODULE__{
          id: reference(),
          kind: :model | :function,
          function: (list() -> list()) | nil,
          model: Gpu.Model.t() | nil,
          task: {atom(), keyword()} | nil,
          owned: boolean(),
          sizes: [pos_integer(), ...],
          padded: boolean(),
          times: %{pos_integer() => non_neg_integer()}
        }

  @doc "The tasks of `Dala.ML` that a model with pictures can be for."
  @spec tasks() :: [atom()]
  def tasks, do: @tasks

  @doc "Loads what the settings name, and runs it once in every size before it takes work."
  @spec load(map()) :: {:ok, t()} | {:error, Error.t()}
  def load(%{function: function} = settings) when function != nil do
    sizes = sizes(settings)
    engine = %__MODULE__{id: make_ref(), kind: :function, function: function, sizes: sizes}
    warm_up(engine, settings)
  end

  def load(settings) do
    with {:ok, model, owned} <- open(settings) do
      {sizes, padded} = model_sizes(model, settings)

      engine = %__MODULE__{
        id: make_ref(),
        kind: :model,
        model: model,
        owned: owned,
        task: task(settings.task, model),
        sizes: sizes,
        padded: padded
      }

      with {:error, error} <- warm_up(engine, settings) do
        close(engine)
        {:error, error}
      end
    end
  end

  defp open(%{model: %Gpu.Model{} = model}), do: {:ok, model, false}

  defp open(settings) do
    opts = for key <- [:models_dir, :shapes], value = Map.get(settings, key), do: {key, value}
    with {:ok, model} <- Gpu.load_model(settings.model, opts), do: {:ok, model, true}
  end

  defp task(nil, %{contract: nil}), do: nil
  defp task(nil, %{contract: contract}), do: {contract.task, []}
  defp task({task, opts}, _model), do: {task, opts}

  # Where nothing else is asked for, powers of two: any number of requests is a few batches, and
  # there are few plans.
  defp sizes(%{sizes: nil, max: max}) do
    1
    |> Stream.iterate(&(2 * &1))
    |> Enum.take_while(&(&1 < max))
    |> Kernel.++([max])
  end

  defp sizes(%{sizes: sizes, max: max}),
    do: [1 | sizes] |> Enum.filter(&(&1 <= max)) |> Enum.uniq() |> Enum.sort()

  # The first dimension of all inputs and outputs has to be the same one.
  defp model_sizes(model, settings) do
    case model.inputs |> Kernel.++(model.outputs) |> Enum.map(&first/1) |> Enum.uniq() do
      [rows] when is_integer(rows) and rows > 1 -> {[rows], true}
      [name] when is_binary(name) -> {sizes(settings), false}
      _fixed_at_one_or_unknown -> {[1], false}
    end
  end

  defp first(%{shape: shape}) when is_tuple(shape) and tuple_size(shape) > 0, do: elem(shape, 0)
  defp first(_port), do: nil

  @doc "The most requests that run at once."
  @spec most(t()) :: pos_integer()
  def most(%__MODULE__{sizes: sizes}), do: List.last(sizes)

  @doc "How many of `count` waiting requests to run at once: as many as a plan is ready for."
  @spec fit(t(), pos_integer()) :: pos_integer()
  def fit(%__MODULE__{padded: true, sizes: [rows]}, count), do: min(count, rows)

  def fit(%__MODULE__{sizes: sizes}, count),
    do: sizes |> Enum.take_while(&(&1 <= count)) |> List.last(1)

  # Each size runs twice: the first time makes the plan, the second tells how long it takes. A size
  # above the smallest that fails, say for want of memory, is not used.
  defp warm_up(engine, settings) do
    case example(engine, settings.warmup) do
      nil -> {:ok, engine}
      {:ok, input} -> warm_sizes(engine, input)
    end
  end

  defp warm_sizes(%{sizes: [smallest | _]} = engine, input) do
    {sizes, times, failed} =
      Enum.reduce(engine.sizes, {[], %{}, nil}, fn size, {sizes, times, failed} ->
        case time(engine, input, size) do
          {:ok, time} -> {[size | sizes], Map.put(times, size, time), failed}
          {:error, error} -> {sizes, times, if(size == smallest, do: error, else: failed)}
        end
      end)

    if failed,
      do: {:error, failed},
      else: {:ok, %{engine | sizes: Enum.reverse(sizes), times: times}}
  end

  defp time(engine, input, size) do
    inputs = List.duplicate(input, size)
    kind = kind(engine, input)

    with :ok <- once(engine, kind, inputs) do
      started = System.monotonic_time()
      with :ok <- once(engine, kind, inputs), do: {:ok, System.monotonic_time() - started}
    end
  end

  defp once(engine, kind, inputs) do
    case attempt(engine, kind, inputs) do
      {:ok, results} -> Enum.find_value(results, :ok, &with({:ok, _} <- &1, do: nil))
      {:error, error} -> {:error, error}
      {:crashed, error, _what} -> {:error, error}
    end
  end

  # For a model that is told what pictures are, any picture has the right size in the end.
  defp example(_engine, {:ok, input}), do: {:ok, input}
  defp example(%{kind: :function}, nil), do: nil
  defp example(%{task: task}, nil) when task != nil, do: {:ok, Image.new(64, 64, {0, 0, 0})}

  defp example(%{model: model}, nil) do
    dims = Enum.map(model.inputs, &known_dims/1)

    unless nil in dims do
      inputs =
        for {port, shape} <- Enum.zip(model.inputs, dims), do: Buffer.zeros(shape, port.dtype)

      {:ok, inputs}
    end
  end

  defp known_dims(%{shape: shape}) when is_tuple(shape) and tuple_size(shape) > 0 do
    tail = shape |> Tuple.delete_at(0) |> Tuple.to_list()
    if Enum.all?(tail, &is_integer/1), do: List.to_tuple([1 | tail])
  end

  defp known_dims(_port), do: nil

  @doc """
  The kind of an input: inputs of one kind can run together. An input that has to run alone
  is of a kind of its own.
  """
  @spec kind(t(), term()) :: term()
  def kind(%__MODULE__{kind: :function}, _input), do: :function

  def kind(_engine, input) do
    if picture?(input), do: :picture, else: Tensors.kind(input) || {:alone, make_ref()}
  end

  defp picture?(%Image{}), do: true
  defp picture?({rgba, _width, _height}) when is_binary(rgba), do: true
  defp picture?(_other), do: false

  @doc """
  Runs inputs of one kind, at most `most/1`, and gives the result of each. Where they fail together,
  each runs alone, so that one input that cannot be run spoils no other.
  """
  @spec run(t(), term(), [term()]) :: [result()]
  def run(engine, kind, inputs) do
    case {attempt(engine, kind, inputs), inputs} do
      {{:ok, results}, _inputs} -> results
      {failed, [_only]} -> [failed]
      {_failed, several} -> Enum.flat_map(several, &run(engine, kind, [&1]))
    end
  end

  defp attempt(engine, kind, inputs) do
    results(engine, kind, Enum.map(inputs, &Wire.unpack/1))
  rescue
    error in Error -> {:error, error}
    error -> crashed(engine, :error, error, __STACKTRACE__)
  catch
    kind, reason -> crashed(engine, kind, reason, __STACKTRACE__)
  end

  # Malformed inputs raise ArgumentError in the functions of models, which whoever made the request
  # gets as an error.
  defp crashed(%{kind: :model}, :error, %ArgumentError{message: message}, _stacktrace),
    do: {:error, %Error{reason: :invalid_param, message: message}}

  defp crashed(_engine, kind, reason, stacktrace) do
    error = %Error{
      reason: :crashed,
      message: "the serving's function has crashed: " <> Exception.format_banner(kind, reason),
      details: %{kind: kind, reason: reason}
    }

    {:crashed, error, {kind, reason, stacktrace}}
  end

  defp results(%{kind: :function, function: function}, _kind, inputs) do
    case function.(inputs) do
      results when length(results) == length(inputs) ->
        {:ok, Enum.map(results, &of_function/1)}

      other ->
        given = if is_list(other), do: "#{length(other)} results", else: "no list"
        raise "the function of a serving gave #{given} for #{length(inputs)} inputs"
    end
  end

  defp results(%{task: nil, model: model}, :picture, _inputs) do
    raise %Error{
      reason: :unsupported,
      message:
        "nothing says what the pictures of the model #{model.name} are for; start its serving " <>
          "with task: #{Enum.map_join(@tasks, ", ", &inspect/1)}, or give it tensors"
    }
  end

  defp results(%{task: {task, opts}} = engine, :picture, inputs) do
    with {:ok, results} <- apply(Dala.ML, task, [engine.model, padded(engine, inputs), opts]),
         do: {:ok, results |> Enum.take(length(inputs)) |> Enum.map(&{:ok, &1})}
  end

  defp results(engine, {:alone, _ref}, [input]), do: predict(engine.model, input)

  defp results(%{padded: false, model: model}, _kind, [input]), do: predict(model, input)

  defp results(%{model: model} = engine, _kind, inputs) do
    count = length(inputs)
    rows = if engine.padded, do: hd(engine.sizes), else: count

    with {:ok, outputs} <- Gpu.predict(model, Tensors.stack(inputs, rows)) do
      parts = Tensors.unstack(outputs, count, rows, Tensors.nx?(hd(inputs)))
      {:ok, Enum.map(parts, &{:ok, &1})}
    end
  end

  defp predict(model, input) do
    with {:ok, output} <- Gpu.predict(model, input), do: {:ok, [{:ok, output}]}
  end

  # A fixed number of pictures: the last one again, until there are as many.
  defp padded(%{padded: true, sizes: [rows]}, inputs),
    do: inputs ++ List.duplicate(List.last(inputs), rows - length(inputs))

  defp padded(_engine, inputs), do: inputs

  defp of_function({:error, %Error{}} = error), do: error
  defp of_function(result), do: {:ok, result}

  @doc "Gives the memory of a model back that was loaded here."
  @spec close(t()) :: :ok
  def close(%__MODULE__{owned: true, model: model}), do: Gpu.free_model(model)
  def close(_engine), do: :ok

  @doc "A name for people and for metrics."
  @spec name(t()) :: String.t()
  def name(%__MODULE__{kind: :model, model: model}), do: model.name
  def name(%__MODULE__{function: function}), do: inspect(function)
end
