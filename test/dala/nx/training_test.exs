if Code.ensure_loaded?(Nx) do
  defmodule Dala.Nx.TrainingTest.Network do
    import Nx.Defn

    defn loss(%{w1: w1, b1: b1, w2: w2, b2: b2}, x, y) do
      hidden = Nx.max(Nx.dot(x, w1) + b1, 0)
      Nx.mean(Nx.pow(Nx.dot(hidden, w2) + b2 - y, 2))
    end

    # A step with momentum, so that a step also reads what the one before it wrote.
    defn step({weights, velocity}, x, y) do
      {loss, gradient} = value_and_grad(weights, &loss(&1, x, y))
      {weights, velocity} = moved(weights, velocity, gradient)
      {loss, {weights, velocity}}
    end

    defnp moved(w, v, g) do
      %{w1: v1, b1: c1, w2: v2, b2: c2} = v

      velocity = %{
        w1: 0.9 * v1 + g.w1,
        b1: 0.9 * c1 + g.b1,
        w2: 0.9 * v2 + g.w2,
        b2: 0.9 * c2 + g.b2
      }

      weights = %{
        w1: w.w1 - 0.01 * velocity.w1,
        b1: w.b1 - 0.01 * velocity.b1,
        w2: w.w2 - 0.01 * velocity.w2,
        b2: w.b2 - 0.01 * velocity.b2
      }

      {weights, velocity}
    end
  end
end

defmodule Dala.Nx.TrainingTest do
  # Training keeps the memory that it has after its first steps. DALA_TRAINING_STEPS=10000 is the
  # long form.
  use Dala.Test.GpuCase, async: false

  alias Dala.Gpu.Compute
  alias Dala.Nx.TrainingTest.Network

  @compile {:no_warn_undefined, [Nx, Nx.Defn, Network]}

  unless Code.ensure_loaded?(Nx) do
    @moduletag skip: "Nx is not on the code path (ERL_LIBS)"
  end

  @steps String.to_integer(System.get_env("DALA_TRAINING_STEPS", "300"))
  @tag timeout: 600_000 + 100 * @steps

  test "memory is flat over the steps of a training, with the compiler and without" do
    for compiler <- [Dala.Nx.Compiler, :evaluator] do
      Nx.default_backend(Dala.Nx.Backend)
      compiler = if compiler == :evaluator, do: Nx.Defn.Evaluator, else: compiler
      Nx.Defn.default_options(compiler: compiler)

      x = numbers({32, 8}, 7)
      y = Nx.sum(Nx.multiply(x, x), axes: [1], keep_axes: true)
      {first, state} = Network.step(state(), x, y)
      first = Nx.to_number(first)

      {_loss, state} = train(state, x, y, 100)
      early = memory()
      {last, state} = train(state, x, y, @steps)
      late = memory()

      assert last < first / 2
      # Only the state and the batch are left, whichever steps the VM has not collected before.
      assert late.device <= early.device or eventually(fn -> in_use() <= early.device end)
      assert late.vm < early.vm + 4_000_000
      assert late.resident < early.resident + 48_000_000

      if @steps >= 10_000 do
        IO.puts("#{inspect(compiler)}, #{@steps} steps: #{inspect(early)} to #{inspect(late)}")
      end

      _ = state
    end
  end

  # The loss is read now and then, as a loop that reports it does.
  defp train(state, x, y, steps) do
    Enum.reduce(1..steps, {nil, state}, fn number, {loss, state} ->
      {next, state} = Network.step(state, x, y)
      {if(rem(number, 50) == 0, do: Nx.to_number(next), else: loss), state}
    end)
  end

  defp state do
    weights = %{
      w1: Nx.divide(numbers({8, 16}, 5), 4),
      b1: Nx.broadcast(0.0, {16}),
      w2: Nx.divide(numbers({16, 1}, 3), 4),
      b2: Nx.broadcast(0.0, {1})
    }

    {weights, Map.new(weights, fn {name, tensor} -> {name, Nx.multiply(tensor, 0)} end)}
  end

  # Numbers of -1 to 1 in no obvious order.
  defp numbers(shape, seed), do: Nx.sin(Nx.multiply(Nx.iota(shape, type: :f32), seed * 1.37))

  defp memory do
    :erlang.garbage_collect()
    %{device: settled(), vm: :erlang.memory(:total), resident: resident()}
  end

  # Commands may still be pending, and freed buffers are returned by a thread of the library.
  defp settled(last \\ nil, left \\ 200) do
    in_use = in_use()

    if in_use == last or left == 0 do
      in_use
    else
      receive do
      after
        20 -> settled(in_use, left - 1)
      end
    end
  end

  defp in_use, do: Compute.memory_info().in_use

  defp resident do
    with {:ok, status} <- File.read("/proc/self/status"),
         [_, kilobytes] <- Regex.run(~r/VmRSS:\s+(\d+)/, status) do
      1024 * String.to_integer(kilobytes)
    else
      _elsewhere -> 0
    end
  end
end
