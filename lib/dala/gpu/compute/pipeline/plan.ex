defmodule Dala.Gpu.Compute.Pipeline.Plan do
  @moduledoc """
  The kernels that a run of a pipeline launches.

  A plan prints as a table, in `iex` and with `IO.puts/1`:

      stages  kernel                   writes         moves
      0-2     scalar_mul + relu + neg  f32 {1000000}  7.6 MiB instead of 22.9 MiB
      3       reduce_sum               f32 {}         3.8 MiB
      2 kernels for 4 stages; moves 11.4 MiB instead of 26.7 MiB; temporary memory 0 B

  Each line is one kernel, with the stages it executes, the buffers it writes, and the bytes of all
  buffers it reads and writes; `instead of` is the traffic without fusion. Temporary memory is what
  a run allocates for temporary buffers whose values have to outlive a kernel.
  """

  alias Dala.Gpu.Compute.Bytes

  @enforce_keys [:steps, :bytes, :unfused_bytes, :temporary_bytes]
  defstruct [:steps, :bytes, :unfused_bytes, :temporary_bytes]

  @typedoc "A kernel launch, or a barrier, which has no kernels and writes nothing."
  @type step :: %{
          stages: [non_neg_integer()],
          kernels: [String.t()],
          outputs: [String.t()],
          bytes: non_neg_integer(),
          unfused_bytes: non_neg_integer()
        }

  @type t :: %__MODULE__{
          steps: [step()],
          bytes: non_neg_integer(),
          unfused_bytes: non_neg_integer(),
          temporary_bytes: non_neg_integer()
        }

  @doc false
  @spec new(map()) :: t()
  def new(%{steps: steps, temporary_bytes: temporary_bytes}) do
    %__MODULE__{
      steps: steps,
      bytes: steps |> Enum.map(& &1.bytes) |> Enum.sum(),
      unfused_bytes: steps |> Enum.map(& &1.unfused_bytes) |> Enum.sum(),
      temporary_bytes: temporary_bytes
    }
  end

  @doc false
  @spec table(t()) :: String.t()
  def table(%__MODULE__{steps: steps} = plan) do
    rows = Enum.map(steps, &row/1)
    Enum.join(aligned([~w(stages kernel writes moves) | rows]) ++ [summary(plan)], "\n")
  end

  defp row(%{kernels: []} = step), do: [indexes(step.stages), "barrier", "", ""]

  defp row(step) do
    writes = if step.outputs == [], do: "nothing", else: Enum.join(step.outputs, ", ")
    [indexes(step.stages), Enum.join(step.kernels, " + "), writes, moves(step)]
  end

  # "0-2, 4"
  defp indexes(stages) do
    stages
    |> Enum.chunk_while(
      [],
      fn
        stage, [last | _] = run when stage != last + 1 -> {:cont, run, [stage]}
        stage, run -> {:cont, [stage | run]}
      end,
      &{:cont, &1, []}
    )
    |> Enum.map_join(", ", fn
      [only] -> "#{only}"
      run -> "#{List.last(run)}-#{hd(run)}"
    end)
  end

  defp moves(%{bytes: bytes, unfused_bytes: bytes}), do: Bytes.format(bytes)

  defp moves(%{bytes: bytes, unfused_bytes: unfused}),
    do: "#{Bytes.format(bytes)} instead of #{Bytes.format(unfused)}"

  defp summary(plan) do
    kernels = Enum.count(plan.steps, &(&1.outputs != []))
    stages = plan.steps |> Enum.map(&length(&1.kernels)) |> Enum.sum()

    "#{count(kernels, "kernel")} for #{count(stages, "stage")}; moves #{moves(plan)}; " <>
      "temporary memory #{Bytes.format(plan.temporary_bytes)}"
  end

  defp count(1, noun), do: "1 #{noun}"
  defp count(number, noun), do: "#{number} #{noun}s"

  defp aligned(rows) do
    widths =
      for column <- 0..3, do: rows |> Enum.map(&String.length(Enum.at(&1, column))) |> Enum.max()

    for row <- rows do
      row
      |> Enum.zip_with(widths, &String.pad_trailing/2)
      |> Enum.join("  ")
      |> String.trim_trailing()
    end
  end

  defimpl String.Chars do
    def to_string(plan), do: Dala.Gpu.Compute.Pipeline.Plan.table(plan)
  end

  defimpl Inspect do
    def inspect(plan, _opts), do: Dala.Gpu.Compute.Pipeline.Plan.table(plan)
  end
end
