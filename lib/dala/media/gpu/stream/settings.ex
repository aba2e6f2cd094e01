defmodule Dala.Media.Gpu.Stream.Settings do
  @moduledoc false
  # The validated settings of a stream.

  alias Dala.Gpu.Compute.Argument
  alias Dala.Media.Gpu.{Chain, Format}

  @type t :: %{
          frame: Chain.frame(),
          queue: 0..1024,
          on_overload: :wait | :drop_oldest | :drop_newest
        }

  @doc "Checks the width and height of a frame."
  @spec size!(term(), term()) :: {pos_integer(), pos_integer()}
  def size!(width, height)
      when is_integer(width) and is_integer(height) and width in 1..65_536 and
             height in 1..65_536,
      do: {width, height}

  def size!(width, height) do
    raise ArgumentError,
          "expected width and height to be integers in 1..65536, " <>
            "got: #{inspect(width)} and #{inspect(height)}"
  end

  @doc "Checks the size of the frames and the options of a stream."
  @spec new!(term(), term(), term()) :: t()
  def new!(width, height, opts) do
    size = size!(width, height)

    opts =
      Argument.options!(opts,
        format: :rgba,
        output_format: nil,
        matrix: :bt601,
        range: :limited,
        queue: 4,
        on_overload: :wait
      )

    format = Format.check!(opts[:format], :format)

    frame = %{
      size: size,
      from: format,
      to: Format.check!(opts[:output_format] || format, :output_format),
      matrix: one_of!(opts, :matrix, [:bt601, :bt709]),
      range: one_of!(opts, :range, [:full, :limited])
    }

    %{
      frame: frame,
      queue: queue!(opts[:queue]),
      on_overload: one_of!(opts, :on_overload, [:wait, :drop_oldest, :drop_newest])
    }
  end

  defp queue!(queue) when is_integer(queue) and queue in 0..1024, do: queue

  defp queue!(other) do
    raise ArgumentError, "expected queue: to be an integer in 0..1024, got: #{inspect(other)}"
  end

  defp one_of!(opts, key, choices) do
    value = opts[key]

    unless value in choices do
      raise ArgumentError,
            "expected #{key}: to be one of #{Enum.map_join(choices, ", ", &inspect/1)}, " <>
              "got: #{inspect(value)}"
    end

    value
  end
end
