defmodule Bench.FirstCall do
  # The first call of every built-in kernel that takes one element in a VM that has just started, each kernel in a VM of
  # its own, with kernels on disk as `mix dala.warmup` leaves them. The time is that of the call
  # alone; the device runs by then.

  alias Bench.Line

  @limit_ms 50

  def family, do: "first call"

  # A quick run looks at a few.
  def workloads(options) do
    [{"of each kernel f32, fresh VM, the slowest", fn -> [measure(options)] end}]
  end

  defp measure(options) do
    names = options.quick && ~w(relu reduce_sum softmax matmul)
    :ok = Dala.Gpu.Compute.warmup(dtypes: [:f32])

    times =
      for %{name: name, custom: false} <- Dala.Gpu.Compute.kernels(),
          !names or name in names,
          time = first_call(name),
          do: {time, name}

    {slowest, name} = Enum.max(times)

    %Line{
      peer: "#{@limit_ms} ms",
      ours: slowest,
      theirs: @limit_ms * 1.0e6,
      ratio: slowest / (@limit_ms * 1.0e6),
      at_most: 1.0,
      problem: if(slowest > @limit_ms * 1.0e6, do: "short: #{name}")
    }
  end

  defp first_call(name) do
    ebin = Path.join(Mix.Project.app_path(), "ebin")
    args = ["-pa", ebin, "-e", "Code.require_file(#{inspect(__DIR__ <> "/first_call_vm.exs")})"]
    {output, 0} = System.cmd("elixir", args, env: [{"DALA_BENCH_KERNEL", name}])

    case output |> String.split() |> List.last() do
      "none" -> nil
      time -> String.to_integer(time)
    end
  end
end
