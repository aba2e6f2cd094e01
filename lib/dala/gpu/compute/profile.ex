defmodule Dala.Gpu.Compute.Profile do
  @moduledoc """
  The time that each kernel took on the device while a function ran.

  A profile prints as a table, in `iex` and with `IO.puts/1`:

      kernel             calls  device ms  queued ms    GB/s  GFLOP/s
      matmul                10      94.21       0.02     1.3    227.9
      relu                  10       3.10       0.31    27.1      3.4

  `device ms` is the execution time, `queued ms` the time between reaching the device's queue and
  starting; `GB/s` counts the bytes of the operands, `GFLOP/s` the operations that the kernel is
  known to perform. All commands that run on the device in that time are counted, whichever process
  submitted them. Commands that have not finished when the function returns are not counted.
  """

  alias Dala.Gpu.Compute.{Argument, Error, Native, Runtime}

  @enforce_keys [:kernels, :wall_ms]
  defstruct [:kernels, :wall_ms]

  @type kernel :: %{
          name: String.t(),
          count: pos_integer(),
          device_ms: float(),
          queue_ms: float(),
          bytes: non_neg_integer(),
          gb_per_s: float(),
          gflop_per_s: float()
        }

  @type t :: %__MODULE__{kernels: [kernel()], wall_ms: float()}

  @doc """
  Runs a function and returns its result with the profile of the kernels that ran meanwhile.

  Kernels are sorted by the time they took, longest first.

  ## Example

      iex> a = Dala.Gpu.Compute.buffer([-1, 2], {2})
      iex> {:ok, profile} = Dala.Gpu.Compute.Profile.run(fn -> Dala.Gpu.Compute.relu(a, a) end)
      iex> Enum.any?(profile.kernels, &(&1.name == "relu"))
      true
  """
  @spec run((() -> result)) :: {result, t()} when result: var
  def run(fun) do
    unless is_function(fun, 0), do: Argument.refuse!("a function without arguments", fun)
    Runtime.ensure!()
    profile = Error.value!(Native.profile_start())
    started = System.monotonic_time()
    result = fun.()
    elapsed = System.monotonic_time() - started
    kernels = Error.value!(Native.profile_stop(profile))

    {result,
     %__MODULE__{
       kernels: kernels |> Enum.map(&describe/1) |> Enum.sort_by(& &1.device_ms, :desc),
       wall_ms: System.convert_time_unit(elapsed, :native, :nanosecond) / 1.0e6
     }}
  end

  defp describe(kernel) do
    %{
      name: kernel.name,
      count: kernel.count,
      device_ms: kernel.device_ns / 1.0e6,
      queue_ms: kernel.queue_ns / 1.0e6,
      bytes: round(kernel.bytes),
      gb_per_s: per_ns(kernel.bytes, kernel.device_ns),
      gflop_per_s: per_ns(kernel.operations, kernel.device_ns)
    }
  end

  # Bytes per nanosecond are gigabytes per second.
  defp per_ns(_amount, ns) when ns <= 0, do: 0.0
  defp per_ns(amount, ns), do: amount / ns

  @doc false
  @spec table(t()) :: String.t()
  def table(%__MODULE__{kernels: kernels, wall_ms: wall_ms}) do
    width = kernels |> Enum.map(&String.length(&1.name)) |> Enum.max(fn -> 6 end) |> max(16)

    header =
      String.pad_trailing("kernel", width) <>
        "    calls  device ms  queued ms    GB/s  GFLOP/s"

    rows =
      for kernel <- kernels do
        String.pad_trailing(kernel.name, width) <>
          column(Integer.to_string(kernel.count), 9) <>
          column(decimals(kernel.device_ms, 2), 11) <>
          column(decimals(kernel.queue_ms, 2), 11) <>
          column(decimals(kernel.gb_per_s, 1), 8) <> column(decimals(kernel.gflop_per_s, 1), 9)
      end

    busy = kernels |> Enum.map(& &1.device_ms) |> Enum.sum()

    footer = "#{decimals(busy / 1, 2)} ms on the device in #{decimals(wall_ms, 2)} ms wall time"

    Enum.join([header | rows] ++ [footer], "\n")
  end

  defp column(text, width), do: String.pad_leading(text, width)
  defp decimals(number, digits), do: :erlang.float_to_binary(number, decimals: digits)

  defimpl String.Chars do
    def to_string(profile), do: Dala.Gpu.Compute.Profile.table(profile)
  end

  defimpl Inspect do
    def inspect(profile, _opts), do: Dala.Gpu.Compute.Profile.table(profile)
  end
end
