defmodule Dala.ML.Models.Labels do
  @moduledoc """
  The names of the classes that well-known datasets have, for the `labels:` of `Dala.ML`.

    * `:imagenet` - 1000 classes of ILSVRC 2012
    * `:imagenet_1001` - the same after a first one for the background, as TensorFlow's models have
      them
    * `:coco` - 80 things
    * `:pascal` - the background, and 20 things
  """

  @folder Path.join(__DIR__, "labels")

  @lists (for name <- [:imagenet, :coco, :pascal] do
            path = Path.join(@folder, "#{name}.txt")
            @external_resource path
            lines = path |> File.read!() |> String.split("\n", trim: true)
            {name, Enum.reject(lines, &String.starts_with?(&1, "#"))}
          end)

  @doc """
  Gives the names of a dataset's classes, in the order of their numbers.

  ## Example

      iex> length(Dala.ML.Models.Labels.list(:imagenet_1001))
      1001
      iex> Enum.take(Dala.ML.Models.Labels.list(:pascal), 3)
      ["background", "aeroplane", "bicycle"]
  """
  @spec list(:imagenet | :imagenet_1001 | :coco | :pascal) :: [String.t()]
  def list(:imagenet_1001), do: ["background" | list(:imagenet)]
  for {name, names} <- @lists, do: def(list(unquote(name)), do: unquote(names))
end
