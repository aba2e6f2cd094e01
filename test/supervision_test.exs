defmodule Dala.SupervisionTest do
  # The example of guides/supervision.md, and the application's own tree: every process is
  # killed, and the others keep running. Not async: names are global.
  use Dala.Test.GpuCase, async: false

  import ExUnit.CaptureLog

  alias Dala.Media.{Gpu, MediaPipeline}

  @moduletag :capture_log
  @frame :binary.copy(<<1, 2, 3, 255, 4, 5, 6, 255>>, 320 * 480)
  @mirrored :binary.copy(<<4, 5, 6, 255, 1, 2, 3, 255>>, 320 * 480)

  # The code of the guide, whose supervisor is started under the test's.
  defp start_guide do
    [[code]] =
      Regex.scan(~r/^```elixir\n(.*?)^```$/ms, File.read!("guides/supervision.md"),
        capture: :all_but_first
      )

    unless Code.ensure_loaded?(MyApp.Mirror), do: define(code)
    {_result, binding} = Code.eval_string(without_modules(code))

    # It ends with the test; the next one needs its names.
    on_exit(fn ->
      monitor = Process.monitor(binding[:supervisor])
      assert_receive {:DOWN, ^monitor, :process, _pid, _reason}, 60_000
    end)

    binding
  end

  defp define(code), do: code |> modules() |> Code.eval_string()

  # The modules come first, the tree after them.
  defp modules(code), do: code |> String.split("children = [") |> hd()

  defp without_modules(code) do
    [_modules, tree] = String.split(code, "children = [", parts: 2)
    "children = [" <> tree
  end

  # Kills a child by name and returns the process that replaced it.
  defp kill(name) do
    pid = Process.whereis(name)
    monitor = Process.monitor(pid)
    Process.exit(pid, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, 60_000
    eventually(fn -> (new = Process.whereis(name)) && new != pid && new end)
  end

  defp shown?(frame), do: Dala.Gpu.get_pixels(MyApp.Screen) == frame

  defp flows! do
    assert MediaPipeline.push(MyApp.Mirror, @frame) == :ok
    eventually(fn -> shown?(@mirrored) end)
    Dala.Gpu.clear(MyApp.Screen, :black)
    assert byte_size(Gpu.process_frame(MyApp.Thumbnails, @frame, [:grayscale])) == 640 * 480 * 4
  end

  describe "the example of the guide" do
    test "runs" do
      binding = start_guide()
      assert byte_size(binding[:small]) == 160 * 120 * 4
      eventually(fn -> not shown?(:binary.copy(<<0>>, 640 * 480 * 4)) end)
      flows!()
    end

    @parts [MyApp.Screen, MyApp.Player, MyApp.Mirror, MyApp.Thumbnails]

    for name <- @parts do
      test "goes on when #{inspect(name)} is killed, again and again" do
        start_guide()
        flows!()
        before = Enum.map(@parts -- [unquote(name)], &Process.whereis/1)

        for _ <- 1..3 do
          kill(unquote(name))
          flows!()
        end

        assert Enum.map(@parts -- [unquote(name)], &Process.whereis/1) == before
      end
    end

    test "a stream of a media pipeline takes the pipeline down, and both are restarted" do
      start_guide()
      mirror = Process.whereis(MyApp.Mirror)
      monitor = Process.monitor(mirror)
      %{ctx: %{pid: stream}} = :sys.get_state(mirror)
      Process.exit(stream, :kill)
      assert_receive {:DOWN, ^monitor, :process, ^mirror, :killed}, 60_000
      eventually(fn -> Process.whereis(MyApp.Mirror) end)
      flows!()
    end

    test "a process that is down is an error to its callers only" do
      start_guide()

      for id <- [MyApp.Mirror, MyApp.Thumbnails, MyApp.Screen],
          do: :ok = Supervisor.terminate_child(MyApp.Supervisor, id)

      error = assert_error(MediaPipeline.push(MyApp.Mirror, @frame), :freed)
      assert error.message == "the media pipeline MyApp.Mirror is not running"
      error = assert_error(Dala.Gpu.present(MyApp.Screen), :freed)
      assert error.message == "the surface MyApp.Screen is not running"

      assert_raises(:freed, "the stream MyApp.Thumbnails is not running", fn ->
        Gpu.process_frame(MyApp.Thumbnails, @frame, [])
      end)

      assert_error(
        Compute.run_to_surface(:fill, [], zeros({4}, :u8), MyApp.Screen, value: 1),
        :freed,
        "the surface MyApp.Screen is not running"
      )

      for id <- [MyApp.Screen, MyApp.Mirror, MyApp.Thumbnails],
          do: {:ok, _pid} = Supervisor.restart_child(MyApp.Supervisor, id)

      flows!()
    end

    test "a receiver that is down at delivery does not stop the pipeline" do
      start_guide()
      :ok = Supervisor.terminate_child(MyApp.Supervisor, MyApp.Player)
      mirror = Process.whereis(MyApp.Mirror)
      for _ <- 1..3, do: :ok = MediaPipeline.push(MyApp.Mirror, @frame)
      eventually(fn -> MediaPipeline.stats(MyApp.Mirror).undelivered >= 3 end)
      {:ok, _player} = Supervisor.restart_child(MyApp.Supervisor, MyApp.Player)
      flows!()
      assert Process.whereis(MyApp.Mirror) == mirror
    end

    test "frames queued when a stream is killed are errors to their callers" do
      start_guide()
      rgba = @frame
      slow = [{:denoise, %{}}, {:blur, %{radius: 60, sigma: 30.0}}]

      tasks =
        for _ <- 1..4 do
          Task.async(fn ->
            try do
              Gpu.process_frame(MyApp.Thumbnails, rgba, slow)
              :ok
            rescue
              error in Error -> error.reason
            end
          end)
        end

      stream = Process.whereis(MyApp.Thumbnails)
      # One that waits in the queue has been seen by the stream.
      eventually(fn -> Gpu.stats(stream).queued > 0 end)
      kill(MyApp.Thumbnails)
      assert :freed in Task.await_many(tasks, 60_000)
      flows!()
    end
  end

  describe "child specifications" do
    test "have default ids, and the options of the user" do
      defmodule Transient do
        use Dala.Media.MediaPipeline, restart: :transient, shutdown: 100
        def handle_frame(frame, state), do: {:ok, frame, state}
      end

      assert %{id: Transient, restart: :transient, shutdown: 100} =
               Transient.child_spec(size: {1, 1})

      assert %{id: A} = Transient.child_spec(name: A, size: {1, 1})
      assert %{id: :b} = Transient.child_spec(id: :b, name: A, size: {1, 1})
      assert %{id: Transient} = MediaPipeline.child_spec(module: Transient, size: {1, 1})
      assert %{id: Gpu.Stream} = Gpu.Stream.child_spec(size: {1, 1})
      assert %{id: :c} = Gpu.Stream.child_spec(id: :c, name: D, size: {1, 1})
      assert %{id: Dala.Gpu.Surface} = Dala.Gpu.Surface.child_spec(size: {1, 1})

      pid =
        start_supervised!(
          {MediaPipeline, module: Transient, size: {1, 1}, name: {:global, :mirror}}
        )

      # Without `to:`, the process that pushes gets the result; the supervisor gets nothing.
      assert MediaPipeline.push({:global, :mirror}, <<1, 2, 3, 4>>) == :ok
      assert_receive {:dala_media_frame, ^pid, {:ok, <<1, 2, 3, 4>>}}, 60_000
      Task.await(Task.async(fn -> MediaPipeline.push(pid, <<5, 6, 7, 8>>) end))
      refute_received {:dala_media_frame, _pid, _result}
    end

    test "that are invalid raise" do
      for {module, opts, text} <- [
            {Gpu.Stream, [], "expected size: {width, height} of the frames, got: nil"},
            {Gpu.Stream, [size: {0, 1}], "expected width and height to be integers in 1..65536"},
            {Gpu.Stream, [size: {1, 1}, depth: 3], "unknown keys [:depth]"},
            {Dala.Gpu.Surface, [size: 3],
             "expected size: {width, height} of the surface, got: 3"},
            {Dala.Gpu.Surface, [size: {1, 1}, display: 3], "expected display: to be :window"},
            {MediaPipeline, [size: {1, 1}], "expected module: with handle_frame/2, got: nil"},
            {MediaPipeline, [module: MyApp.Nothing], "expected module: with handle_frame/2"}
          ] do
        error = assert_raise(ArgumentError, fn -> module.start_link(opts) end)
        assert error.message =~ text
      end

      for {opts, text} <- [
            {[], "expected the option width: of the frames"},
            {[width: 1], "expected the option height: of the frames"},
            {[size: {1, 1}, width: 1], "expected size: {width, height}, or width: and height:"},
            {[size: {1, 1}, to: "me"], "expected to: a process, by its pid or name, got: \"me\""}
          ] do
        error =
          assert_raise(ArgumentError, fn -> MediaPipeline.start_link(__MODULE__, nil, opts) end)

        assert error.message =~ text
      end
    end

    # For the sizes above.
    def handle_frame(frame, state), do: {:ok, frame, state}

    test "of a surface too large for any device is an error with a reason" do
      assert_error(Dala.Gpu.Surface.start_link(size: {1_000_000, 1_000_000}), :invalid_param)
    end

    test "a name that is taken is refused" do
      pid = start_supervised!({Gpu.Stream, name: TwoOfOne, size: {1, 1}})

      assert Gpu.Stream.start_link(name: TwoOfOne, size: {1, 1}) ==
               {:error, {:already_started, pid}}
    end
  end

  describe "the application's own tree" do
    test "supervises surfaces and streams until their creator exits" do
      test = self()

      {creator, monitor} =
        spawn_monitor(fn ->
          {:ok, surface} = Dala.Gpu.create_surface(4, 4)
          {:ok, %{pid: stream}} = Gpu.start_pipeline(4, 4)
          send(test, {:started, surface, stream})
          receive do: (:crash -> exit(:crashed))
        end)

      assert_receive {:started, surface, stream}, 60_000
      assert surface in children(Dala.Gpu.Surfaces)
      assert stream in children(Gpu.Streams)
      watches = for pid <- [surface, stream], do: {Process.monitor(pid), pid}

      log =
        capture_log(fn ->
          send(creator, :crash)
          assert_receive {:DOWN, ^monitor, :process, _pid, :crashed}, 60_000

          for {watch, pid} <- watches,
              do: assert_receive({:DOWN, ^watch, :process, ^pid, {:shutdown, :crashed}}, 60_000)
        end)

      refute log =~ "Dala.Gpu.Surfaces"
      refute log =~ "Dala.Media.Gpu.Streams"
    end

    test "a stream or surface that is killed takes down its creator, and nothing else" do
      Process.flag(:trap_exit, true)
      {:ok, other} = Dala.Gpu.create_surface(4, 4)

      for create <- [
            fn -> Dala.Gpu.create_surface(4, 4) end,
            fn -> with {:ok, ctx} <- Gpu.start_pipeline(4, 4), do: {:ok, ctx.pid} end
          ] do
        {:ok, pid} = create.()
        Process.exit(pid, :kill)
        assert_receive {:EXIT, ^pid, :killed}, 60_000
      end

      assert Dala.Gpu.width(other) == 4
    end

    test "its children are restarted one by one, with their registrations" do
      {:ok, surface} = Dala.Gpu.create_surface(4, 4)

      for name <- [
            Dala.Gpu.Compute.Watcher,
            Dala.Gpu.Compute.MemoryPoller,
            Dala.ML.Gpu.ModelCache,
            Dala.ML.Serving.Cluster.Agent,
            Dala.ML.Supervisor,
            Dala.Media.Gpu.Streams
          ] do
        kill(name)
        assert {:ok, _pid} = Dala.Gpu.create_surface(4, 4)
      end

      assert Dala.Gpu.width(surface) == 4

      # A supervisor takes its children along, and they the processes they belong to.
      Process.flag(:trap_exit, true)
      kill(Dala.Gpu.Surfaces)
      assert_receive {:EXIT, ^surface, :killed}, 60_000
      assert {:ok, _pid} = Dala.Gpu.create_surface(4, 4)

      # Models by name are kernels, and filters know them, after the part that registers them was
      # restarted: the error is that they are not installed.
      a = zeros({1})
      assert_error(Compute.run_kernel(:blazeface, [a], a), :model_not_found, "mix dala.models")

      assert_raises(:model_not_found, "mix dala.models install deeplab", fn ->
        Gpu.apply_filter(<<1, 2, 3, 4>>, 1, 1, :segmentation)
      end)

      id = Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: a})
      assert Compute.wait(id) == :ok
    end

    test "when the application stops, surfaces stop, and it can be restarted" do
      assert {"ok\n", 0} =
               Dala.Test.ChildVM.run("""
               Logger.configure(level: :none)
               Process.flag(:trap_exit, true)
               {:ok, surface} = Dala.Gpu.create_surface(4, 4)
               :ok = Application.stop(:dala_gpu)
               receive do: ({:EXIT, ^surface, :shutdown} -> :ok)
               {:error, %{reason: :unsupported, message: message}} = Dala.Gpu.create_surface(4, 4)
               "the application :dala_gpu is not running" = message
               :ok = Application.start(:dala_gpu)
               {:ok, _surface} = Dala.Gpu.create_surface(4, 4)
               IO.puts("ok")
               """)
    end
  end

  defp children(supervisor) do
    for {_id, pid, _type, _modules} <- DynamicSupervisor.which_children(supervisor), do: pid
  end
end
