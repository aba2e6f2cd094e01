defmodule Dala.ML.AsKernelTest do
  # Models as kernels. Not beside other tests: models are looked for where the configuration says.
  use Dala.Test.GpuCase

  alias Dala.ML.Gpu
  alias Dala.Test.OnnxFile

  # The mean of each colour, from any size.
  defp means do
    OnnxFile.model(
      [{"GlobalAveragePool", ["x"], ["pooled"]}, {"Flatten", ["pooled"], ["y"]}],
      [{"x", :f32, ["n", 3, "h", "w"]}],
      [{"y", :f32, ["n", 3]}]
    )
  end

  # y = 2 x + 1, z = 3 x
  defp two_outputs do
    OnnxFile.model(
      [
        {"Mul", ["x", "two"], ["d"]},
        {"Add", ["d", "one"], ["y"]},
        {"Mul", ["x", "three"], ["z"]}
      ],
      [{"x", :f32, [2]}],
      [{"y", :f32, [2]}, {"z", :f32, [2]}],
      constants:
        for({n, v} <- [one: 1.0, two: 2.0, three: 3.0], do: {"#{n}", {:f32, [1], f32([v])}})
    )
  end

  defp load!(bytes, opts) do
    assert {:ok, model} = Gpu.load_model({:binary, bytes}, opts)
    on_exit(fn -> Gpu.free_model(model) end)
    model
  end

  defp run(kernel, inputs, output, params \\ %{}),
    do: Compute.run_kernel(kernel, inputs, output, params)

  # A folder of models that names are looked for in.
  defp models_folder(name, bytes) do
    folder = scratch_dir("models")
    File.write!(Path.join(folder, "#{name}.onnx"), bytes)
    previous = Application.get_env(:dala_gpu, :models_dir)
    Application.put_env(:dala_gpu, :models_dir, folder)

    on_exit(fn ->
      Kernel.unregister(name)

      if previous,
        do: Application.put_env(:dala_gpu, :models_dir, previous),
        else: Application.delete_env(:dala_gpu, :models_dir)
    end)
  end

  test "run, submitted, or a stage: the same as predicted" do
    model = load!(means(), as: :test_means)
    assert model.name == "test_means"

    # Each has a different size, so that each is the first to plan.
    for {size, how} <- [
          {2, fn x, y -> run("test_means", [x], y) end},
          {3,
           fn x, y ->
             spec = %{op: :run_kernel, kernel: :test_means, inputs: [x], output: y}
             id = Compute.submit(spec, notify: self())
             assert_receive {:dala_gpu, ^id, :ok}, 60_000
             :ok
           end},
          {4,
           fn x, y ->
             Compute.pipeline()
             |> Compute.pipeline_add(%{
               op: :run_kernel,
               kernel: :test_means,
               inputs: [x],
               output: y
             })
             |> Compute.pipeline_run()
           end}
        ] do
      numbers = for i <- 1..(6 * size * size), do: rem(i * 7, 11) * 1.0
      x = Compute.buffer(numbers, {2, 3, size, size})
      y = zeros({2, 3})
      assert how.(x, y) == :ok
      area = size * size
      want = numbers |> Enum.chunk_every(area) |> Enum.map(&(Enum.sum(&1) / area))
      assert_close(Compute.read_list(y), want)
      assert {:ok, predicted} = Gpu.predict(model, x)
      assert Compute.read(predicted) == Compute.read(y)
    end
  end

  test "a frame from a camera, through the model, to likelihoods" do
    models_folder(:mobilenet_v2, means())
    frame = Dala.Media.TestScene.frame(64, 48)
    camera_buf = Compute.buffer_from_binary(frame, {48, 64, 4}, :u8)
    preprocessed_buf = zeros({1, 3, 224, 224})
    logits_buf = zeros({1, 3})
    probs_buf = zeros({1, 3})

    pipeline = Dala.Gpu.Compute.pipeline()

    pipeline
    |> Dala.Gpu.Compute.pipeline_add(%{
      op: :run_kernel,
      kernel: :preprocess,
      inputs: [camera_buf],
      output: preprocessed_buf,
      params: %{normalize: true, size: {224, 224}}
    })
    |> Dala.Gpu.Compute.pipeline_add(%{
      op: :run_kernel,
      kernel: :mobilenet_v2,
      inputs: [preprocessed_buf],
      output: logits_buf,
      params: %{}
    })
    |> Dala.Gpu.Compute.pipeline_add(%{
      op: :run_kernel,
      kernel: :softmax,
      inputs: [logits_buf],
      output: probs_buf,
      params: %{}
    })

    # It has not been loaded yet.
    assert Kernel.lookup(:mobilenet_v2) == :error
    assert Dala.Gpu.Compute.pipeline_run(pipeline) == :ok

    # The means of the normalised colours, as exact as the pictures' sizes allow, 64 being 224 /
    # 3.5.
    want =
      for {mean, std, c} <- [{0.485, 0.229, 0}, {0.456, 0.224, 1}, {0.406, 0.225, 2}] do
        input = preprocessed_buf |> Compute.read_list() |> Enum.slice(c * 224 * 224, 224 * 224)
        levels = for <<pixel::binary-4 <- frame>>, do: :binary.at(pixel, c)
        rough = (Enum.sum(levels) / length(levels) / 255 - mean) / std
        exact = Enum.sum(input) / length(input)
        assert_in_delta rough, exact, 0.05
        exact
      end

    assert_close(Compute.read_list(logits_buf), want, 1.0e-4)
    total = want |> Enum.map(&:math.exp/1) |> Enum.sum()
    assert_close(Compute.read_list(probs_buf), Enum.map(want, &(:math.exp(&1) / total)), 1.0e-4)

    plan = Compute.Pipeline.explain(pipeline)
    assert Enum.map(plan.steps, & &1.kernels) == [["preprocess"], ["mobilenet_v2"], ["softmax"]]

    # Another frame, the same pipeline; values in between may be temporary.
    :ok = Compute.write(camera_buf, :binary.copy(<<10, 200, 30, 255>>, 64 * 48))
    assert Compute.pipeline_run(pipeline) == :ok
    between = Compute.Pipeline.temporary({1, 3, 224, 224})
    logits = Compute.Pipeline.temporary({1, 3})
    other = zeros({1, 3})

    short =
      for {kernel, input, output} <- [
            {:preprocess, camera_buf, between},
            {:mobilenet_v2, between, logits},
            {:softmax, logits, other}
          ],
          reduce: Compute.pipeline() do
        pipeline ->
          stage = %{op: :run_kernel, kernel: kernel, inputs: [input], output: output}
          Compute.pipeline_add(pipeline, stage)
      end

    assert Compute.pipeline_run(short) == :ok
    assert Compute.read(other) == Compute.read(probs_buf)
    assert Compute.read_list(other) |> Enum.max() == Enum.at(Compute.read_list(other), 1)
  end

  test "a command that has to be planned first has its place in the order at once" do
    load!(means(), as: :test_means)
    [y, negated] = [zeros({1, 3}), zeros({1, 3})]

    # New shapes in every round, so that each plans anew.
    for size <- 5..8 do
      x = Compute.buffer(List.duplicate(size, 3 * size), {1, 3, 1, size})
      submit = &Compute.submit(%{op: :run_kernel, kernel: &1, inputs: &2, output: &3})
      planned = submit.(:test_means, [x], y)
      later = submit.(:neg, [y], negated)
      assert :ok = Compute.write(x, f32(List.duplicate(1.0, 3 * size)))
      assert Compute.free(x) == :ok
      assert Compute.read_list(negated) == List.duplicate(-1.0 * size, 3)
      assert Compute.read_list(y) == List.duplicate(1.0 * size, 3)
      assert Compute.poll(planned) == :completed
      assert Compute.wait(later) == :ok
    end
  end

  test "the output may be the input" do
    # The halves change places: the first is read after the second has been written.
    bytes =
      OnnxFile.model(
        [{"Split", ["x"], ["a", "b"], axis: 0}, {"Concat", ["b", "a"], ["y"], axis: 0}],
        [{"x", :f32, [4]}],
        [{"y", :f32, [4]}],
        opset: 13
      )

    load!(bytes, as: "test_swap")
    x = Compute.buffer([1, 2, 3, 4], {4})
    assert run(:test_swap, [x], x) == :ok
    assert Compute.read_list(x) == [3.0, 4.0, 1.0, 2.0]
  end

  test "one of several outputs, by its name" do
    load!(two_outputs(), as: :test_two)
    x = Compute.buffer([1, 10], {2})
    y = zeros({2})
    assert run(:test_two, [x], y, output: "y") == :ok
    assert Compute.read_list(y) == [3.0, 21.0]
    assert run(:test_two, [x], y, %{output: :z}) == :ok
    assert Compute.read_list(y) == [3.0, 30.0]

    assert_error(run(:test_two, [x], y), :invalid_param, [
      "the model has 2 outputs, y and z; the parameter output names the one to write"
    ])

    assert_error(run(:test_two, [x], y, output: "a"), :invalid_param, "to write, got a")

    assert_error(
      run(:test_two, [x], y, output: 1),
      :invalid_param,
      "output of test_two must be a name, got 1"
    )

    assert {:ok, kernel} = Kernel.lookup(:test_two)
    assert %{custom: true, inputs: 1, dtypes: [:f32], summary: "A model: x to y and z."} = kernel
    assert [%{name: "output", kind: :name}] = kernel.params
  end

  test "incompatible arguments are reported before anything runs" do
    load!(two_outputs(), as: :test_two)
    x = Compute.buffer([1, 10], {2})
    y = Compute.buffer([7, 7], {2})

    for {inputs, output, reason, text} <- [
          {[], y, :arity_mismatch, "test_two takes 1 input, got 0"},
          {[zeros({3})], y, :shape_mismatch, ~s(input "x" has shape {3}, the model takes {2})},
          {[zeros({2}, :s32)], y, :dtype_mismatch, "s32"},
          {[x], zeros({3}), :shape_mismatch, "the output is f32 {3}, the model gives f32 {2}"},
          {[x], zeros({2}, :f64), :dtype_mismatch, "the output is f64 {2}, the model gives f32"}
        ] do
      assert_error(run(:test_two, inputs, output, output: "y"), reason, text)
      spec = %{op: :run_kernel, kernel: :test_two, inputs: inputs, output: output}
      id = Compute.submit(Map.put(spec, :params, %{output: "y"}))
      assert_error(Compute.wait(id), reason, text)

      pipeline =
        Compute.pipeline()
        |> Compute.pipeline_add(%{op: :run_kernel, kernel: :neg, inputs: [y], output: y})
        |> Compute.pipeline_add(Map.put(spec, :params, %{output: "y"}))

      error = assert_error(Compute.pipeline_run(pipeline), reason, ["stage 1: ", text])
      assert error.details.stage == 1
      assert Compute.read_list(y) == [7.0, 7.0]
    end

    assert_error(run(:test_two, [x], y, output: "y", k: 1), :unknown_param, "k")
    freed = zeros({2})
    Compute.free(freed)

    error =
      assert_error(run(:test_two, [freed], y, output: "y"), :freed, "input 0 has been freed")

    assert error.details == %{}
    assert_error(run(:test_two, [x], freed, output: "y"), :freed, "the output has been freed")

    assert_error(
      run(:test_two, [Compute.Pipeline.temporary({2})], y, output: "y"),
      :unsupported,
      "input 0 is temporary"
    )
  end

  test "shapes that cannot be planned, and models without a plan" do
    bytes =
      OnnxFile.model(
        [{"Reshape", ["x", "s"], ["y"]}],
        [{"x", :f32, ["n"]}],
        [{"y", :f32, [2, 3]}],
        constants: [{"s", {:i64, [2], <<2::64-native, 3::64-native>>}}]
      )

    load!(bytes, as: :test_reshape)
    y = zeros({2, 3})
    assert run(:test_reshape, [counting(6)], y) == :ok
    assert Compute.read_list(y) == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]

    for _again <- 1..2 do
      assert_error(run(:test_reshape, [counting(5)], y), :shape_mismatch, "Reshape")
      spec = %{op: :run_kernel, kernel: :test_reshape, inputs: [counting(5)], output: y}
      assert_error(Compute.wait(Compute.submit(spec)), :shape_mismatch, "Reshape")
    end

    bytes =
      OnnxFile.model([{"NonZero", ["x"], ["y"]}], [{"x", :f32, ["n"]}], [{"y", :i64, [1, "m"]}])

    load!(bytes, as: :test_nonzero)

    assert_error(
      run(:test_nonzero, [counting(2)], zeros({1, 2}, :s64)),
      :unsupported,
      "runs step by step and is no kernel"
    )
  end

  test "a name lasts until the model is freed or unregistered" do
    x = Compute.buffer([1, 10], {2})
    y = zeros({2})
    model = load!(two_outputs(), as: :test_life)

    pipeline =
      Compute.pipeline_add(Compute.pipeline(), %{
        op: :run_kernel,
        kernel: :test_life,
        inputs: [x],
        output: y,
        params: %{output: "z"}
      })

    assert Compute.pipeline_run(pipeline) == :ok
    assert Gpu.free_model(model) == :ok
    assert_error(Compute.pipeline_run(pipeline), :unknown_kernel, "stage 0: no kernel is named")
    assert_error(run(:test_life, [x], y, output: "z"), :unknown_kernel)

    model = load!(two_outputs(), as: :test_life)
    assert Compute.pipeline_run(pipeline) == :ok
    assert Kernel.unregister(:test_life) == :ok
    assert_error(run(:test_life, [x], y, output: "z"), :unknown_kernel)
    assert {:ok, %{"z" => _}} = Gpu.predict(model, x)

    assert_error(
      Gpu.load_model({:binary, two_outputs()}, as: :relu),
      :invalid_param,
      "relu is a built-in kernel and cannot be replaced"
    )

    assert_raise ArgumentError, ~r/expected the kernel's name as an atom or a string/, fn ->
      Gpu.load_model({:binary, two_outputs()}, as: 3)
    end
  end

  test "a freed model's memory is released immediately, even if a pipeline was planned with it" do
    model =
      load!(
        OnnxFile.model(
          [{"Mul", ["x", "w"], ["a"]}, {"Softsign", ["a"], ["y"]}],
          [{"x", :f32, [250_000]}],
          [{"y", :f32, [250_000]}],
          constants: [{"w", {:f32, [250_000], :binary.copy(f32([2.0]), 250_000)}}]
        ),
        as: :test_memory
      )

    x = zeros({250_000})
    stage = %{op: :run_kernel, kernel: :test_memory, inputs: [x], output: zeros({250_000})}
    pipeline = Compute.pipeline_add(Compute.pipeline(), stage)
    assert Compute.pipeline_run(pipeline) == :ok
    before = Compute.memory_info().in_use
    assert Gpu.free_model(model) == :ok
    # Its weights, and what lay between its layers.
    assert Compute.memory_info().in_use <= before - 2_000_000
    assert_error(Compute.pipeline_run(pipeline), :unknown_kernel, "stage 0: no kernel is named")
  end

  test "named models are kernels while referenced, and are loaded when used" do
    models_folder(:posenet, two_outputs())
    x = Compute.buffer([1, 10], {2})
    y = zeros({2})

    task =
      Task.async(fn ->
        {:ok, model} = Gpu.load_model(:posenet)
        :ok = run(:posenet, [x], y, output: "z")
        {:ok, %{custom: true}} = Kernel.lookup(:posenet)
        Compute.free(y)
        model.name
      end)

    assert Task.await(task, 60_000) == "posenet"
    eventually(fn -> Kernel.lookup(:posenet) == :error end)

    y = zeros({2})
    spec = %{op: :run_kernel, kernel: :posenet, inputs: [x], output: y, params: %{output: "y"}}
    assert Compute.wait(Compute.submit(spec)) == :ok
    assert Compute.read_list(y) == [3.0, 21.0]
    assert {:ok, _kernel} = Kernel.lookup("posenet")
  end

  test "named models that are not installed" do
    models_folder(:other, "")
    x = Compute.buffer([1, 10], {2})
    stage = %{op: :run_kernel, kernel: :deeplab, inputs: [x], output: x}
    assert_error(run(:deeplab, [x], x), :model_not_found, "deeplab")
    how = "Run `mix dala.models install deeplab` to install it"
    assert_error(Compute.wait(Compute.submit(stage)), :model_not_found, how)
    id = Compute.submit(stage, notify: self())
    assert_receive {:dala_gpu, ^id, {:error, %{reason: :model_not_found}}}

    pipeline =
      Compute.pipeline_add(Compute.pipeline_add(Compute.pipeline(), %{op: :barrier}), stage)

    error = assert_error(Compute.pipeline_run(pipeline), :model_not_found, "stage 1: ")
    assert error.details.stage == 1
    assert_raises(:model_not_found, "stage 1: ", fn -> Compute.Pipeline.explain(pipeline) end)
  end

  test "from many processes, beside predictions, in the order of the buffers" do
    model = load!(two_outputs(), as: :test_many)

    tasks =
      for i <- 1..8 do
        Task.async(fn ->
          a = Compute.buffer([i, -i], {2})

          for _ <- 1..20 do
            Compute.submit(%{
              op: :run_kernel,
              kernel: :test_many,
              inputs: [a],
              output: a,
              params: %{output: "y"}
            })

            Compute.submit(%{
              op: :run_kernel,
              kernel: :scalar_mul,
              inputs: [a],
              output: a,
              params: %{scalar: 0.5}
            })

            {:ok, _prediction} = Gpu.predict_async(model, a)
          end

          Compute.read_list(a)
        end)
      end

    # a becomes a + 1/2, twenty times.
    assert Task.await_many(tasks, 60_000) == for(i <- 1..8, do: [i + 10.0, -i + 10.0])
  end

  test "commands of a killed process do not run" do
    load!(two_outputs(), as: :test_dead)
    [counter, number] = [zeros({1}, :u32), zeros({1})]
    x = zeros({2})
    y = Compute.buffer([7, 7], {2})
    :ok = run(:test_dead, [x], zeros({2}), output: "y")
    test = self()

    pid =
      spawn(fn ->
        # Two seconds of work, which the model's input waits for.
        for _ <- 1..40, do: Compute.submit(slow(50 * rounds_per_ms(), counter))

        for {kernel, input, output, params} <- [
              {:cast, counter, number, %{}},
              {:relu, number, x, %{}},
              {:test_dead, x, y, %{output: "y"}}
            ] do
          spec = %{op: :run_kernel, kernel: kernel, inputs: [input], output: output}
          send(test, {:submitted, Compute.submit(Map.put(spec, :params, params))})
        end

        send(test, :all)
        receive do: (:never -> :ok)
      end)

    assert_receive :all, 60_000
    Process.exit(pid, :kill)
    assert_received {:submitted, _cast}
    assert_received {:submitted, _relu}
    assert_received {:submitted, id}
    # A process that waits for a command keeps it from being dropped; one that polls does not.
    eventually(fn -> match?({:error, %Error{reason: :freed}}, Compute.poll(id)) end)
    assert Compute.read_list(y) == [7.0, 7.0]
  end
end
