defmodule Dala.Gpu.ColorTest do
  use ExUnit.Case, async: true

  alias Dala.Gpu.Color

  doctest Dala.Gpu.Color

  test "what is no colour raises" do
    for bad <- [{1, 2}, {1, 2, 256}, {-1, 0, 0}, {1.0, 0, 0}, :mauve, "red", nil, {0, 0, 0, 300}] do
      assert_raise ArgumentError, ~r/expected a colour such as/, fn -> Color.rgba!(bad) end
    end
  end
end
