defmodule Dala.Media.Gpu.Processor do
  @moduledoc """
  An alias of `Dala.Media.Gpu`.
  """

  for {name, arity} <- Dala.Media.Gpu.__info__(:functions) do
    arguments = Macro.generate_arguments(arity, __MODULE__)
    defdelegate unquote(name)(unquote_splicing(arguments)), to: Dala.Media.Gpu
  end
end
