defmodule Dala.ML.Serving.ModelTest do
  # Not async: names are those of the VM.
  use Dala.Test.GpuCase, async: false

  alias Dala.Media.Image
  alias Dala.ML.{Gpu, Serving}
  alias Dala.Test.{OnnxFile, SmallNetwork, StandIns}

  @moduletag :capture_log

  defp start(name, opts) do
    opts = Keyword.merge([name: name, replicas: 1], opts)
    start_supervised!({Serving, opts}, id: name)
    name
  end

  defp await(requests), do: Enum.map(requests, &Serving.await(&1, 60_000))

  describe "a serving of a model" do
    defp input(seed),
      do: Buffer.from_binary(SmallNetwork.input({1, 3, 32, 32}, seed), {1, 3, 32, 32})

    test "gives what predictions give, in batches or alone" do
      name = start(SmallServing, model: {:binary, SmallNetwork.onnx()}, batch: [max: 4])
      {:ok, model} = Gpu.load_model({:binary, SmallNetwork.onnx()})
      assert Serving.info(name).batch.sizes == [1, 2, 4]

      expected =
        for seed <- 1..12, do: model |> Gpu.predict(input(seed)) |> elem(1) |> Buffer.read_list()

      # All at once: a request that comes alone is answered before the next one.
      inputs = Enum.map(1..12, &input/1)
      requests = for input <- inputs, do: Serving.async_run(name, input, timeout: 60_000)

      for {result, expected} <- Enum.zip(await(requests), expected) do
        assert {:ok, %Buffer{shape: {1, 10}} = output} = result
        assert_close(Buffer.read_list(output), expected)
      end

      assert Serving.info(name).batches < 12

      # Several rows in one request run alone; so do inputs by name.
      both = Buffer.from_binary(SmallNetwork.input({2, 3, 32, 32}, 1), {2, 3, 32, 32})
      {:ok, output} = Serving.run(name, %{"x" => both})
      assert output.shape == {2, 10}

      # An input that does not fit is an error of its own request, whatever it ran with.
      wrong = Buffer.zeros({1, 3, 31, 31})
      requests = for i <- [input(1), wrong, input(2)], do: Serving.async_run(name, i)
      assert [{:ok, _}, error, {:ok, _}] = await(requests)
      assert_error(error, :shape_mismatch, ~s(input "x" has shape {1, 3, 31, 31}))
      freed = input(3)
      Compute.free(freed)
      requests = for i <- [input(1), freed, input(2)], do: Serving.async_run(name, i)
      assert [{:ok, _}, error, {:ok, _}] = await(requests)
      assert_error(error, :freed)
    end

    # y = 2 * x for exactly three rows.
    defp three_rows do
      OnnxFile.model(
        [{"Add", ["x", "x"], ["y"]}],
        [{"x", :f32, [3, 2]}],
        [{"y", :f32, [3, 2]}]
      )
    end

    test "fills batches of a model with a fixed number of rows" do
      name = start(FixedRows, model: {:binary, three_rows()})
      assert %{sizes: [3], max: 3} = Serving.info(name).batch

      requests =
        for n <- 1..7, do: Serving.async_run(name, Buffer.new([n, -n], {1, 2}), timeout: 60_000)

      for {{:ok, output}, n} <- Enum.zip(await(requests), 1..7) do
        assert output.shape == {1, 2}
        assert Buffer.read_list(output) == [2.0 * n, -2.0 * n]
      end

      {:ok, whole} = Serving.run(name, Buffer.new([1, 2, 3, 4, 5, 6], {3, 2}))
      assert Buffer.read_list(whole) == [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]
    end

    test "does not batch what depends on other rows" do
      # The sum over all rows: its output has no dimension of the batch.
      model =
        OnnxFile.model(
          [{"ReduceMax", ["x"], ["y"], [axes: [0], keepdims: 0]}],
          [{"x", :f32, ["n", 2]}],
          [{"y", :f32, [2]}],
          opset: 13
        )

      name = start(NoBatches, model: {:binary, model})
      assert Serving.info(name).batch.sizes == [1]
      requests = for n <- 1..5, do: Serving.async_run(name, Buffer.new([n, -n], {1, 2}))

      for {{:ok, output}, n} <- Enum.zip(await(requests), 1..5),
          do: assert(Buffer.read_list(output) == [1.0 * n, -1.0 * n])
    end

    test "several inputs and outputs are stacked by name" do
      model =
        OnnxFile.model(
          [{"Add", ["a", "b"], ["sum"]}, {"Sub", ["a", "b"], ["difference"]}],
          [{"a", :f32, ["n", 1]}, {"b", :f32, ["n", 1]}],
          [{"sum", :f32, ["n", 1]}, {"difference", :f32, ["n", 1]}]
        )

      name = start(TwoInputs, model: {:binary, model}, batch: [max: 4])
      one = &Buffer.new([&1], {1, 1})

      requests =
        for n <- 1..9 do
          input =
            if rem(n, 2) == 0, do: [one.(n), one.(1)], else: %{"a" => one.(n), "b" => one.(1)}

          Serving.async_run(name, input, timeout: 60_000)
        end

      for {{:ok, outputs}, n} <- Enum.zip(await(requests), 1..9) do
        assert Map.new(outputs, fn {name, b} -> {name, Buffer.read_list(b)} end) ==
                 %{"sum" => [n + 1.0], "difference" => [n - 1.0]}
      end
    end

    test "takes pictures for the task of a model with a name" do
      dir = StandIns.models_dir()
      File.write!(Path.join(dir, "blazeface.onnx"), StandIns.blazeface())
      name = start(FacesServing, model: :blazeface, batch: [max: 8, delay: 0], queue: 256)
      picture = Image.new(256, 256, {10, 20, 30})
      {:ok, model} = Gpu.load_model(:blazeface)
      {:ok, expected} = Dala.ML.faces(model, picture)
      assert [%{score: _score}] = expected
      assert Serving.run(name, picture) == {:ok, expected}
      assert Serving.run(name, {picture.data, 256, 256}) == {:ok, expected}
      {:ok, outputs} = Serving.run(name, Dala.ML.preprocess(picture, size: {128, 128}))
      assert outputs["classificators"].shape == {1, 896, 1}
      assert %{model: "blazeface"} = Serving.info(name)
    end

    test "takes pictures for a task it is told, in batches" do
      opts = [size: {32, 32}, labels: Enum.map(0..9, &"class #{&1}"), k: 2]
      source = {:binary, SmallNetwork.onnx()}
      name = start(Classes, model: source, task: {:classify, opts}, batch: [max: 4])
      {:ok, model} = Gpu.load_model(source)
      pictures = for n <- 1..6, do: Image.new(40, 40, {40 * n, 255 - 40 * n, 7 * n})
      requests = for picture <- pictures, do: Serving.async_run(name, picture)

      for {{:ok, classes}, picture} <- Enum.zip(await(requests), pictures) do
        {:ok, expected} = Dala.ML.classify(model, picture, opts)
        assert Enum.map(classes, & &1.label) == Enum.map(expected, & &1.label)
        assert_close(Enum.map(classes, & &1.score), Enum.map(expected, & &1.score))
      end

      none = start(NoTask, model: source)

      assert_error(
        Serving.run(none, hd(pictures)),
        :unsupported,
        "start its serving with task: :classify, :detect, :faces, :pose, :segment"
      )

      assert_error(Serving.run(none, :rubbish), :invalid_param)
    end

    test "a model is swapped, and its memory given back" do
      name = start(Swapped, model: {:binary, SmallNetwork.onnx()}, replicas: 2)
      for seed <- 1..4, do: {:ok, _output} = Serving.run(name, input(seed))
      before = quiet_memory()

      for _ <- 1..5 do
        assert Serving.replace(name, model: {:binary, SmallNetwork.onnx()}) == :ok
        {:ok, _output} = Serving.run(name, input(1))
      end

      eventually(fn -> settled_memory() <= before end)
    end

    test "starts only when its model can be loaded" do
      Process.flag(:trap_exit, true)

      error =
        assert_error(Serving.start_link(name: Missing, model: "no/such.onnx"), :model_not_found)

      assert is_binary(error.message)
      {:ok, pid} = Serving.start_link(name: Twice, function: & &1)
      assert Serving.start_link(name: Twice, function: & &1) == {:error, {:already_started, pid}}

      assert_error(
        Serving.start_link(name: ColdFunction, function: fn _ -> raise "cold" end, warmup: 1),
        :crashed,
        "cold"
      )
    end
  end
end
