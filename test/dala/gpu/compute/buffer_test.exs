defmodule Dala.Gpu.Compute.BufferTest do
  use Dala.Test.GpuCase, async: true

  doctest Dala.Gpu.Compute.Buffer

  @dtypes Buffer.dtypes()

  @limits [
    s32: {-0x80000000, 0x7FFFFFFF},
    s64: {-0x8000000000000000, 0x7FFFFFFFFFFFFFFF},
    u32: {0, 0xFFFFFFFF},
    u8: {0, 255},
    s8: {-128, 127},
    s16: {-0x8000, 0x7FFF},
    u16: {0, 0xFFFF},
    u64: {0, 0xFFFFFFFFFFFFFFFF}
  ]

  describe "new/3" do
    test "f32 is the default" do
      assert %Buffer{dtype: :f32, shape: {2}} = Buffer.new([1, 2], {2})
    end

    for dtype <- @dtypes do
      test "round trip of #{dtype}" do
        list = Enum.to_list(1..12)
        buffer = Buffer.new(list, {3, 4}, unquote(dtype))
        expected = if unquote(dtype) == :c64, do: Enum.map(list, &{&1 * 1.0, 0.0}), else: list
        assert Buffer.read_list(buffer) == expected
        assert Buffer.shape(buffer) == {3, 4}
        assert Buffer.dtype(buffer) == unquote(dtype)
      end
    end

    for {dtype, {low, high}} <- @limits do
      test "the ends of #{dtype}, and one beyond" do
        list = [unquote(low), unquote(high)]
        assert Buffer.read_list(Buffer.new(list, {2}, unquote(dtype))) == list

        for beyond <- [unquote(low) - 1, unquote(high) + 1, unquote(high) * 10_000_000_000] do
          assert_raises(:invalid_param, ["element 1 (", "#{unquote(dtype)}"], fn ->
            Buffer.new([0, beyond], {2}, unquote(dtype))
          end)
        end
      end
    end

    for dtype <- [:f32, :f64, :f16, :bf16] do
      test "#{dtype} takes integers, NaN and infinities" do
        list = [1, 2.5, :nan, :infinity, :neg_infinity, -0.0]
        buffer = Buffer.new(list, {6}, unquote(dtype))

        assert [1.0, 2.5, :nan, :infinity, :neg_infinity, zero] = Buffer.read_list(buffer)
        assert <<zero::float>> == <<-0.0::float>>
      end
    end

    test "f32 rounds to nearest, and what is too large is infinite" do
      assert Buffer.read(Buffer.new([0.1, 1.0e300], {2}, :f32)) ==
               <<0.1::float-32-native, 0x7F800000::32-native>>
    end

    test "f16 and bf16 round to nearest, halves to even, and what is too large is infinite" do
      # 1 + 2^-11 and 1 + 3 * 2^-11 are halfway between two f16; 2^-25 is half of the smallest.
      list = [
        0.1,
        1.00048828125,
        1.00146484375,
        65504,
        65519.9,
        65520,
        -1.0e300,
        2.98023223876953125e-8,
        3.0e-8
      ]

      bits = [0x2E66, 0x3C00, 0x3C02, 0x7BFF, 0x7BFF, 0x7C00, 0xFC00, 0x0000, 0x0001]

      assert Buffer.read(Buffer.new(list, {9}, :f16)) ==
               for(b <- bits, into: "", do: <<b::16-native>>)

      # 1 + 2^-8 and 1 + 3 * 2^-8 are halfway between two bf16. A double is rounded once.
      list = [0.1, 1.00390625, 1.01171875, 1.003906250000001, 3.4e38, 1.0e39, -1.0e-45]
      bits = [0x3DCD, 0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x7F80, 0x8000]

      assert Buffer.read(Buffer.new(list, {7}, :bf16)) ==
               for(b <- bits, into: "", do: <<b::16-native>>)

      # So is an integer.
      above = 0x4000000000000000 + 0x40000000000000 + 1

      assert Buffer.read(Buffer.new([above, above - 1], {2}, :bf16)) ==
               <<0x5E81::16-native, 0x5E80::16-native>>
    end

    test "complex numbers are pairs, or their real parts" do
      buffer = Buffer.new([{1, -2.5}, 3, {:nan, :infinity}], {3}, :c64)
      assert Buffer.read_list(buffer) == [{1.0, -2.5}, {3.0, 0.0}, {:nan, :infinity}]

      assert binary_part(Buffer.read(buffer), 0, 8) ==
               <<1.0::float-32-native, -2.5::float-32-native>>

      assert_raises(
        :invalid_param,
        "element 1 (a tuple) is not a pair of numbers for a c64 buffer",
        fn ->
          Buffer.new([1, {1, 2, 3}], {2}, :c64)
        end
      )

      assert_raises(:invalid_param, "is not a number for a c64 buffer", fn ->
        Buffer.new([{1, :oops}], {1}, :c64)
      end)
    end

    test "f64 keeps every digit" do
      assert Buffer.read_list(Buffer.new([0.1, 1.0e300], {2}, :f64)) == [0.1, 1.0e300]
    end

    test "floats take integers of up to 64 bits" do
      list = [0xFFFFFFFFFFFFFFFF, -0x8000000000000000]
      assert Buffer.read_list(Buffer.new(list, {2}, :f64)) == Enum.map(list, &(&1 * 1.0))

      assert_raises(:invalid_param, ["element 0 (", "is out of range for an f64 buffer"], fn ->
        Buffer.new([0x10000000000000000], {1}, :f64)
      end)
    end

    test "long lists" do
      list = for i <- 1..200_000, do: i * 0.5
      assert Buffer.read_list(Buffer.new(list, {200_000}, :f64)) == list
      list = List.replace_at(list, 150_000, :oops)

      assert_raises(:invalid_param, ["element 150000 (", "oops"], fn ->
        Buffer.new(list, {200_000}, :f64)
      end)
    end

    test "any shape: scalar, empty, many dimensions, a list" do
      assert Buffer.read_list(Buffer.new([5], {})) == [5.0]
      assert Buffer.read_list(Buffer.new([], {0})) == []
      assert Buffer.read_list(Buffer.new([], {3, 0, 2}, :u8)) == []

      assert Buffer.shape(Buffer.new([1, 2], {1, 1, 1, 2, 1, 1, 1, 1})) ==
               {1, 1, 1, 2, 1, 1, 1, 1}

      assert Buffer.shape(Buffer.new([1, 2], [2, 1])) == {2, 1}
    end

    test "the wrong number of elements" do
      assert_raises(:shape_mismatch, ["{3}", "3", "2"], fn -> Buffer.new([1, 2], {3}) end)
      assert_raises(:shape_mismatch, ["{3}", "3", "4"], fn -> Buffer.new([1, 2, 3, 4], {3}) end)
      assert_raises(:shape_mismatch, "{}", fn -> Buffer.new([], {}) end)
    end

    test "a float in an integer buffer" do
      assert_raises(:dtype_mismatch, ["element 2 (", "s32"], fn ->
        Buffer.new([1, 2, 3.0], {3}, :s32)
      end)
    end

    test "other terms" do
      for term <- [nil, :inf, "1", {1}, [1], self()] do
        assert_raises(:invalid_param, "element 1 (", fn -> Buffer.new([0, term], {2}) end)
      end

      assert_raises(:invalid_param, "element 0 (", fn -> Buffer.new([:nan], {1}, :u8) end)
    end

    test "the first bad index is the one that is named" do
      assert_raises(:invalid_param, "element 1 (", fn ->
        Buffer.new([0, 256, 1.5, -1], {4}, :u8)
      end)
    end

    test "bad shapes, dtypes and lists" do
      message =
        "expected shape to be a tuple of non-negative integers such as {2, 3}, got: {2, -1} (index 1)"

      assert_raise ArgumentError, message, fn -> Buffer.new([1], {2, -1}) end

      for shape <- [3, nil, {1.0}, {:a}, "3", [1 | 2], %{}, {0x8000000000000000}] do
        assert_raise ArgumentError, ~r/^expected shape to be a tuple/, fn ->
          Buffer.new([1], shape)
        end
      end

      message =
        "expected dtype to be one of :f32, :f64, :s32, :s64, :u32, :u8, :f16, :bf16, :s8, :s16, " <>
          ":u16, :u64, :c64, got: :f8"

      assert_raise ArgumentError, message, fn -> Buffer.new([1], {1}, :f8) end
      assert_raise ArgumentError, ~r/got: "f32"/, fn -> Buffer.new([1], {1}, "f32") end

      for list <- [nil, "abc", {1, 2}, 1..3, [1 | 2]] do
        assert_raise ArgumentError, ~r/^expected the elements as a list, got: /, fn ->
          Buffer.new(list, {2})
        end
      end
    end

    test "a shape of more than 2^62 bytes" do
      assert_raises(:shape_mismatch, "exceeds 2^62 bytes", fn ->
        Buffer.new([], {0, 0x4000000000000000, 0x4000000000000000})
      end)
    end
  end

  describe "zeros/2" do
    for dtype <- @dtypes do
      test "of #{dtype}" do
        buffer = Buffer.zeros({5, 3}, unquote(dtype))
        assert Enum.all?(Buffer.read_list(buffer), &(&1 in [0, 0.0, {0.0, 0.0}]))
        assert Buffer.num_elements(buffer) == 15
      end
    end

    test "holds zeros also where memory is used again" do
      for size <- [10, 10_000, 1_000_000] do
        dirty = Buffer.zeros({size}, :u8)
        assert Compute.run_kernel(:fill, [], dirty, value: 255) == :ok
        Buffer.free(dirty)
        assert Buffer.read(Buffer.zeros({size}, :u8)) == :binary.copy(<<0>>, size)
      end
    end

    test "beyond the device, and then a small one" do
      for bytes <- [Compute.device_info().max_allocation + 1, 0x3FFFFFFFFFFFFFFF] do
        before = Compute.memory_info()
        assert_raises(:out_of_memory, "#{bytes}", fn -> Buffer.zeros({bytes}, :u8) end)
        assert Compute.memory_info().limit == before.limit
        assert Buffer.read(Buffer.zeros({2}, :u8)) == <<0, 0>>
      end
    end
  end

  describe "from_binary/3" do
    for dtype <- @dtypes, bytes = Buffer.bytes(dtype) do
      test "of #{dtype}" do
        binary = :crypto.strong_rand_bytes(6 * unquote(bytes))
        buffer = Buffer.from_binary(binary, {2, 3}, unquote(dtype))
        assert Buffer.read(buffer) == binary
        assert Buffer.size(buffer) == byte_size(binary)

        for wrong <- [binary <> <<0>>, binary_part(binary, 0, byte_size(binary) - 1), ""] do
          assert_raises(:shape_mismatch, ["#{byte_size(wrong)}", "#{byte_size(binary)}"], fn ->
            Buffer.from_binary(wrong, {2, 3}, unquote(dtype))
          end)
        end
      end
    end

    test "sub-binaries at any offset" do
      binary = :crypto.strong_rand_bytes(100_003)

      for offset <- [0, 1, 2, 3] do
        part = binary_part(binary, offset, 100_000)
        buffer = Buffer.from_binary(part, {25_000}, :f32)
        copy = Buffer.zeros({25_000}, :f32)

        assert Compute.wait(Compute.submit(%{op: :copy_buffer, inputs: [buffer], output: copy})) ==
                 :ok

        assert Buffer.read(copy) == part
      end
    end

    test "what is no binary" do
      for term <- [[1, 2], nil, <<1::3>>, 'abc'] do
        assert_raise ArgumentError, ~r/^expected the elements as a binary, got: /, fn ->
          Buffer.from_binary(term, {2}, :u8)
        end
      end
    end

    test "the binary is not changed by kernels" do
      for size <- [16, 100_000] do
        binary = :binary.copy(<<1>>, size)
        before = :binary.copy(binary)
        buffer = Buffer.from_binary(binary, {size}, :u8)
        assert Compute.scale(buffer, 5, buffer) == :ok
        assert Buffer.read(buffer) == :binary.copy(<<5>>, size)
        assert binary == before
      end
    end

    test "the binary may go away before the buffer" do
      buffer =
        Task.await(
          Task.async(fn ->
            buffer = Buffer.from_binary(:binary.copy(<<3>>, 1_000_000), {1_000_000}, :u8)
            assert Buffer.read(buffer) == :binary.copy(<<3>>, 1_000_000)
            buffer
          end)
        )

      :erlang.garbage_collect()
      assert Compute.scale(buffer, 2, buffer) == :ok
      assert Buffer.read(buffer) == :binary.copy(<<6>>, 1_000_000)
    end
  end

  describe "what was read" do
    test "keeps its content while the buffer is overwritten, freed and collected" do
      for size <- [64, 5_000, 1_000_000] do
        binary = make_binary(size)
        # Buffers of the same size take the memory that was given back, if it was.
        for _ <- 1..5, do: Compute.run_kernel(:fill, [], Buffer.zeros({size}, :u8), value: 99)
        :erlang.garbage_collect()
        assert binary == :binary.copy(<<7>>, size)
      end
    end

    defp make_binary(size) do
      buffer = Buffer.new(List.duplicate(7, size), {size}, :u8)
      binary = Buffer.read(buffer)
      assert Compute.run_kernel(:fill, [], buffer, value: 1) == :ok
      assert binary == :binary.copy(<<7>>, size)
      again = Buffer.read(buffer)
      assert Compute.scale(buffer, 2, buffer) == :ok
      assert again == :binary.copy(<<1>>, size)
      Buffer.free(buffer)
      assert again == :binary.copy(<<1>>, size)
      binary
    end

    test "is the same in other processes" do
      buffer = Buffer.new(List.duplicate(7, 10_000), {10_000}, :u8)
      test = self()

      readers =
        for _ <- 1..4 do
          Task.async(fn ->
            binary = Buffer.read(buffer)
            send(test, :read)
            receive do: (:look -> binary == :binary.copy(<<7>>, 10_000))
          end)
        end

      for _ <- readers, do: assert_receive(:read, 10_000)
      assert Compute.run_kernel(:fill, [], buffer, value: 0) == :ok
      for reader <- readers, do: send(reader.pid, :look)
      assert Enum.all?(Task.await_many(readers))
    end

    test "can be read again and again" do
      buffer = counting(1000)
      assert Buffer.read(buffer) == Buffer.read(buffer)
      assert Buffer.read_list(buffer) == Enum.map(1..1000, &(&1 * 1.0))
    end
  end

  describe "write" do
    test "gives new content, also to a large buffer" do
      for bytes <- [0, 1, 100, 5_000, 1_000_000] do
        buffer = Buffer.zeros({bytes}, :u8)
        data = :crypto.strong_rand_bytes(bytes)
        assert Buffer.write(buffer, data) == :ok
        assert Buffer.read(buffer) == data
      end
    end

    test "does not affect earlier reads and commands" do
      bytes = 400_000
      buffer = Buffer.from_binary(:binary.copy(<<1>>, bytes), {bytes}, :u8)
      sum = Buffer.zeros({bytes}, :u8)
      before = Buffer.read(buffer)

      ids =
        for _ <- 1..20 do
          Compute.submit(%{
            op: :run_kernel,
            kernel: :elementwise_add,
            inputs: [buffer, sum],
            output: sum
          })
        end

      Buffer.write(buffer, :binary.copy(<<100>>, bytes))
      for id <- ids, do: assert(Compute.wait(id) == :ok)
      assert Buffer.read(sum) == :binary.copy(<<20>>, bytes)
      assert before == :binary.copy(<<1>>, bytes)
    end

    test "does not change the binary when a kernel writes to the buffer" do
      data = :binary.copy(<<7>>, 100_000)
      buffer = Buffer.zeros({100_000}, :u8)
      Buffer.write(buffer, data)
      assert Compute.scale(buffer, 2, buffer) == :ok
      assert Buffer.read(buffer) == :binary.copy(<<14>>, 100_000)
      assert data == :binary.copy(<<7>>, 100_000)
    end

    test "reports invalid arguments" do
      buffer = Buffer.zeros({2, 3}, :f32)

      error = assert_raise Error, fn -> Buffer.write(buffer, <<1, 2, 3>>) end
      assert error.reason == :shape_mismatch
      assert error.message == "shape {2, 3} of f32 has 24 bytes, the binary has 3"

      Buffer.free(buffer)
      error = assert_raise Error, fn -> Buffer.write(buffer, <<0::size(24)-unit(8)>>) end
      assert error.reason == :freed

      assert_raise ArgumentError, ~r/expected the elements as a binary/, fn ->
        Buffer.write(buffer, [1])
      end
    end
  end

  describe "reading" do
    test "waits for what was submitted on the buffer" do
      rounds = rounds_per_ms()
      buffer = Buffer.new([1], {1}, :u32)
      id = Compute.submit(slow(20 * rounds, buffer))

      second =
        Compute.submit(%{
          op: :run_kernel,
          kernel: :fill,
          inputs: [],
          output: buffer,
          params: %{value: 9}
        })

      assert Buffer.read_list(buffer) == [9]
      assert Compute.poll(id) == :completed
      assert Compute.poll(second) == :completed
    end

    test "does not wait for commands on other buffers" do
      rounds = rounds_per_ms()
      buffer = Buffer.new([1], {1}, :u32)
      id = Compute.submit(slow(500 * rounds))
      assert Buffer.read_list(buffer) == [1]
      assert Compute.poll(id) == :pending
      assert Compute.wait(id) == :ok
    end
  end

  describe "free/1" do
    test "may be called twice, and makes every later use an error" do
      a = counting(3)
      b = counting(3)
      assert Buffer.valid?(a)
      assert Buffer.free(a) == :ok
      assert Buffer.free(a) == :ok
      refute Buffer.valid?(a)

      assert_raises(:freed, "freed", fn -> Buffer.read(a) end)
      assert_raises(:freed, "freed", fn -> Buffer.read_list(a) end)
      assert_error(Compute.relu(a, b), :freed, ["input 0", "freed"])
      assert_error(Compute.relu(b, a), :freed, ["output", "freed"])
      assert_error(Compute.add(b, a, b), :freed, ["input 1", "freed"])

      id = Compute.submit(%{op: :run_kernel, kernel: :relu, inputs: [a], output: b})
      assert_error(Compute.wait(id), :freed, "freed")
      id = Compute.submit(%{op: :copy_buffer, inputs: [a], output: b})
      assert_error(Compute.wait(id), :freed, "freed")
      assert Buffer.read_list(b) == [1.0, 2.0, 3.0]
    end

    test "shape and type stay known" do
      a = Buffer.zeros({2, 3}, :s64)
      Buffer.free(a)
      assert {Buffer.shape(a), Buffer.dtype(a), Buffer.size(a)} == {{2, 3}, :s64, 48}
    end

    test "while a command uses the buffer" do
      rounds = rounds_per_ms()
      buffer = Buffer.new([1], {1}, :u32)
      id = Compute.submit(slow(50 * rounds, buffer))
      assert Buffer.free(buffer) == :ok
      assert Compute.wait(id) == :ok
      assert_raises(:freed, "freed", fn -> Buffer.read(buffer) end)
    end

    test "free_many/1" do
      buffers = for _ <- 1..3, do: counting(3)
      assert Buffer.free_many(buffers) == :ok
      refute Enum.any?(buffers, &Buffer.valid?/1)
      assert Buffer.free_many([]) == :ok
    end
  end

  describe "references" do
    test "serve as buffers" do
      a = counting(3)
      assert Buffer.read(a.ref) == Buffer.read(a)
      assert Buffer.valid?(a.ref)
      assert Compute.add(a.ref, a.ref, a.ref) == :ok
      assert Buffer.read_list(a) == [2.0, 4.0, 6.0]
      assert Buffer.free(a.ref) == :ok
    end

    test "that are not buffers" do
      a = counting(3)
      b = counting(3)
      stranger = make_ref()

      assert_raises(:freed, [], fn -> Buffer.read(stranger) end)
      assert_raises(:freed, [], fn -> Buffer.free(stranger) end)
      refute Buffer.valid?(stranger)
      assert_error(Compute.relu(stranger, b), :freed)
      assert_error(Compute.relu(a, stranger), :freed)
      assert_error(Compute.relu(Pipeline.new().ref, b), :freed)
      assert_error(Compute.wait(Kernel.async_run(:relu, [stranger], b)), :freed)
      assert Buffer.read_list(b) == [1.0, 2.0, 3.0]
    end

    test "from another node" do
      # The encoding of a reference created on a node named other@host.
      name = "other@host"

      external =
        <<131, 90, 3::16, 119, byte_size(name), name::binary, 1::32, 1::32, 2::32, 3::32>>

      foreign = :erlang.binary_to_term(external)
      assert is_reference(foreign) and node(foreign) == :other@host
      b = counting(3)
      assert_error(Compute.relu(foreign, b), :freed)
      assert_raises(:freed, [], fn -> Buffer.read(foreign) end)
      refute Buffer.valid?(foreign)
    end

    test "that went through the external format" do
      a = counting(3)

      assert Buffer.read_list(:erlang.binary_to_term(:erlang.term_to_binary(a))) == [
               1.0,
               2.0,
               3.0
             ]
    end
  end

  test "terms that are not buffers" do
    for term <- [nil, 1, "buffer", %{ref: make_ref()}, {:ok, counting(1)}] do
      message = "expected a %Dala.Gpu.Compute.Buffer{}, got: #{inspect(term)}"

      for function <- [:read, :read_list, :free, :valid?, :shape, :dtype, :num_elements, :size] do
        assert_raise ArgumentError, message, fn -> apply(Buffer, function, [term]) end
      end
    end
  end

  test "the struct enforces its keys" do
    assert_raise ArgumentError, fn -> struct!(Buffer, ref: make_ref()) end
  end

  test "inspects as its type, never as its content" do
    assert inspect(Buffer.zeros({256, 256})) == "#Dala.Gpu.Compute.Buffer<f32[256][256] 256 KiB>"
    assert inspect(Buffer.zeros({}, :f64)) == "#Dala.Gpu.Compute.Buffer<f64 8 B>"
    assert inspect(Buffer.zeros({0, 2}, :u8)) == "#Dala.Gpu.Compute.Buffer<u8[0][2] 0 B>"
    assert inspect(Buffer.zeros({1000}, :s32)) == "#Dala.Gpu.Compute.Buffer<s32[1000] 3.9 KiB>"
    freed = Buffer.zeros({3})
    Buffer.free(freed)
    assert inspect(freed) == "#Dala.Gpu.Compute.Buffer<f32[3] freed>"
  end
end
