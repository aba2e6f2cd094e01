if Code.ensure_loaded?(Nx) do
  defmodule Dala.Nx.CompilerTest.Functions do
    import Nx.Defn

    defn chain(x, y) do
      x |> Nx.multiply(y) |> Nx.add(1) |> Nx.exp() |> Nx.divide(y) |> Nx.sqrt() |> Nx.tanh()
    end

    defn loss(weights, x, y) do
      {w1, b1, w2, b2} = weights
      hidden = Nx.max(Nx.dot(x, w1) + b1, 0)
      Nx.mean(Nx.pow(Nx.dot(hidden, w2) + b2 - y, 2))
    end

    defn train(weights, x, y) do
      {loss, grads} = value_and_grad(weights, &loss(&1, x, y))
      {w1, b1, w2, b2} = weights
      {g1, h1, g2, h2} = grads
      {loss, {w1 - 0.05 * g1, b1 - 0.05 * h1, w2 - 0.05 * g2, b2 - 0.05 * h2}}
    end

    defn collatz(n) do
      {steps, _n} =
        while {steps = 0, n}, n > 1 do
          next = if Nx.remainder(n, 2) == 0, do: Nx.quotient(n, 2), else: 3 * n + 1
          {steps + 1, next}
        end

      steps
    end

    # The counter alone decides.
    defn counted(x) do
      while {i = 0, x}, i < 10 do
        {i + 1, x * 2 + i}
      end
    end

    # What the device computes decides, too.
    defn bounded(x) do
      while {i = 0, x}, Nx.logical_and(i < 10, Nx.sum(x) < 100) do
        {i + 1, x * 2}
      end
    end

    # The sum is used inside and outside of the branches.
    defn branches(x) do
      sum = Nx.sum(x)

      {a, b} =
        cond do
          sum > 100 -> {x / sum, sum}
          sum > 10 -> {x * 2, sum - 10}
          true -> {x, sum * sum}
        end

      {a + sum, b}
    end

    defn hooked(x) do
      y = hook(x * 2, :double, &send_value/1)
      y + 1
    end

    deftransform(send_value(t), do: send(self(), {:hook, t}))

    defn(container(%{a: a, b: b}), do: %{sum: a + b, pair: {a, b * 2}})
    defn(swap(x, y), do: {y, x, y})

    defn twice(x) do
      y = x * 2
      {y, y + 1, y}
    end

    defn(sliced(x, start), do: Nx.slice(x, [start], [2]))
  end
end

defmodule Dala.Nx.CompilerTest do
  use Dala.Test.GpuCase, async: false

  alias Dala.Nx.CompilerTest.Functions

  @compile {:no_warn_undefined,
            [Nx, Nx.Batch, Nx.Defn, Nx.Defn.Compiler, Nx.Serving, Nx.Stream, Functions]}

  unless Code.ensure_loaded?(Nx) do
    @moduletag skip: "Nx is not on the code path (ERL_LIBS)"
  end

  setup do
    Nx.default_backend(Dala.Nx.Backend)
    Nx.Defn.default_options(compiler: Dala.Nx.Compiler)
    :ok
  end

  # The same by the evaluator of Nx on its own backend.
  defp expected(fun) do
    Nx.default_backend(Nx.BinaryBackend)
    Nx.Defn.default_options(compiler: Nx.Defn.Evaluator)
    result = fun.()
    Nx.default_backend(Dala.Nx.Backend)
    Nx.Defn.default_options(compiler: Dala.Nx.Compiler)
    result
  end

  defp numbers(tuple) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> Enum.map(&numbers/1)
  defp numbers(tensor), do: Nx.to_flat_list(tensor)

  defp assert_same(fun) do
    result = fun.()

    for {a, b} <- Enum.zip(List.flatten(numbers(result)), List.flatten(numbers(expected(fun)))) do
      assert abs(a - b) <= 1.0e-5 * max(1, abs(b)), "#{a} is not close to #{b}"
    end

    result
  end

  test "every callback that the Nx which is here asks for is there" do
    optional = Nx.Defn.Compiler.behaviour_info(:optional_callbacks)
    Code.ensure_loaded!(Dala.Nx.Compiler)

    for {name, arity} = callback <- Nx.Defn.Compiler.behaviour_info(:callbacks),
        callback not in optional do
      assert function_exported?(Dala.Nx.Compiler, name, arity), "#{name}/#{arity}"
    end
  end

  test "a chain of elementwise operations is one kernel" do
    assert_same(fn -> Functions.chain(Nx.iota({3, 4}, type: :f32), Nx.tensor([1.5, 2, 3, 4])) end)

    x = Nx.iota({1000}, type: :f32)
    y = Nx.add(x, 2)
    # Its first call has ended before the profile begins.
    _ = Nx.to_binary(Functions.chain(x, y))
    {:ok, profile} = Dala.Gpu.Compute.Native.profile_start()
    result = Functions.chain(x, y)
    _ = Nx.to_binary(result)
    {:ok, rows} = Dala.Gpu.Compute.Native.profile_stop(profile)
    assert length(rows) == 1
  end

  test "gradients and training" do
    weights = fn ->
      {Nx.iota({3, 4}, type: :f32) |> Nx.divide(10), Nx.broadcast(0.1, {4}),
       Nx.iota({4, 2}, type: :f32) |> Nx.divide(20), Nx.broadcast(0.0, {2})}
    end

    x = fn -> Nx.iota({5, 3}, type: :f32) |> Nx.divide(7) end
    y = fn -> Nx.iota({5, 2}, type: :f32) |> Nx.divide(3) end

    assert_same(fn ->
      {loss, {w1, b1, w2, b2}} = Functions.train(weights.(), x.(), y.())
      {loss, w1, b1, w2, b2}
    end)
  end

  test "loops and branches" do
    assert Nx.to_number(Functions.collatz(27)) == 111

    for list <- [[1, 2], [5, 6], [50, 60]] do
      assert_same(fn -> Functions.branches(Nx.tensor(list, type: :f32)) end)
    end
  end

  test "hooks, containers, and results that are inputs" do
    assert Nx.to_flat_list(Functions.hooked(Nx.tensor([1, 2]))) == [3, 5]
    assert_received {:hook, doubled}
    assert Nx.to_flat_list(doubled) == [2, 4]

    %{sum: sum, pair: {a, b}} = Functions.container(%{a: Nx.tensor(1), b: Nx.tensor([2, 3])})
    assert {Nx.to_flat_list(sum), Nx.to_number(a), Nx.to_flat_list(b)} == {[3, 4], 1, [4, 6]}

    x = Nx.tensor([1, 2])
    {y1, x1, y2} = Functions.swap(x, Nx.tensor([3, 4]))
    Nx.backend_deallocate(y1)
    Nx.backend_deallocate(x1)
    assert Nx.to_flat_list(y2) == [3, 4]
    assert Nx.to_flat_list(x) == [1, 2]
  end

  test "a result that occurs twice" do
    {y1, z, y2} = Functions.twice(Nx.tensor([1, 2]))
    Nx.backend_deallocate(y1)
    assert {Nx.to_flat_list(z), Nx.to_flat_list(y2)} == {[3, 5], [2, 4]}
  end

  test "what needs the host is computed all the same" do
    for start <- 0..4 do
      t = Functions.sliced(Nx.iota({5}), Nx.tensor(start))
      assert Nx.to_flat_list(t) == [min(start, 3), min(start, 3) + 1]
    end
  end

  test "a function is traced once for the same types, and again for others" do
    parent = self()

    fun = fn x ->
      send(parent, :traced)
      Nx.add(x, 1)
    end

    for value <- [1.0, 2.0, 3.0], do: Nx.Defn.jit_apply(fun, [Nx.tensor([value])])
    assert_received :traced
    refute_received :traced
    Nx.Defn.jit_apply(fun, [Nx.tensor([1])])
    assert_received :traced
  end

  test "streams and servings" do
    stream = Nx.Defn.stream(fn x, acc -> {Nx.add(x, acc), Nx.add(acc, 1)} end, [0, 10])
    for value <- 1..3, do: Nx.Stream.send(stream, Nx.tensor(value))
    assert for(_ <- 1..3, do: Nx.to_number(Nx.Stream.recv(stream))) == [11, 13, 15]
    assert Nx.to_number(Nx.Stream.done(stream)) == 13

    serving = Nx.Serving.jit(&Nx.multiply(&1, 3), compiler: Dala.Nx.Compiler)
    batch = Nx.Batch.stack([Nx.tensor([1, 2]), Nx.tensor([3, 4])])
    assert Nx.to_flat_list(Nx.Serving.run(serving, batch)) == [3, 6, 9, 12]
  end

  @tag timeout: 600_000
  test "memory is flat over many steps of training" do
    weights =
      {Nx.broadcast(0.1, {3, 4}), Nx.broadcast(0.1, {4}), Nx.broadcast(0.2, {4, 2}),
       Nx.broadcast(0.0, {2})}

    x = Nx.divide(Nx.iota({5, 3}, type: :f32), 7)
    y = Nx.divide(Nx.iota({5, 2}, type: :f32), 3)

    steps = fn weights, count ->
      Enum.reduce(1..count, weights, fn _, weights ->
        {_loss, weights} = Functions.train(weights, x, y)
        weights
      end)
    end

    weights = steps.(weights, 200)
    _ = Nx.to_binary(elem(weights, 0))
    before = settled_memory()
    weights = steps.(weights, 10_000)
    _ = Nx.to_binary(elem(weights, 0))
    assert eventually(fn -> settled_memory() <= before + 4096 end)
    {loss, _weights} = Functions.train(weights, x, y)
    assert Nx.to_number(loss) < 0.5
  end

  test "a loop that only a counter decides on reads nothing from the device" do
    {i, x} = Functions.counted(Nx.tensor([1.0, 2.0]))
    expected = Enum.reduce(0..9, [1.0, 2.0], fn i, list -> Enum.map(list, &(&1 * 2 + i)) end)
    assert Nx.to_flat_list(x) == expected
    assert is_binary(i.data.content)
    assert Nx.to_number(i) == 10
  end

  test "a loop that the device decides on" do
    {i, x} = Functions.bounded(Nx.tensor([1.0, 2.0]))
    assert {Nx.to_number(i), Nx.to_flat_list(x)} == {6, [64.0, 128.0]}
    {i, x} = Functions.bounded(Nx.tensor([0.0, 0.001]))
    assert Nx.to_number(i) == 10
    assert_in_delta Nx.to_number(Nx.sum(x)), 1.024, 1.0e-5
  end
end
