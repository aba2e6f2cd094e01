defmodule Dala.Media.Gpu.Processor do
  @moduledoc """
  `Dala.Media.Gpu` under its long name.
  """

  for {name, arity} <- Dala.Media.Gpu.__info__(:functions) do
    arguments = Macro.generate_arguments(arity, __MODULE__)
    defdelegate unquote(name)(unquote_splicing(arguments)), to: Dala.Media.Gpu
  end
end
