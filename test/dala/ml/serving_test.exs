defmodule Dala.ML.ServingTest do
  # Not async: names are those of the VM, and handlers of telemetry see everybody's events.
  use Dala.Test.GpuCase, async: false

  alias Dala.ML.Serving

  doctest Dala.ML.Serving

  @moduletag :capture_log

  # A sample of a page for Prometheus: a name, labels whose quotes are escaped, a number.
  @sample ~r/^([a-z_]+)\{(?:[a-z]+="(?:[^"\\]|\\.)*",?)+\} \d+(?:\.\d+)?(?:e-?\d+)?$/

  # A function that tells the test what it is to run, and waits until it may.
  defp gated(test) do
    fn inputs ->
      send(test, {:batch, self(), inputs})

      receive do
        :go -> Enum.map(inputs, &{:done, &1})
        {:go, results} -> results
        {:raise, error} -> raise error
      end
    end
  end

  defp start(name, opts) do
    opts = Keyword.merge([name: name, replicas: 1], opts)
    start_supervised!({Serving, opts}, id: name)
    name
  end

  defp start_gated(name, opts \\ []), do: start(name, [function: gated(self())] ++ opts)

  defp batch do
    assert_receive {:batch, replica, inputs}, 60_000
    {replica, inputs}
  end

  defp go(replica), do: send(replica, :go)

  defp waiting(name, count), do: eventually(fn -> Serving.info(name).waiting == count end)

  # Starts requests one after the other, each when the one before is in the queue.
  defp queue(name, inputs, opts \\ []) do
    before = Serving.info(name).received

    for {input, index} <- Enum.with_index(inputs, 1) do
      request = Serving.async_run(name, input, [timeout: :infinity] ++ opts)
      eventually(fn -> Serving.info(name).received == before + index end)
      request
    end
  end

  defp await(requests), do: Enum.map(requests, &Serving.await(&1, 60_000))

  describe "a serving of a function" do
    test "batches what waits, in sizes that have plans" do
      name = start_gated(FunctionBatches, batch: [max: 4])
      [first] = queue(name, [0])
      {replica, [0]} = batch()
      rest = queue(name, 1..7)

      go(replica)
      assert {^replica, [1, 2, 3, 4]} = batch()
      go(replica)
      # Of three that wait, two have a plan.
      assert {^replica, [5, 6]} = batch()
      go(replica)
      assert {^replica, [7]} = batch()
      go(replica)
      assert await([first | rest]) == for(n <- 0..7, do: {:ok, {:done, n}})
      assert %{batches: 4, results: %{ok: 8}, waiting: 0} = Serving.info(name)
      eventually(fn -> Serving.info(name).running == 0 end)
    end

    test "waits for more as long as delay: says, and no longer for a full batch" do
      name = start_gated(FunctionDelay, batch: [max: 2, delay: 60_000])
      requests = queue(name, [1])
      refute_received {:batch, _replica, _inputs}
      requests = requests ++ queue(name, [2])
      {replica, [1, 2]} = batch()
      go(replica)
      assert await(requests) == [ok: {:done, 1}, ok: {:done, 2}]

      short = start_gated(FunctionShortDelay, batch: [max: 2, delay: 20])
      started = System.monotonic_time(:millisecond)
      [request] = queue(short, [3])
      {replica, [3]} = batch()
      assert System.monotonic_time(:millisecond) - started >= 20
      go(replica)
      assert await([request]) == [ok: {:done, 3}]
    end

    test "keeps batches within a goal for latency" do
      # The time of a batch grows with its size; two fit into the goal.
      function = fn inputs ->
        receive do
        after
          20 * length(inputs) -> inputs
        end
      end

      name = start(Goal, function: function, warmup: 0, batch: [max: 8, goal: 70])
      assert %{batch: %{milliseconds: %{1 => one, 8 => eight}}} = Serving.info(name)
      assert one >= 20 and eight >= 160

      parent = self()

      Dala.Telemetry.attach("goal", [:dala, :serving, :batch, :stop], fn _, counts, about, _ ->
        if about.serving == name, do: send(parent, {:size, counts.batch_size})
      end)

      on_exit(fn -> Dala.Telemetry.detach("goal") end)
      requests = for n <- 1..8, do: Serving.async_run(name, n)
      assert await(requests) == for(n <- 1..8, do: {:ok, n})
      sizes = Stream.repeatedly(fn -> receive(do: ({:size, size} -> size), after: (0 -> nil)) end)
      sizes = Enum.take_while(sizes, & &1)
      assert sizes != [] and Enum.all?(sizes, &(&1 <= 2))
    end

    test "refuses what does not fit into its queue" do
      name = start_gated(FunctionFull, queue: 2, batch: [max: 1])
      requests = queue(name, [0])
      {replica, [0]} = batch()
      requests = requests ++ queue(name, [1, 2])
      error = assert_error(Serving.run(name, 3), :overloaded)
      assert error.message == "the queue of the serving FunctionFull is full (2 requests)"
      assert error.details == %{serving: name, node: node(), limit: 2}

      for n <- 0..2 do
        go(replica)
        if n < 2, do: assert({^replica, [_next]} = batch())
      end

      assert await(requests) == for(n <- 0..2, do: {:ok, {:done, n}})
      assert Serving.info(name).results.overloaded == 1
    end

    test "runs higher priorities first, which displace lower ones when it is full" do
      name = start_gated(FunctionPriorities, queue: 3, batch: [max: 1])
      [first] = queue(name, [0])
      {replica, [0]} = batch()
      [low, late] = queue(name, [:low, :late], priority: :low)
      [normal] = queue(name, [:normal])
      [high] = queue(name, [:high], priority: :high)
      assert_error(Serving.await(late), :overloaded)

      for expected <- [:high, :normal, :low] do
        go(replica)
        assert {^replica, [^expected]} = batch()
      end

      go(replica)
      assert [{:ok, _}, {:ok, _}, {:ok, _}, {:ok, _}] = await([first, low, normal, high])
    end

    test "does not run what is late, and answers within the timeout" do
      name = start_gated(FunctionLate, batch: [max: 1])
      [first] = queue(name, [0])
      {replica, [0]} = batch()
      started = System.monotonic_time(:millisecond)
      error = assert_error(Serving.run(name, 1, timeout: 50), :deadline)
      assert (System.monotonic_time(:millisecond) - started) in 50..5_000
      assert error.message == "the serving FunctionLate has not answered within 50 milliseconds"

      error =
        name |> Serving.async_run(2, timeout: 50) |> Serving.await() |> assert_error(:deadline)

      assert error.details.timeout == 50
      waiting(name, 0)
      [last] = queue(name, [3])
      go(replica)
      assert {^replica, [3]} = batch()
      go(replica)
      assert await([first, last]) == [ok: {:done, 0}, ok: {:done, 3}]
      refute_received _any
    end

    test "drops requests of processes that have ended, and those that were given up" do
      name = start_gated(FunctionGone, batch: [max: 1])
      [first] = queue(name, [0])
      {replica, [0]} = batch()
      {pid, monitor} = spawn_monitor(fn -> Serving.run(name, :gone) end)
      waiting(name, 1)
      Process.exit(pid, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, 60_000
      given_up = Serving.async_run(name, :given_up)
      waiting(name, 2)
      assert_error(Serving.await(given_up, 0), :timeout, "was not answered after 0 ms")
      waiting(name, 1)
      go(replica)
      assert await([first]) == [ok: {:done, 0}]
      waiting(name, 0)
      refute_received {:batch, _replica, _inputs}
      assert Serving.info(name).results.cancelled == 2
    end

    test "answers errors of its function for the request they are about" do
      function = fn inputs ->
        for input <- inputs do
          case input do
            :error -> {:error, %Error{reason: :unsupported, message: "not that"}}
            :raise -> raise "boom"
            :throw -> throw(:ball)
            other -> other
          end
        end
      end

      name = start(FunctionErrors, function: function)

      requests =
        for input <- [1, :error, 2, :raise, 3, :throw], do: Serving.async_run(name, input)

      assert [{:ok, 1}, unsupported, {:ok, 2}, raised, {:ok, 3}, thrown] = await(requests)
      assert_error(unsupported, :unsupported, "not that")

      assert assert_error(raised, :crashed).message ==
               "the serving's function has crashed: ** (RuntimeError) boom"

      assert_error(thrown, :crashed, "** (throw) :ball")
      assert %{ok: 3, crashed: 2, error: 1} = Serving.info(name).results
      Serving.replace(name, function: fn _inputs -> [] end)

      assert_error(
        Serving.run(name, 1),
        :crashed,
        "the function of a serving gave 0 results for 1 inputs"
      )
    end

    test "runs requests again when a replica is killed, once" do
      name = start_gated(FunctionKilled, batch: [max: 1])
      [request, other] = queue(name, [1, 2])
      {replica, [1]} = batch()
      Process.exit(replica, :kill)
      {second, [1]} = batch()
      assert second != replica
      Process.exit(second, :kill)
      error = assert_error(Serving.await(request), :crashed)
      assert error.message == "the replica that ran this request has ended: killed"
      {third, [2]} = batch()
      go(third)
      assert await([other]) == [ok: {:done, 2}]
    end

    test "requests of one key are run in order by one replica" do
      name = start_gated(FunctionKeys, replicas: 4, batch: [max: 1])
      requests = for n <- 1..3, {:ok, r} = {:ok, queue(name, [n], key: "a")}, do: hd(r)
      {replica, [1]} = batch()
      # The other replicas are free.
      [other] = queue(name, [:other])
      {free, [:other]} = batch()
      assert free != replica
      go(free)
      assert await([other]) == [ok: {:done, :other}]

      for n <- 2..3 do
        go(replica)
        assert {^replica, [^n]} = batch()
      end

      go(replica)
      assert await(requests) == for(n <- 1..3, do: {:ok, {:done, n}})
    end

    test "is replaced without a lost request" do
      name = start(Replaced, function: fn list -> Enum.map(list, &{1, &1}) end, replicas: 2)
      test = self()

      clients =
        for client <- 1..8 do
          Task.async(fn ->
            Stream.repeatedly(fn -> Serving.run(name, client, timeout: 60_000) end)
            |> Enum.reduce_while([], fn result, versions ->
              {:ok, {version, ^client}} = result
              unless version in versions, do: send(test, {:version, version})

              if version == 5,
                do: {:halt, versions},
                else: {:cont, Enum.uniq([version | versions])}
            end)
          end)
        end

      for version <- 2..5 do
        assert Serving.replace(name, function: fn list -> Enum.map(list, &{version, &1}) end) ==
                 :ok

        assert {:ok, {^version, 0}} = Serving.run(name, 0)
      end

      Task.await_many(clients, 60_000)
      assert %{results: results} = Serving.info(name)
      assert Map.drop(results, [:ok]) |> Map.values() |> Enum.sum() == 0
      # A replacement that cannot be loaded leaves the old one in its place.
      assert_error(Serving.replace(name, model: "no/such.onnx"), :model_not_found)
      assert {:ok, {5, 1}} = Serving.run(name, 1)

      assert_raise ArgumentError, ~r/expected model: or function:/, fn ->
        Serving.replace(name, [])
      end
    end

    test "does what waits before it is shut down, and refuses what comes then" do
      name = start_gated(FunctionDrain, batch: [max: 1], drain: 60_000)
      requests = queue(name, [1, 2])
      {replica, [1]} = batch()
      server = Process.whereis(name)
      stopped = Task.async(fn -> Serving.stop(name) end)
      eventually(fn -> match?({:error, %{reason: :freed}}, Serving.run(name, 3)) end)
      ref = :erlang.monitor(:process, server, alias: :reply_demonitor)
      send(server, {:request, ref, self(), 4, 1000, :normal, nil})
      assert_receive {^ref, {:refused, error}}, 60_000
      assert error.message == "the serving FunctionDrain is shutting down"
      go(replica)
      {^replica, [2]} = batch()
      go(replica)
      assert await(requests) == [ok: {:done, 1}, ok: {:done, 2}]
      assert Task.await(stopped, 60_000) == :ok
    end

    test "does not drain for longer than it may" do
      name = start_gated(FunctionNoDrain, batch: [max: 1], drain: 10)
      requests = queue(name, [1, 2])
      {_replica, [1]} = batch()
      assert :ok = Serving.stop(name)
      for result <- await(requests), do: assert_error(result, :freed, "is shutting down")
    end

    test "requests under way when the serving is killed are errors" do
      name = start_gated(FunctionServerKilled, batch: [max: 1])
      requests = queue(name, [1, 2])
      {_replica, [1]} = batch()
      direct = Task.async(fn -> Serving.run(name, 3) end)
      waiting(name, 2)
      server = Process.whereis(name)
      Process.exit(server, :kill)

      for result <- [Task.await(direct) | await(requests)] do
        assert_error(result, :device_lost, "was lost with the request: killed")
      end

      eventually(fn -> Process.whereis(name) not in [nil, server] end)
      eventually(fn -> name in Dala.ML.Serving.Cluster.local_names() end)
      [request] = queue(name, [4])
      {replica, [4]} = batch()
      go(replica)
      assert await([request]) == [ok: {:done, 4}]
    end

    test "is found again after the processes of the cluster were killed" do
      name = start(Found, function: & &1)
      assert Serving.run(name, 1) == {:ok, 1}

      for process <- [Dala.ML.Serving.Cluster.Agent, Dala.ML.Serving.Cluster] do
        pid = Process.whereis(process)
        monitor = Process.monitor(pid)
        Process.exit(pid, :kill)
        assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, 60_000
        eventually(fn -> Serving.run(name, 2) == {:ok, 2} end)
        assert [%{pid: _pid}] = Serving.info(name).cluster
        assert Serving.metrics(name) =~ "Found"
      end
    end

    test "hedges to nobody when it is alone" do
      name = start_gated(FunctionHedged)
      request = Serving.async_run(name, 1, hedge: 0)
      {replica, [1]} = batch()
      go(replica)
      assert Serving.await(request) == {:ok, {:done, 1}}
      refute_received {:batch, _replica, _inputs}
    end
  end

  test "the example of the guide runs" do
    [[code]] =
      Regex.scan(~r/^```elixir\n(.*?)^```$/ms, File.read!("guides/serving.md"),
        capture: :all_but_first
      )

    {_result, binding} = Code.eval_string(code)
    Supervisor.stop(binding[:supervisor])
  end

  test "comes back after the supervisor of its layer was restarted" do
    name = start(Restarted, function: & &1)
    pid = Process.whereis(Dala.ML.Supervisor)
    monitor = Process.monitor(pid)
    Process.exit(pid, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, 60_000
    eventually(fn -> Serving.run(name, 1) == {:ok, 1} end)
  end

  test "options that are wrong raise" do
    for {opts, text} <- [
          {[function: & &1], "expected name: of a serving as an atom, got: nil"},
          {[name: "a", function: & &1], "expected name: of a serving as an atom"},
          {[name: A], "expected model: or function: of a serving"},
          {[name: A, model: :b, function: & &1], "expected either model: or function:"},
          {[name: A, function: fn -> 1 end], "expected function: of a list of inputs"},
          {[name: A, model: 1.0], "expected model: as load_model/2 takes it"},
          {[name: A, model: :b, task: :dance], "expected task: to be one of"},
          {[name: A, function: & &1, queue: 0], "expected queue: to be from 1 to"},
          {[name: A, function: & &1, batch: [max: 0]], "expected max: to be from 1 to 1024"},
          {[name: A, function: & &1, batch: [most: 8]], "unknown keys [:most]"},
          {[name: A, function: & &1, devices: :all], "unknown keys [:devices]"}
        ] do
      error = assert_raise ArgumentError, fn -> Serving.start_link(opts) end
      assert error.message =~ text
    end

    for {opts, text} <- [
          {[timeout: -1], "expected the timeout in milliseconds or :infinity"},
          {[priority: 3], "expected priority: to be one of [:high, :normal, :low], got: 3"},
          {[hedge: :soon], "expected hedge: to be from 0 to"},
          {[retries: 1], "unknown keys [:retries]"}
        ] do
      error = assert_raise ArgumentError, fn -> Serving.run(A, 1, opts) end
      assert error.message =~ text
    end

    {:ok, _pid} = Serving.start_link(name: Owned, function: & &1)
    request = Serving.async_run(Owned, 1)
    {:error, error} = Task.await(Task.async(fn -> rescued(fn -> Serving.await(request) end) end))
    assert error.message =~ "a request is waited for by the process that made it"
    assert_raises(:freed, "the serving Nobody is not running", fn -> Serving.info(Nobody) end)
    assert_raises(:freed, "the serving Nobody is not running", fn -> Serving.metrics(Nobody) end)
    assert_error(Serving.replace(Nobody, function: & &1), :freed)
  end

  defp rescued(function) do
    function.()
  rescue
    error -> {:error, error}
  end

  test "metrics are in the format of Prometheus" do
    start(MetricsA,
      function:
        &Enum.map(&1, fn
          :bad -> raise("bad")
          x -> x
        end)
    )

    start(MetricsB, function: & &1, queue: 7)
    for n <- 1..5, do: {:ok, ^n} = Serving.run(MetricsA, n)
    assert_error(Serving.run(MetricsA, :bad), :crashed)
    eventually(fn -> Serving.info(MetricsA).results.crashed == 1 end)
    text = Serving.metrics([MetricsA, MetricsB])
    assert Serving.metrics(:all) =~ ~s(serving="MetricsA")

    for line <- [
          ~s(# TYPE dala_serving_requests_total counter),
          ~s(dala_serving_requests_total{serving="MetricsA",result="ok"} 5),
          ~s(dala_serving_requests_total{serving="MetricsA",result="crashed"} 1),
          ~s(dala_serving_queue_limit{serving="MetricsB"} 7),
          ~s(dala_serving_batch_size_bucket{serving="MetricsA",le="1"} 6),
          ~s(dala_serving_batch_size_bucket{serving="MetricsA",le="+Inf"} 6),
          ~s(dala_serving_batch_size_sum{serving="MetricsA"} 6),
          ~s(dala_serving_request_duration_seconds_count{serving="MetricsA"} 6)
        ] do
      assert String.split(text, "\n") |> Enum.member?(line), line
    end

    # Every line is a comment or a sample, every family is announced once, and buckets only grow.
    lines = String.split(text, "\n", trim: true)
    families = for "# TYPE " <> rest <- lines, do: rest |> String.split() |> hd()
    assert families == Enum.uniq(families)

    for line <- lines, not String.starts_with?(line, "#") do
      assert [_, family] = Regex.run(@sample, line), line
      assert Enum.any?(families, &String.starts_with?(family, &1)), line
    end

    for name <- ["MetricsA", "MetricsB"] do
      counts =
        Regex.scan(~r/queue_duration_seconds_bucket\{serving="#{name}",le="[^"]+"\} (\d+)/, text)
        |> Enum.map(fn [_, count] -> String.to_integer(count) end)

      assert length(counts) == 16 and counts == Enum.sort(counts)
    end
  end

  test "events of requests and batches" do
    parent = self()
    events = for %{event: [:dala, :serving | _] = event} <- Dala.Telemetry.events(), do: event

    :ok =
      Dala.Telemetry.attach_many("serving", events, fn event, measurements, metadata, _ ->
        if metadata.serving == Observed,
          do: send(parent, {Enum.drop(event, 2), measurements, metadata})
      end)

    on_exit(fn -> Dala.Telemetry.detach("serving") end)

    start(Observed,
      function:
        &Enum.map(&1, fn
          :bad -> raise("bad")
          x -> x
        end)
    )

    assert Serving.run(Observed, 1, priority: :high, key: "k") == {:ok, 1}
    assert_receive {[:request, :start], %{queue_length: 0, monotonic_time: at}, about}, 60_000
    assert is_integer(at)
    assert about == %{serving: Observed, node: node(), priority: :high, key: "k"}
    assert_receive {[:batch, :start], %{batch_size: 1, queue_length: 0}, about}, 60_000
    assert %{serving: Observed, replica: 0, model: "#Function" <> _} = about
    assert_receive {[:batch, :stop], %{batch_size: 1, duration: batch}, %{result: :ok}}, 60_000
    assert_receive {[:request, :stop], measurements, %{result: :ok}}, 60_000
    assert %{duration: duration, queue_time: queue_time, batch_size: 1} = measurements
    assert duration >= batch and queue_time >= 0 and queue_time <= duration
    assert_error(Serving.run(Observed, :bad), :crashed)
    assert_receive {[:batch, :exception], %{batch_size: 1}, about}, 60_000
    assert %{kind: :error, reason: %RuntimeError{message: "bad"}, stacktrace: [_ | _]} = about
    assert_receive {[:request, :exception], %{batch_size: 1}, %{kind: :error}}, 60_000
  end
end
