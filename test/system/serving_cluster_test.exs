defmodule Dala.System.ServingClusterTest do
  # Servings of one name on three nodes of this machine, under load from a fourth, this VM, which has
  # none. One node after the other is killed, suspended and cut off. Some seconds here, for many
  # rounds by `make soak-serving`.
  use Dala.Test.GpuCase, async: false

  alias Dala.ML.Serving
  alias Dala.Test.ServingNodes

  @moduletag :capture_log
  @moduletag timeout: :infinity
  @rounds String.to_integer(System.get_env("DALA_SERVING_ROUNDS", "1"))
  @timeout 1_000
  @serving [name: Clustered, batch: [max: 4], replicas: 2]

  setup_all do
    :ok = ServingNodes.start_distribution()
    on_exit(fn -> Node.stop() end)
    :ok
  end

  defp start_nodes(names) do
    nodes = Enum.map(names, &ServingNodes.start_node/1)
    for node <- nodes, do: on_exit(fn -> ServingNodes.stop(node) end)
    nodes
  end

  # Until all nodes know each other's servings, and this one all of them.
  defp serve(nodes, opts) do
    for node <- nodes, do: :ok = ServingNodes.serve(node, opts)
    all = nodes |> Enum.map(& &1.node) |> Enum.sort()
    eventually(fn -> known(opts[:name]) == all end)

    for node <- nodes do
      eventually(fn ->
        info = ServingNodes.call(node, Serving, :info, [opts[:name]])
        Enum.sort(Enum.map(info.cluster, & &1.node)) == all
      end)
    end
  end

  defp known(name) do
    name |> Dala.ML.Serving.Cluster.members() |> Enum.map(&node(&1.pid)) |> Enum.sort()
  end

  test "every request has one answer while nodes are killed, suspended and cut off" do
    [a, b, c] = start_nodes([:a, :b, :c])
    serve([a, b, c], @serving)
    load = ServingNodes.start_load(Clustered, 12, timeout: @timeout)
    for node <- [a, b, c], do: ServingNodes.await_answers(load, node.node, 20)

    {a, _b, _c} =
      Enum.reduce(1..@rounds, {a, b, c}, fn round, {a, b, c} ->
        a = kill(load, a, [b, c])
        suspend(load, b, [a, c])
        cut_off(load, c, [a, b])
        for node <- [a, b, c], do: ServingNodes.await_answers(load, node.node, 20)
        if @rounds > 1, do: IO.puts("round #{round}: #{inspect(ServingNodes.outcomes(load))}")
        {a, b, c}
      end)

    outcomes = ServingNodes.stop_load(load, @timeout)

    # Only a node that does not say that it is suspended costs requests; those sent to it before it
    # was suspect are late.
    assert Enum.all?(outcomes, fn
             {{:ok, _node}, _count} -> true
             {{:error, reason}, count} -> reason == :deadline and count <= 200 * @rounds
           end),
           inspect(outcomes)

    assert is_struct(a)
  end

  # What was under way there runs elsewhere.
  defp kill(load, node, others) do
    since = ServingNodes.now()
    ServingNodes.signal(node, "KILL")
    eventually(fn -> node.node not in Node.list() end)
    ServingNodes.connect(others)
    for other <- others, do: ServingNodes.await_answers(load, other.node, 20)
    refute_errors(load, since)
    again = ServingNodes.start_node(node.name)
    :ok = ServingNodes.serve(again, @serving)
    ServingNodes.connect([again | others])
    ExUnit.Callbacks.on_exit(fn -> ServingNodes.stop(again) end)
    ServingNodes.await_answers(load, again.node, 20)
    refute_errors(load, since)
    again
  end

  defp suspend(load, node, others) do
    ServingNodes.signal(node, "STOP")

    try do
      eventually(fn ->
        members = Dala.ML.Serving.Cluster.members(Clustered)
        Enum.any?(members, &(node(&1.pid) == node.node and &1.suspect))
      end)

      # From here on nothing is sent to it.
      since = ServingNodes.now()
      for other <- others, do: ServingNodes.await_answers(load, other.node, 50)
      refute_errors(load, since)
    after
      ServingNodes.signal(node, "CONT")
    end

    ServingNodes.await_answers(load, node.node, 20)
  end

  defp cut_off(load, node, others) do
    since = ServingNodes.now()
    ServingNodes.disconnect(node)
    eventually(fn -> node.node not in Node.list() end)
    ServingNodes.connect(others)
    for other <- others, do: ServingNodes.await_answers(load, other.node, 20)
    # It serves its own clients meanwhile.
    assert {:ok, {own, 1}} = ServingNodes.call(node, Serving, :run, [Clustered, {0, 1}])
    assert own == node.node
    refute_errors(load, since)
    ServingNodes.connect([node | others])
    ServingNodes.await_answers(load, node.node, 20)
    refute_errors(load, since)
  end

  defp refute_errors(load, since) do
    for {outcome, _count} <- ServingNodes.outcomes(load, since),
        do: assert({:ok, _node} = outcome)
  end

  test "hedged requests do not wait for a node that is suspended" do
    [a, b] = nodes = start_nodes([:hedge_a, :hedge_b])
    serve(nodes, name: Hedged, batch: [max: 4])
    load = ServingNodes.start_load(Hedged, 4, timeout: 5_000, hedge: 50)
    for node <- nodes, do: ServingNodes.await_answers(load, node.node, 10)
    ServingNodes.signal(a, "STOP")
    ServingNodes.await_answers(load, b.node, 50)
    ServingNodes.signal(a, "CONT")
    ServingNodes.await_answers(load, a.node, 10)
    outcomes = ServingNodes.stop_load(load, 5_000, 0)
    assert Enum.all?(Map.keys(outcomes), &match?({:ok, _node}, &1)), inspect(outcomes)
  end

  test "the own node, keys, priorities, refusals and buffers" do
    [a, b] = nodes = start_nodes([:own_a, :own_b])
    serve(nodes, name: Near, queue: 1, replicas: 1, batch: [max: 1])

    # A node that is idle serves itself.
    for node <- nodes, n <- 1..20 do
      own = node.node
      assert {:ok, {^own, ^n}} = ServingNodes.call(node, Serving, :run, [Near, {0, n}])
    end

    # A key stays with one node; keys are spread over nodes.
    homes =
      for key <- 1..32 do
        answers = for n <- 1..3, do: Serving.run(Near, {0, n}, key: key)
        assert [{:ok, {home, 1}}, {:ok, {home, 2}}, {:ok, {home, 3}}] = answers
        home
      end

    assert Enum.sort(Enum.uniq(homes)) == Enum.sort([a.node, b.node])

    # Both together hold four requests of these: two run, two wait.
    results =
      1..12
      |> Enum.map(&Serving.async_run(Near, {1_000, &1}, timeout: 60_000))
      |> Enum.map(&Serving.await/1)

    assert Enum.count(results, &match?({:ok, _}, &1)) in 4..12
    errors = for {:error, error} <- results, do: error
    assert errors != []
    for error <- errors, do: assert(error.reason == :overloaded and error.details.limit == 1)

    # A serving that is shut down passes on what comes.
    :ok = ServingNodes.call(a, Serving, :stop, [Near])
    eventually(fn -> match?({:ok, {_, 1}}, Serving.run(Near, {0, 1})) end)

    # The content of buffers travels.
    :ok = ServingNodes.serve(b, name: FarDouble, model: Path.expand("examples/double.onnx"))
    eventually(fn -> known(FarDouble) == [b.node] end)
    input = Compute.buffer([1, 2, 3], {1, 3})
    assert {:ok, %Buffer{shape: {1, 3}} = output} = Serving.run(FarDouble, input, timeout: 60_000)
    assert Compute.read_list(output) == [2.0, 4.0, 6.0]
    assert {:ok, %Buffer{}} = Serving.run(FarDouble, %{"x" => input}, timeout: 60_000)
    freed = Compute.buffer([1, 2, 3], {1, 3})
    Compute.free(freed)
    assert_error(Serving.run(FarDouble, freed), :freed)

    # Without a node there is no answer to wait for.
    ServingNodes.signal(b, "KILL")
    eventually(fn -> b.node not in Node.list() end)
    assert_error(Serving.run(FarDouble, input), :freed, "the serving FarDouble is not running")
  end
end
