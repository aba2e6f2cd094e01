defmodule Dala.ML.Models.Registry do
  @moduledoc false
  # The named models, in the order in which they are listed. Each has a file in `registry/`.

  alias Dala.ML.Models.{Contract, Entry, Registry}

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

  @doc "Returns the entry of a model; the name may be a string."
  @spec fetch(atom() | String.t()) :: {:ok, Entry.t()} | :error
  def fetch(name) do
    case Enum.find(all(), &(to_string(&1.name) == to_string(name))) do
      nil -> :error
      entry -> {:ok, entry}
    end
  end

  @doc "Returns the contract of a model, given its name and the path of its file, or nil."
  @spec contract(atom() | String.t(), Path.t()) :: Contract.t() | nil
  def contract(name, path) do
    case fetch(name) do
      {:ok, entry} -> entry.contracts[Entry.format_of(path)]
      :error -> nil
    end
  end
end
