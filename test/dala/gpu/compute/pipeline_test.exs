defmodule Dala.Gpu.Compute.PipelineTest do
  use Dala.Test.GpuCase, async: true

  doctest Dala.Gpu.Compute.Pipeline

  defp stage(kernel, inputs, output, params \\ %{}),
    do: %{op: :run_kernel, kernel: kernel, inputs: inputs, output: output, params: params}

  test "runs its stages in order" do
    a = counting(3)
    b = zeros({3})
    c = zeros({3})

    pipeline =
      Pipeline.new()
      |> Pipeline.add(stage(:scalar_mul, [a], b, %{scalar: 10}))
      |> Pipeline.add(%{op: :barrier})
      |> Pipeline.add(stage(:elementwise_add, [a, b], c))
      |> Pipeline.add(%{op: :copy_buffer, inputs: [c], output: b})
      |> Pipeline.add(stage("neg", [b.ref], c.ref))

    assert Pipeline.run(pipeline) == :ok
    assert Compute.read_list(a) == [1.0, 2.0, 3.0]
    assert Compute.read_list(b) == [11.0, 22.0, 33.0]
    assert Compute.read_list(c) == [-11.0, -22.0, -33.0]
  end

  test "is changed by add/2, whatever variable holds it" do
    a = counting(1)
    pipeline = Pipeline.new()
    longer = Pipeline.add(pipeline, stage(:scalar_mul, [a], a, %{scalar: 2}))
    assert Pipeline.stage_count(pipeline) == 1
    assert Pipeline.stages(pipeline) == Pipeline.stages(longer)
    assert Pipeline.run(pipeline) == :ok
    assert Compute.read_list(a) == [2.0]
  end

  test "runs again and again, on what is in the buffers then" do
    a = counting(3)
    b = zeros({3})
    pipeline = Pipeline.add(Pipeline.new(), stage(:scalar_mul, [a], b, %{scalar: 2}))

    for round <- 1..50 do
      assert Compute.run_kernel(:fill, [], a, value: round) == :ok
      assert Pipeline.run(pipeline) == :ok
      assert Compute.read_list(b) == [round * 2.0, round * 2.0, round * 2.0]
    end
  end

  test "a stage that was added after a run is part of the next one" do
    a = counting(1)
    pipeline = Pipeline.add(Pipeline.new(), stage(:scalar_mul, [a], a, %{scalar: 2}))
    assert Pipeline.run(pipeline) == :ok
    assert Compute.read_list(a) == [2.0]
    Pipeline.add(pipeline, stage(:neg, [a], a))
    assert Pipeline.run(pipeline) == :ok
    assert Compute.read_list(a) == [-4.0]
  end

  test "what was read between runs keeps its content" do
    a = Compute.buffer(List.duplicate(1, 10_000), {10_000}, :u8)
    pipeline = Pipeline.add(Pipeline.new(), stage(:scalar_mul, [a], a, %{scalar: 2}))

    binaries =
      for _ <- 1..7 do
        assert Pipeline.run(pipeline) == :ok
        Compute.read(a)
      end

    assert Enum.map(binaries, &:binary.first/1) == [2, 4, 8, 16, 32, 64, 128]
    assert Enum.map(binaries, &:binary.last/1) == [2, 4, 8, 16, 32, 64, 128]
  end

  test "an empty one, and one with nothing but barriers" do
    assert Pipeline.run(Pipeline.new()) == :ok
    assert Pipeline.run(Pipeline.add(Pipeline.new(), %{op: :barrier})) == :ok
  end

  test "many stages" do
    a = counting(2, :s32)
    one = Compute.buffer([1], {}, :s32)
    pipeline = Pipeline.new()
    for _ <- 1..300, do: Pipeline.add(pipeline, stage(:elementwise_add, [a, one], a))
    assert Pipeline.run(pipeline) == :ok
    assert Compute.read_list(a) == [301, 302]
  end

  test "by several processes at once" do
    a = Compute.buffer([0], {}, :s32)
    one = Compute.buffer([1], {}, :s32)
    pipeline = Pipeline.add(Pipeline.new(), stage(:elementwise_add, [a, one], a))

    runners = for _ <- 1..8, do: Task.async(fn -> for _ <- 1..25, do: Pipeline.run(pipeline) end)
    assert runners |> Task.await_many(60_000) |> List.flatten() |> Enum.uniq() == [:ok]
    assert Compute.read_list(a) == [200]
  end

  test "works with custom kernels" do
    :ok = Kernel.elementwise(:pipeline_test_square, "x * x")
    a = counting(3)
    pipeline = Pipeline.add(Pipeline.new(), stage(:pipeline_test_square, [a], a))
    assert Pipeline.run(pipeline) == :ok
    assert Compute.read_list(a) == [1.0, 4.0, 9.0]
  end

  describe "a bad stage" do
    test "is reported with its index before any stage has run" do
      good = counting(3)
      output = counting(3)
      freed = counting(3)
      Compute.free(freed)

      for {bad, reason, texts} <- [
            {stage(:elementwise_ad, [good, good], output), :unknown_kernel, "elementwise_ad"},
            {stage(:relu, [], output), :arity_mismatch, "relu takes 1 input, got 0"},
            {stage(:relu, [counting(2)], output), :shape_mismatch, "relu"},
            {stage(:relu, [good], zeros({3}, :s32)), :dtype_mismatch, "s32"},
            {stage(:relu, [good], output, %{slop: 1}), :unknown_param, "slop"},
            {stage(:scalar_mul, [good], output), :invalid_param, "scalar"},
            {stage(:relu, [freed], output), :freed, []},
            {stage(:relu, [good], freed), :freed, []},
            {stage(:relu, [make_ref()], output), :freed, []},
            {stage(:relu, [good], make_ref()), :freed, []},
            {%{op: :copy_buffer, inputs: [good], output: zeros({4})}, :shape_mismatch, []},
            {%{op: :copy_buffer, inputs: [], output: good}, :arity_mismatch, []},
            {%{op: :jump}, :unsupported, "jump"},
            {%{}, :unsupported, "op"},
            {%{op: :run_kernel, inputs: [good], output: output}, :invalid_param, "kernel"},
            {stage(1, [good], output), :invalid_param, "kernel"},
            {stage(:relu, :none, output), :invalid_param, "inputs"},
            {stage(:relu, [1], output), :invalid_param, "input"},
            {stage(:relu, [good], nil), :invalid_param, "output"},
            {stage(:relu, [good], output, %{slope: %{}}), :invalid_param, "slope"},
            {stage(:relu, [good], output, :none), :invalid_param, "params"}
          ] do
        pipeline =
          Pipeline.new()
          |> Pipeline.add(stage(:fill, [], output, %{value: 100}))
          |> Pipeline.add(bad)
          |> Pipeline.add(stage(:fill, [], output, %{value: 200}))

        assert Pipeline.stage_count(pipeline) == 3

        # And the same again: nothing half-done is remembered.
        for _ <- 1..2 do
          error = assert_error(Pipeline.run(pipeline), reason, texts)
          assert error.details.stage == 1
          assert error.message =~ "stage 1"
        end
      end

      assert Compute.read_list(good) == [1.0, 2.0, 3.0]
      assert Compute.read_list(output) == [1.0, 2.0, 3.0]
    end

    test "that once was good, alone" do
      a = counting(3)
      pipeline = Pipeline.add(Pipeline.new(), stage(:relu, [a], a))
      assert Pipeline.run(pipeline) == :ok
      Compute.free(a)
      error = assert_error(Pipeline.run(pipeline), :freed, "stage 0: input 0 has been freed")
      assert error.details.stage == 0
    end

    test "that once was good" do
      a = counting(3)
      b = counting(3)
      pipeline = Pipeline.new()
      Pipeline.add(pipeline, stage(:scalar_mul, [a], a, %{scalar: 2}))
      Pipeline.add(pipeline, stage(:relu, [a], b))
      assert Pipeline.run(pipeline) == :ok
      Compute.free(b)
      error = assert_error(Pipeline.run(pipeline), :freed)
      assert error.details.stage == 1
      assert Compute.read_list(a) == [2.0, 4.0, 6.0]
    end

    test "with a custom kernel that is gone or was replaced" do
      a = counting(2)
      :ok = Kernel.elementwise(:pipeline_test_gone, "x + 1")
      pipeline = Pipeline.add(Pipeline.new(), stage(:pipeline_test_gone, [a], a))
      assert Pipeline.run(pipeline) == :ok
      assert Compute.read_list(a) == [2.0, 3.0]

      # What is bound stays bound: a pipeline is what it was when it first ran.
      :ok = Kernel.elementwise(:pipeline_test_gone, "x + 10")
      :ok = Kernel.unregister(:pipeline_test_gone)
      fresh = Pipeline.add(Pipeline.new(), stage(:pipeline_test_gone, [a], a))
      error = assert_error(Pipeline.run(fresh), :unknown_kernel, "pipeline_test_gone")
      assert error.details.stage == 0
    end

    test "that is no map, or has keys of its own" do
      pipeline = Pipeline.new()

      for term <- [:barrier, [op: :barrier], nil, counting(1)] do
        assert_raise ArgumentError, ~r/^expected a stage as a map, got: /, fn ->
          Pipeline.add(pipeline, term)
        end
      end

      assert_raise ArgumentError,
                   "a stage has no key :parms; it takes :op, :kernel, :inputs, :output, :params",
                   fn -> Pipeline.add(pipeline, %{op: :barrier, parms: %{}}) end

      assert Pipeline.stage_count(pipeline) == 0
    end
  end

  describe "free/1" do
    test "ends the pipeline, once and for all" do
      a = counting(1)
      pipeline = Pipeline.add(Pipeline.new(), stage(:relu, [a], a))
      assert Pipeline.free(pipeline) == :ok
      assert Pipeline.free(pipeline) == :ok
      assert_error(Pipeline.run(pipeline), :freed, "freed")
      assert_raises(:freed, "freed", fn -> Pipeline.add(pipeline, stage(:relu, [a], a)) end)
      assert_raises(:freed, "freed", fn -> Pipeline.stages(pipeline) end)
      assert_raises(:freed, "freed", fn -> Pipeline.stage_count(pipeline) end)
      assert Compute.read_list(a) == [1.0]
    end

    test "while it runs" do
      buffer = Compute.buffer([1], {1}, :u32)
      pipeline = Pipeline.add(Pipeline.new(), stage(:fill, [], buffer, %{value: 5}))
      # The pipeline has to wait for this.
      first = Compute.submit(slow(300 * rounds_per_ms(), buffer))
      runner = Task.async(fn -> Pipeline.run(pipeline) end)
      eventually(fn -> Process.info(runner.pid, :status) == {:status, :waiting} end)
      assert Pipeline.free(pipeline) == :ok
      assert Compute.poll(first) == :pending
      assert Task.await(runner, 30_000) == :ok
      assert Compute.read_list(buffer) == [5]
    end
  end

  test "pipelines that are none" do
    for ref <- [make_ref(), counting(1).ref] do
      stranger = %Pipeline{ref: ref}
      assert_raise ArgumentError, fn -> Pipeline.run(stranger) end
      assert_raise ArgumentError, fn -> Pipeline.stages(stranger) end
    end
  end

  test "inspects as its stages" do
    a = counting(1)
    pipeline = Pipeline.new()
    assert inspect(pipeline) == "#Dala.Gpu.Compute.Pipeline<empty>"
    Pipeline.add(pipeline, stage(:relu, [a], a))
    assert inspect(pipeline) == "#Dala.Gpu.Compute.Pipeline<1 stage: relu>"
    Pipeline.add(pipeline, %{op: :barrier})
    Pipeline.add(pipeline, stage("neg", [a], a))
    Pipeline.add(pipeline, %{op: "odd"})
    assert inspect(pipeline) == "#Dala.Gpu.Compute.Pipeline<4 stages: relu, barrier, neg, ?>"
    Pipeline.free(pipeline)
    assert inspect(pipeline) == "#Dala.Gpu.Compute.Pipeline<freed>"
  end
end
