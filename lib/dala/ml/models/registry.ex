defmodule Dala.ML.Models.Registry do
  @moduledoc false
  # The models that have a name, in the order they are listed in. One file each in the folder
  # `registry`.

  alias Dala.ML.Models.{Entry, Registry}

  @modules [
    Registry.MobilenetV2,
    Registry.YoloV5,
    Registry.Blazeface,
    Registry.Posenet,
    Registry.Deeplab
  ]

  @spec all() :: [Entry.t()]
  def all, do: Enum.map(@modules, & &1.entry())

  @spec names() :: [atom()]
  def names, do: Enum.map(all(), & &1.name)

  @doc "The entry of a name; names may be strings."
  @spec fetch(atom() | String.t()) :: {:ok, Entry.t()} | :error
  def fetch(name) do
    case Enum.find(all(), &(to_string(&1.name) == to_string(name))) do
      nil -> :error
      entry -> {:ok, entry}
    end
  end
end
