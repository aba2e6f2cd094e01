defmodule Dala.Test.Soak do
  @moduledoc false
  # A soak test: actors that run concurrently and each check their own results, and a conductor that
  # kills one of them every few milliseconds and starts another in its place.
  #
  # An actor is a function that runs one round; a process calls it in a loop. It raises on a wrong
  # result. Running out of memory is expected: it ends a round early.

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Command, Error, Kernel, Pipeline}
  alias Dala.Media
  alias Dala.ML
  alias Dala.Test.SmallNetwork

  @kinds [:kernels, :commands, :pipelines, :custom, :models, :streams, :surfaces, :memory]
  @of_each 2
  @pause_ms 3
  @small_limit 1024 * 1024 * 1024

  @doc "Creates the state that the actors share, with the expected results."
  def prepare do
    {:ok, model} = ML.Gpu.load_model({:binary, SmallNetwork.onnx()})

    predictions =
      for seed <- 1..4 do
        shape = {seed, 3, 32, 32}
        bytes = SmallNetwork.input(shape, seed)
        {:ok, output} = ML.Gpu.predict(model, Compute.buffer_from_binary(bytes, shape, :f32))
        {shape, bytes, Compute.read(output)}
      end

    frame = Media.TestScene.frame(64, 48)
    {:ok, ctx} = Media.Gpu.start_pipeline(64, 48)

    filtered =
      for filters <- filters(), do: {filters, Media.Gpu.process_frame(ctx, frame, filters)}

    Media.Gpu.stop_pipeline(ctx)

    # Compiled once for each name; later rounds find it in the cache.
    %{model: model, predictions: predictions, frame: frame, filtered: filtered}
  end

  defp filters do
    [[{:blur, %{radius: 2}}, :sepia], [:grayscale, {:brightness, %{value: 0.2}}], [:edge_detect]]
  end

  @doc "Runs all actors until `deadline`, a monotonic time in milliseconds; returns the counts."
  def run(shared, deadline) do
    slots = for kind <- @kinds, number <- 1..@of_each, do: {kind, number}
    rounds = :counters.new(length(@kinds), [])
    refused = :counters.new(1, [])
    actors = Map.new(slots, &start(&1, shared, rounds, refused))
    kills = conduct(actors, {shared, rounds, refused}, deadline, 0)

    %{
      rounds:
        for({kind, index} <- Enum.with_index(@kinds, 1), do: {kind, :counters.get(rounds, index)}),
      refused: :counters.get(refused, 1),
      kills: kills
    }
  end

  defp start({kind, _number} = slot, shared, rounds, refused) do
    index = Enum.find_index(@kinds, &(&1 == kind)) + 1
    {pid, monitor} = spawn_monitor(fn -> repeat(kind, shared, rounds, index, refused) end)
    {monitor, {slot, pid}}
  end

  defp repeat(kind, shared, rounds, index, refused) do
    case act(kind, shared) do
      :ok -> :counters.add(rounds, index, 1)
      :refused -> :counters.add(refused, 1, 1)
    end

    repeat(kind, shared, rounds, index, refused)
  end

  # A function that returns an error and one that raises it end a round alike.
  defp act(kind, shared) do
    case round(kind, shared) do
      {:error, %Error{reason: :out_of_memory}} -> :refused
      :ok -> :ok
    end
  rescue
    error in Error ->
      if error.reason == :out_of_memory, do: :refused, else: reraise(error, __STACKTRACE__)
  end

  defp conduct(actors, context, deadline, kills) do
    receive do
      {:DOWN, monitor, :process, _pid, :killed} when is_map_key(actors, monitor) ->
        {{slot, _pid}, actors} = Map.pop!(actors, monitor)
        {shared, rounds, refused} = context
        {monitor, started} = start(slot, shared, rounds, refused)
        conduct(Map.put(actors, monitor, started), context, deadline, kills)

      {:DOWN, monitor, :process, _pid, reason} when is_map_key(actors, monitor) ->
        stop(actors)
        raise "#{inspect(elem(actors[monitor], 0))} ended: #{inspect(reason)}"
    after
      :rand.uniform(2 * @pause_ms) ->
        if System.monotonic_time(:millisecond) < deadline do
          {_monitor, {_slot, pid}} = Enum.random(actors)
          Process.exit(pid, :kill)
          conduct(actors, context, deadline, kills + 1)
        else
          stop(actors)
          kills
        end
    end
  end

  defp stop(actors) do
    for {_monitor, {_slot, pid}} <- actors, do: Process.exit(pid, :kill)

    for {monitor, _actor} <- actors do
      receive do: ({:DOWN, ^monitor, :process, _pid, _reason} -> :ok)
    end
  end

  # The rounds

  defp round(:kernels, _shared) do
    size = Enum.random([1, 17, 1_000, 100_000])
    a = Compute.buffer_from_binary(repeated(3, size), {size}, :s32)
    b = Compute.buffer_zeros({size}, :s32)

    with :ok <- Compute.run_kernel(:scalar_mul, [a], b, scalar: 5),
         :ok <- Compute.run_kernel(:elementwise_add, [a, b], b) do
      expect(Compute.read(b) == repeated(18, size))
    end
  end

  # Counts on one buffer; what was cancelled must not have counted, and all else must have.
  defp round(:commands, _shared) do
    counter = Compute.buffer_zeros({4}, :s32)
    one = Compute.buffer([1, 1, 1, 1], {4}, :s32)
    add = %{op: :run_kernel, kernel: :elementwise_add, inputs: [counter, one], output: counter}
    ids = for _ <- 1..20, do: Compute.submit(add)
    for id <- Enum.take_random(ids, 5), do: Command.cancel(id)

    results = for id <- ids, do: Command.wait(id, 60_000)
    done = Enum.count(results, &(&1 == :ok))
    expect(Enum.all?(results, &(&1 == :ok or reason(&1) in [:cancelled, :out_of_memory])))
    expect(Compute.read(counter) == repeated(done, 4))
  end

  defp round(:pipelines, _shared) do
    a = Compute.buffer_from_binary(repeated(2, 1_000), {1_000}, :s32)
    b = Compute.buffer_zeros({1_000}, :s32)

    pipeline =
      Pipeline.new()
      |> Pipeline.add(%{op: :run_kernel, kernel: :neg, inputs: [a], output: b})
      |> Pipeline.add(%{
        op: :run_kernel,
        kernel: :scalar_mul,
        inputs: [b],
        output: b,
        params: %{scalar: 3}
      })
      |> Pipeline.add(%{op: :copy_buffer, inputs: [b], output: a})

    with :ok <- Pipeline.run(pipeline),
         :ok <- Pipeline.run(pipeline) do
      expect(Compute.read(a) == repeated(18, 1_000))
    end
  end

  defp round(:custom, _shared) do
    name = :"soak_#{:rand.uniform(4)}"
    x = Compute.buffer([1, 2, 3], {3})
    y = Compute.buffer_zeros({3}, :f32)

    with :ok <- Kernel.elementwise(name, "x * x + 1") do
      # Another actor may unregister the name at any moment.
      case Compute.run_kernel(name, [x], y) do
        :ok -> expect(Compute.read_list(y) == [2.0, 5.0, 10.0])
        failed -> expect(reason(failed) == :unknown_kernel)
      end

      if :rand.uniform(2) == 1, do: Kernel.unregister(name)
      :ok
    end
  end

  defp round(:models, %{model: model, predictions: predictions}) do
    {shape, bytes, expected} = Enum.random(predictions)
    input = Compute.buffer_from_binary(bytes, shape, :f32)

    with {:ok, prediction} <- ML.Gpu.predict_async(model, input) do
      Compute.free(input)

      case ML.Gpu.await(prediction, Enum.random([0, 1, 60_000])) do
        {:ok, output} -> expect(Compute.read(output) == expected)
        {:error, %Error{reason: :timeout}} -> :ok
        failed -> failed
      end
    end
  end

  defp round(:streams, %{frame: frame, filtered: filtered}) do
    {:ok, ctx} = Media.Gpu.start_pipeline(64, 48)

    for {filters, expected} <- filtered,
        do: expect(Media.Gpu.process_frame(ctx, frame, filters) == expected)

    Media.Gpu.stop_pipeline(ctx)
  end

  defp round(:surfaces, _shared) do
    with {:ok, surface} <- Dala.Gpu.create_surface(16, 16),
         :ok <- Dala.Gpu.clear(surface, {1, 2, 3, 4}),
         :ok <- Dala.Gpu.fill_rect(surface, 0, 0, 16, 16, {9, 8, 7, 255}) do
      expect(Dala.Gpu.get_pixels(surface) == :binary.copy(<<9, 8, 7, 255>>, 256))
      Dala.Gpu.destroy_surface(surface)
    end
  end

  # Takes up to half of a small limit: two of these leave nothing to the others. Half of the pieces
  # go back at once, and half with the process or its next garbage collection.
  defp round(:memory, _shared) do
    limit = Compute.memory_info().limit
    # Without a configured limit, do not fill the machine's memory.
    piece = if limit <= @small_limit, do: div(limit, 8), else: 2 * 1024 * 1024
    pieces = for _ <- 1..4, do: Compute.buffer_zeros({piece}, :u8)
    Compute.free_many(Enum.take(pieces, 2))
  end

  defp repeated(number, count), do: :binary.copy(<<number::signed-32-native>>, count)

  defp reason({:error, %Error{reason: reason}}), do: reason
  defp reason(_other), do: nil

  defp expect(true), do: :ok
end
