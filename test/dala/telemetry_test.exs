defmodule Dala.TelemetryTest do
  # Not async: handlers see the events of every process.
  use Dala.Test.GpuCase, async: false

  import ExUnit.CaptureLog

  alias Dala.Gpu.Compute.{MemoryPoller, Watcher}
  alias Dala.Telemetry

  doctest Dala.Telemetry

  @guide "guides/serving.md"

  defp listen(events) do
    parent = self()
    id = make_ref()

    :ok =
      Telemetry.attach_many(id, events, fn event, measurements, metadata, _config ->
        send(parent, {:event, event, measurements, metadata})
      end)

    on_exit(fn -> Telemetry.detach(id) end)
  end

  test "handlers get the event, measurements, metadata and their config, until they are detached" do
    parent = self()

    tell = fn event, measurements, metadata, config ->
      send(parent, {event, measurements, metadata, config})
    end

    assert Telemetry.attach(:one, [:a, :b], tell, :config) == :ok
    assert Telemetry.attach(:two, [:a, :b], tell) == :ok
    assert Telemetry.attach(:one, [:a, :c], tell) == {:error, :already_exists}
    assert Telemetry.listening?([:a, :b])
    assert Telemetry.execute([:a, :b], %{n: 1}, %{m: 2}) == :ok
    assert_received {[:a, :b], %{n: 1}, %{m: 2}, :config}
    assert_received {[:a, :b], %{n: 1}, %{m: 2}, nil}
    assert Telemetry.execute([:a, :c], %{}, %{}) == :ok
    assert Telemetry.detach(:one) == :ok
    assert Telemetry.detach(:one) == {:error, :not_found}
    Telemetry.execute([:a, :b], %{}, %{})
    assert_received {[:a, :b], %{}, %{}, nil}
    refute_received {[:a, :b], %{}, %{}, :config}
    assert Telemetry.detach(:two) == :ok
  end

  test "handlers that are attached and detached at once are all there, and all gone" do
    ids = Enum.to_list(1..50)

    attach =
      &Telemetry.attach({:many, &1}, [:many, rem(&1, 5) |> to_string() |> String.to_atom()], fn _,
                                                                                                _,
                                                                                                _,
                                                                                                _ ->
        :ok
      end)

    assert ids |> Enum.map(&Task.async(fn -> attach.(&1) end)) |> Task.await_many() |> Enum.uniq() ==
             [:ok]

    assert ids
           |> Enum.map(&Task.async(fn -> Telemetry.detach({:many, &1}) end))
           |> Task.await_many()
           |> Enum.uniq() == [:ok]
  end

  test "a handler that fails is detached and logged, and spoils nothing" do
    for {fail, text} <- [
          {fn _, _, _, _ -> raise "boom" end, "boom"},
          {fn _, _, _, _ -> throw(:ball) end, ":ball"},
          {fn _, _, _, _ -> exit(:stage) end, ":stage"}
        ] do
      :ok = Telemetry.attach("bad", [:bad], fail)
      log = capture_log(fn -> assert Telemetry.execute([:bad], %{}, %{}) == :ok end)
      assert log =~ ~s(the handler "bad" of [:bad] has failed and is detached)
      assert log =~ text
      assert Telemetry.detach("bad") == {:error, :not_found}
    end
  end

  test "what is malformed raises" do
    assert_raise ArgumentError, ~r/expected an event as a list of atoms/, fn ->
      Telemetry.attach("x", "event", fn _, _, _, _ -> :ok end)
    end

    assert_raise ArgumentError, ~r/expected a function of event, measurements/, fn ->
      Telemetry.attach("x", [:event], fn -> :ok end)
    end
  end

  test "a span has a start and a stop, or an exception" do
    listen([[:work, :start], [:work, :stop], [:work, :exception]])
    assert Telemetry.span([:work], %{n: 1}, fn -> {:ok, 2} end) == {:ok, 2}
    assert_received {:event, [:work, :start], %{system_time: _, monotonic_time: started}, %{n: 1}}
    assert_received {:event, [:work, :stop], %{duration: duration, monotonic_time: ended}, about}
    assert ended - started == duration and duration >= 0
    assert about == %{n: 1, result: :ok}
    error = {:error, %Error{reason: :freed, message: "gone"}}
    assert Telemetry.span([:work], %{}, fn -> error end) == error
    assert_received {:event, [:work, :stop], _measurements, %{result: :freed}}
    assert_raise RuntimeError, fn -> Telemetry.span([:work], %{}, fn -> raise "boom" end) end
    assert_received {:event, [:work, :exception], %{duration: _}, about}
    assert %{kind: :error, reason: %RuntimeError{message: "boom"}, stacktrace: [_ | _]} = about
  end

  test "commands, builds, memory and a lost device are events" do
    listen(for %{event: event} <- Telemetry.events(), do: event)
    a = Compute.buffer([1, 2], {2})
    assert Compute.relu(a, a) == :ok
    assert_receive {:event, [:dala, :command, :start], _, %{op: :run_kernel, name: "relu"}}

    assert_receive {:event, [:dala, :command, :stop], %{duration: _},
                    %{name: "relu", result: :ok}}

    assert_error(Compute.run_kernel(:no_such_kernel, [a], a), :unknown_kernel)
    assert_receive {:event, [:dala, :command, :stop], _, %{result: :unknown_kernel}}
    id = Compute.submit(%{op: :run_kernel, kernel: :neg, inputs: [a], output: a})
    assert_receive {:event, [:dala, :command, :submit], %{system_time: _}, about}
    assert about == %{op: :run_kernel, name: "neg", id: id}
    assert Pipeline.run(Pipeline.new()) == :ok
    assert_receive {:event, [:dala, :command, :stop], _, %{op: :pipeline, result: :ok}}

    :ok = Kernel.elementwise(:telemetry_square, "x * x")
    assert_receive {:event, [:dala, :program, :build, :stop], _, about}
    assert about == %{kind: :kernel, name: "telemetry_square", result: :ok}
    assert_error(Kernel.register(:telemetry_bad, "__kernel void telemetry_bad("), :build_failed)
    assert_receive {:event, [:dala, :program, :build, :stop], _, %{result: :build_failed}}
    {:ok, model} = Dala.ML.Gpu.load_model("examples/double.onnx")
    assert_receive {:event, [:dala, :program, :build, :stop], _, %{kind: :model, name: "double"}}
    {:ok, _output} = Dala.ML.Gpu.predict(model, Compute.buffer([1, 2, 3], {1, 3}))
    assert_receive {:event, [:dala, :command, :stop], _, %{op: :predict, name: "double"}}

    assert MemoryPoller.poll()
    assert_receive {:event, [:dala, :memory], memory, %{}}
    assert Enum.sort(Map.keys(memory)) == [:in_use, :limit, :peak, :pooled, :shared]
    assert memory.in_use > 0

    capture_log(fn ->
      send(
        Watcher,
        {:dala_gpu_lost, {:error, %Error{reason: :device_error, message: "it is gone"}}}
      )

      assert_receive {:event, [:dala, :device, :lost], %{system_time: _}, about}, 60_000
      assert about == %{reason: :device_error, message: "it is gone"}
    end)
  end

  test "every event has the measurements and metadata that are documented" do
    listen(for %{event: event} <- Telemetry.events(), do: event)
    documented = Map.new(Telemetry.events(), &{&1.event, &1})
    name = DocumentedEvents
    function = &Enum.map(&1, fn x -> if(x == :bad, do: raise("bad"), else: x) end)
    start_supervised!({Dala.ML.Serving, name: name, function: function})
    {:ok, 1} = Dala.ML.Serving.run(name, 1)
    {:error, _error} = Dala.ML.Serving.run(name, :bad)
    a = Compute.buffer([1, 2], {2})
    Compute.relu(a, a)
    :ok = Kernel.elementwise(:telemetry_documented, "x + 1")
    Compute.wait(Compute.submit(%{op: :run_kernel, kernel: :neg, inputs: [a], output: a}))
    MemoryPoller.poll()

    seen =
      for event <- [
            [:dala, :serving, :request, :start],
            [:dala, :serving, :request, :stop],
            [:dala, :serving, :request, :exception],
            [:dala, :serving, :batch, :start],
            [:dala, :serving, :batch, :stop],
            [:dala, :serving, :batch, :exception],
            [:dala, :command, :start],
            [:dala, :command, :stop],
            [:dala, :command, :submit],
            [:dala, :program, :build, :start],
            [:dala, :program, :build, :stop],
            [:dala, :memory]
          ] do
        assert_receive {:event, ^event, measurements, metadata}, 60_000
        assert Enum.sort(Map.keys(measurements)) == Enum.sort(documented[event].measurements)
        assert Enum.sort(Map.keys(metadata)) == Enum.sort(documented[event].metadata)
        event
      end

    assert length(seen) == 12
  end

  test "an event that nobody listens to costs next to nothing" do
    # Where the package :telemetry is loaded, its table of handlers is looked at, too.
    loaded? = :erlang.function_exported(:telemetry, :execute, 3)
    assert Telemetry.active?() == loaded?
    rounds = 200_000
    bare = time(rounds, fn -> :ok end)

    span =
      time(rounds, fn ->
        Telemetry.span([:dala, :command], %{op: :x, name: nil}, fn -> :ok end)
      end)

    assert span - bare < if(loaded?, do: 10_000, else: 1_000), "#{span - bare} ns"

    if System.get_env("DALA_TELEMETRY_COST"),
      do: IO.puts("\na span without listeners: #{span - bare} ns")
  end

  # Nanoseconds of a call: the least of several runs.
  defp time(rounds, fun) do
    for _ <- 1..5 do
      {micros, :ok} = :timer.tc(fn -> Enum.each(1..rounds, fn _ -> fun.() end) end)
      1000 * micros / rounds
    end
    |> Enum.min()
    |> round()
  end

  describe "the package :telemetry" do
    # A module of that name that tells who listens, in a VM of its own: this one must not have it.
    test "gets every event where it is loaded" do
      code = """
      defmodule :telemetry do
        def execute(event, measurements, metadata) do
          IO.puts(inspect({event, Enum.sort(Map.keys(measurements)), metadata}))
        end
      end

      true = Dala.Telemetry.listening?([:any])
      Dala.Telemetry.span([:work], %{n: 1}, fn -> :ok end)
      """

      {output, 0} = Dala.Test.ChildVM.run(code)
      assert output =~ "{[:work, :start], [:monotonic_time, :system_time], %{n: 1}}"
      assert output =~ "{[:work, :stop], [:duration, :monotonic_time], %{n: 1, result: :ok}}"
    end
  end

  test "the table of the guide is what the code says" do
    rows =
      for %{event: event} = about <- Telemetry.events() do
        list = &Enum.map_join(&1, ", ", fn name -> "`#{name}`" end)

        "| `#{inspect(event)}` | #{about.when} | #{list.(about.measurements)} | " <>
          "#{list.(about.metadata)} |"
      end

    table =
      Enum.join(["| Event | When | Measurements | Metadata |", "|---|---|---|---|" | rows], "\n")

    guide = File.read!(@guide)
    [before, rest] = String.split(guide, "<!-- events -->\n", parts: 2)
    [_old, behind] = String.split(rest, "\n<!-- end of events -->", parts: 2)
    renewed = before <> "<!-- events -->\n" <> table <> "\n<!-- end of events -->" <> behind

    if System.get_env("DALA_UPDATE_GUIDES"), do: File.write!(@guide, renewed)
    assert File.read!(@guide) == renewed
  end
end
