defmodule Dala.ML.Gpu.StateTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.ML.Gpu
  alias Dala.ML.Gpu.State
  alias Dala.Test.{OnnxFile, TfliteFile}

  doctest Dala.ML.Gpu.State

  # next = sum + x, y = next + next
  defp adding do
    OnnxFile.model(
      [{"Add", ["x", "sum"], ["next"]}, {"Add", ["next", "next"], ["y"]}],
      [{"x", :f32, [2]}, {"sum", :f32, [2]}],
      [{"y", :f32, [2]}, {"next", :f32, [2]}]
    )
  end

  # A cache that grows: present = Concat(past, x) along the axis of the length.
  defp growing do
    OnnxFile.model(
      [{"Concat", ["past", "x"], ["present"], [axis: 1]}, {"Neg", ["x"], ["y"]}],
      [{"x", :f32, ["batch", "length"]}, {"past", :f32, ["batch", "past"]}],
      [{"y", :f32, ["batch", "length"]}, {"present", :f32, ["batch", "past + length"]}]
    )
  end

  defp load!(bytes) do
    assert {:ok, model} = Gpu.load_model({:binary, bytes})
    model
  end

  defp state!(model, opts) do
    assert {:ok, state} = Gpu.new_state(model, opts)
    state
  end

  defp step!(model, state, numbers) do
    assert {:ok, output} = Gpu.predict(model, Compute.buffer(numbers, {2}), state: state)
    Compute.read_list(output)
  end

  test "a state is carried from prediction to prediction, and reset" do
    model = load!(adding())
    state = state!(model, state: %{"next" => "sum"})
    assert inspect(state) == "#Dala.ML.Gpu.State<model: x f32[2] -> y f32[2]>"
    assert State.values(state) == {:ok, %{}}
    assert step!(model, state, [1, 2]) == [2.0, 4.0]
    assert step!(model, state, [1, 2]) == [4.0, 8.0]
    assert {:ok, %{"sum" => sum}} = State.values(state)
    assert Compute.read_list(sum) == [2.0, 4.0]
    assert State.reset(state) == :ok
    assert step!(model, state, [10, 0]) == [20.0, 0.0]
    # Values are snapshots, in both directions.
    assert Compute.read_list(sum) == [2.0, 4.0]
    :ok = Compute.write(sum, <<0::64>>)
    assert step!(model, state, [0, 0]) == [20.0, 0.0]
  end

  test "values of one state are the first values of another" do
    model = load!(adding())
    state = state!(model, state: %{next: :sum}, initial: %{sum: Compute.buffer([5, 6], {2})})
    assert step!(model, state, [1, 1]) == [12.0, 14.0]
    assert {:ok, values} = State.values(state)
    copy = state!(model, state: %{"next" => "sum"}, initial: values)
    assert step!(model, state, [1, 1]) == [14.0, 16.0]
    assert step!(model, copy, [0, 0]) == [12.0, 14.0]
    State.reset(state)
    State.reset(copy)
    assert step!(model, state, [0, 0]) == [10.0, 12.0]
    assert step!(model, copy, [0, 0]) == [12.0, 14.0]
  end

  test "many states side by side, each used by its own process" do
    model = load!(adding())

    1..20
    |> Enum.map(fn n ->
      Task.async(fn ->
        state = state!(model, state: %{"next" => "sum"})
        for _ <- 1..9, do: step!(model, state, [n, 0])
        assert step!(model, state, [n, 0]) == [20.0 * n, 0.0]
      end)
    end)
    |> Task.await_many(60_000)
  end

  test "predictions with one state follow each other in the order of the calls" do
    model = load!(adding())
    state = state!(model, state: %{"next" => "sum"})

    predictions =
      for n <- 1..100 do
        if n == 51, do: State.reset(state)
        {:ok, prediction} = Gpu.predict_async(model, Compute.buffer([1, n], {2}), state: state)
        prediction
      end

    firsts =
      for prediction <- predictions do
        {:ok, output} = Gpu.await(prediction, 60_000)
        output |> Compute.read_list() |> hd()
      end

    assert firsts == for(n <- Enum.concat(1..50, 1..50), do: 2.0 * n)
  end

  test "processes that share a state lose no update" do
    model = load!(adding())
    state = state!(model, state: %{"next" => "sum"})

    1..8
    |> Enum.map(fn _ ->
      Task.async(fn ->
        predictions =
          for _ <- 1..100 do
            {:ok, prediction} =
              Gpu.predict_async(model, Compute.buffer([1, 0], {2}), state: state)

            prediction
          end

        for prediction <- predictions, do: {:ok, _} = Gpu.await(prediction, 60_000)
      end)
    end)
    |> Task.await_many(60_000)

    assert step!(model, state, [0, 0]) == [1600.0, 0.0]
  end

  test "a cache starts empty, takes its batch from the other inputs, and grows" do
    model = load!(growing())
    state = state!(model, state: %{"present" => "past"})

    for {length, total} <- [{3, 3}, {1, 4}, {2, 6}] do
      numbers = Enum.to_list(1..(2 * length))
      assert {:ok, y} = Gpu.predict(model, Compute.buffer(numbers, {2, length}), state: state)
      assert Compute.read_list(y) == Enum.map(numbers, &(-1.0 * &1))
      assert {:ok, %{"past" => %{shape: {2, ^total}}}} = State.values(state)
    end
  end

  # Code 35: h' = w * x + r * h, returned as y, without an activation.
  defp recurrent do
    f32 = fn number -> <<number::float-little-32>> end

    TfliteFile.model(
      [
        {"x", [1, 1, 1], 0, []},
        {"w", [1, 1], 0, [data: f32.(1.0)]},
        {"r", [1, 1], 0, [data: f32.(0.5)]},
        {"b", [1], 0, [data: f32.(0.0)]},
        {"h", [1, 1], 0, [variable: true]},
        {"y", [1, 1, 1], 0, []}
      ],
      [{35, [0, 1, 2, 3, 4], [5], %{}}],
      [0],
      [5]
    )
  end

  test "the variables of a TFLite file need no names" do
    model = load!(recurrent())
    assert Enum.map(model.inputs, & &1.name) == ["x", "h"]
    states = for _ <- 1..3, do: state!(model, [])

    for {x, y} <- [{4, 4.0}, {0, 2.0}, {1, 2.0}], state <- states do
      input = Compute.buffer([x], {1, 1, 1})
      assert {:ok, output} = Gpu.predict(model, input, state: state)
      assert Compute.read_list(output) == [y]
    end
  end

  test "a prediction that fails leaves the state as it was" do
    model = load!(adding())
    state = state!(model, state: %{"next" => "sum"})
    assert step!(model, state, [1, 2]) == [2.0, 4.0]
    wrong = Gpu.predict(model, Compute.buffer([1, 2, 3], {3}), state: state)
    assert_error(wrong, :shape_mismatch, ~s(input "x" has shape {3}, the model takes {2}))
    none = Gpu.predict(model, [], state: state)
    assert_error(none, :arity_mismatch, "the model takes 1 input beside its state, got 0")
    whole = Gpu.predict(model, %{"x" => wrong, "sum" => wrong}, state: state)
    assert_error(whole, :arity_mismatch, ~s(the model takes the inputs "x", got "sum", "x"))
    assert step!(model, state, [0, 0]) == [2.0, 4.0]
    assert Gpu.free_model(model) == :ok
    input = Compute.buffer([1, 2], {2})
    assert_error(Gpu.predict(model, input, state: state), :freed, "the model has been freed")
  end

  test "states that cannot be are refused" do
    model = load!(adding())

    assert_error(Gpu.new_state(model), :invalid_param, ["the model has no variables", "state: %{"])

    assert_error(
      Gpu.new_state(model, state: %{"last" => "sum"}),
      :invalid_param,
      ~s(the model has no output "last"; its outputs are "y", "next")
    )

    assert_error(
      Gpu.new_state(model, state: %{"next" => "sum"}, initial: %{x: Compute.buffer([1, 2], {2})}),
      :invalid_param,
      ~s(the state has no input "x")
    )

    state = state!(model, state: %{"next" => "sum"})
    other = load!(growing())
    input = Compute.buffer([1, 2], {2})

    for {message, call} <- [
          {"expected state: to be a state of the model", &Gpu.predict(other, &1, state: state)},
          {"expected a state returned by new_state/2, got: 7", &Gpu.predict(model, &1, state: 7)},
          {"expected either profile: or state:, got both",
           &Gpu.predict(model, &1, state: state, profile: true)},
          {"expected state: to be a map by name, got: [1]",
           fn _ -> Gpu.new_state(model, state: [1]) end},
          {"expected a state returned by new_state/2, got: :none", fn _ -> State.reset(:none) end}
        ] do
      error = assert_raise ArgumentError, fn -> call.(input) end
      assert error.message =~ message
    end
  end
end
