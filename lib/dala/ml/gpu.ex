defmodule Dala.ML.Gpu do
  @moduledoc """
  Runs ONNX, TFLite and TF.js models on the device.

      {:ok, model} = Dala.ML.Gpu.load_model("classifier.onnx")
      {:ok, output} = Dala.ML.Gpu.predict(model, input)
      Dala.ML.Gpu.top_k(output, k: 5)

  Loading parses and validates the file, folds constants, fuses layers, and copies the weights to
  the device. A prediction is then one command: all layers are submitted together, and the calling
  process waits for one message. Nothing blocks a scheduler, and any number of processes can use a
  model concurrently.

  The plan created by the first prediction with a set of input shapes is reused by the next ones. A
  model whose shapes depend on values (`NonZero`, `NonMaxSuppression`) runs node by node instead.

  The guides list the supported operators of [ONNX](onnx.md), [TFLite](tflite.md) and
  [TF.js](tfjs.md). `load_model/2` refuses a model with other operators, and names all of them.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Command, Error, Native, Runtime}
  alias Dala.ML.Gpu.{Model, Prediction, Shapes, State, Tensors}
  alias Dala.ML.Models.{Contract, Location, Registry}
  alias Dala.Telemetry

  @type source :: atom() | Path.t() | {:binary, binary()}
  @type tensor :: Buffer.t() | Nx.Tensor.t()
  @type input :: tensor() | [tensor()] | %{(String.t() | atom()) => tensor()}
  @type output :: tensor() | %{String.t() => tensor()}
  @type layer :: %{layer: String.t(), ms: float()}

  @doc """
  Loads a model: one of `available_models/0`, the path of an `.onnx` or `.tflite` file or of the
  `model.json` of a TF.js graph model, the folder of the latter, or the bytes of a file.

  A TF.js model with weight files cannot be loaded from bytes; pass the path of its `model.json`.
  Only the calling process waits. A missing file is the error `:model_not_found`, which lists the
  searched locations; a damaged one is `:invalid_model`, which describes the problem; a file with
  unsupported operators is `:unsupported_op`, which lists all of them and their nodes.

  ## Options

    * `:models_dir` - a directory to search for named models before the others, see
      `Dala.ML.Models`; none by default
    * `:as` - a name, atom or string, under which to register the model as a kernel. The model then
      stays loaded until `free_model/1` or `Dala.Gpu.Compute.Kernel.unregister/1`; none by default
    * `:shapes` - input shapes to prepare plans for, so that the first prediction with them is as
      fast as any: a tuple, a list of tuples in the order of the inputs, or a map by name. By
      default the shapes that the file fixes, with 1 for a free first dimension; for a named model
      also the size in its contract

  ## Models as kernels

  The option `:as` registers a model as a kernel for `run_kernel/4`, `submit/2` and stages of
  pipelines, where its layers are part of the single command. The kernel takes the model's inputs in
  order, and an output of the shape and type that the model produces for them. If the model has
  several outputs, the parameter `output` selects the one to write. Models whose shapes depend on
  values cannot be kernels.

  A model of `available_models/0` is a kernel under its own name while a process references the
  model. If it is used as a kernel without being loaded, it is loaded and stays loaded.

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> inspect(model)
      "#Dala.ML.Gpu.Model<double: x f32[batch][3] -> y f32[batch][3]>"
      iex> {:ok, _ready} = Dala.ML.Gpu.load_model("examples/double.onnx", shapes: {16, 3})
      iex> {:ok, _model} = Dala.ML.Gpu.load_model("examples/double.onnx", as: :doc_double)
      iex> a = Dala.Gpu.Compute.buffer([1, 2, 3], {1, 3})
      iex> Dala.Gpu.Compute.run_kernel(:doc_double, [a], a)
      :ok
      iex> Dala.Gpu.Compute.read_list(a)
      [2.0, 4.0, 6.0]
  """
  @spec load_model(source(),
          models_dir: Path.t(),
          as: atom() | String.t(),
          shapes: tuple() | [tuple()] | %{(String.t() | atom()) => tuple()}
        ) :: {:ok, Model.t()} | {:error, Error.t()}
  def load_model(source, opts \\ []) do
    opts = Argument.options!(opts, models_dir: nil, as: nil, shapes: nil)
    as = opts[:as] && Command.kernel!(opts[:as])

    with {:ok, name, native_source} <- Location.locate(source, opts[:models_dir]),
         :ok <- Runtime.ensure() do
      own = if is_atom(source), do: name, else: as || name

      Telemetry.span([:dala, :program, :build], %{kind: :model, name: own}, fn ->
        with {:ok, ref, inputs, outputs} <-
               Runtime.answer(&Native.model_load(native_source, &1)),
             model = Model.new(ref, own, inputs, outputs),
             model = source |> contract(native_source) |> Contract.bind(model),
             :ok <- get_ready(model, opts[:shapes]),
             :ok <- register(model, source, as) do
          {:ok, model}
        end
      end)
    end
  end

  # The result is ignored: a user's file under that name may not accept the usual shapes.
  defp get_ready(model, nil) do
    shapes = Shapes.usual(model)
    if shapes, do: Runtime.answer(&Native.model_get_ready(model.ref, shapes, &1))
    :ok
  end

  defp get_ready(model, given) do
    shapes = Shapes.given!(model, given)
    Runtime.answer(&Native.model_get_ready(model.ref, shapes, &1))
  end

  # Only named models have a contract.
  defp contract(name, {:path, path}) when is_atom(name), do: Registry.contract(name, path)
  defp contract(_source, _native_source), do: nil

  # A named model is a kernel while it is referenced; a model registered with `as:` stays loaded.
  defp register(model, source, nil) when is_atom(source),
    do: Native.model_register(model.ref, model.name, false)

  defp register(_model, _source, nil), do: :ok
  defp register(model, _source, as), do: Native.model_register(model.ref, as, true)

  @doc """
  Describes the inputs, outputs and size of a model.

  The map has `:name`, `:inputs` and `:outputs` as in `Dala.ML.Gpu.Model`, `:opset` and `:producer`
  of the file, the number of `:nodes` after fusion, the number of `:parameters`, and the bytes of
  the weights (`:weight_bytes`) and of the temporaries for the shapes seen so far
  (`:working_bytes`).

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> %{inputs: [input], nodes: 1} = Dala.ML.Gpu.model_info(model)
      iex> {input.name, input.shape, input.dtype}
      {"x", {"batch", 3}, :f32}
  """
  @spec model_info(Model.t()) :: map()
  def model_info(model) do
    Model.check!(model).ref
    |> Native.model_info()
    |> Error.value!()
    |> Map.merge(Map.take(model, [:name, :inputs, :outputs]))
  end

  @doc """
  Runs a model and returns its output, or a map of its outputs by name if there are several.

  The input is one tensor, a list in the order of `model.inputs`, or a map by name. Tensors are
  buffers or Nx tensors; if an input is an Nx tensor, so are the outputs. Only the calling process
  waits.

  ## Options

    * `:profile` - `true` returns `{:ok, output, layers}` with the time that the device spent on
      each layer, in order; `false` by default
    * `:state` - a state returned by `new_state/2`, which provides the inputs that belong to it and
      takes their next values; the input and the output are then without these. Not together with
      `:profile`; none by default

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> input = Dala.Gpu.Compute.buffer([1, 2, 3, 4, 5, 6], {2, 3})
      iex> {:ok, output} = Dala.ML.Gpu.predict(model, input)
      iex> Dala.Gpu.Compute.read_list(output)
      [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
  """
  @spec predict(Model.t(), input(), profile: boolean(), state: State.t() | nil) ::
          {:ok, output()} | {:ok, output(), [layer()]} | {:error, Error.t()}
  def predict(model, input, opts \\ []) do
    opts = Argument.options!(opts, profile: false, state: nil)
    target = target!(model, opts[:state])

    with {:ok, buffers, nx?} <- Tensors.inputs(target.inputs, input) do
      if opts[:profile] do
        profiled(target, buffers, nx?)
      else
        Runtime.collect_if_grown()

        Telemetry.span([:dala, :command], %{op: :predict, name: model.name}, fn ->
          Runtime.collecting(fn ->
            with {:ok, prediction} <- start(target, buffers, nx?), do: await(prediction)
          end)
        end)
      end
    end
  end

  defp profiled(%State{}, _buffers, _nx?) do
    raise ArgumentError, "expected either profile: or state:, got both"
  end

  defp profiled(model, buffers, nx?) do
    with {:ok, outputs, layers} <-
           Runtime.answer(&Native.model_profile(model.ref, buffers, &1)) do
      layers = for {layer, ns} <- layers, do: %{layer: layer, ms: ns / 1.0e6}
      {:ok, Tensors.outputs(model.outputs, outputs, nx?), layers}
    end
  end

  # The resource that runs: the model, or a state of it. Both have the inputs and outputs of a prediction.
  defp target!(model, nil), do: Model.check!(model)

  defp target!(model, state) do
    %{ref: ref, name: name} = Model.check!(model)
    %{model: own} = State.check!(state)

    unless own.ref == ref do
      raise ArgumentError,
            "expected state: to be a state of the model #{name}, got one of another model, " <>
              own.name
    end

    state
  end

  @doc """
  Returns a new state of a model: what the model remembers from one prediction to the next.

  A state holds outputs of a prediction that are inputs of the next one. `predict/3` with the option
  `state:` reads and updates it. `Dala.ML.Gpu.State` describes what holds for all states, and
  [the guide](state.md) has examples.

  ## Options

    * `:state` - the pairs, a map from names of outputs to names of inputs:
      `%{"present.0.key" => "past_key_values.0.key"}`. By default the variables that a TFLite file
      declares; a model without variables needs this option
    * `:initial` - the first values of inputs of the state, a map from names to tensors. Others start
      with zeros: a free dimension has the size that the other inputs give it, or else 0 if it
      has a name and the model returns it with another size, as attention does with the length of
      its cache, and 1 if not

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> first = %{"x" => Dala.Gpu.Compute.buffer([1, 2, 3], {1, 3})}
      iex> {:ok, state} = Dala.ML.Gpu.new_state(model, state: %{"y" => "x"}, initial: first)
      iex> Dala.ML.Gpu.predict(model, [], state: state)
      {:ok, %{}}
      iex> {:error, error} = Dala.ML.Gpu.new_state(model, state: %{"z" => "x"})
      iex> error.message
      "the model has no output \\"z\\"; its outputs are \\"y\\""
  """
  @spec new_state(Model.t(),
          state: %{(String.t() | atom()) => String.t() | atom()},
          initial: %{(String.t() | atom()) => tensor()}
        ) :: {:ok, State.t()} | {:error, Error.t()}
  def new_state(model, opts \\ []) do
    Model.check!(model)
    opts = Argument.options!(opts, state: %{}, initial: %{})
    pairs = names!(:state, opts[:state])
    initial = names!(:initial, opts[:initial])

    State.new(
      model,
      Enum.map(pairs, fn {output, input} -> {output, to_string(input)} end),
      Enum.map(initial, fn {name, tensor} -> {name, Tensors.as_buffer(tensor)} end)
    )
  end

  defp names!(_option, map) when is_map(map) and not is_struct(map), do: Tensors.by_name(map)

  defp names!(option, other) do
    raise ArgumentError, "expected #{option}: to be a map by name, got: #{inspect(other)}"
  end

  @doc """
  Starts a prediction and returns immediately; `await/2` returns its result.

  The inputs are captured at the time of the call: you may write to them or free them right away. A
  process that has 64 predictions which have not started waits here. The option `:state` is that of
  `predict/3`.

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> input = Dala.Gpu.Compute.buffer([1, 2, 3], {1, 3})
      iex> {:ok, prediction} = Dala.ML.Gpu.predict_async(model, input)
      iex> {:ok, output} = Dala.ML.Gpu.await(prediction)
      iex> Dala.Gpu.Compute.read_list(output)
      [2.0, 4.0, 6.0]
  """
  @spec predict_async(Model.t(), input(), state: State.t() | nil) ::
          {:ok, Prediction.t()} | {:error, Error.t()}
  def predict_async(model, input, opts \\ []) do
    opts = Argument.options!(opts, state: nil)
    target = target!(model, opts[:state])

    with {:ok, buffers, nx?} <- Tensors.inputs(target.inputs, input),
         do: start(target, buffers, nx?)
  end

  defp start(target, buffers, nx?) do
    ref = make_ref()

    with {:ok, native} <- submit(target, buffers, ref) do
      outputs = target.outputs
      {:ok, %Prediction{ref: ref, native: native, outputs: outputs, owner: self(), nx: nx?}}
    end
  end

  defp submit(%Model{ref: model}, buffers, ref) do
    with {:ok, native} <- Native.model_predict(model, buffers, ref) do
      Runtime.take_turn(&Native.model_turn/1)
      {:ok, native}
    end
  end

  defp submit(%State{ref: state}, buffers, ref) do
    with {:ok, native} <- Native.state_predict(state, buffers, ref) do
      Runtime.take_turn(&Native.state_turn(state, &1))
      {:ok, native}
    end
  end

  @doc """
  Waits for a prediction that this process started.

  `timeout` is in milliseconds or `:infinity`, the default. When it expires, the prediction is
  abandoned: it does not run if it has not started, its result is dropped, and no message arrives
  later. The result is then an error with the reason `:timeout`. `yield/2` waits without abandoning
  it.

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> {:ok, wrong} = Dala.ML.Gpu.predict_async(model, Dala.Gpu.Compute.buffer([1], {1}))
      iex> {:error, error} = Dala.ML.Gpu.await(wrong, 60_000)
      iex> error.message
      "input \\"x\\" has shape {1}, the model takes {batch, 3}"
  """
  @spec await(Prediction.t(), timeout()) :: {:ok, output()} | {:error, Error.t()}
  def await(prediction, timeout \\ :infinity) do
    with nil <- yield(prediction, timeout), do: give_up(prediction, timeout)
  end

  @doc """
  Waits for a prediction like `await/2`, but returns `nil` when the timeout expires.

  The prediction keeps running, and can be waited for again.

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> {:ok, prediction} =
      ...>   Dala.ML.Gpu.predict_async(model, Dala.Gpu.Compute.buffer([1, 2, 3], {1, 3}))
      iex> {:ok, output} = Dala.ML.Gpu.yield(prediction, 60_000)
      iex> {Dala.Gpu.Compute.read_list(output), Dala.ML.Gpu.yield(prediction, 0)}
      {[2.0, 4.0, 6.0], nil}
  """
  @spec yield(Prediction.t(), timeout()) :: {:ok, output()} | {:error, Error.t()} | nil
  def yield(prediction, timeout) do
    what = "a prediction returned by predict_async/3"
    %{ref: ref, owner: owner} = Argument.struct!(prediction, Prediction, what)
    timeout = Argument.timeout!(timeout)

    unless owner == self() do
      raise ArgumentError,
            "a prediction must be awaited by the process that started it, #{inspect(owner)}, " <>
              "not by #{inspect(self())}"
    end

    receive do
      {^ref, result} -> result(prediction, result)
    after
      timeout -> nil
    end
  end

  # The result may arrive between the timeout and this call; it is then returned, and its message
  # must not be left in the mailbox. While the native side is sending, the message may or may not
  # have arrived, so the state is polled again.
  defp give_up(%Prediction{ref: ref} = prediction, timeout) do
    sending? = Native.model_give_up(prediction.native) == :sending

    receive do
      {^ref, result} -> result(prediction, result)
    after
      if(sending?, do: 1, else: 0) ->
        if sending?, do: give_up(prediction, timeout), else: timed_out(timeout)
    end
  end

  defp timed_out(timeout) do
    {:error,
     %Error{
       reason: :timeout,
       message: "the prediction had not finished after #{timeout} ms",
       details: %{timeout: timeout}
     }}
  end

  defp result(prediction, {:ok, outputs}),
    do: {:ok, Tensors.outputs(prediction.outputs, outputs, prediction.nx)}

  defp result(_prediction, {:error, error}), do: {:error, error}

  @doc """
  Frees the memory of a model; later predictions are the error `:freed`.

  Predictions that have started finish first. A model that no process references is freed by garbage
  collection.

  ## Example

      iex> {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
      iex> Dala.ML.Gpu.free_model(model)
      :ok
      iex> {:error, error} = Dala.ML.Gpu.predict(model, Dala.Gpu.Compute.buffer([1, 2, 3], {1, 3}))
      iex> error.reason
      :freed
  """
  @spec free_model(Model.t()) :: :ok
  def free_model(model) do
    %{ref: ref} = Model.check!(model)
    Runtime.answer(&Native.model_free(ref, &1))
  end

  @doc """
  Returns the highest scores of an output with their indices, highest first: `[{score, index}]`.

  For an output of several rows, `{n, classes}` with n above 1, returns one such list per row.

  ## Options

    * `:k` - the number of scores, 5 by default
    * `:labels` - a list of names to return instead of the indices; none by default

  ## Example

      iex> output = Dala.Gpu.Compute.buffer([0.5, 0.25, 0.125], {1, 3})
      iex> Dala.ML.Gpu.top_k(output, k: 2)
      [{0.5, 0}, {0.25, 1}]
      iex> Dala.ML.Gpu.top_k(output, k: 1, labels: ["cat", "dog", "fish"])
      [{0.5, "cat"}]
  """
  @spec top_k(tensor(), k: pos_integer(), labels: [String.t()] | nil) ::
          [{number(), term()}] | [[{number(), term()}]]
  def top_k(output, opts \\ []) do
    opts = Argument.options!(opts, k: 5, labels: nil)
    k = k!(opts[:k])
    buffer = Tensors.as_buffer(output)
    labels = opts[:labels] && List.to_tuple(opts[:labels])

    lists =
      for row <- rows(Buffer.read_list(buffer), buffer.shape) do
        row
        |> Enum.with_index()
        |> Enum.sort_by(fn {score, index} -> {order(score), index} end)
        |> Enum.take(k)
        |> Enum.map(fn {score, index} -> {score, label(labels, index)} end)
      end

    case lists do
      [only] -> only
      several -> several
    end
  end

  @doc """
  Lists the named models; `Dala.ML.Models` documents where their files are searched.

  ## Example

      iex> Dala.ML.Gpu.available_models()
      [:mobilenet_v2, :yolo_v5, :blazeface, :posenet, :deeplab]
  """
  @spec available_models() :: [atom()]
  def available_models, do: Registry.names()

  defp rows(elements, shape) do
    case shape |> Tuple.to_list() |> Enum.reject(&(&1 == 1)) do
      [_rows, columns] -> Enum.chunk_every(elements, columns)
      _one_row -> [elements]
    end
  end

  # Highest first, NaN last.
  defp order(:infinity), do: {0, 0}
  defp order(score) when is_number(score), do: {1, -score}
  defp order(:neg_infinity), do: {2, 0}
  defp order(:nan), do: {3, 0}

  defp label(nil, index), do: index
  defp label(labels, index) when index < tuple_size(labels), do: elem(labels, index)
  defp label(_labels, index), do: index

  defp k!(k) when is_integer(k) and k > 0, do: k

  defp k!(other) do
    raise ArgumentError, "expected k: to be a positive integer, got: #{inspect(other)}"
  end
end
