defmodule Dala.Media.ColorTest do
  use ExUnit.Case, async: true

  doctest Dala.Media.Color

  test "has the functions of the colours of surfaces" do
    assert Dala.Media.Color.__info__(:functions) == Dala.Gpu.Color.__info__(:functions)
  end
end
