defmodule Dala.Gpu.SurfaceTest do
  # Counters of bytes are the device's, so nothing else may run meanwhile.
  use Dala.Test.GpuCase, async: false

  alias Dala.Gpu
  alias Dala.Media.Image
  alias Dala.Test.OnnxFile

  doctest Dala.Gpu, import: false
  doctest Dala.Gpu.Surface

  defp surface(width, height) do
    {:ok, surface} = Gpu.create_surface(width, height)
    surface
  end

  # Rows of pixels, each as its red channel.
  defp reds(surface) do
    for(<<r, _, _, _ <- Gpu.get_pixels(surface)>>, do: r) |> Enum.chunk_every(Gpu.width(surface))
  end

  describe "drawing" do
    test "happens in order and clipped, whichever process calls" do
      surface = surface(5, 4)
      assert Gpu.get_pixels(surface) == :binary.copy(<<0>>, 80)
      :ok = Gpu.clear(surface, {9, 0, 0})
      :ok = Gpu.fill_rect(surface, 3, 2, 100, 100, {1, 0, 0})
      Task.await(Task.async(fn -> Gpu.fill_rect(surface, -5, -5, 7, 6, {2, 0, 0}) end))
      :ok = Gpu.draw_line(surface, 0, 3, 3, 0, {3, 0, 0})
      :ok = Gpu.draw_line(surface, 4, -10, 4, 10, {4, 0, 0})
      :ok = Gpu.fill_rect(surface, 0, 0, 0, 4, {5, 0, 0})

      assert reds(surface) == [
               [2, 2, 9, 3, 4],
               [9, 9, 3, 9, 4],
               [9, 3, 9, 1, 4],
               [3, 9, 9, 1, 4]
             ]
    end

    test "blends by alpha, except for clear" do
      surface = surface(1, 1)
      :ok = Gpu.clear(surface, {100, 100, 100, 100})
      :ok = Gpu.fill_rect(surface, 0, 0, 1, 1, {200, 0, 50, 128})
      # In floating point: alpha 0.502 over 0.392.
      {a, b} = {128 / 255, 100 / 255 * (1 - 128 / 255)}
      mixed = for channel <- [200, 0, 50], do: round((channel * a + 100 * b) / (a + b))
      assert Gpu.get_pixels(surface) == :binary.list_to_bin(mixed ++ [round(255 * (a + b))])
      :ok = Gpu.clear(surface, :transparent)
      assert Gpu.get_pixels(surface) == <<0, 0, 0, 0>>
    end

    test "does not change pixels that were read before" do
      surface = surface(64, 64)
      :ok = Gpu.clear(surface, :red)
      red = Gpu.get_pixels(surface)
      :ok = Gpu.fill_rect(surface, 0, 0, 64, 32, :blue)
      assert red == :binary.copy(<<255, 0, 0, 255>>, 64 * 64)

      assert Gpu.get_pixels(surface) ==
               :binary.copy(<<0, 0, 255, 255>>, 64 * 32) <>
                 :binary.copy(<<255, 0, 0, 255>>, 64 * 32)
    end

    test "many commands, queued faster than they run" do
      surface = surface(16, 16)
      for i <- 1..5000, do: :ok = Gpu.fill_rect(surface, 0, 0, 16, 16, {rem(i, 256), 0, 0})
      assert Gpu.present(surface) == :ok
      assert reds(surface) == List.duplicate(List.duplicate(rem(5000, 256), 16), 16)
    end
  end

  describe "pixels" do
    test "as a binary, an image and a buffer" do
      surface = surface(40, 30)
      pixels = for i <- 1..(40 * 30 * 4), into: <<>>, do: <<rem(i * 7, 256)>>
      assert Gpu.set_pixels(surface, pixels) == :ok
      assert Gpu.get_pixels(surface) == pixels
      assert Gpu.set_pixels(surface, Image.new(40, 30, :orange)) == :ok
      assert Gpu.get_pixels(surface) == :binary.copy(<<255, 165, 0, 255>>, 1200)
      buffer = Compute.buffer_from_binary(pixels, {30, 40, 4}, :u8)
      assert Gpu.set_pixels(surface, buffer) == :ok
      Compute.free(buffer)
      :ok = Gpu.fill_rect(surface, 0, 0, 1, 1, :black)
      assert Gpu.get_pixels(surface) == <<0, 0, 0, 255>> <> binary_part(pixels, 4, 4796)
      # The binary that was set is as it was.
      assert binary_part(pixels, 0, 3) == <<7, 14, 21>>
    end

    test "changed by a function" do
      surface = surface(2, 2)
      :ok = Gpu.clear(surface, :white)

      assert Gpu.with_pixels(surface, fn pixels ->
               for <<channel <- pixels>>, into: <<>>, do: <<255 - channel>>
             end) == :ok

      assert Gpu.get_pixels(surface) == :binary.copy(<<0>>, 16)
      assert_error(Gpu.with_pixels(surface, fn _ -> "short" end), :shape_mismatch, "got 5 bytes")

      assert_raise ArgumentError, ~r/expected the function to return the new pixels/, fn ->
        Gpu.with_pixels(surface, fn _ -> :ok end)
      end
    end

    test "resized are transparent black" do
      surface = surface(3, 3)
      :ok = Gpu.clear(surface, :white)
      assert Gpu.resize_surface(surface, 2, 5) == :ok
      assert {Gpu.width(surface), Gpu.height(surface)} == {2, 5}
      assert Gpu.get_pixels(surface) == :binary.copy(<<0>>, 40)
    end

    test "saved" do
      surface = surface(20, 10)
      :ok = Gpu.clear(surface, {10, 20, 30, 40})
      path = Path.join(scratch_dir("surface"), "frame.png")
      assert Gpu.snapshot(surface, path) == :ok
      assert Image.read(path) == {:ok, Image.new(20, 10, {10, 20, 30, 40})}
      assert_error(Gpu.snapshot(surface, "/no/such/folder/a.png"), :invalid_param, "cannot write")
    end
  end

  describe "a kernel's result" do
    defp transfers, do: Map.take(Compute.counters(), [:reads, :bytes_in, :bytes_out])

    test "reaches the surface without a copy to the host" do
      surface = surface(64, 32)
      input = Compute.buffer_from_binary(:binary.copy(<<40>>, 64 * 32 * 4), {32, 64, 4}, :u8)
      output = zeros({32, 64, 4}, :u8)
      before = transfers()

      for _ <- 1..10,
          do: :ok = Compute.run_to_surface(:scalar_mul, [input], output, surface, scalar: 3)

      :ok = Gpu.fill_rect(surface, 0, 0, 1, 1, :red)
      :ok = Gpu.present(surface)
      # Nothing has left the device, and nothing has gone there.
      assert transfers() == before
      expected = <<255, 0, 0, 255>> <> :binary.copy(<<120>>, 64 * 32 * 4 - 4)
      assert Gpu.get_pixels(surface) == expected
      assert transfers().reads == before.reads + 1
      # The output keeps what the kernel wrote, whatever is drawn later.
      assert Compute.read(output) == :binary.copy(<<120>>, 64 * 32 * 4)
    end

    test "may be that of a model, planned for the size when it is first used" do
      bytes =
        OnnxFile.model(
          [{"Mul", ["x", "two"], ["y"]}],
          [{"x", :u8, ["height", "width", 4]}],
          [{"y", :u8, ["height", "width", 4]}],
          constants: [{"two", {:u8, [], <<2>>}}]
        )

      {:ok, model} = Dala.ML.Gpu.load_model({:binary, bytes}, as: "surface_model")
      surface = surface(2, 1)
      input = Compute.buffer(Enum.to_list(1..8), {1, 2, 4}, :u8)
      output = zeros({1, 2, 4}, :u8)
      assert Compute.run_to_surface("surface_model", [input], output, surface) == :ok
      assert Gpu.get_pixels(surface) == <<2, 4, 6, 8, 10, 12, 14, 16>>
      :ok = Dala.ML.Gpu.free_model(model)
    end

    test "of the wrong size changes nothing" do
      surface = surface(8, 4)
      :ok = Gpu.clear(surface, :white)
      small = zeros({4, 4, 4}, :u8)
      floats = zeros({4, 8, 4}, :f32)
      right = zeros({4, 8, 4}, :u8)

      assert_error(
        Compute.run_to_surface(:fill, [], small, surface, %{value: 1}),
        :shape_mismatch,
        "the surface has 8 by 4 pixels of RGBA, 128 bytes, got a buffer of shape {4, 4, 4}"
      )

      assert_error(
        Compute.run_to_surface(:fill, [], floats, surface, %{value: 1}),
        :dtype_mismatch,
        "a surface takes u8 buffers, got f32"
      )

      assert_error(Compute.run_to_surface(:nope, [], right, surface), :unknown_kernel)
      assert_error(Compute.run_to_surface(:fill, [], right, surface, value: 256), :invalid_param)
      assert Compute.read(small) == :binary.copy(<<0>>, 64)
      Compute.free(right)
      assert_error(Compute.run_to_surface(:fill, [], right, surface, value: 1), :freed)
      assert_error(Gpu.set_pixels(surface, right), :freed)
      assert Gpu.get_pixels(surface) == :binary.copy(<<255>>, 128)
    end
  end

  describe "frames" do
    test "are sent to subscribers, in order, once" do
      surface = surface(4, 4)
      test = self()
      assert Gpu.subscribe(surface) == :ok
      assert Gpu.subscribe(surface) == :ok

      other =
        spawn_link(fn ->
          :ok = Gpu.subscribe(surface)
          send(test, :ready)
          receive do: ({:dala_gpu_frame, ^surface, n} -> send(test, {:other, n}))
        end)

      assert_receive :ready, 10_000
      for _ <- 1..3, do: :ok = Gpu.present(surface)
      for n <- 1..3, do: assert_receive({:dala_gpu_frame, ^surface, ^n}, 10_000)
      assert_receive {:other, 1}, 10_000
      refute_received {:dala_gpu_frame, _, _}
      # One that has ended, or does not want to hear more, is forgotten.
      monitor = Process.monitor(other)
      assert_receive {:DOWN, ^monitor, _, _, _}, 10_000
      assert Gpu.unsubscribe(surface) == :ok
      assert Gpu.unsubscribe(surface) == :ok
      assert Gpu.present(surface) == :ok
      refute_received {:dala_gpu_frame, _, _}
      eventually(fn -> :sys.get_state(surface).subscribers == %{} end)
    end

    test "are presented when everything has been drawn" do
      surface = surface(1, 1)
      buffer = zeros({1}, :u32)
      output = zeros({1, 1, 4}, :u8)
      slow = Compute.submit(slow(200 * rounds_per_ms(), buffer))
      Compute.submit(%{op: :run_kernel, kernel: :cast, inputs: [buffer], output: output})
      # Neither setting nor drawing waits for what comes before.
      assert Gpu.set_pixels(surface, output) == :ok
      assert Gpu.draw_line(surface, 5, 5, 5, 5, :red) == :ok
      assert Compute.poll(slow) == :pending
      assert Gpu.present(surface) == :ok
      assert Compute.poll(slow) == :completed
      [number] = Compute.read_list(buffer)
      assert Gpu.get_pixels(surface) == :binary.copy(<<number::8>>, 4)
    end
  end

  describe "stopping" do
    test "destroy frees memory immediately; later use is an error" do
      before = quiet_memory()
      surface = surface(100, 50)
      assert Compute.memory_info().in_use == before + 20_000
      assert Gpu.destroy_surface(surface) == :ok
      assert Compute.memory_info().in_use == before
      assert Gpu.destroy_surface(surface) == :ok

      gone = "the surface #{inspect(surface)} is not running"

      for call <- [
            fn -> Gpu.clear(surface, :red) end,
            fn -> Gpu.present(surface) end,
            fn -> Gpu.resize_surface(surface, 1, 1) end,
            fn -> Gpu.set_pixels(surface, <<>>) end,
            fn -> Gpu.with_pixels(surface, & &1) end,
            fn -> Gpu.snapshot(surface, "never.png") end,
            fn -> Gpu.subscribe(surface) end,
            fn -> Compute.run_to_surface(:fill, [], zeros({1}, :u8), surface, value: 1) end
          ] do
        assert_error(call.(), :freed, gone)
      end

      for call <- [&Gpu.get_pixels/1, &Gpu.width/1, &Gpu.height/1] do
        assert_raises(:freed, gone, fn -> call.(surface) end)
      end
    end

    for reason <- [:normal, :shutdown, :kill] do
      test "comes with the creator's: #{reason}" do
        before = quiet_memory()
        test = self()

        {creator, monitor} =
          spawn_monitor(fn ->
            surface = surface(300, 200)
            :ok = Gpu.clear(surface, :red)
            send(test, {:surface, surface})
            receive do: ({:exit, reason} -> exit(reason))
          end)

        assert_receive {:surface, surface}, 10_000
        watch = Process.monitor(surface)
        assert Compute.memory_info().in_use >= before + 240_000

        if unquote(reason) == :kill,
          do: Process.exit(creator, :kill),
          else: send(creator, {:exit, unquote(reason)})

        assert_receive {:DOWN, ^monitor, _, _, _}, 10_000
        assert_receive {:DOWN, ^watch, _, _, _}, 10_000
        eventually(fn -> Compute.memory_info().in_use <= before end)
      end
    end

    test "of a surface that is killed frees its memory too" do
      Process.flag(:trap_exit, true)
      before = quiet_memory()
      surface = surface(300, 200)
      Process.exit(surface, :kill)
      assert_receive {:EXIT, ^surface, :killed}, 10_000
      eventually(fn -> Compute.memory_info().in_use <= before end)
    end
  end

  describe "wrong calls" do
    test "sizes" do
      for {width, height} <- [{0, 1}, {1, 0}, {-5, 5}, {1.5, 2}, {1, :two}, {20_000, 20_000}] do
        text =
          "a surface has at least 1 by 1 and at most 134217728 pixels, " <>
            "got #{inspect(width)} by #{inspect(height)}"

        assert_error(Gpu.create_surface(width, height), :invalid_param, text)
        surface = surface(3, 2)
        :ok = Gpu.clear(surface, :red)
        assert_error(Gpu.resize_surface(surface, width, height), :invalid_param, text)
        assert Gpu.get_pixels(surface) == :binary.copy(<<255, 0, 0, 255>>, 6)
      end

      surface = surface(3, 2)

      assert_error(
        Gpu.set_pixels(surface, <<1, 2, 3>>),
        :shape_mismatch,
        "the surface has 3 by 2 pixels of RGBA, 24 bytes, got 3 bytes"
      )

      assert_error(
        Gpu.set_pixels(surface, Image.new(2, 3, :red)),
        :shape_mismatch,
        "got a picture of 2 by 3 pixels"
      )

      assert_error(Gpu.fill_rect(surface, 0, 0, -1, 1, :red), :invalid_param, "width")
      assert_error(Gpu.fill_rect(surface, 2_000_000_000, 0, 1, 1, :red), :invalid_param, "x")
      assert Gpu.get_pixels(surface) == :binary.copy(<<0>>, 24)
    end

    test "malformed arguments raise" do
      surface = surface(3, 2)

      for {text, call} <- [
            {"expected a colour such as", fn -> Gpu.clear(surface, {1, 2}) end},
            {"expected x to be an integer, got: 0.5",
             fn -> Gpu.fill_rect(surface, 0.5, 0, 1, 1, :red) end},
            {"expected y1 to be an integer, got: nil",
             fn -> Gpu.draw_line(surface, 0, 0, 1, nil, :red) end},
            {"expected pixels as a binary, an image or a buffer",
             fn -> Gpu.set_pixels(surface, 1) end},
            {"expected a surface, by its pid or name, got: nil", fn -> Gpu.present(nil) end},
            {"expected a surface, by its pid or name, got: 1", fn -> Gpu.destroy_surface(1) end},
            {"expected pixels as a binary, an image or a buffer",
             fn -> Gpu.set_pixels(surface, %Image{width: 3, height: 2, data: nil}) end},
            {"expected pixels as a binary, an image or a buffer",
             fn -> Gpu.set_pixels(surface, %Buffer{ref: nil, shape: {24}, dtype: :u8}) end},
            {"expected a function of the pixels, got: 1", fn -> Gpu.with_pixels(surface, 1) end},
            {"expected a process, got: :me", fn -> Gpu.subscribe(surface, :me) end},
            {"expected a process, got: nil", fn -> Gpu.unsubscribe(surface, nil) end},
            {"expected display: to be :window, got: :screen",
             fn -> Gpu.create_surface(1, 1, display: :screen) end},
            {"unknown keys [:size]", fn -> Gpu.create_surface(1, 1, size: 1) end}
          ] do
        error = assert_raise(ArgumentError, call)
        assert Exception.message(error) =~ text
      end

      assert Gpu.width(surface) == 3
    end

    test "a process that is not a surface is not affected" do
      {:ok, other} = Agent.start_link(fn -> :alive end)

      for call <- [&Gpu.destroy_surface/1, &Gpu.present/1, &Gpu.width/1] do
        error = assert_raise(ArgumentError, fn -> call.(other) end)
        assert error.message == "expected a surface, got: #{inspect(other)}"
        assert_raise(ArgumentError, fn -> call.(self()) end)
      end

      assert Agent.get(other, & &1) == :alive
    end

    test "a surface that does not fit the memory is refused" do
      assert {"ok\n", 0} =
               Dala.Test.ChildVM.run(
                 """
                 {:error, %{reason: :out_of_memory}} = Dala.Gpu.create_surface(4000, 4000)
                 {:ok, surface} = Dala.Gpu.create_surface(1000, 1000)
                 :ok = Dala.Gpu.clear(surface, :red)
                 {:error, %{reason: :out_of_memory}} = Dala.Gpu.resize_surface(surface, 4000, 4000)
                 true = Dala.Gpu.get_pixels(surface) == :binary.copy(<<255, 0, 0, 255>>, 1_000_000)
                 IO.puts("ok")
                 """,
                 env: [{"DALA_GPU_MEMORY_LIMIT", "16000000"}]
               )
    end
  end
end
