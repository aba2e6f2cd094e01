defmodule Dala.Nx.BackendTest do
  use Dala.Test.GpuCase, async: false

  import ExUnit.CaptureLog

  alias Dala.Nx.Backend

  @compile {:no_warn_undefined, [Complex, Nx, Nx.Backend, Nx.BinaryBackend, Nx.Constants]}

  unless Code.ensure_loaded?(Nx) do
    @moduletag skip: "Nx is not on the code path (ERL_LIBS)"
  end

  setup do
    Nx.default_backend(Backend)
    Dala.Nx.reset_fallbacks()
    :ok
  end

  # The same on Nx.BinaryBackend, which is written in Elixir, as lists of numbers.
  defp expect(fun, inputs) do
    Nx.default_backend(Nx.BinaryBackend)
    expected = fun.(Enum.map(inputs, &Nx.backend_copy(&1, Nx.BinaryBackend)))
    Nx.default_backend(Backend)
    actual = fun.(inputs)
    assert actual.shape == expected.shape
    assert actual.type == expected.type
    assert %Backend{} = actual.data
    {Nx.to_flat_list(actual), Nx.to_flat_list(expected)}
  end

  defp assert_same(fun, inputs) do
    {actual, expected} = expect(fun, inputs)
    assert actual == expected
  end

  defp assert_near(fun, inputs, tolerance \\ 1.0e-5) do
    {actual, expected} = expect(fun, inputs)

    for {a, b} <- Enum.zip(actual, expected) do
      assert a == b or abs(a - b) <= tolerance * max(1, abs(b)), "#{a} is not close to #{b}"
    end
  end

  defp random(shape, seed, type \\ {:f, 32}) do
    :rand.seed(:exsss, {seed, 1, 2})
    count = Tuple.product(shape)

    list =
      case type do
        {:f, _} ->
          for _ <- 1..count, do: :rand.normal()

        _integer ->
          for _ <- 1..count, do: :rand.uniform(20) - if(elem(type, 0) == :s, do: 10, else: 1)
      end

    list |> Nx.tensor(type: type) |> Nx.reshape(shape)
  end

  test "every callback that the Nx which is here asks for is there" do
    optional = Nx.Backend.behaviour_info(:optional_callbacks)

    missing =
      for {name, arity} = callback <- Nx.Backend.behaviour_info(:callbacks),
          callback not in optional,
          not function_exported?(Backend, name, arity),
          do: callback

    assert missing == []
  end

  test "elementwise operations broadcast and promote types" do
    a = random({2, 3}, 1)
    b = random({3}, 2, {:s, 32})
    c = random({2, 1}, 3, {:u, 8})

    for op <- [:add, :subtract, :multiply, :divide, :max, :min, :atan2],
        {x, y} <- [{a, b}, {b, c}, {c, a}] do
      assert_near(fn [x, y] -> apply(Nx, op, [x, Nx.add(y, 1)]) end, [x, y])
    end

    for op <-
          [:equal, :not_equal, :greater, :less, :greater_equal, :less_equal] ++
            [:logical_and, :logical_or, :logical_xor] do
      assert_same(fn [x, y] -> apply(Nx, op, [x, y]) end, [b, c])
    end

    for op <- [:bitwise_and, :bitwise_or, :bitwise_xor, :quotient, :remainder, :left_shift] do
      assert_same(fn [x, y] -> apply(Nx, op, [x, Nx.add(y, 1)]) end, [b, c])
    end

    assert Dala.Nx.fallbacks() == %{}
  end

  test "dot with batches and several contracted axes" do
    a = random({2, 3, 4, 5}, 1)
    b = random({2, 5, 4, 6}, 2)
    assert_near(fn [a, b] -> Nx.dot(a, [3, 2], [0], b, [1, 2], [0]) end, [a, b])
    assert_near(fn [a, b] -> Nx.dot(a, [2], b, [2]) end, [a, b])
    assert_near(fn [a, b] -> Nx.outer(a, b) end, [random({3}, 1), random({4}, 2)])
    assert_near(fn [a] -> Nx.dot(a, a) end, [random({7}, 1)])

    assert_same(fn [a, b] -> Nx.dot(a, b) end, [
      random({3, 4}, 1, {:s, 64}),
      random({4, 2}, 2, {:s, 64})
    ])

    assert Dala.Nx.fallbacks() == %{}
  end

  test "convolutions of one and two dimensions, in any layout, with groups and dilations" do
    x = random({2, 4, 9, 8}, 1)
    w = random({6, 4, 3, 2}, 2)
    conv = fn opts -> fn [x, w] -> Nx.conv(x, w, opts) end end

    assert_near(conv.([]), [x, w])
    assert_near(conv.(padding: :same, strides: [2, 1]), [x, w])
    assert_near(conv.(padding: [{1, 2}, {0, 3}], kernel_dilation: [2, 1]), [x, w])
    assert_near(conv.(padding: [{-1, 1}, {0, -2}]), [x, w])
    assert_near(conv.(input_dilation: [2, 3]), [x, w])
    assert_near(conv.(feature_group_size: 2), [x, random({6, 2, 3, 2}, 3)])
    assert_near(conv.(batch_group_size: 2), [x, w])

    last = [input_permutation: [0, 3, 1, 2], output_permutation: [0, 3, 1, 2]]
    assert_near(conv.(last), [Nx.transpose(x, axes: [0, 2, 3, 1]), w])
    assert_near(conv.(output_permutation: [3, 0, 1, 2]), [x, w])
    assert_near(conv.(strides: [2]), [random({2, 4, 9}, 4), random({3, 4, 3}, 5)])
    assert Dala.Nx.fallbacks() == %{}
  end

  test "convolutions of volumes, in any layout, with groups and dilations" do
    x = random({2, 2, 5, 6, 4}, 1)
    w = random({4, 2, 3, 2, 2}, 2)
    conv = fn opts -> fn [x, w] -> Nx.conv(x, w, opts) end end

    assert_near(conv.([]), [x, w])
    assert_near(conv.(padding: :same, strides: [2, 1, 2]), [x, w])
    assert_near(conv.(padding: [{1, 2}, {0, 3}, {1, 0}], kernel_dilation: [2, 1, 2]), [x, w])
    assert_near(conv.(input_dilation: [2, 1, 2]), [x, w])
    assert_near(conv.(feature_group_size: 2), [x, random({4, 1, 3, 2, 2}, 3)])
    assert_near(conv.(batch_group_size: 2), [x, w])
    last = [input_permutation: [0, 4, 1, 2, 3], output_permutation: [0, 4, 1, 2, 3]]
    assert_near(conv.(last), [Nx.transpose(x, axes: [0, 2, 3, 4, 1]), w])
    assert Dala.Nx.fallbacks() == %{}
  end

  test "windows" do
    x = random({2, 3, 10, 9}, 1)

    for op <- [:window_sum, :window_max, :window_min, :window_product],
        {window, opts} <- [
          {{1, 1, 2, 2}, []},
          {{1, 1, 3, 2}, [strides: [1, 1, 2, 3], padding: :same]},
          {{1, 2, 3, 1}, [padding: [{0, 0}, {1, 0}, {2, 1}, {0, 0}]]},
          {{2, 1, 2, 2}, [window_dilations: [1, 1, 3, 2]]},
          {{1, 1, 9, 9}, []}
        ] do
      assert_near(fn [x] -> apply(Nx, op, [x, window, opts]) end, [x], 1.0e-4)
    end

    y = random({2, 3, 5, 4}, 2)

    for op <- [:window_scatter_max, :window_scatter_min] do
      fun = fn [x, y] -> apply(Nx, op, [x, y, 0, {1, 1, 2, 2}, [strides: [1, 1, 2, 2]]]) end
      assert_near(fun, [x, y])
    end

    assert Dala.Nx.fallbacks() == %{}
  end

  test "reductions and orders" do
    x = random({3, 4, 5}, 1)
    n = random({3, 4, 5}, 2, {:s, 32})

    for op <- [:sum, :product, :reduce_max, :reduce_min, :all, :any],
        t <- [x, n],
        opts <- [[], [axes: [1]], [axes: [0, 2], keep_axes: true]] do
      assert_near(fn [t] -> apply(Nx, op, [t, opts]) end, [t], 1.0e-4)
    end

    for op <- [:argmax, :argmin],
        opts <- [[], [axis: 1], [axis: 2, tie_break: :high], [axis: 0, keep_axis: true]] do
      assert_same(fn [t] -> apply(Nx, op, [t, opts]) end, [n])
    end

    for op <- [:sort, :argsort], t <- [x, n], axis <- 0..2, direction <- [:asc, :desc] do
      assert_same(fn [t] -> apply(Nx, op, [t, [axis: axis, direction: direction]]) end, [t])
    end

    for op <- [:cumulative_sum, :cumulative_max, :cumulative_min, :cumulative_product],
        opts <- [[axis: 1], [axis: 2, reverse: true]] do
      assert_near(fn [t] -> apply(Nx, op, [t, opts]) end, [x], 1.0e-4)
    end

    assert_same(fn [t] -> elem(Nx.top_k(t, k: 3), 1) end, [x])
    assert Dala.Nx.fallbacks() == %{}
  end

  test "NaN comes first when the largest do, and last otherwise" do
    t = Nx.tensor([1.0, :nan, :infinity, 3.0, :nan])
    assert Nx.to_flat_list(Nx.sort(t, direction: :desc)) == [:nan, :nan, :infinity, 3.0, 1.0]
    assert Nx.to_flat_list(Nx.argsort(t, direction: :desc)) == [1, 4, 2, 3, 0]
    assert Nx.to_flat_list(Nx.argsort(t)) == [0, 3, 2, 1, 4]
  end

  test "elements are moved" do
    x = random({3, 4, 5}, 1)

    assert_same(fn [x] -> Nx.transpose(x, axes: [2, 0, 1]) end, [x])
    assert_same(fn [x] -> Nx.reverse(x, axes: [0, 2]) end, [x])
    assert_same(fn [x] -> Nx.pad(x, 7, [{1, 2, 0}, {-1, 0, 2}, {0, -2, 1}]) end, [x])

    assert_same(
      fn [x] -> Nx.pad(x, Nx.Constants.infinity(), [{1, 2, 0}, {-1, 0, 2}, {0, -2, 1}]) end,
      [x]
    )

    assert_same(fn [x] -> Nx.pad(x, Nx.sum(x), [{0, 0, 0}, {-2, -1, 2}, {1, -3, 1}]) end, [
      Nx.round(x)
    ])

    assert_same(fn [x] -> Nx.slice(x, [1, 0, 2], [2, 3, 3], strides: [1, 2, 2]) end, [x])
    assert_same(fn [x] -> Nx.slice(x, [Nx.tensor(9), 0, 1], [2, 3, 3]) end, [x])

    assert_same(
      fn [x] -> Nx.put_slice(x, [1, Nx.tensor(2), 9], Nx.broadcast(0.5, {2, 2, 2})) end,
      [x]
    )

    assert_same(fn [x] -> Nx.concatenate([x, Nx.multiply(x, 2)], axis: 1) end, [x])
    assert_same(fn [x] -> Nx.stack([x, x], axis: 2) end, [x])
    assert_same(fn [x] -> Nx.take(x, Nx.tensor([[2, 0], [1, 1]]), axis: 1) end, [x])
    assert_same(fn [x] -> Nx.take_along_axis(x, Nx.argsort(x, axis: 1), axis: 1) end, [x])
    assert_same(fn [x] -> Nx.gather(x, Nx.tensor([[2, 0], [1, 3]]), axes: [0, 2]) end, [x])
    assert_same(fn [x] -> Nx.tile(x, [2, 1, 3]) end, [x])
    assert_same(fn [x] -> Nx.broadcast(x, {2, 3, 7, 4, 5}, axes: [1, 3, 4]) end, [x])
    assert_same(fn [x] -> Nx.bitcast(x, :s32) end, [x])

    scatter = fn op, opts ->
      fn [x] -> apply(Nx, op, [x, Nx.tensor([[1], [1]]), Nx.iota({2, 3, 5}), opts]) end
    end

    assert_near(scatter.(:indexed_add, axes: [1]), [x])
    assert_same(scatter.(:indexed_put, axes: [1]), [x])
    assert Dala.Nx.fallbacks() == %{}
  end

  test "what has no kernel is computed on the host, counted, and warned of once" do
    log =
      capture_log(fn ->
        for _ <- 1..2 do
          t = Nx.map(Nx.tensor([1, 2, 3]), fn x -> Nx.multiply(x, 2) end)
          assert %Backend{} = t.data
          assert Nx.to_flat_list(t) == [2, 4, 6]
        end
      end)

    assert %{map: 2} = Dala.Nx.fallbacks()
    assert [_before, _after] = String.split(log, "Nx.map of s64 is computed by Nx.BinaryBackend")
  end

  test "complex numbers of 128 bits are kept on the host" do
    capture_log(fn ->
      t = Nx.tensor([Complex.new(1, 2), 3], type: :c128)
      assert Nx.to_flat_list(Nx.multiply(t, t)) == [Complex.new(-3.0, 4.0), Complex.new(9.0, 0.0)]
      assert Dala.Nx.fallbacks() == %{multiply: 1}
    end)
  end

  test "numbers that are on the host stay there" do
    sum = Nx.add(Nx.tensor(1.5), 2)
    assert is_binary(sum.data.content)
    assert Nx.to_number(sum) == 3.5
    assert Nx.to_number(Nx.select(Nx.greater(sum, 3), Nx.sqrt(4), 0)) == 2.0
    assert_raise ArgumentError, fn -> Nx.left_shift(1, -1) end
    assert Dala.Nx.fallbacks() == %{}
  end

  test "binaries are not copied" do
    binary = :crypto.strong_rand_bytes(4_000_000)
    before = Compute.counters()
    t = Nx.from_binary(binary, :f32)
    assert Nx.to_binary(t) == binary
    assert Nx.to_binary(Nx.reshape(t, {1000, 1000})) == binary

    if Dala.Gpu.Compute.Device.info().zero_copy do
      assert Compute.counters().bytes_in == before.bytes_in
      assert Compute.counters().bytes_out == before.bytes_out
    end
  end

  test "buffers and tensors share their content" do
    buffer = Compute.buffer([1, 2, 3], {3}, :s32)
    t = Dala.Nx.from_buffer(buffer)
    assert t.type == {:s, 32}
    :ok = Compute.run_kernel(:fill, [], buffer, value: 0)
    assert Nx.to_flat_list(t) == [1, 2, 3]
    assert Buffer.read_list(Dala.Nx.to_buffer(Nx.add(t, 1))) == [2, 3, 4]
    assert Buffer.read_list(Dala.Nx.to_buffer(Nx.tensor(5.0))) == [5.0]

    complex = Dala.Nx.to_buffer(Nx.tensor(Complex.new(1, 2)))
    assert {complex.dtype, Buffer.read_list(complex)} == {:c64, [{1.0, 2.0}]}

    assert_raise ArgumentError, "a buffer cannot hold the Nx type c128", fn ->
      Dala.Nx.to_buffer(Nx.tensor(Complex.new(1, 1), type: :c128))
    end
  end

  test "a tensor that is deallocated is gone, and others are not" do
    t = Nx.iota({4}, type: :f32)
    same = Nx.reshape(t, {2, 2})
    assert Nx.backend_deallocate(t) == :ok
    assert Nx.backend_deallocate(t) == :already_deallocated

    error = assert_raise Error, fn -> Nx.to_binary(t) end
    assert error.reason == :freed
    assert error.message =~ "the tensor f32[4] has been deallocated"
    assert Nx.to_flat_list(same) == [0.0, 1.0, 2.0, 3.0]
    assert_raise Error, fn -> Nx.add(t, 1) end
  end

  test "transfers and batches" do
    t = Nx.iota({5, 2})
    host = Nx.backend_transfer(t, Nx.BinaryBackend)
    assert %{__struct__: Nx.BinaryBackend} = host.data
    assert_raise Error, fn -> Nx.to_binary(t) end
    back = Nx.backend_copy(host, Backend)
    assert Nx.to_flat_list(back) == Enum.to_list(0..9)

    batches = back |> Nx.to_batched(2) |> Enum.map(&Nx.to_flat_list/1)
    assert batches == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 1]]
    assert [_, _] = back |> Nx.to_batched(2, leftover: :discard) |> Enum.to_list()
  end

  test "tensors are inspected as tensors of Nx are" do
    # Protocols may have been consolidated before Nx was there.
    inspected = Module.concat(Inspect, Nx.Tensor).inspect(Nx.iota({2, 2}), %Inspect.Opts{})

    assert inspected |> Inspect.Algebra.format(80) |> IO.iodata_to_binary() == """
           #Nx.Tensor<
             s64[2][2]
             Dala.Nx.Backend
             [
               [0, 1],
               [2, 3]
             ]
           >\
           """
  end

  test "there are neither options nor pointers" do
    assert_raise ArgumentError, "Dala.Nx.Backend takes no options, got: [client: :host]", fn ->
      Nx.default_backend({Backend, client: :host})
    end

    message = ~r/neither takes nor gives pointers/
    assert_raise ArgumentError, message, fn -> Backend.to_pointer(Nx.tensor(1), []) end
  end

  test "an operation that fails is an error of what reads its result" do
    a = Nx.iota({4}, type: :f32)
    Nx.backend_deallocate(a)
    assert_raise Error, fn -> Nx.exp(a) end
  end

  test "the memory of tensors is freed with them, and with their process" do
    # Whatever garbage there is from before.
    :erlang.garbage_collect()
    before = in_use()

    {pid, monitor} =
      spawn_monitor(fn ->
        Nx.default_backend(Backend)
        t = Nx.iota({1000, 1000}, type: :f32)
        _ = Nx.to_binary(Nx.sum(t))
        Process.put(:kept, t)

        receive do
          :never -> t
        end
      end)

    assert eventually(fn -> in_use() >= before + 4_000_000 end)
    Process.exit(pid, :kill)
    assert_receive {:DOWN, ^monitor, :process, ^pid, :killed}, 10_000
    assert eventually(fn -> in_use() <= before end)
  end

  defp in_use, do: Compute.memory_info().in_use
end
