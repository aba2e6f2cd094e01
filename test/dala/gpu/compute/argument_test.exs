defmodule Dala.Gpu.Compute.ArgumentTest do
  # In every module, malformed arguments raise an ArgumentError that says what was expected.
  use Dala.Test.GpuCase, async: true

  alias Dala.{Media, ML}
  alias Dala.Media.{Image, Lut, Text}

  defp image, do: Image.new(2, 2, {0, 0, 0})

  defp message(call), do: Exception.message(assert_raise(ArgumentError, call))

  test "options are a keyword list" do
    a = zeros({2})
    relu = %{op: :run_kernel, kernel: :relu, inputs: [a], output: a}

    for opts <- [nil, 1, %{k: 1}, [1], [{"k", 1}], [{:k, 1} | :k]],
        call <- [
          &Compute.submit(relu, &1),
          &Compute.warmup/1,
          &Kernel.register(:argument_test, "", &1),
          &Kernel.elementwise(:argument_test, "x", &1),
          &Dala.Gpu.create_surface(2, 2, &1),
          &Media.Gpu.start_pipeline(2, 2, &1),
          &Image.encode(image(), &1),
          &Image.write(image(), "no/such/folder/a.png", &1),
          &Text.image("text", &1),
          &ML.preprocess(image(), &1),
          &ML.geometry(image(), &1),
          &ML.Gpu.load_model("examples/double.onnx", &1),
          &ML.Gpu.top_k(a, &1),
          &ML.Models.list/1,
          &ML.Models.info(:posenet, &1)
        ] do
      assert message(fn -> call.(opts) end) =~ ~r/^expected options as a keyword list, got: /
    end

    {:ok, model} = ML.Gpu.load_model("examples/double.onnx")

    for task <- [&ML.classify/3, &ML.detect/3, &ML.faces/3, &ML.pose/3, &ML.segment/3] do
      assert message(fn -> task.(model, image(), :fast) end) ==
               "expected options as a keyword list, got: :fast"
    end
  end

  test "models, predictions, pipelines and streams are checked" do
    for other <- [nil, "model.onnx", make_ref(), zeros({2})] do
      for call <- [
            &ML.Gpu.model_info/1,
            &ML.Gpu.predict(&1, zeros({1, 3})),
            &ML.Gpu.predict_async(&1, zeros({1, 3})),
            &ML.Gpu.free_model/1,
            &ML.classify(&1, image()),
            &ML.pose(&1, image())
          ] do
        assert message(fn -> call.(other) end) ==
                 "expected a model returned by load_model/2, got: #{inspect(other)}"
      end

      assert message(fn -> ML.Gpu.await(other) end) ==
               "expected a prediction returned by predict_async/3, got: #{inspect(other)}"

      for call <- [
            &Pipeline.add(&1, %{op: :barrier}),
            &Pipeline.run/1,
            &Pipeline.explain/1,
            &Pipeline.stages/1,
            &Pipeline.stage_count/1,
            &Pipeline.free/1
          ] do
        assert message(fn -> call.(other) end) ==
                 "expected a pipeline returned by Dala.Gpu.Compute.pipeline/0, got: " <>
                   inspect(other)
      end

      for call <- [
            &Media.Gpu.process_frame(&1, <<>>, []),
            &Media.Gpu.process_frame_async(&1, <<>>, []),
            &Media.Gpu.stats/1,
            &Media.Gpu.stop_pipeline/1
          ] do
        assert message(fn -> call.(other) end) ==
                 "expected a stream, by its pid or name, got: #{inspect(other)}"
      end
    end
  end

  test "the rest" do
    {:ok, model} = ML.Gpu.load_model("examples/double.onnx")
    {:ok, prediction} = ML.Gpu.predict_async(model, zeros({1, 3}))

    for {text, call} <- [
          {"the timeout in milliseconds or :infinity, got: -1",
           fn -> ML.Gpu.await(prediction, -1) end},
          {"a Dala.Media.Image, got: 1", fn -> Image.to_buffer(1) end},
          {"a Dala.Media.Image, got: 1", fn -> Image.encode(1) end},
          {"a Dala.Media.Image, got: nil", fn -> Image.write(nil, "a.png") end},
          {"a Dala.Media.Image, got: nil", fn -> ML.Annotation.draw(nil, []) end},
          {"the result of a task of Dala.ML, got: :cat",
           fn -> ML.Annotation.draw(image(), :cat) end},
          {"a buffer, got: 1", fn -> Image.from_buffer(1) end},
          {"a path as a string, got: nil", fn -> Image.read(nil) end},
          {"a path as a string, got: 1", fn -> Image.write(image(), 1) end},
          {"a path as a string, got: %{}", fn -> Lut.read(%{}) end},
          {"the text of a .cube file as a string, got: nil", fn -> Lut.parse(nil) end},
          {"the text as a string, got: :a", fn -> Text.image(:a) end},
          {"the name of a model, got: {}", fn -> ML.Models.info({}) end},
          {"a list of buffers, got: 1", fn -> Compute.free_many(1) end},
          {"a function without arguments, got: nil", fn -> Compute.profile(nil) end}
        ] do
      assert message(call) == "expected " <> text
    end

    assert {:ok, _output} = ML.Gpu.await(prediction)
  end
end
