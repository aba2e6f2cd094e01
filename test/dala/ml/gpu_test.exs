defmodule Dala.ML.GpuTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.ML.Gpu
  alias Dala.Test.OnnxFile

  doctest Dala.ML.Gpu

  test "the alias has the same functions" do
    assert Gpu.Inference.__info__(:functions) == Gpu.__info__(:functions)
    assert Gpu.Inference.available_models() == Gpu.available_models()
  end

  defp double do
    OnnxFile.model(
      [{"Mul", ["x", "two"], ["y"]}],
      [{"x", :f32, ["batch", 3]}],
      [{"y", :f32, ["batch", 3]}],
      constants: [{"two", {:f32, [1], f32([2.0])}}]
    )
  end

  # y = a - b, z = a * b
  defp two_by_two do
    OnnxFile.model(
      [{"Sub", ["a", "b"], ["y"]}, {"Mul", ["a", "b"], ["z"]}],
      [{"a", :f32, ["n"]}, {"b", :f32, ["n"]}],
      [{"y", :f32, ["n"]}, {"z", :f32, ["n"]}]
    )
  end

  defp load!(bytes) do
    assert {:ok, model} = Gpu.load_model({:binary, bytes})
    model
  end

  test "the example model is what the tests write" do
    if System.get_env("DALA_UPDATE_GUIDES") == "1",
      do: File.write!("examples/double.onnx", double())

    assert File.read!("examples/double.onnx") == double()
  end

  test "inputs in a list, or by name; several outputs by name" do
    model = load!(two_by_two())
    a = Compute.buffer([5, 7], {2})
    b = Compute.buffer([2, 3], {2})

    for input <- [[a, b], %{"a" => a, "b" => b}, %{a: a, b: b}] do
      assert {:ok, %{"y" => y, "z" => z}} = Gpu.predict(model, input)
      assert Compute.read_list(y) == [3.0, 4.0]
      assert Compute.read_list(z) == [10.0, 21.0]
    end

    assert_error(Gpu.predict(model, %{"a" => a, "c" => b}), :arity_mismatch, [
      ~s(the model takes the inputs "a", "b", got "a", "c")
    ])

    assert_error(Gpu.predict(model, a), :arity_mismatch, "the model takes 2 inputs, got 1")

    assert_error(
      Gpu.predict(model, [a, Compute.buffer([1], {1})]),
      :shape_mismatch,
      ~s(input "b" has 1 for the dimension n, input "a" has 2)
    )
  end

  test "inspects as its inputs and outputs" do
    assert inspect(load!(two_by_two())) ==
             "#Dala.ML.Gpu.Model<model: a f32[n], b f32[n] -> y f32[n], z f32[n]>"
  end

  test "model_info/1" do
    info = Gpu.model_info(load!(double()))
    assert %{name: "model", opset: 17, producer: "dala tests", nodes: 1, parameters: 1} = info
    assert info.weight_bytes == 4
    assert [%{name: "y", shape: {"batch", 3}, dtype: :f32, type: :f32}] = info.outputs
  end

  test "outputs in terms of the inputs' dimensions, whatever the file calls them" do
    bytes =
      OnnxFile.model(
        [
          {"MaxPool", ["x"], ["half"], kernel_shape: [3, 3], strides: [2, 2], pads: [1, 1, 1, 1]},
          {"Flatten", ["x"], ["flat"]}
        ],
        [{"x", :f32, ["batch", 3, "height", "width"]}],
        [{"half", :f32, ["d0", "d1", "d2", "d3"]}, {"flat", :f32, ["d4", "d5"]}]
      )

    model = load!(bytes)

    assert [half, flat] = Gpu.model_info(model).outputs
    assert half.shape == {"batch", 3, "ceil(height/2)", "ceil(width/2)"}
    assert flat.shape == {"batch", "3*height*width"}

    assert inspect(model) =~
             "-> half f32[batch][3][ceil(height/2)][ceil(width/2)], flat f32[batch][3*height*width]>"
  end

  test "profile: true returns the time of each layer" do
    model = load!(two_by_two())
    a = Compute.buffer([5, 7], {2})
    assert {:ok, %{"y" => _y, "z" => _z}, layers} = Gpu.predict(model, [a, a], profile: true)
    assert [%{layer: "Sub (Sub_y)", ms: ms}, %{layer: "Mul (Mul_z)"}] = layers
    assert is_float(ms)
    assert_raise ArgumentError, fn -> Gpu.predict(model, [a, a], fast: true) end
  end

  test "concurrent processes, and predictions that are never awaited" do
    model = load!(double())

    tasks =
      for i <- 1..20 do
        Task.async(fn ->
          input = Compute.buffer([i, i, i], {1, 3})
          {:ok, prediction} = Gpu.predict_async(model, input)
          {:ok, _never_awaited} = Gpu.predict_async(model, input)
          {:ok, output} = Gpu.await(prediction, 60_000)
          Compute.read_list(output)
        end)
      end

    assert Task.await_many(tasks, 60_000) == for(i <- 1..20, do: [2.0 * i, 2.0 * i, 2.0 * i])
  end

  test "await/2 is for the process that started it, and has a timeout" do
    model = load!(double())
    {:ok, prediction} = Gpu.predict_async(model, Compute.buffer([1, 2, 3], {1, 3}))
    task = Task.async(fn -> catch_error(Gpu.await(prediction)) end)
    assert %ArgumentError{message: message} = Task.await(task)
    assert message =~ "awaited by the process that started it"
    assert {:ok, _output} = Gpu.await(prediction, 60_000)
    assert_error(Gpu.await(prediction, 0), :timeout, "had not finished after 0 ms")
  end

  test "a model's memory is released" do
    weights = for _ <- 1..65_536, into: <<>>, do: <<1.0::float-32-native>>

    bytes =
      OnnxFile.model(
        [{"Add", ["x", "w"], ["y"]}],
        [{"x", :f32, [65_536]}],
        [{"y", :f32, [65_536]}],
        constants: [{"w", {:f32, [65_536], weights}}]
      )

    model = load!(bytes)
    assert {:ok, output} = Gpu.predict(model, zeros({65_536}))
    assert output |> Compute.read_list() |> Enum.uniq() == [1.0]
    assert Gpu.free_model(model) == :ok
    assert Gpu.free_model(model) == :ok
    assert_error(Gpu.predict(model, zeros({65_536})), :freed, "the model has been freed")
  end

  test "files that are missing, not models, or unsupported" do
    assert_error(
      Gpu.load_model("no/such.onnx"),
      :model_not_found,
      "#{Path.expand("no/such.onnx")} does not exist"
    )

    assert_error(Gpu.load_model("mix.exs"), :invalid_model)

    assert_error(
      Gpu.load_model({:binary, binary_part(double(), 0, 50)}),
      :invalid_model,
      "is truncated"
    )

    unknown = OnnxFile.model([{"Fancy", ["x"], ["y"]}], [{"x", :f32, [1]}], [{"y", :f32, [1]}])

    error = assert_error(Gpu.load_model({:binary, unknown}), :unsupported_op, "Fancy (Fancy_y)")
    assert error.details.operators == "Fancy"
    assert_raise ArgumentError, ~r/expected the name of a model/, fn -> Gpu.load_model(:gpt) end
  end

  test "TF.js models by the path of model.json and by its folder" do
    folder = scratch_dir("tripled")

    node = fn name, op, inputs, attr ->
      ~s({"name":"#{name}","op":"#{op}","input":#{inspect(inputs)},"attr":{#{attr}}})
    end

    x = ~s("dtype":{"type":"DT_FLOAT"},"shape":{"shape":{"dim":[{"size":"-1"},{"size":"2"}]}})

    json = """
    {"modelTopology":{"node":[#{node.("x", "Placeholder", [], x)},
      #{node.("three", "Const", [], "")}, #{node.("y", "Mul", ["x", "three"], "")}]},
     "weightsManifest":[{"paths":["group1-shard1of1"],
       "weights":[{"name":"three","shape":[],"dtype":"float32"}]}]}
    """

    path = Path.join(folder, "model.json")
    File.write!(path, json)

    assert_error(Gpu.load_model(path), :invalid_model, [
      ~s(the weight file "group1-shard1of1" does not exist in),
      folder
    ])

    File.write!(Path.join(folder, "group1-shard1of1"), <<3.0::float-32-native>>)

    for source <- [path, folder] do
      assert {:ok, model} = Gpu.load_model(source)
      assert model.name == Path.basename(folder)
      assert [%{name: "x", shape: {nil, 2}, dtype: :f32}] = model.inputs
      assert {:ok, output} = Gpu.predict(model, Compute.buffer([1, 2, 3, 4], {2, 2}))
      assert Compute.read_list(output) == [3.0, 6.0, 9.0, 12.0]
    end

    assert_error(Gpu.load_model({:binary, json}), :invalid_model, "cannot be loaded from bytes")
    assert {:ok, %{name: "double"}} = Gpu.load_model("examples/double.json")
  end

  test "models are found by name in the directory" do
    folder = scratch_dir("models")

    assert_error(Gpu.load_model(:blazeface, models_dir: folder), :model_not_found, [
      "the model :blazeface was not found in #{folder}, ",
      "Run `mix dala.models install blazeface`",
      "DALA_MODELS_DIR"
    ])

    File.write!(Path.join(folder, "blazeface.onnx"), double())
    assert {:ok, %{name: "blazeface"}} = Gpu.load_model(:blazeface, models_dir: folder)
  end

  describe "prepared shapes" do
    # The value between its two layers is the model's working memory.
    # The second cannot be fused with the first, so there is a tensor between them.
    defp two_layers(shape) do
      OnnxFile.model(
        [{"Exp", ["x"], ["between"]}, {"Softsign", ["between"], ["y"]}],
        [{"x", :f32, shape}],
        [{"y", :f32, shape}]
      )
    end

    defp working_bytes(bytes, opts) do
      assert {:ok, model} = Gpu.load_model({:binary, bytes}, opts)
      Gpu.model_info(model).working_bytes
    end

    test "are those of the file, or given" do
      assert working_bytes(two_layers([4, 5]), []) == 80
      assert working_bytes(two_layers(["n", 5]), []) == 20
      assert working_bytes(two_layers(["n", 5]), shapes: {3, 5}) == 80
      assert working_bytes(two_layers(["n", "m"]), []) == 0

      for shapes <- [{4, 5}, [{4, 5}], %{x: {4, 5}}, %{"x" => {4, 5}}] do
        assert working_bytes(two_layers(["n", "m"]), shapes: shapes) == 80
      end
    end

    test "have to fit" do
      load = &Gpu.load_model({:binary, two_layers(["n", 5])}, shapes: &1)
      wrong = ~s(input "x" has shape {4, 6}, the model takes {n, 5})
      assert_error(load.({4, 6}), :shape_mismatch, wrong)

      assert_error(load.([{4, 5}, {4, 5}]), :arity_mismatch, "the model takes 1 input, got 2")

      assert_raise ArgumentError, ~s(expected shapes: for the inputs x, got: %{"z" => {4}}), fn ->
        load.(%{z: {4}})
      end

      for wrong <- [3, {-1, 5}, [4, 5], {"n", 5}] do
        assert_raise ArgumentError, ~r/expected shapes: to be a tuple of dimensions, or a/, fn ->
          load.(wrong)
        end
      end
    end

    test "of a named model are those of its contract, if it accepts them" do
      folder = scratch_dir("models")
      load = fn -> Gpu.load_model(:deeplab, models_dir: folder) end
      File.write!(Path.join(folder, "deeplab.onnx"), two_layers(["n", 3, "h", "w"]))
      assert {:ok, model} = load.()
      assert Gpu.model_info(model).working_bytes == 4 * 3 * 520 * 520
      File.write!(Path.join(folder, "deeplab.onnx"), two_layers(["n", 1, "h", "w"]))
      assert {:ok, model} = load.()
      assert Gpu.model_info(model).working_bytes == 0
    end
  end

  test "integers, conditions and halves" do
    bytes =
      OnnxFile.model(
        [
          {"Greater", ["x", "limit"], ["big"]},
          {"Cast", ["x"], ["half"], to: 10},
          {"ArgMax", ["x"], ["place"], axis: 0, keepdims: 0}
        ],
        [{"x", :f32, [3]}],
        [{"big", :bool, [3]}, {"half", :f16, [3]}, {"place", :i64, []}],
        constants: [{"limit", {:f32, [], f32([1.0])}}]
      )

    assert {:ok, outputs} = Gpu.predict(load!(bytes), Compute.buffer([0.5, 2049, 1], {3}))
    assert %{"big" => big, "half" => half, "place" => place} = outputs
    assert {Buffer.dtype(big), Compute.read_list(big)} == {:u8, [0, 1, 0]}
    assert {Buffer.dtype(half), Compute.read_list(half)} == {:f32, [0.5, 2048.0, 1.0]}
    assert {Buffer.shape(place), Compute.read_list(place)} == {{}, [1]}
  end

  describe "top_k/2" do
    test "several rows, fewer elements than k, NaN" do
      rows = Compute.buffer([1, 3, 2, 6, 5, 4], {2, 3})
      assert Gpu.top_k(rows, k: 1) == [[{3.0, 1}], [{6.0, 0}]]
      assert Gpu.top_k(Compute.buffer([1, 2], {2})) == [{2.0, 1}, {1.0, 0}]

      assert Gpu.top_k(Compute.buffer([:nan, 1, :infinity], {3})) ==
               [{:infinity, 2}, {1.0, 1}, {:nan, 0}]

      assert_raise ArgumentError, ~r/k: to be a positive integer/, fn -> Gpu.top_k(rows, k: 0) end
    end
  end
end
