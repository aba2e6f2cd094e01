defmodule Bench.CallCost do
  # `run_kernel(:relu)` of 1K elements from Elixir, beside enqueueing and waiting on the bare OpenCL
  # interface: in C++ (a process of its own, see bench/call_cost.cpp) and with erlang-cl.

  alias Bench.Line
  alias Dala.Gpu.Compute

  @count 1024
  @calls 400
  @native Path.expand("../../_build/bench/dala_bench", __DIR__)

  # As in bench/call_cost.cpp.
  @source """
  __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
  void relu(__global const float *in, __global float *out, const int n) {
    for (int i = 0; i < n; ++i) out[i] = in[i] > 0 ? in[i] : 0;
  }
  """

  def family, do: "call"

  def workloads(options), do: [{"run_kernel relu f32 1K", fn -> measure(options) end}]

  defp measure(options) do
    sides = [ours: ours(), raw: raw(), cl: erlang_cl()]
    for {_name, round} <- sides, round != nil, do: round.()

    rounds =
      for _round <- 1..if(options.quick, do: 5, else: 15) do
        for {name, round} <- sides, into: %{}, do: {name, round && round.()}
      end

    ours = Line.median(Enum.map(rounds, & &1.ours))
    raw = Line.median(Enum.map(rounds, & &1.raw))
    in_time = Line.median(for round <- rounds, do: round.ours / round.raw)
    c = %Line{peer: "raw C++", ours: ours, theirs: raw, ratio: in_time, at_most: 1.5}
    erlang = %Line{peer: "erlang-cl", ours: ours, at_least: 1.0}

    if sides[:cl] == nil do
      [c, erlang]
    else
      cl = Line.median(Enum.map(rounds, & &1.cl))
      [c, %{erlang | theirs: cl, ratio: Line.median(for r <- rounds, do: r.cl / r.ours)}]
    end
  end

  # Each side is a function that gives the median time of a round, in nanoseconds.

  defp ours do
    input = Compute.buffer_zeros({@count}, :f32)
    output = Compute.buffer_zeros({@count}, :f32)
    fn -> round_of(fn -> :ok = Compute.run_kernel(:relu, [input], output) end) end
  end

  defp raw do
    port = Port.open({:spawn_executable, @native}, [:binary, line: 100, args: ["--serve-calls"]])

    fn ->
      Port.command(port, "round\n")

      receive do
        {^port, {:data, {:eol, text}}} -> String.to_integer(text) * 1.0
      after
        60_000 -> raise "dala_bench does not answer"
      end
    end
  end

  # In this VM, on the same device and its threads.
  defp erlang_cl do
    if Code.ensure_loaded?(:cl) and apply(:cl, :start, []) == :ok do
      name = to_charlist(Compute.device_info().name)
      {:ok, platforms} = call(:get_platform_ids, [])

      [device | _] =
        for platform <- platforms,
            {:ok, devices} <- [call(:get_device_ids, [platform, :all])],
            device <- devices,
            call(:get_device_info, [device, :name]) == {:ok, name},
            do: device

      {:ok, context} = call(:create_context, [[device]])
      {:ok, queue} = call(:create_queue, [context, device, []])
      {:ok, program} = call(:create_program_with_source, [context, @source])
      :ok = call(:build_program, [program, [device], '-w'])
      {:ok, kernel} = call(:create_kernel, [program, 'relu'])
      {:ok, input} = call(:create_buffer, [context, [:read_write], 4 * @count])
      {:ok, output} = call(:create_buffer, [context, [:read_write], 4 * @count])

      fn ->
        round_of(fn ->
          :ok = call(:set_kernel_arg, [kernel, 0, input])
          :ok = call(:set_kernel_arg, [kernel, 1, output])
          :ok = call(:set_kernel_arg, [kernel, 2, {:int, @count}])
          {:ok, event} = call(:enqueue_nd_range_kernel, [queue, kernel, [1], [1], []])
          {:ok, :completed} = call(:wait, [event])
        end)
      end
    end
  end

  # Not known when this file is compiled.
  defp call(function, arguments), do: apply(:cl, function, arguments)

  defp round_of(call), do: Line.median_time(call, @calls)
end
