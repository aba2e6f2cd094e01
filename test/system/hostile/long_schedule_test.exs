defmodule Dala.System.Hostile.LongScheduleTest do
  # Calls that are much larger than any use of them hold no scheduler for a millisecond: what is
  # absurd is refused before anybody goes through it, what is long is done on another thread.
  use Dala.Test.GpuCase, async: false

  alias Dala.ML.Gpu, as: Models
  alias Dala.Test.CallTimes

  @moduletag timeout: 600_000

  # A core may be lost at any time, so the quickest of some runs counts.
  @runs 10

  # Where the device is busy, its threads and the schedulers share the cores, and one that has lost
  # its core may have the lock that others wait for.
  @busy 50_000

  defp assert_brief(function, micros \\ 1_000),
    do: assert(CallTimes.long(micros, function, @runs) == [])

  # Stages that are not fused, from one buffer to the other and back.
  defp transposes(count, a, b) do
    stage = fn from, to -> %{op: :run_kernel, kernel: :transpose, inputs: [from], output: to} end

    Enum.reduce(1..count, Pipeline.new(), fn i, pipeline ->
      Pipeline.add(pipeline, if(rem(i, 2) == 1, do: stage.(a, b), else: stage.(b, a)))
    end)
  end

  describe "pipelines" do
    for count <- [100, 1_001, 10_001] do
      test "of #{count} stages" do
        a = Compute.buffer([1, 2, 3, 4], {2, 2})
        b = zeros({2, 2})
        # The kernel and its group size are there before the watch begins.
        assert :ok = Pipeline.run(transposes(1, a, b))
        pipeline = transposes(unquote(count), a, b)

        assert_brief(fn ->
          stage = %{op: :run_kernel, kernel: :transpose, inputs: [b], output: a}
          pipeline |> Pipeline.add(stage) |> Pipeline.add(%{stage | inputs: [a], output: b})
          # The first run binds them all anew, the second only submits.
          assert :ok = Pipeline.run(pipeline)
          assert :ok = Pipeline.run(pipeline)
          assert length(Pipeline.stages(pipeline)) == Pipeline.stage_count(pipeline)
          assert Pipeline.explain(pipeline).steps |> length() == Pipeline.stage_count(pipeline)
          assert inspect(pipeline) =~ ~r/^#Dala.Gpu.Compute.Pipeline<\d+ stages: transpose, /
          assert byte_size(inspect(pipeline)) < 1_000
        end)

        assert Compute.read_list(a) == [1, 2, 3, 4]
        assert Compute.read_list(b) == [1, 3, 2, 4]
        assert_brief(fn -> assert :ok = Pipeline.free(pipeline) end)
        assert_error(Pipeline.run(pipeline), :freed, "the pipeline has been freed")
      end
    end

    test "that are long do not keep others waiting" do
      a = Compute.buffer([1, 2, 3, 4], {2, 2})
      b = zeros({2, 2})
      pipeline = transposes(10_000, a, b)
      assert :ok = Pipeline.run(pipeline)
      x = zeros({16})
      assert :ok = Compute.relu(x, x)

      assert_brief(
        fn ->
          runs = Task.async(fn -> for _ <- 1..3, do: assert(:ok = Pipeline.run(pipeline)) end)

          others = fn others ->
            for _ <- 1..50 do
              y = zeros({16})
              _ = Compute.submit(%{op: :copy_buffer, inputs: [x], output: y})
              _ = Compute.memory_info()
              Compute.free(y)
            end

            if Task.yield(runs, 0) == nil, do: others.(others)
          end

          others.(others)
        end,
        @busy
      )

      assert Compute.read_list(b) == [1, 3, 2, 4]
    end

    test "that are collected" do
      assert_brief(fn ->
        a = zeros({2, 2})
        _pipeline = transposes(1_000, a, zeros({2, 2}))
        :erlang.garbage_collect()
      end)
    end

    test "that are long report the invalid stage, and freed buffers" do
      a = Compute.buffer([1, 2, 3, 4], {2, 2})
      b = zeros({2, 2})
      wrong = Pipeline.add(transposes(300, a, b), %{op: :run_kernel, kernel: :no_such, output: a})
      error = assert_error(Pipeline.run(wrong), :unknown_kernel, "stage 300: no kernel is named")
      assert error.details.stage == 300
      assert error == elem(Pipeline.run(wrong), 1)

      gone = transposes(300, a, b)
      assert :ok = Pipeline.run(gone)
      Compute.free(b)
      error = assert_error(Pipeline.run(gone), :freed, "stage 0: the output has been freed")
      assert error.details.stage == 0
      assert Compute.read_list(a) == [1, 2, 3, 4]
    end

    test "of stages that are too large" do
      a = zeros({4})
      stage = %{op: :run_kernel, kernel: :relu, inputs: [a], output: a, params: %{}}
      million = Enum.to_list(1..1_000_000)

      for {stage, message} <- [
            {%{stage | inputs: List.duplicate(a, 100_000)},
             "stage 0: a stage has at most 1024 inputs, got 100000"},
            {%{stage | params: Map.new(1..10_000, &{"p#{&1}", &1})},
             "stage 0: a stage has at most 256 params, got 10000"},
            {%{stage | params: %{slope: million}},
             "stage 0: param :slope of the stage is too large"},
            {%{stage | params: [slope: million]},
             "stage 0: param :slope of the stage is too large"},
            {%{stage | kernel: million}, "stage 0: the stage's kernel is too large"},
            {%{stage | op: million}, "stage 0: the stage's op is too large"},
            {%{stage | output: million}, "stage 0: the stage's output is too large"},
            {%{stage | kernel: String.duplicate("k", 60_000)},
             "stage 0: the name of a kernel has 60000 bytes, the most is 1024"}
          ] do
        assert_brief(fn ->
          pipeline = Pipeline.add(Pipeline.new(), stage)
          error = assert_error(Pipeline.run(pipeline), :invalid_param)
          assert error.message == message
        end)
      end
    end
  end

  test "calls with too many arguments" do
    a = zeros({4})
    million = Enum.to_list(1..1_000_000)
    relu = %{op: :run_kernel, kernel: :relu, inputs: [a], output: a, params: %{}}

    for {message, call} <- [
          {"expected inputs to be at most 1024 buffers, got: 100000",
           fn -> Compute.submit(%{relu | inputs: List.duplicate(a, 100_000)}) end},
          {"expected at most 256 params, got: 10000",
           fn -> Compute.submit(%{relu | params: Map.new(1..10_000, &{"p#{&1}", &1})}) end},
          {"expected at most 256 params, got: 10000",
           fn -> Compute.run_kernel(:relu, [a], a, List.duplicate({:slope, 1}, 10_000)) end},
          {"expected the kernel's name to have at most 255 bytes, got: 1000000",
           fn -> Compute.run_kernel(String.duplicate("k", 1_000_000), [a], a) end},
          {"expected shape to have at most 32 dimensions, got: 1000000",
           fn -> Compute.buffer_zeros(List.duplicate(1, 1_000_000), :f32) end},
          {"expected shape to have at most 32 dimensions, got: 1000000",
           fn -> Compute.buffer([1], List.to_tuple(List.duplicate(1, 1_000_000))) end},
          {"expected params: to be at most 64 names, got: 100000",
           fn ->
             Kernel.register(:many_params, "", params: List.duplicate("p", 100_000))
           end}
        ] do
      assert_brief(fn -> assert assert_raise(ArgumentError, call).message == message end)
    end

    for {reason, message, params} <- [
          {:invalid_param, "parameter slope takes at most 1024 numbers", %{slope: million}},
          {:invalid_param, "parameter slope takes at most 1024 numbers",
           %{slope: List.to_tuple(million)}},
          {:invalid_param, "parameter slope is a text of 1000000 bytes, the most is 1024",
           %{slope: String.duplicate("x", 1_000_000)}},
          {:invalid_param, "the name of a parameter has 1000000 bytes, the most is 1024",
           %{String.duplicate("x", 1_000_000) => 1}}
        ] do
      assert_brief(fn ->
        assert assert_error(Compute.run_kernel(:relu, [a], a, params), reason).message == message
        id = Compute.submit(%{relu | params: params})
        assert assert_error(Compute.wait(id), reason).message == message
      end)
    end
  end

  test "a name that no kernel has" do
    a = zeros({4})
    for i <- 1..200, do: _ = Compute.run_kernel("k#{i}", [a], a)

    assert_brief(fn ->
      for length <- [1, 20, 255] do
        name = String.duplicate("k", length)

        assert_error(
          Compute.run_kernel(name, [a], a),
          :unknown_kernel,
          "no kernel is named #{name}"
        )
      end
    end)
  end

  test "values that take long to print" do
    # Of 300,000 digits; written out in full it takes a second.
    huge = Integer.pow(10, 300_000)
    a = zeros({4})

    {micros, messages} =
      :timer.tc(fn ->
        for call <- [
              fn -> Compute.buffer([1], {huge}) end,
              fn -> Compute.buffer([huge], {1}, :f32) end,
              fn -> Compute.buffer([huge], {1}, :s32) end,
              fn -> Compute.buffer([[huge]], {1}, :f32) end,
              fn -> Compute.buffer([1], {1}, huge) end,
              fn -> Compute.run_kernel(:relu, [huge], a) end,
              fn -> Compute.wait(-huge) |> elem(1) |> raise() end,
              fn -> Compute.submit(%{op: huge}) end,
              fn -> Compute.submit(huge) end
            ] do
          try do
            call.()
            flunk("nothing was raised")
          rescue
            error in [ArgumentError, Error] -> Exception.message(error)
          end
        end
      end)

    for message <- messages, do: assert(byte_size(message) < 400)
    assert micros < 500_000, inspect({micros, messages})

    assert Enum.at(messages, 0) ==
             "expected shape to be a tuple of non-negative integers such as {2, 3}, " <>
               "got: {{:integer_of_bits, 996584}} (index 0)"

    assert Enum.at(messages, 1) ==
             "element 0 (an integer beyond 64 bits) is out of range for an f32 buffer"
  end

  test "lists up to the length that goes to a dirty scheduler" do
    nans = List.duplicate(:nan, 20_000)
    whole = List.duplicate(1, 20_000)

    assert_brief(fn ->
      for list <- [nans, whole, List.duplicate(1.5, 20_000)] do
        buffer = Compute.buffer(list, {20_000})
        assert length(Compute.read_list(buffer)) == 20_000
      end

      # Looking at a list of a million takes place elsewhere.
      million = Enum.to_list(1..1_000_000)
      buffer = Compute.buffer(million, {1_000_000}, :s32)
      assert List.last(Compute.read_list(buffer)) == 1_000_000
    end)
  end

  test "hundreds of kernels" do
    names = for i <- 1..400, do: "long_schedule_#{i}"
    {:ok, model} = Models.load_model("examples/double.onnx")

    for name <- names,
        do: assert(:ok = Dala.Gpu.Compute.Native.model_register(model.ref, name, false))

    assert_brief(fn ->
      assert Enum.count(Compute.kernels(), &(&1.name in names)) == 400
      assert {:ok, %{name: "long_schedule_400"}} = Kernel.lookup("long_schedule_400")
      assert :error = Kernel.lookup("long_schedule_401")
    end)

    for name <- names, do: assert(:ok = Kernel.unregister(name))
  end

  test "thousands of commands of a process that is killed" do
    rounds = 200 * rounds_per_ms()

    assert_brief(
      fn ->
        buffer = zeros({1}, :u32)
        test = self()

        {pid, monitor} =
          spawn_monitor(fn ->
            ids = for _ <- 1..4_000, do: Compute.submit(slow(rounds, buffer))
            send(test, {:last, List.last(ids)})
            receive do: (:never -> :ok)
          end)

        assert_receive {:last, id}, 60_000
        Process.exit(pid, :kill)
        assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, 60_000
        # Waiting for it would keep it.
        assert_error(
          eventually(fn -> with :pending <- Compute.poll(id), do: nil end),
          :freed,
          "was dropped"
        )
      end,
      @busy
    )
  end
end
