defmodule Dala.PropertiesTest do
  # Random shapes, values and sequences of commands, compared with the same in plain Elixir.
  # These tests use PropEr if it is installed (Debian: erlang-proper).
  use Dala.Test.GpuCase, async: true

  @compile {:no_warn_undefined, [:proper, :proper_types]}

  unless Code.ensure_loaded?(:proper) do
    @moduletag skip: "PropEr is not on the code path (erlang-proper)"
  end

  @moduletag timeout: 300_000

  @limits %{
    s32: {-0x80000000, 0x7FFFFFFF},
    s64: {-0x8000000000000000, 0x7FFFFFFFFFFFFFFF},
    u32: {0, 0xFFFFFFFF},
    u8: {0, 255}
  }

  defp check(generator, property, count \\ 300) do
    options = [:quiet, :long_result, numtests: count, max_size: 60]

    case :proper.quickcheck(:proper.forall(generator, property), options) do
      true -> :ok
      counterexample -> flunk("a counterexample: #{inspect(counterexample)}")
    end
  end

  # Generators

  defp integer_dtype, do: :proper_types.oneof(Map.keys(@limits))

  defp dimension, do: :proper_types.integer(0, 5)

  defp shape do
    :proper_types.oneof(for rank <- 0..4, do: :proper_types.vector(rank, dimension()))
  end

  # A generator that depends on the value of another.
  defp bind(generator, function), do: :proper_types.bind(generator, function, false)

  defp elements(dtype, count) do
    {low, high} = @limits[dtype]

    :proper_types.vector(
      count,
      :proper_types.oneof([low, high, :proper_types.integer(low, high)])
    )
  end

  defp typed_list do
    bind({integer_dtype(), shape()}, fn {dtype, dims} ->
      {dtype, dims, elements(dtype, Enum.product(dims))}
    end)
  end

  # Properties

  test "lists round-trip" do
    check(typed_list(), fn {dtype, dims, list} ->
      buffer = Compute.buffer(list, dims, dtype)
      Compute.read_list(buffer) == list and Compute.shape(buffer) == List.to_tuple(dims)
    end)
  end

  test "floats round-trip bit by bit" do
    check(:proper_types.list(:proper_types.float()), fn list ->
      Compute.read_list(Compute.buffer(list, {length(list)}, :f64)) == list and
        Compute.read(Compute.buffer(list, {length(list)}, :f32)) == f32(list)
    end)
  end

  test "bytes round-trip" do
    check(:proper_types.binary(), fn binary ->
      Compute.read(Compute.buffer_from_binary(binary, {byte_size(binary)}, :u8)) == binary
    end)
  end

  test "one invalid element anywhere is reported" do
    generator =
      bind(:proper_types.integer(1, 50), fn count ->
        {count, :proper_types.integer(0, count - 1),
         :proper_types.oneof([256, -1, 1.5, :nan, "x", nil])}
      end)

    check(generator, fn {count, index, bad} ->
      list = List.duplicate(7, count) |> List.replace_at(index, bad)
      error = assert_raise Error, fn -> Compute.buffer(list, {count}, :u8) end
      error.details.index == index and error.message =~ "element #{index} "
    end)
  end

  test "integer arithmetic wraps as two's complement does" do
    generator =
      bind({integer_dtype(), :proper_types.integer(1, 40)}, fn {dtype, count} ->
        {dtype, elements(dtype, count), elements(dtype, count)}
      end)

    check(generator, fn {dtype, left, right} ->
      count = length(left)
      a = Compute.buffer(left, {count}, dtype)
      b = Compute.buffer(right, {count}, dtype)
      c = zeros({count}, dtype)

      Enum.all?(
        [
          elementwise_add: &(&1 + &2),
          elementwise_sub: &(&1 - &2),
          elementwise_mul: &(&1 * &2),
          elementwise_min: &min/2,
          elementwise_max: &max/2,
          elementwise_div: &divide/2
        ],
        fn {kernel, function} ->
          :ok = Compute.run_kernel(kernel, [a, b], c)
          Compute.read_list(c) == Enum.zip_with(left, right, &wrap(function.(&1, &2), dtype))
        end
      )
    end)
  end

  defp divide(_a, 0), do: 0
  defp divide(a, b), do: div(a, b)

  defp wrap(value, dtype) do
    case dtype do
      :s32 -> <<value::32>> |> then(fn <<wrapped::signed-32>> -> wrapped end)
      :s64 -> <<value::64>> |> then(fn <<wrapped::signed-64>> -> wrapped end)
      :u32 -> <<value::32>> |> then(fn <<wrapped::unsigned-32>> -> wrapped end)
      :u8 -> <<value::8>> |> then(fn <<wrapped::unsigned-8>> -> wrapped end)
    end
  end

  test "broadcasting agrees with explicit indexing" do
    # A shape, and for each input which dimensions to shrink to 1 and how many to leave out.
    input = {:proper_types.vector(4, :proper_types.boolean()), :proper_types.integer(0, 4)}

    check({shape(), input, input}, fn {dims, left, right} ->
      {a_dims, a_list} = shrunk(dims, left, 3)
      {b_dims, b_list} = shrunk(dims, right, 5)
      a = Compute.buffer(a_list, a_dims, :s32)
      b = Compute.buffer(b_list, b_dims, :s32)
      c = zeros(dims, :s32)
      :ok = Compute.add(a, b, c)

      expected =
        for index <- indices(dims) do
          at(a_list, a_dims, index) + at(b_list, b_dims, index)
        end

      Compute.read_list(c) == expected
    end)
  end

  defp shrunk(dims, {ones, dropped}, factor) do
    dims =
      dims
      |> Enum.zip(ones)
      |> Enum.map(fn {dimension, one} -> if one, do: 1, else: dimension end)
      |> Enum.drop(min(dropped, length(dims)))

    {dims, Enum.map(1..Enum.product(dims)//1, &(&1 * factor))}
  end

  # All indices of a shape, row by row.
  defp indices(dims) do
    Enum.reduce(Enum.reverse(dims), [[]], fn dimension, rest ->
      for i <- 0..(dimension - 1)//1, tail <- rest, do: [i | tail]
    end)
  end

  # The element of a smaller shape that an index of the larger one stands for.
  defp at(list, dims, index) do
    offset =
      index
      |> Enum.drop(length(index) - length(dims))
      |> Enum.zip(dims)
      |> Enum.reduce(0, fn {i, dimension}, offset -> offset * dimension + rem(i, dimension) end)

    Enum.at(list, offset)
  end

  test "transpose and reductions along any axis" do
    generator =
      bind(:proper_types.vector(3, :proper_types.integer(1, 5)), fn dims ->
        {dims, :proper_types.integer(-3, 2)}
      end)

    check(generator, fn {dims, axis} ->
      list = for i <- 1..Enum.product(dims), do: rem(i * 7, 23) - 11
      a = Compute.buffer(list, dims, :s32)

      turned = zeros(Enum.reverse(dims), :s32)
      :ok = Compute.run_kernel(:transpose, [a], turned)

      transposed =
        for index <- indices(Enum.reverse(dims)), do: at(list, dims, Enum.reverse(index))

      position = if axis < 0, do: axis + 3, else: axis
      rest = List.delete_at(dims, position)
      sums = zeros(rest, :s32)
      largest = zeros(rest, :s32)
      :ok = Compute.run_kernel(:reduce_sum, [a], sums, axis: axis)
      :ok = Compute.run_kernel(:reduce_max, [a], largest, axis: axis)

      lines =
        for index <- indices(rest) do
          for i <- 0..(Enum.at(dims, position) - 1) do
            at(list, dims, List.insert_at(index, position, i))
          end
        end

      Compute.read_list(turned) == transposed and
        Compute.read_list(sums) == Enum.map(lines, &Enum.sum/1) and
        Compute.read_list(largest) == Enum.map(lines, &Enum.max/1)
    end)
  end

  test "any sequence of commands, reads and frees agrees with sequential execution" do
    slot = :proper_types.integer(0, 3)

    step =
      :proper_types.oneof([
        {:add, slot, slot, slot},
        {:copy, slot, slot},
        {:fill, slot, :proper_types.integer(-9, 9)},
        {:pipeline, slot, slot, slot},
        {:read, slot},
        {:renew, slot}
      ])

    check(
      :proper_types.list(step),
      fn steps ->
        # 2000 elements, so that what is read shares memory with the buffers where that is done.
        buffers = Map.new(0..3, &{&1, filled(&1)})
        model = Map.new(0..3, &{&1, &1})
        {buffers, model, read} = Enum.reduce(steps, {buffers, model, []}, &apply_step/2)

        Enum.all?(0..3, &holds?(Compute.read(buffers[&1]), model[&1])) and
          Enum.all?(read, fn {binary, value} -> holds?(binary, value) end)
      end,
      500
    )
  end

  test "a pipeline agrees with its kernels run one by one" do
    slot = :proper_types.integer(0, 3)

    step =
      :proper_types.oneof([
        {:proper_types.oneof([:elementwise_add, :elementwise_mul]), slot, slot, slot},
        {:neg, slot, slot},
        {:scalar_mul, slot, slot, :proper_types.integer(-3, 3)},
        {:reduce_max, slot}
      ])

    check(
      :proper_types.list(step),
      fn steps ->
        one_by_one = Map.new(0..3, &{&1, Compute.buffer([&1, 2, 3 - &1], {3}, :s32)})
        together = Map.new(0..3, &{&1, Compute.buffer([&1, 2, 3 - &1], {3}, :s32)})
        # A value that only the pipeline has goes through slot 4.
        apart = Map.put(one_by_one, 4, zeros({}, :s32))
        fused = Map.put(together, 4, Pipeline.temporary({}, :s32))
        stages = Enum.flat_map(steps, &stages_of/1)

        for {kernel, inputs, output, params} <- stages do
          :ok = Compute.run_kernel(kernel, Enum.map(inputs, &apart[&1]), apart[output], params)
        end

        pipeline = Pipeline.new()

        for {kernel, inputs, output, params} <- stages do
          Pipeline.add(pipeline, %{
            op: :run_kernel,
            kernel: kernel,
            inputs: Enum.map(inputs, &fused[&1]),
            output: fused[output],
            params: params
          })
        end

        Pipeline.run(pipeline) == :ok and
          Enum.all?(0..3, &(Compute.read(fused[&1]) == Compute.read(apart[&1])))
      end,
      12
    )
  end

  defp stages_of({kernel, a, b}), do: [{kernel, [a], b, %{}}]
  defp stages_of({:scalar_mul, a, b, factor}), do: [{:scalar_mul, [a], b, %{scalar: factor}}]
  defp stages_of({kernel, a, b, c}), do: [{kernel, [a, b], c, %{}}]

  defp stages_of({:reduce_max, a}),
    do: [{:reduce_max, [a], 4, %{}}, {:elementwise_sub, [a, 4], a, %{}}]

  @size 2000

  defp filled(value), do: Compute.buffer(List.duplicate(value, @size), {@size}, :s32)

  defp holds?(binary, value), do: binary == :binary.copy(<<value::signed-32-native>>, @size)

  defp apply_step({:add, a, b, c}, {buffers, model, read}) do
    Compute.submit(%{
      op: :run_kernel,
      kernel: :elementwise_add,
      inputs: [buffers[a], buffers[b]],
      output: buffers[c]
    })

    {buffers, Map.put(model, c, wrap(model[a] + model[b], :s32)), read}
  end

  defp apply_step({:copy, a, b}, {buffers, model, read}) do
    Compute.submit(%{op: :copy_buffer, inputs: [buffers[a]], output: buffers[b]})
    {buffers, Map.put(model, b, model[a]), read}
  end

  defp apply_step({:fill, a, value}, {buffers, model, read}) do
    Compute.submit(%{
      op: :run_kernel,
      kernel: :fill,
      inputs: [],
      output: buffers[a],
      params: %{value: value}
    })

    {buffers, Map.put(model, a, value), read}
  end

  # c = -a, then b = c + b
  defp apply_step({:pipeline, a, b, c}, {buffers, model, read}) do
    pipeline =
      Pipeline.new()
      |> Pipeline.add(%{op: :run_kernel, kernel: :neg, inputs: [buffers[a]], output: buffers[c]})
      |> Pipeline.add(%{
        op: :run_kernel,
        kernel: :elementwise_add,
        inputs: [buffers[c], buffers[b]],
        output: buffers[b]
      })

    :ok = Pipeline.run(pipeline)
    model = Map.put(model, c, wrap(-model[a], :s32))
    {buffers, Map.put(model, b, wrap(model[c] + model[b], :s32)), read}
  end

  defp apply_step({:read, a}, {buffers, model, read}),
    do: {buffers, model, [{Compute.read(buffers[a]), model[a]} | read]}

  # Frees the buffer while commands may still use it, and takes a new one.
  defp apply_step({:renew, a}, {buffers, model, read}) do
    Compute.free(buffers[a])
    {Map.put(buffers, a, filled(0)), Map.put(model, a, 0), read}
  end
end
