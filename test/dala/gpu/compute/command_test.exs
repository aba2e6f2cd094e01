defmodule Dala.Gpu.Compute.CommandTest do
  use Dala.Test.GpuCase, async: true

  doctest Dala.Gpu.Compute.Command

  defp fill(buffer, value),
    do: %{op: :run_kernel, kernel: :fill, inputs: [], output: buffer, params: %{value: value}}

  describe "submit/2" do
    test "returns ids that grow" do
      buffer = counting(3)
      first = Compute.submit(fill(buffer, 1))
      second = Compute.submit(fill(buffer, 2))
      assert is_integer(first) and first >= 0
      assert second > first
      assert Compute.wait(second) == :ok
    end

    test "returns immediately" do
      id = Compute.submit(slow(300 * rounds_per_ms()))
      assert Compute.poll(id) == :pending
      assert Compute.wait(id) == :ok
      assert Compute.poll(id) == :completed
    end

    test "takes parameters as a map, with strings, or as a keyword list" do
      buffer = counting(3)

      for params <- [%{value: 4}, %{"value" => 4}, [value: 4]] do
        id = Compute.submit(%{fill(buffer, 0) | params: params})
        assert Compute.wait(id) == :ok
        assert Compute.read_list(buffer) == [4.0, 4.0, 4.0]
      end
    end

    test "copies buffers" do
      a = counting(1000)
      b = zeros({1000})
      assert Compute.wait(Compute.submit(%{op: :copy_buffer, inputs: [a], output: b})) == :ok
      assert Compute.read(b) == Compute.read(a)
      assert Compute.scale(a, 2, a) == :ok
      assert Compute.read_list(b) == Enum.map(1..1000, &(&1 * 1.0))
    end

    test "copying onto itself, and copying nothing" do
      a = counting(4)
      assert Compute.wait(Compute.submit(%{op: :copy_buffer, inputs: [a], output: a})) == :ok
      assert Compute.read_list(a) == [1.0, 2.0, 3.0, 4.0]
      empty = zeros({0})
      id = Compute.submit(%{op: :copy_buffer, inputs: [empty], output: zeros({0})})
      assert Compute.wait(id) == :ok
    end

    test "a copy that does not fit" do
      a = counting(4)

      for {inputs, output, reason} <- [
            {[a], zeros({5}), :shape_mismatch},
            {[a], zeros({2, 2}), :shape_mismatch},
            {[a], zeros({4}, :s32), :dtype_mismatch},
            {[], a, :arity_mismatch},
            {[a, a], zeros({4}), :arity_mismatch}
          ] do
        id = Compute.submit(%{op: :copy_buffer, inputs: inputs, output: output})
        assert_error(Compute.wait(id), reason, "copy_buffer")
      end
    end

    test "a command that cannot run gets an id with the error" do
      a = counting(3)
      b = counting(3)

      for {spec, reason, texts} <- [
            {%{kernel: :elementwise_ad}, :unknown_kernel, ["elementwise_ad", "elementwise_add"]},
            {%{inputs: [a]}, :arity_mismatch, ["elementwise_add takes 2 inputs, got 1"]},
            {%{inputs: [a, counting(2)]}, :shape_mismatch, ["{2}", "{3}"]},
            {%{inputs: [a, counting(3, :s32)]}, :dtype_mismatch, ["input 1", "s32", "f32"]},
            {%{output: zeros({3}, :u8)}, :dtype_mismatch, ["output", "u8", "f32"]},
            {%{params: %{foo: 1}}, :unknown_param, ["elementwise_add has no parameter foo"]},
            {%{kernel: :relu, inputs: [a], params: %{slope: :steep}}, :invalid_param,
             ["slope of relu must be a number, got steep"]}
          ] do
        id =
          Compute.submit(
            Map.merge(
              %{op: :run_kernel, kernel: :elementwise_add, inputs: [a, a], output: b},
              spec
            )
          )

        assert is_integer(id)
        assert_error(Compute.poll(id), reason, texts)
        assert_error(Compute.poll(id), reason, texts)
        assert_error(Compute.wait(id), reason, texts)
        assert_error(Compute.wait(id, 0), reason, texts)
      end

      assert Compute.read_list(a) == [1.0, 2.0, 3.0]
      assert Compute.read_list(b) == [1.0, 2.0, 3.0]
    end

    test "malformed commands raise" do
      a = counting(3)
      good = %{op: :run_kernel, kernel: :relu, inputs: [a], output: a, params: %{}}

      for {spec, message} <- [
            {:relu, "expected a command as a map, got: :relu"},
            {[op: :run_kernel], "expected a command as a map, got: [op: :run_kernel]"},
            {a, ~r/^expected a command as a map, got: #Dala/},
            {Map.delete(good, :op), ~r/^the command has no :op: %{/},
            {Map.delete(good, :kernel), ~r/^the command has no :kernel: /},
            {Map.delete(good, :inputs), ~r/^the command has no :inputs: /},
            {Map.delete(good, :output), ~r/^the command has no :output: /},
            {Map.put(good, :parms, %{}),
             "a command has no key :parms; it takes :op, :kernel, :inputs, :output, :params"},
            {%{good | op: :run}, "expected op to be :run_kernel or :copy_buffer, got: :run"},
            {%{good | op: "run_kernel"}, ~r/^expected op to be/},
            {%{good | kernel: 1}, "expected the kernel's name as an atom or a string, got: 1"},
            {%{good | kernel: nil}, ~r/^expected the kernel's name/},
            {%{good | kernel: ""}, ~r/^expected the kernel's name/},
            {%{good | kernel: 'relu'}, ~r/^expected the kernel's name/},
            {%{good | inputs: a}, ~r/^expected inputs to be a list of buffers, got: #Dala/},
            {%{good | inputs: [a | a]}, ~r/^expected inputs to be a list of buffers/},
            {%{good | inputs: [1]}, "expected a %Dala.Gpu.Compute.Buffer{}, got: 1"},
            {%{good | output: []},
             ~r/^expected the outputs to be a list of 1 to 1024 buffers, got: \[\]/},
            {%{good | output: [a, 1]}, "expected a %Dala.Gpu.Compute.Buffer{}, got: 1"},
            {%{good | params: 1}, "expected params to be a map or keyword list, got: 1"},
            {%{good | params: [1]}, "expected params to be a map or keyword list, got: [1]"},
            {%{good | params: nil}, ~r/^expected params to be a map/},
            {%{good | params: %{1 => 2}}, "expected params to have atom or string keys, got: 1"},
            {%{good | params: %{slope: nil}},
             "expected param slope to be a number, boolean, atom, string, or a tuple or list of " <>
               "numbers, got: nil"},
            {%{good | params: %{slope: %{}}}, ~r/^expected param slope/},
            {%{good | params: %{slope: self()}}, ~r/^expected param slope/},
            {%{good | params: %{slope: [:a]}}, ~r/^expected param slope/},
            {%{good | params: %{slope: [1 | 2]}}, ~r/^expected param slope/}
          ] do
        assert_raise ArgumentError, message, fn -> Compute.submit(spec) end
      end

      assert Compute.read_list(a) == [1.0, 2.0, 3.0]
    end

    test "options" do
      command = fill(counting(1), 0)

      assert_raise ArgumentError, ~r/unknown keys \[:reply\]/, fn ->
        Compute.submit(command, reply: self())
      end

      for notify <- [:me, 1, "pid"] do
        assert_raise ArgumentError,
                     "expected notify: to be a local process, got: #{inspect(notify)}",
                     fn ->
                       Compute.submit(command, notify: notify)
                     end
      end

      assert Compute.wait(Compute.submit(command, notify: nil)) == :ok
    end
  end

  describe "notify" do
    test "sends one message when the command has finished" do
      id = Compute.submit(slow(20 * rounds_per_ms()), notify: self())
      refute_received {:dala_gpu, ^id, _result}
      assert_receive {:dala_gpu, ^id, :ok}, 60_000
      assert Compute.poll(id) == :completed
      assert Compute.wait(id) == :ok
      refute_received {:dala_gpu, ^id, _result}
    end

    test "reports errors" do
      id = Compute.submit(%{fill(counting(1), 0) | kernel: :nope}, notify: self())
      assert_receive {:dala_gpu, ^id, {:error, %Error{reason: :unknown_kernel}}}, 60_000
    end

    test "another process" do
      task = Task.async(fn -> receive do: ({:dala_gpu, id, result} -> {id, result}) end)
      id = Compute.submit(fill(counting(1), 0), notify: task.pid)
      assert Task.await(task) == {id, :ok}
    end

    test "a process that is gone" do
      {pid, monitor} = spawn_monitor(fn -> :ok end)
      assert_receive {:DOWN, ^monitor, :process, ^pid, _reason}
      assert Compute.wait(Compute.submit(fill(counting(1), 0), notify: pid)) == :ok
    end

    test "many commands, each exactly once" do
      buffers = for _ <- 1..10, do: zeros({100})

      ids =
        for i <- 1..500 do
          Compute.submit(fill(Enum.at(buffers, rem(i, 10)), i), notify: self())
        end

      for id <- ids, do: assert_receive({:dala_gpu, ^id, :ok}, 30_000)
      refute_received {:dala_gpu, _id, _result}
    end
  end

  describe "wait/2" do
    test "times out, and leaves no message behind" do
      id = Compute.submit(slow(1000 * rounds_per_ms()))

      error =
        assert_error(Compute.wait(id, 1), :timeout, "command #{id} had not finished after 1 ms")

      assert error.details == %{id: id, timeout: 1}
      assert_error(Compute.wait(id, 0), :timeout)
      assert Compute.poll(id) == :pending
      assert Compute.wait(id, 60_000) == :ok
      assert Compute.wait(id, 0) == :ok
      assert Process.info(self(), :messages) == {:messages, []}
    end

    test "times out repeatedly" do
      id = Compute.submit(slow(100 * rounds_per_ms()))
      for _ <- 1..1000, do: Compute.wait(id, 0)
      assert Compute.wait(id) == :ok
      assert Process.info(self(), :messages) == {:messages, []}
    end

    test "leaves no message behind, however close it is" do
      relu = &%{op: :run_kernel, kernel: :relu, inputs: [&1], output: &1}
      # A small command may be done when it has been submitted, a larger one is about to be.
      commands = Enum.map([16, 20_000, 60_000], &relu.(counting(&1)))

      results =
        for _ <- 1..5_000, command <- commands do
          case Compute.wait(Compute.submit(command), 0) do
            :ok -> :ok
            {:error, %Error{reason: :timeout}} -> :timeout
          end
        end

      for command <- commands, do: assert(Compute.wait(Compute.submit(command)) == :ok)
      assert Process.info(self(), :messages) == {:messages, []}
      # Both cases must have happened for this to show anything.
      assert Enum.sort(Enum.uniq(results)) == [:ok, :timeout]
    end

    test "by many processes" do
      id = Compute.submit(slow(50 * rounds_per_ms()))
      waiters = for _ <- 1..50, do: Task.async(fn -> Compute.wait(id) end)
      assert Enum.uniq(Task.await_many(waiters, 30_000)) == [:ok]
    end

    test "leaves other messages alone" do
      send(self(), :before)
      send(self(), {make_ref(), :ok})
      assert Compute.wait(Compute.submit(slow(5 * rounds_per_ms()))) == :ok
      assert {:messages, [:before, {_ref, :ok}]} = Process.info(self(), :messages)
    end

    test "invalid timeouts" do
      for timeout <- [-1, 1.5, :soon, nil, 0x100000000] do
        assert_raise ArgumentError,
                     "expected the timeout in milliseconds or :infinity, got: #{inspect(timeout)}",
                     fn -> Compute.wait(1, timeout) end
      end
    end
  end

  describe "ids that were never assigned" do
    test "are unknown" do
      beyond = Compute.submit(fill(counting(1), 0)) + 1_000_000_000

      for id <- [beyond, 0x7FFFFFFFFFFFFFFF, 0x10000000000000000, -1] do
        assert_error(Compute.poll(id), :unknown_command, "#{id}")
        assert_error(Compute.wait(id), :unknown_command, "#{id}")
        assert_error(Compute.wait(id, 10), :unknown_command, "#{id}")
      end
    end

    test "or are not ids at all" do
      for id <- [nil, :id, "1", 1.0, make_ref()] do
        message = "expected the id of a command, an integer, got: #{inspect(id)}"
        assert_raise ArgumentError, message, fn -> Compute.poll(id) end
        assert_raise ArgumentError, message, fn -> Compute.wait(id) end
      end
    end
  end

  describe "order" do
    test "commands on the same buffer take effect in the order of submission" do
      buffer = Compute.buffer([3], {1}, :u32)
      rounds = 5 * rounds_per_ms()

      # Each of these changes what the next one sees; the slow ones are overtaken if anything can.
      Compute.submit(slow(rounds, buffer))
      Compute.submit(fill(buffer, 5))
      Compute.submit(slow(3, buffer))

      Compute.submit(%{
        op: :run_kernel,
        kernel: :scalar_mul,
        inputs: [buffer],
        output: buffer,
        params: %{scalar: 2}
      })

      Compute.submit(slow(7, buffer))

      doubled = rem(2 * slow_result(5, 3), 0x100000000)
      assert Compute.read_list(buffer) == [slow_result(doubled, 7)]
    end

    test "a write waits for the reads before it" do
      source = Compute.buffer([11], {1}, :u32)
      results = for _ <- 1..4, do: zeros({1}, :u32)

      for result <- results do
        Compute.submit(%{slow(10 * rounds_per_ms(), source) | output: result})
      end

      Compute.submit(fill(source, 0))
      assert Compute.read_list(source) == [0]
      assert results |> Enum.map(&Compute.read/1) |> Enum.uniq() |> length() == 1
      refute Compute.read_list(hd(results)) == Compute.read_list(source)
    end

    test "random commands on few buffers have the result of sequential execution" do
      :rand.seed(:exsss, {1, 2, 3})

      for _ <- 1..20 do
        buffers = for i <- 0..3, do: {i, Compute.buffer([i, i + 1, i + 2], {3}, :s32)}
        buffers = Map.new(buffers)
        model = Map.new(0..3, &{&1, [&1, &1 + 1, &1 + 2]})

        model =
          Enum.reduce(1..50, model, fn _step, model ->
            [a, b, c] = for _ <- 1..3, do: :rand.uniform(4) - 1
            {kernel, function} = Enum.random(elementwise_add: &+/2, elementwise_sub: &-/2)

            Compute.submit(%{
              op: :run_kernel,
              kernel: kernel,
              inputs: [buffers[a], buffers[b]],
              output: buffers[c]
            })

            Map.put(model, c, Enum.zip_with(model[a], model[b], &wrap(function.(&1, &2))))
          end)

        for {i, buffer} <- buffers, do: assert(Compute.read_list(buffer) == model[i])
      end
    end

    defp wrap(integer) do
      <<wrapped::signed-32>> = <<integer::32>>
      wrapped
    end

    test "commands on other buffers do not wait" do
      buffer = counting(3)
      # Compiled before the slow one starts.
      assert Compute.run_kernel(:relu, [buffer], buffer) == :ok
      assert Compute.wait(Compute.submit(fill(buffer, 2))) == :ok
      slow_id = Compute.submit(slow(1000 * rounds_per_ms()))
      assert Compute.run_kernel(:relu, [buffer], buffer) == :ok
      assert Compute.wait(Compute.submit(fill(buffer, 2))) == :ok
      assert Compute.poll(slow_id) == :pending
      assert Compute.wait(slow_id) == :ok
    end
  end

  test "a command outlives everyone who knows its buffers" do
    test = self()

    spawn_link(fn ->
      id = Compute.submit(slow(50 * rounds_per_ms()))
      :erlang.garbage_collect()
      send(test, {:result, Compute.wait(id)})
    end)

    assert_receive {:result, :ok}, 60_000
  end
end
