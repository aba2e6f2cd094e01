defmodule Dala.Test.GpuCase do
  @moduledoc false
  # Shared by tests on the device: aliases, slow commands, and waiting with a timeout.

  use ExUnit.CaseTemplate

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Buffer, Error, Kernel}

  @bound 60_000

  using do
    quote do
      alias Dala.Gpu.Compute
      alias Dala.Gpu.Compute.{Buffer, Command, Error, Kernel, Pipeline}
      import Dala.Test.GpuCase
    end
  end

  @doc "Asserts the error's reason and that its message has each text; returns the error."
  def assert_error(result, reason, texts \\ []) do
    assert {:error, %Error{} = error} = result
    assert_reason(error, reason, texts)
  end

  @doc "Asserts that the function raises an error of the library, likewise."
  def assert_raises(reason, texts, function) do
    assert_reason(assert_raise(Error, function), reason, texts)
  end

  defp assert_reason(error, reason, texts) do
    assert is_exception(error)
    assert error.reason == reason, Exception.message(error)
    assert is_map(error.details)
    for text <- List.wrap(texts), do: assert(error.message =~ text)
    error
  end

  @doc "A buffer of zeros."
  def zeros(shape, dtype \\ :f32), do: Compute.buffer_zeros(shape, dtype)

  @doc """
  Runs the function, and gives the calls of ours that held a scheduler for so many ms.

  A thread may lose its core in the middle of any call, which a rerun tells from a call that takes
  long: where there were such calls it runs again, three times at most, and those of the last run
  count.
  """
  def watch_schedulers(milliseconds, function, runs \\ 3) do
    case watch_run(milliseconds, function) do
      [_ | _] when runs > 1 -> watch_schedulers(milliseconds, function, runs - 1)
      reports -> reports
    end
  end

  defp watch_run(milliseconds, function) do
    previous = :erlang.system_monitor(self(), [{:long_schedule, milliseconds}])

    try do
      Task.await(Task.async(function), 240_000)
    after
      :erlang.system_monitor(previous)
    end

    for {_pid, info} = report <- long_schedules([]), native?(info), do: report
  end

  @doc "The reports of long schedules that have arrived."
  def long_schedules(reports) do
    receive do
      {:monitor, pid, :long_schedule, info} -> long_schedules([{pid, info} | reports])
    after
      0 -> reports
    end
  end

  @doc "Whether a long schedule was in a native function of ours."
  def native?(info) do
    Enum.any?([info[:in], info[:out]], &match?({Dala.Gpu.Compute.Native, _name, _arity}, &1))
  end

  @doc "Waits until the function returns a truthy value."
  def eventually(function, bound \\ @bound) do
    deadline = System.monotonic_time(:millisecond) + bound
    poll_until(function, deadline)
  end

  defp poll_until(function, deadline) do
    cond do
      result = function.() ->
        result

      System.monotonic_time(:millisecond) > deadline ->
        flunk("it did not happen in time")

      true ->
        receive do
        after
          2 -> poll_until(function, deadline)
        end
    end
  end

  @doc """
  Registers the kernel `slow`, a single work item that computes for `rounds` rounds, and measures
  how many of them take a millisecond. Once, before the tests, while the machine has nothing else
  to do.
  """
  def prepare_slow do
    :ok =
      Kernel.register(
        :slow,
        """
        // A xorshift generator, whose end nobody knows without going there.
        __kernel void slow(__global const uint *input, __global uint *output, int rounds) {
          uint x = input[0] | 1u;
          for (int i = 0; i < rounds; ++i) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
          }
          output[0] = x;
        }
        """,
        inputs: 1,
        params: [:rounds]
      )

    buffer = zeros({1}, :u32)
    # The first run compiles.
    :ok = Kernel.run(:slow, [buffer], buffer, rounds: 1)
    rounds = 20_000_000
    {micros, :ok} = :timer.tc(fn -> Kernel.run(:slow, [buffer], buffer, rounds: rounds) end)
    :persistent_term.put({__MODULE__, :rounds}, max(div(rounds * 1000, micros), 1))
  end

  @doc "The rounds of the kernel `slow` that take about a millisecond."
  def rounds_per_ms, do: :persistent_term.get({__MODULE__, :rounds})

  @doc "A command that takes long, on a new buffer unless one is given."
  def slow(rounds, buffer \\ nil) do
    buffer = buffer || zeros({1}, :u32)

    %{
      op: :run_kernel,
      kernel: :slow,
      inputs: [buffer],
      output: buffer,
      params: %{rounds: rounds}
    }
  end

  @doc "The expected result of the `slow` kernel."
  def slow_result(x, rounds) do
    import Bitwise

    Enum.reduce(1..rounds//1, x ||| 1, fn _round, x ->
      x = bxor(x, x <<< 13 &&& 0xFFFFFFFF)
      x = bxor(x, x >>> 17)
      bxor(x, x <<< 5 &&& 0xFFFFFFFF)
    end)
  end

  @doc "Asserts that two lists of numbers agree to a relative tolerance."
  def assert_close(actual, expected, tolerance \\ 1.0e-5) do
    assert length(actual) == length(expected)

    for {{a, e}, index} <- Enum.with_index(Enum.zip(actual, expected)) do
      close = a == e or (is_number(a) and is_number(e) and near?(a, e, tolerance))
      assert close, "element #{index}: got #{inspect(a)}, expected #{inspect(e)}"
    end
  end

  defp near?(a, e, tolerance), do: abs(a - e) <= tolerance * max(1.0, abs(e))

  @doc "The memory in use after all other processes have been garbage-collected."
  def settled_memory do
    for pid <- Process.list(), do: :erlang.garbage_collect(pid)
    Compute.memory_info().in_use
  end

  @quiet_looks 5
  @quiet_pause_ms 50

  @doc """
  The memory in use once the releases of earlier tests are over.

  A process that is about to end, or a command that is about to finish, still holds memory. So it waits
  until several looks in a row agree, each of them after a command has gone through.
  """
  def quiet_memory, do: quiet_memory_info().in_use

  @doc "The same with all of the counters."
  def quiet_memory_info do
    eventually(fn -> quiet(look(), @quiet_looks) end)
  end

  defp quiet(info, 0), do: info

  defp quiet(info, looks) do
    receive do
    after
      @quiet_pause_ms -> :ok
    end

    run_small_command()
    now = look()
    if {now.in_use, now.shared} == {info.in_use, info.shared}, do: quiet(now, looks - 1)
  end

  defp look do
    settled_memory()
    Compute.memory_info()
  end

  defp run_small_command do
    buffer = zeros({1})
    :ok = Compute.relu(buffer, buffer)
    Compute.free(buffer)
  end

  @doc "A folder that goes away with the test."
  def scratch_dir(name) do
    unique = "dala_gpu_#{name}_#{System.pid()}_#{System.unique_integer([:positive])}"
    path = Path.join(System.tmp_dir!(), unique)
    File.mkdir_p!(path)
    on_exit(fn -> File.rm_rf!(path) end)
    path
  end

  @doc "The bytes of floats, as a buffer holds them."
  def f32(numbers), do: for(x <- numbers, into: <<>>, do: <<x::float-32-native>>)

  @doc "A buffer of whatever dtype with the numbers 1, 2, 3 and so on."
  def counting(count, dtype \\ :f32), do: Buffer.new(Enum.to_list(1..count//1), {count}, dtype)
end
