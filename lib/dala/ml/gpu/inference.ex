defmodule Dala.ML.Gpu.Inference do
  @moduledoc """
  An alias of `Dala.ML.Gpu`.
  """

  for {name, arity} <- Dala.ML.Gpu.__info__(:functions) do
    arguments = Macro.generate_arguments(arity, __MODULE__)
    defdelegate unquote(name)(unquote_splicing(arguments)), to: Dala.ML.Gpu
  end
end
