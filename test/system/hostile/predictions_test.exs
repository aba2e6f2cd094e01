defmodule Dala.System.Hostile.PredictionsTest do
  # Predictions in floods, on inputs that change, and given up.
  use Dala.Test.GpuCase, async: false

  alias Dala.ML.Gpu
  alias Dala.Test.OnnxFile

  @moduletag timeout: 300_000

  defp relu_model do
    OnnxFile.model([{"Relu", ["x"], ["y"]}], [{"x", :f32, ["n"]}], [{"y", :f32, ["n"]}])
    |> load()
  end

  # Products one after the other, so that a prediction takes a while.
  defp heavy_model do
    size = 256
    weights = {:f32, [size, size], :binary.copy(<<0.001::float-32-native>>, size * size)}
    names = for i <- 0..20, do: "t#{i}"

    nodes = for {from, to} <- Enum.zip(names, tl(names)), do: {"MatMul", [from, "w"], [to]}

    OnnxFile.model(nodes, [{"t0", :f32, [size, size]}], [{"t20", :f32, [size, size]}],
      constants: [{"w", weights}]
    )
    |> load()
  end

  defp load(bytes) do
    path = Path.join(scratch_dir("predictions"), "model.onnx")
    File.write!(path, bytes)
    {:ok, model} = Gpu.load_model(path)
    model
  end

  test "inputs are captured by the call, whatever is written, run or freed later" do
    model = relu_model()

    for round <- 1..100 do
      x = counting(100)
      expected = Enum.map(1..100, &(&1 * 1.0))
      {:ok, prediction} = Gpu.predict_async(model, x)

      case rem(round, 3) do
        0 -> Compute.write(x, f32(List.duplicate(-1.0, 100)))
        1 -> Compute.free(x)
        2 -> :ok = Compute.run_kernel(:fill, [], x, value: -1)
      end

      assert {:ok, output} = Gpu.await(prediction, 60_000)
      assert Compute.read_list(output) == expected
    end

    freed = counting(4)
    Compute.free(freed)
    assert_error(Gpu.predict_async(model, freed), :freed, "input 0 has been freed")
  end

  test "a flood of predictions is bounded, and others get their turn" do
    model = heavy_model()
    x = zeros({256, 256})
    {:ok, _output} = Gpu.predict(model, x)
    {alone, {:ok, _}} = :timer.tc(fn -> Gpu.predict(model, x) end)
    test = self()
    in_use = Compute.memory_info().in_use

    flood =
      spawn_link(fn ->
        for i <- 1..2_000 do
          {:ok, _prediction} = Gpu.predict_async(model, x)
          if i == 200, do: send(test, :flooding)
        end
      end)

    assert_receive :flooding, 120_000
    # At most 4 under way, each with an output of 256 KiB, and no message queue of its own yet.
    assert Compute.memory_info().in_use - in_use < 300 * 256 * 256 * 4
    times = for _ <- 1..5, do: :timer.tc(fn -> Gpu.predict(model, x) end) |> elem(0)
    assert Enum.at(Enum.sort(times), 2) < 40 * alone
    Process.unlink(flood)
    Process.exit(flood, :kill)
  end

  test "an abandoned prediction leaves no message and no memory" do
    model = heavy_model()
    x = zeros({256, 256})
    {:ok, output} = Gpu.predict(model, x)
    Compute.free(output)
    before = quiet_memory()

    for _ <- 1..50 do
      {:ok, prediction} = Gpu.predict_async(model, x)
      result = Gpu.await(prediction, 0)
      assert match?({:error, %Error{reason: :timeout}}, result) or match?({:ok, _}, result)
      assert Gpu.yield(prediction, 0) == nil
    end

    eventually(fn -> settled_memory() == before end)
    refute_received _
    # The model and its input have lived, and counted, until here.
    assert {:ok, _output} = Gpu.predict(model, x)
  end

  test "yield/2 does not abandon the prediction" do
    model = heavy_model()
    {:ok, prediction} = Gpu.predict_async(model, zeros({256, 256}))
    first = Gpu.yield(prediction, 0)
    assert {:ok, _output} = first || Gpu.yield(prediction, 60_000)
  end
end
