# The child of terms.exs: makes a number of calls that follow from a seed, and ends with status 0
# when each of them gave a value or raised an ArgumentError, no memory stayed in use, and the device
# still computes. With DALA_FUZZ_VERBOSE=1 each call is printed before it is made.
defmodule Dala.Fuzz.Child do
  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Error, Native}

  # The arguments of each function. A NIF that is not listed is an error below.
  @functions [
    version: [],
    runtime_start: [:config, :ref],
    report_to: [:own_pid],
    runtime_info: [],
    survey: [:folder, :ref],
    counters: [],
    memory_info: [],
    memory_should_collect: [],
    buffer_from_list: [:numbers, :shape, :dtype],
    buffer_from_list_dirty: [:numbers, :shape, :dtype],
    binary_whole: [:binary],
    buffer_from_binary: [:binary, :shape, :dtype, :size],
    buffer_write: [:buffer, :binary, :size],
    buffer_zeros: [:shape, :dtype],
    compute: [:kernel, :buffers, :shape, :dtype, :params],
    buffer_view: [:buffer, :shape, :dtype],
    buffer_temporary: [:shape, :dtype],
    buffer_type: [:buffer],
    buffer_free: [:buffer],
    buffer_state: [:buffer],
    buffer_read: [:buffer],
    buffer_read_part: [:buffer, :size, :size],
    readback_binary: [:readback],
    decode_list: [:binary, :dtype],
    decode_list_dirty: [:binary, :dtype],
    submit: [:op, :kernel, :buffers, :outputs, :params, :mode],
    submit_failure: [:text, :text, :details, :mode],
    command_turn: [:ref],
    commands_pending: [],
    command_poll: [:id],
    command_watch: [:id, :ref],
    command_watch_end: [:id, :ref],
    command_unwatch: [:id, :ref],
    command_cancel: [:id],
    client_killed: [:pid, :id],
    warm_up: [:no_dtypes, :names, :ref],
    tune: [:small, :ref],
    untuned: [],
    profile_start: [],
    profile_new: [],
    profile_read: [:profile],
    profile_stop: [:profile],
    pipeline_new: [],
    pipeline_add: [:pipeline, :stage],
    pipeline_count: [:pipeline],
    pipeline_stages: [:pipeline],
    pipeline_set: [:pipeline, :stage_name, :params],
    pipeline_run: [:pipeline, :small, :swaps, :ref, :profile],
    pipeline_submit: [:pipeline, :small, :swaps, :mode, :ref],
    pipeline_explain: [:pipeline, :ref],
    pipeline_ports: [:pipeline, :buffers, :buffers],
    pipeline_call: [:pipeline, :buffers],
    pipeline_call_dirty: [:pipeline, :buffers],
    pipeline_free: [:pipeline],
    model_load: [:source, :ref],
    model_get_ready: [:model, :shapes, :ref],
    model_info: [:model],
    model_predict: [:model, :buffers, :ref],
    model_turn: [:ref],
    model_give_up: [:prediction],
    model_profile: [:model, :buffers, :ref],
    model_register: [:model, :kernel, :boolean],
    model_free: [:model, :ref],
    state_new: [:model, :pairs, :names, :buffers],
    state_predict: [:state, :buffers, :ref],
    state_turn: [:state, :ref],
    state_reset: [:state],
    state_values: [:state, :ref],
    segments_share: [],
    segments_trim: [],
    segment_copy: [:binary],
    segment_place: [:binary],
    segment_map: [:segment, :size, :own_pid, :small],
    token_new: [:own_pid, :small],
    kernels: [],
    kernel_register: [:kernel, :source_text, :kernel_options, :ref],
    kernel_elementwise: [:kernel, :formula, :kernel_options, :ref],
    kernel_known: [:kernel],
    kernel_unregister: [:kernel],
    image_decode: [:picture, :size, :size],
    image_encode: [:binary, :small, :small, :format, :small]
  ]

  # Of results that name something: what, for later calls to be made with.
  @kept [
    buffer_from_list: :buffer,
    buffer_from_list_dirty: :buffer,
    buffer_from_binary: :buffer,
    buffer_zeros: :buffer,
    buffer_temporary: :buffer,
    buffer_view: :buffer,
    compute: :buffer,
    profile_start: :profile,
    profile_new: :profile,
    pipeline_new: :pipeline,
    model_predict: :prediction,
    submit: :id,
    submit_failure: :id,
    pipeline_run: :id,
    pipeline_submit: :id,
    state_new: :state
  ]
  @kernels ~w(elementwise_add relu matmul conv2d resize softmax transpose fill sort fft take) ++
             ["fuzz_a", "fuzz_b", ""]
  @keep_at_most 24
  @settle_every 500

  def main(seed, calls) do
    :ok = Compute.Runtime.ensure()
    complete!()
    idle = in_use()
    make(calls, seed)
    works!()

    # A model that is registered as a kernel is kept; everything else that was made is garbage now.
    Enum.each(@kernels, &Native.kernel_unregister/1)
    wait_until(fn -> in_use() == idle end, fn -> "#{in_use()} bytes are in use, #{idle} were" end)
    IO.puts("calls #{calls}")
  end

  # In a function of its own, whose stack frame refers to what was made.
  defp make(calls, seed) do
    pools = Enum.reduce(1..calls, %{}, fn number, pools -> step(seed, number, pools) end)
    settle(pools)
    :ok
  end

  defp complete! do
    own = [:load, :state, :put_state, :module_info]

    listed = for {name, kinds} <- @functions, do: {name, length(kinds)}
    there = for {name, arity} <- Native.__info__(:functions), name not in own, do: {name, arity}

    unless Enum.sort(listed) == Enum.sort(there) do
      fail("the functions differ: #{inspect(there -- listed)}, #{inspect(listed -- there)}")
    end
  end

  defp step(seed, number, pools) do
    :rand.seed(:exsss, {seed, number, 0})
    {name, kinds} = Enum.random(@functions)
    arguments = Enum.map(kinds, &argument(&1, pools))
    if System.get_env("DALA_FUZZ_VERBOSE") == "1", do: announce(number, name, arguments)
    result = call(number, name, arguments)
    pools = keep(pools, name, result)

    if rem(number, @settle_every) == 0 do
      pools = settle(pools)
      works!()
      pools
    else
      pools
    end
  end

  defp announce(number, name, arguments) do
    IO.puts(:stderr, "#{number} #{name} #{inspect(arguments, limit: 30, printable_limit: 200)}")
  end

  defp call(number, name, arguments) do
    apply(Native, name, arguments)
  rescue
    ArgumentError ->
      :refused

    other ->
      announce(number, name, arguments)
      fail("call #{number} raised #{inspect(other)}")
  end

  defp keep(pools, name, result) do
    case {@kept[name], result} do
      {nil, {:pending, _id, readback}} -> put(pools, :readback, readback)
      {nil, _result} -> pools
      {kind, {:ok, value}} -> put(pools, kind, value)
      {kind, value} when is_reference(value) -> put(pools, kind, value)
      _ -> pools
    end
  end

  defp put(pools, kind, value) do
    Map.update(pools, kind, [value], &Enum.take([value | &1], @keep_at_most))
  end

  # Waits for what was started: answers come as messages, and some of them bring a model.
  defp settle(pools) do
    buffer = Compute.buffer_zeros({1}, :f32)
    _ = Compute.read_binary(buffer)
    models(pools, 50)
  end

  defp models(pools, wait) do
    receive do
      {ref, {:ok, model, _inputs, _outputs}} when is_reference(ref) ->
        models(put(pools, :model, model), wait)

      _message ->
        models(pools, wait)
    after
      wait -> pools
    end
  end

  defp works! do
    a = Compute.buffer([1, 2, 3], {3})
    b = Compute.buffer([10, 20, 30], {3})
    sum = Compute.buffer_zeros({3}, :f32)
    :ok = Compute.run_kernel(:elementwise_add, [a, b], sum)
    unless Compute.read_list(sum) == [11.0, 22.0, 33.0], do: fail("the device computes nonsense")
  end

  defp in_use do
    {:ok, %{in_use: bytes}} = Native.memory_info()
    bytes
  end

  defp wait_until(done?, problem, rounds \\ 1200) do
    forget_last_exception()
    :erlang.garbage_collect()

    cond do
      done?.() ->
        :ok

      rounds == 0 ->
        fail(problem.())

      true ->
        receive(do: (_message -> :ok), after: (50 -> :ok)) &&
          wait_until(done?, problem, rounds - 1)
    end
  end

  # A process keeps the stack trace of its last exception, with the arguments of the call.
  defp forget_last_exception do
    raise "forget"
  rescue
    RuntimeError -> :ok
  end

  defp fail(text) do
    IO.puts(:stderr, text)
    System.halt(1)
  end

  # Three in four arguments are of the right kind, mostly.
  defp argument(:folder, pools), do: proper(:folder, pools)

  defp argument(kind, pools) do
    if :rand.uniform(4) == 1, do: anything(3), else: proper(kind, pools)
  end

  defp proper(:ref, _pools), do: make_ref()
  defp proper(:own_pid, _pools), do: self()
  defp proper(:pid, _pools), do: Enum.random([self(), spawn(fn -> :ok end)])
  defp proper(:boolean, _pools), do: Enum.random([true, false])
  defp proper(:dtype, _pools), do: Enum.random(Dala.Gpu.Compute.Buffer.dtypes())
  defp proper(:no_dtypes, _pools), do: Enum.random([[], [:f16], [:f32 | :u8], [[]], [nil]])
  defp proper(:op, _pools), do: Enum.random([:run_kernel, :copy_buffer, :barrier])
  defp proper(:format, _pools), do: Enum.random([:png, :jpeg, :gif])
  defp proper(:small, _pools), do: :rand.uniform(9) - 1

  defp proper(:size, _pools),
    do: Enum.random([0, 1, 4, 24, 100, 4096, 1 <<< 31, 1 <<< 40, (1 <<< 64) - 1])

  defp proper(:details, _pools), do: Enum.random([%{}, %{reason: "a"}, %{"limit" => 7}])
  defp proper(:names, _pools), do: Enum.random([[], ["relu"], ["nowhere"], ["relu" | "tile"]])
  defp proper(:pairs, _pools), do: Enum.random([[], [{"y", "x"}], [{"x", "x"}], [{"", ""}, []]])

  # Of another process, which may not exist.
  defp proper(:segment, _pools) do
    number = fn -> Enum.random([0, 1, 3, -1, 1 <<< 31, 1 <<< 63]) end
    {number.(), number.(), number.(), number.()}
  end

  defp proper(:stage_name, _pools), do: Enum.random([0, 1, 7, -1, :first, "first"])

  defp proper(:outputs, pools),
    do: argument(Enum.random([:buffer, :buffer, :buffers]), pools)

  defp proper(:swaps, pools) do
    for _ <- 1..(:rand.uniform(3) - 1)//1,
        do: {argument(:buffer, pools), argument(:buffer, pools)}
  end

  defp proper(:text, _pools), do: Enum.random(["freed", "", "a sentence", <<255, 0>>])

  # A folder that is named is made.
  defp proper(:folder, _pools),
    do: Enum.random(["", <<0>>, "/proc/nowhere", Path.join(System.tmp_dir!(), "dala_fuzz_cache")])

  defp proper(:shape, _pools),
    do: for(_ <- 1..(:rand.uniform(4) - 1)//1, do: :rand.uniform(6) - 1)

  defp proper(:shapes, pools),
    do: for(_ <- 1..(:rand.uniform(3) - 1)//1, do: proper(:shape, pools))

  defp proper(:numbers, _pools), do: for(_ <- 1..(:rand.uniform(40) - 1)//1, do: number())
  defp proper(:binary, _pools), do: :rand.bytes(Enum.random([0, 1, 4, 16, 64, 100, 256, 4096]))
  defp proper(:config, _pools), do: Compute.Runtime.config()

  defp proper(:id, pools) do
    Enum.random([0, 1, -1, 1 <<< 63, (1 <<< 64) - 1 | Map.get(pools, :id, [7])])
  end

  defp proper(:kernel, _pools) do
    Enum.random(@kernels)
  end

  defp proper(:buffers, pools) do
    for _ <- 1..(:rand.uniform(4) - 1)//1, do: argument(:buffer, pools)
  end

  defp proper(:params, _pools) do
    for _ <- 1..(:rand.uniform(3) - 1)//1, into: %{} do
      {Enum.random([:value, :axis, :alpha, :size, "stride", :pads, :nowhere]),
       Enum.random([number(), [number()], true, :same, "linear", anything(2)])}
    end
  end

  defp proper(:mode, pools) do
    Enum.random([:async, {:reply, make_ref()}, {:notify, proper(:pid, pools)}])
  end

  defp proper(:stage, pools) do
    %{
      op: argument(:op, pools),
      kernel: argument(:kernel, pools),
      inputs: argument(:buffers, pools),
      output: argument(:outputs, pools),
      name: argument(:stage_name, pools),
      params: argument(:params, pools)
    }
  end

  defp proper(:source, pools) do
    Enum.random([
      {:binary, File.read!("examples/double.onnx")},
      {:binary, File.read!("examples/double.tflite")},
      {:path, "examples/double.json"},
      {:path, "examples"},
      {:path, "nowhere"},
      {:binary, proper(:binary, pools)}
    ])
  end

  defp proper(:kernel_options, pools) do
    %{
      inputs: argument(:small, pools),
      outputs: Enum.random([["output"], ["output", "output"], [], anything(2)]),
      params: Enum.random([[], ["a"], ["a", "a"], [""], anything(2)]),
      range: Enum.random(["auto", "elements", "pixels", "", anything(1)]),
      items: Enum.random([[], [4], [0], [1, 2, 3, 4], anything(2)]),
      local: Enum.random([[], [4], [1 <<< 40], anything(2)]),
      local_memory: Enum.random([[], [{"tile", 16}], [{"", 1 <<< 62}], anything(2)]),
      entry: Enum.random(["", "fuzz", anything(1)]),
      summary: Enum.random(["", "a sentence"]),
      headers: Enum.random([[], [{"a.h", "int a;"}], [{"", ""}], anything(2)]),
      sizes: Enum.random([[], [{"", 0}], [{"x", 7}], anything(2)]),
      trusted: Enum.random([true, false, anything(1)])
    }
  end

  # Sources that compile have the rights of the VM, so these are few and harmless.
  defp proper(:source_text, _pools) do
    Enum.random([
      "__kernel void fuzz(__global const float *x, __global float *output, int n) {}",
      "__kernel void fuzz(__global float *output) { output[0] = 1; }",
      "not OpenCL C",
      "",
      <<0>>
    ])
  end

  defp proper(:formula, _pools), do: Enum.random(["x + 1", "x * a", "x +", "", "(x))", "nowhere"])

  defp proper(:picture, pools) do
    {:ok, png} = Native.image_encode(:binary.copy(<<1, 2, 3, 4>>, 6), 3, 2, :png, 90)
    {:ok, jpeg} = Native.image_encode(:binary.copy(<<1, 2, 3, 4>>, 6), 3, 2, :jpeg, 90)
    Enum.random([png, jpeg, damaged(png), damaged(jpeg), "BM" <> proper(:binary, pools)])
  end

  # A buffer, profile, pipeline, model, readback or prediction.
  defp proper(kind, pools) do
    case pools do
      %{^kind => values} -> Enum.random(values)
      _ -> if kind == :profile, do: nil, else: make_ref()
    end
  end

  defp damaged(file) do
    at = :rand.uniform(byte_size(file)) - 1
    <<before::binary-size(at), _byte, rest::binary>> = file
    before <> <<:rand.uniform(256) - 1>> <> rest
  end

  defp number do
    Enum.random([0, 1, -1, 0.5, -1.0e38, 1.0e300, 1 <<< 31, 1 <<< 63, -(1 <<< 63), 1 <<< 70, :nan])
  end

  defp anything(depth) do
    leaves = [nil, true, :f32, :"", [], {}, %{}, "", <<0, 255>>, <<1::3>>, self(), make_ref()]
    leaf = fn -> Enum.random([number(), fn -> :ok end, String.duplicate("a", 300) | leaves]) end

    case {depth, :rand.uniform(8)} do
      {0, _} -> leaf.()
      {_, 1} -> for _ <- 1..(:rand.uniform(5) - 1)//1, do: anything(depth - 1)
      {_, 2} -> [anything(depth - 1) | anything(depth - 1)]
      {_, 3} -> {anything(depth - 1), anything(depth - 1)}
      {_, 4} -> %{anything(depth - 1) => anything(depth - 1)}
      {_, 5} -> %Error{reason: :freed, message: anything(0)}
      {_, 6} -> List.duplicate(anything(0), 1000)
      _ -> leaf.()
    end
  end

  defp left <<< right, do: Bitwise.bsl(left, right)
end

[seed, calls] = System.argv()
Dala.Fuzz.Child.main(String.to_integer(seed), String.to_integer(calls))
