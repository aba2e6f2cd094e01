defmodule Dala.Nx.Bounds do
  @moduledoc false
  # Checks indices of `gather`, `take` and the like as `Nx.BinaryBackend` does, if
  # `config :dala_gpu, nx: [check_bounds: true]` asks for it: that reads the indices, and waits for
  # them.

  alias Dala.Nx.Data

  @compile {:no_warn_undefined, Nx}

  @doc """
  Raises for an index that is outside of a tensor of that shape.

  `axes` are those that the numbers of `indices` belong to, in turn.
  """
  @spec check(Data.tensor(), tuple(), [non_neg_integer()]) :: :ok
  def check(indices, shape, axes) do
    if Keyword.get(Application.get_env(:dala_gpu, :nx, []), :check_bounds, false),
      do: check!(indices, shape, axes),
      else: :ok
  end

  defp check!(indices, shape, axes) do
    indices
    |> Data.to_host()
    |> Nx.to_flat_list()
    |> Enum.zip(Stream.cycle(axes))
    |> Enum.each(fn {index, axis} ->
      unless index in 0..(elem(shape, axis) - 1)//1 do
        raise ArgumentError,
              "index #{index} is out of bounds for axis #{axis} in shape #{inspect(shape)}"
      end
    end)
  end
end
