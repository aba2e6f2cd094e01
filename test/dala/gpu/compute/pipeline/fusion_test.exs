defmodule Dala.Gpu.Compute.Pipeline.FusionTest do
  use Dala.Test.GpuCase, async: true

  defp stage(kernel, inputs, output, params \\ %{}),
    do: %{op: :run_kernel, kernel: kernel, inputs: inputs, output: output, params: params}

  describe "fusion" do
    defp pipeline(stages), do: Enum.reduce(stages, Pipeline.new(), &Pipeline.add(&2, &1))

    defp lines(pipeline), do: pipeline |> Pipeline.explain() |> to_string() |> String.split("\n")

    test "is explained" do
      a = zeros({256, 256})
      b = zeros({256, 256})
      row = zeros({256})
      bytes = zeros({256, 256}, :u8)
      turned = zeros({256, 256})
      between = Pipeline.temporary({256, 256})
      after_softmax = Pipeline.temporary({256, 256})

      pipeline =
        pipeline([
          stage(:scalar_mul, [a], between, %{scalar: 2}),
          stage(:elementwise_add, [between, row], b),
          stage(:cast, [b], bytes),
          stage(:softmax, [b], after_softmax),
          %{op: :barrier},
          stage(:exp, [a], a),
          stage(:fill, [], turned, %{value: 1}),
          stage(:neg, [a], a),
          stage(:transpose, [after_softmax], turned)
        ])

      assert to_string(Pipeline.explain(pipeline)) == """
             stages  kernel                               writes                         moves
             0-2     scalar_mul + elementwise_add + cast  f32 {256, 256}, u8 {256, 256}  577 KiB instead of 1.3 MiB
             3       softmax                              f32 {256, 256}                 512 KiB
             4       barrier
             5, 7    exp + neg                            f32 {256, 256}                 512 KiB instead of 1 MiB
             6       fill                                 f32 {256, 256}                 256 KiB
             8       transpose                            f32 {256, 256}                 512 KiB
             5 kernels for 8 stages; moves 2.3 MiB instead of 3.6 MiB; temporary memory 256 KiB\
             """

      assert inspect(Pipeline.explain(pipeline)) == Enum.join(lines(pipeline), "\n")
      assert Pipeline.run(pipeline) == :ok
    end

    test "of an empty pipeline, and of one that cannot run" do
      assert lines(Pipeline.new()) == [
               "stages  kernel  writes  moves",
               "0 kernels for 0 stages; moves 0 B; temporary memory 0 B"
             ]

      unseen = Pipeline.temporary({2})
      a = counting(2)

      assert lines(pipeline([stage(:neg, [a], unseen), stage(:abs, [unseen], unseen)])) == [
               "stages  kernel     writes   moves",
               "0-1     neg + abs  nothing  0 B instead of 32 B",
               "0 kernels for 2 stages; moves 0 B instead of 32 B; temporary memory 0 B"
             ]

      bad = pipeline([stage(:neg, [a], a), stage(:neg, [counting(3)], a)])
      error = assert_raises(:shape_mismatch, "stage 1: ", fn -> Pipeline.explain(bad) end)
      assert error.details.stage == 1
      Pipeline.free(bad)
      assert_raises(:freed, "the pipeline has been freed", fn -> Pipeline.explain(bad) end)
    end

    test "shows in a profile as one kernel, with the bytes it moves" do
      a = zeros({1000})
      stages = for kernel <- [:neg, :exp, :sqrt, :abs, :tanh, :sigmoid], do: stage(kernel, [a], a)
      pipeline = pipeline(stages)
      {:ok, profile} = Compute.profile(fn -> Pipeline.run(pipeline) end)

      assert [%{count: 1, bytes: 8000}] =
               for(%{name: "neg+exp+4 more"} = kernel <- profile.kernels, do: kernel)
    end

    test "with custom kernels, until they are replaced" do
      :ok = Kernel.elementwise(:pipeline_test_fused, "x * 3 + by", params: [:by])
      a = counting(3)
      b = zeros({3})
      pipeline = pipeline([stage(:pipeline_test_fused, [a], a, %{by: 1}), stage(:neg, [a], b)])
      assert [_header, "0-1     pipeline_test_fused + neg" <> _rest, _summary] = lines(pipeline)
      assert Pipeline.run(pipeline) == :ok
      assert Compute.read_list(b) == [-4.0, -7.0, -10.0]
      :ok = Kernel.elementwise(:pipeline_test_fused, "x - by", params: [:by])
      assert Pipeline.run(pipeline) == :ok
      assert Compute.read_list(a) == [3.0, 6.0, 9.0]
      :ok = Kernel.unregister(:pipeline_test_fused)
      error = assert_error(Pipeline.run(pipeline), :unknown_kernel, "pipeline_test_fused")
      assert error.details.stage == 0
    end

    test "does not change which error is reported: that of the first invalid stage" do
      a = counting(2)
      b = counting(2)
      c = counting(2)
      # Both of c's values are overwritten unseen, and b is not touched by the same kernel.
      pipeline =
        pipeline([
          stage(:neg, [a], c),
          stage(:exp, [c], c),
          stage(:fill, [], b, %{value: 1}),
          stage(:neg, [a], c)
        ])

      assert Pipeline.run(pipeline) == :ok
      Compute.free(b)
      error = assert_error(Pipeline.run(pipeline), :freed, "stage 2: the output has been freed")
      assert error.details.stage == 2
      Compute.free(c)
      error = assert_error(Pipeline.run(pipeline), :freed, "stage 0: the output has been freed")
      assert error.details.stage == 0
      Compute.free(a)
      assert_error(Pipeline.run(pipeline), :freed, "stage 0: input 0 has been freed")
    end
  end

  describe "temporary buffers" do
    test "can only be used by stages" do
      between = Pipeline.temporary({3}, :s32)
      a = counting(3, :s32)
      assert %Buffer{shape: {3}, dtype: :s32} = between
      assert inspect(between) == "#Dala.Gpu.Compute.Buffer<s32[3] temporary>"
      assert Buffer.valid?(between)
      sentence = "the buffer is temporary: only the stages of a pipeline may use it"
      assert_raises(:unsupported, sentence, fn -> Compute.read(between) end)
      assert_raises(:unsupported, sentence, fn -> Compute.read_list(between) end)
      assert_error(Compute.run_kernel(:neg, [between], a), :unsupported, "input 0 is temporary")

      assert_error(
        Compute.run_kernel(:neg, [a], between),
        :unsupported,
        "the output is temporary"
      )

      id = Compute.submit(%{op: :copy_buffer, inputs: [between], output: a})
      assert_error(Compute.wait(id), :unsupported, "input 0 is temporary")
    end

    test "are written before they are read, in every pipeline" do
      between = Pipeline.temporary({3})
      a = counting(3)

      first = [
        stage(:neg, [a], between),
        stage(:copy, [], a) |> Map.merge(%{op: :copy_buffer, kernel: nil, inputs: [between]})
      ]

      pipeline = Enum.reduce(first, Pipeline.new(), &Pipeline.add(&2, &1))
      assert Pipeline.run(pipeline) == :ok
      assert Compute.read_list(a) == [-1.0, -2.0, -3.0]

      late = Pipeline.add(Pipeline.new(), stage(:neg, [between], a))
      sentence = "stage 0: input 0 is temporary, and no stage before this one writes to it"
      error = assert_error(Pipeline.run(late), :invalid_param, sentence)
      assert error.details.stage == 0
    end

    test "can be freed" do
      between = Pipeline.temporary({3})
      a = counting(3)
      pipeline = Pipeline.add(Pipeline.new(), stage(:neg, [a], between))
      assert Pipeline.run(pipeline) == :ok
      assert Compute.free(between) == :ok
      assert Compute.free(between) == :ok
      assert inspect(between) == "#Dala.Gpu.Compute.Buffer<f32[3] freed>"
      assert_error(Pipeline.run(pipeline), :freed, "stage 0: the output has been freed")
      assert_raises(:freed, "the buffer has been freed", fn -> Compute.read(between) end)
    end

    test "take dimensions and types like any other" do
      assert_raise ArgumentError, ~r/^expected shape to be/, fn -> Pipeline.temporary(3) end

      assert_raise ArgumentError, ~r/^expected dtype to be/, fn ->
        Pipeline.temporary({3}, :f8)
      end

      # No memory, so no limit either.
      assert %Buffer{} = Pipeline.temporary({1_000_000, 1_000_000, 1_000_000})
    end
  end
end
