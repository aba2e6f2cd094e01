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

  test "can run repeatedly, on the current content of the buffers" do
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

  test "binaries read between runs do not change" do
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

  test "an empty pipeline, and one with only barriers" do
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

  test "by several processes concurrently" do
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

  describe "an invalid stage" do
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

    test "that was valid before, alone" do
      a = counting(3)
      pipeline = Pipeline.add(Pipeline.new(), stage(:relu, [a], a))
      assert Pipeline.run(pipeline) == :ok
      Compute.free(a)
      error = assert_error(Pipeline.run(pipeline), :freed, "stage 0: input 0 has been freed")
      assert error.details.stage == 0
    end

    test "that was valid before" do
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

      # Kernels stay bound: a pipeline keeps those of its first run.
      :ok = Kernel.elementwise(:pipeline_test_gone, "x + 10")
      :ok = Kernel.unregister(:pipeline_test_gone)
      fresh = Pipeline.add(Pipeline.new(), stage(:pipeline_test_gone, [a], a))
      error = assert_error(Pipeline.run(fresh), :unknown_kernel, "pipeline_test_gone")
      assert error.details.stage == 0
    end

    test "that is not a map, or has unknown keys" do
      pipeline = Pipeline.new()

      for term <- [:barrier, [op: :barrier], nil, counting(1)] do
        assert_raise ArgumentError, ~r/^expected a stage as a map, got: /, fn ->
          Pipeline.add(pipeline, term)
        end
      end

      assert_raise ArgumentError,
                   "a stage has no key :parms; it takes :op, :kernel, :inputs, :output, :params, :name",
                   fn -> Pipeline.add(pipeline, %{op: :barrier, parms: %{}}) end

      assert Pipeline.stage_count(pipeline) == 0
    end
  end

  describe "run/2 with times:" do
    test "runs as often" do
      for times <- [1, 2, 63, 64, 65, 1000] do
        a = counting(3)
        one = Compute.buffer([1], {1})
        pipeline = Pipeline.run_kernel(Pipeline.new(), :elementwise_add, [a, one], a)
        assert Pipeline.run(pipeline, times: times) == :ok
        assert Compute.read_list(a) == Enum.map([1.0, 2.0, 3.0], &(&1 + times))
      end
    end

    test "swaps buffers between runs, so that the last result is where it is written" do
      for times <- [1, 2, 3, 100, 101] do
        a = counting(1)
        b = zeros({1})
        binary = Compute.read(a)
        pipeline = Pipeline.run_kernel(Pipeline.new(), :scalar_mul, [a], b, scalar: 1.5)
        assert Pipeline.run(pipeline, times: times, swap: [{a, b}]) == :ok

        assert_in_delta hd(Compute.read_list(b)),
                        :math.pow(1.5, times),
                        1.0e-4 * :math.pow(1.5, times)

        assert_in_delta hd(Compute.read_list(a)) * 1.5, hd(Compute.read_list(b)), 1.0e12
        assert binary == <<1.0::float-32-native>>
      end
    end

    test "a kernel that is not registered, a freed buffer, and swaps that cannot be" do
      [a, b] = [counting(1), zeros({1})]
      pipeline = Pipeline.run_kernel(Pipeline.new(), :neg, [a], b)
      other = zeros({2})

      assert_error(
        Pipeline.run(pipeline, times: 2, swap: [{a, other}]),
        :invalid_param,
        "a buffer to swap is used by no stage of the pipeline"
      )

      unknown = Pipeline.run_kernel(Pipeline.new(), :no_such_kernel, [a], b)
      error = assert_error(Pipeline.run(unknown, times: 5), :unknown_kernel, "stage 0: ")
      assert error.details.stage == 0
      Compute.free(a)
      assert_error(Pipeline.run(pipeline, times: 5, swap: [{a, b}]), :freed, "stage 0: input 0")
    end

    test "options that are malformed" do
      pipeline = Pipeline.new()

      for times <- [0, -1, 1.5, :many, 1_000_000_001] do
        assert_raise ArgumentError, ~r/^expected times: to be from 1 to 1000000000/, fn ->
          Pipeline.run(pipeline, times: times)
        end
      end

      assert_raise ArgumentError, ~r/^expected swap: to have pairs of buffers, got: :a/, fn ->
        Pipeline.run(pipeline, swap: [:a])
      end

      assert_raise ArgumentError, ~r/^expected swap: to be a list/, fn ->
        Pipeline.run(pipeline, swap: {counting(1), counting(1)})
      end

      assert_raise ArgumentError, fn -> Pipeline.run(pipeline, time: 1) end
    end
  end

  describe "submit/2" do
    test "returns an id that can be waited for, and notifies" do
      a = counting(2)
      pipeline = Pipeline.run_kernel(Pipeline.new(), :neg, [a], a)
      id = Pipeline.submit(pipeline)
      assert Compute.wait(id) == :ok
      assert Compute.poll(id) == :completed
      id = Pipeline.submit(pipeline, notify: self(), times: 10)
      assert_receive {:dala_gpu, ^id, :ok}, 30_000
      assert Compute.read_list(a) == [-1.0, -2.0]
    end

    test "takes effect in the order of submission" do
      [a, b] = [counting(1), zeros({1})]
      one = Compute.buffer([1], {1})
      pipeline = Pipeline.run_kernel(Pipeline.new(), :elementwise_add, [a, one], a)
      Pipeline.submit(pipeline, times: 300)
      Compute.submit(%{op: :copy_buffer, inputs: [a], output: b})
      Pipeline.submit(pipeline, times: 300)
      assert Compute.read_list(b) == [301.0]
      assert Compute.read_list(a) == [601.0]
    end

    test "of a pipeline that cannot run is an id with the error" do
      a = counting(2)
      pipeline = Pipeline.run_kernel(Pipeline.new(), :scalar_mul, [a], a, scalar: "two")
      id = Pipeline.submit(pipeline, notify: self())
      assert_receive {:dala_gpu, ^id, {:error, %Error{reason: :invalid_param}}}, 30_000
      error = assert_error(Compute.wait(id), :invalid_param, "stage 0: ")
      assert error.details.stage == 0
    end

    test "of very many stages, planned or not" do
      a = counting(1)
      one = Compute.buffer([1], {1, 1})
      square = Buffer.view(a, {1, 1})
      pipeline = Pipeline.new()
      for _ <- 1..200, do: Pipeline.run_kernel(pipeline, :matmul, [square, one], square)
      for _ <- 1..2, do: assert(Compute.wait(Pipeline.submit(pipeline)) == :ok)
      assert Compute.wait(Pipeline.submit(pipeline, times: 10)) == :ok
      assert Compute.read_list(square) == [1.0]
    end

    test "can be cancelled between runs" do
      a = Compute.buffer([0], {1}, :u32)
      one = Compute.buffer([1], {1}, :u32)
      pipeline = Pipeline.run_kernel(Pipeline.new(), :elementwise_add, [a, one], a)
      :ok = Pipeline.run(pipeline)
      id = Pipeline.submit(pipeline, times: 1_000_000_000, notify: self())
      assert Compute.poll(id) == :pending
      assert Compute.cancel(id) == :ok
      assert_receive {:dala_gpu, ^id, {:error, %Error{reason: :cancelled}}}, 30_000
      # The buffers can be used again.
      assert Pipeline.run(pipeline) == :ok
      assert [_some] = Compute.read_list(a)
    end

    test "of a process that is killed ends" do
      a = Compute.buffer([0], {1}, :u32)
      one = Compute.buffer([1], {1}, :u32)
      pipeline = Pipeline.run_kernel(Pipeline.new(), :elementwise_add, [a, one], a)
      test = self()

      pid =
        spawn(fn ->
          send(test, {:id, Pipeline.submit(pipeline, times: 1_000_000_000)})
          Process.sleep(:infinity)
        end)

      assert_receive {:id, id}, 30_000
      Process.exit(pid, :kill)
      eventually(fn -> match?({:error, %Error{reason: :freed}}, Compute.poll(id)) end)
    end

    test "lets other processes have their turns" do
      a = Compute.buffer([0], {1}, :u32)
      one = Compute.buffer([1], {1}, :u32)
      pipeline = Pipeline.run_kernel(Pipeline.new(), :elementwise_add, [a, one], a)
      id = Pipeline.submit(pipeline, times: 1_000_000_000)

      Task.async(fn ->
        b = counting(3)
        for _ <- 1..20, do: assert(Compute.run_kernel(:neg, [b], b) == :ok)
      end)
      |> Task.await(30_000)

      assert Compute.poll(id) == :pending
      assert Compute.cancel(id) == :ok
    end
  end

  describe "set/3" do
    test "changes parameters by index and by name" do
      a = counting(2)
      b = zeros({2})
      middle = Pipeline.temporary({2})

      pipeline =
        Pipeline.new()
        |> Pipeline.run_kernel(:scalar_mul, [a], middle, scalar: 2)
        |> Pipeline.run_kernel(:clamp, [middle], b, %{min: 0, max: 100}, name: :limit)

      assert Pipeline.run(pipeline) == :ok
      assert Compute.read_list(b) == [2.0, 4.0]
      compiled = Compute.counters().compiled
      assert Pipeline.set(pipeline, 0, scalar: 10) == pipeline
      Pipeline.set(pipeline, "limit", %{max: 15})
      assert Pipeline.run(pipeline) == :ok
      assert Compute.read_list(b) == [10.0, 15.0]
      assert Compute.counters().compiled == compiled

      assert [%{params: %{scalar: 10}}, %{params: %{min: 0, max: 15}, name: "limit"}] =
               Pipeline.stages(pipeline)
    end

    test "changes all stages of a name" do
      a = counting(1)
      pipeline = Pipeline.new()

      for _ <- 1..3,
          do: Pipeline.run_kernel(pipeline, :scalar_mul, [a], a, %{scalar: 1}, name: :gain)

      assert pipeline |> Pipeline.set(:gain, scalar: 3) |> Pipeline.run() == :ok
      assert Compute.read_list(a) == [27.0]
    end

    test "a value that is wrong is an error of the next run" do
      a = counting(1)
      pipeline = Pipeline.run_kernel(Pipeline.new(), :scalar_mul, [a], a, scalar: 2)
      assert Pipeline.run(pipeline) == :ok
      Pipeline.set(pipeline, 0, sclar: 3)
      assert_error(Pipeline.run(pipeline), :unknown_param, "stage 0: ")
      assert Compute.read_list(a) == [2.0]
    end

    test "stages that are not there, or have no parameters" do
      a = counting(1)
      pipeline = Pipeline.new() |> Pipeline.run_kernel(:neg, [a], a) |> Pipeline.barrier()

      for stage <- [2, -1, :nameless, "nameless", 0x1_0000_0000_0000_0000] do
        assert_raise ArgumentError, ~r/^expected the index or the name of a stage/, fn ->
          Pipeline.set(pipeline, stage, scalar: 1)
        end
      end

      assert_raises(:unsupported, "only a stage that runs a kernel has parameters", fn ->
        Pipeline.set(pipeline, 1, scalar: 1)
      end)

      assert_raise ArgumentError, fn -> Pipeline.set(pipeline, 0, [:a]) end
      assert_raise ArgumentError, fn -> Pipeline.set(pipeline, nil, a: 1) end
      Pipeline.free(pipeline)
      assert_raises(:freed, "freed", fn -> Pipeline.set(pipeline, 0, scalar: 1) end)
    end
  end

  describe "free/1" do
    test "releases the pipeline permanently" do
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

  test "terms that are not pipelines" do
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
