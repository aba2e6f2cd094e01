defmodule Dala.ML.Models.JsonTest do
  use ExUnit.Case, async: true

  alias Dala.ML.Models.Json

  test "values of every kind" do
    text = ~S"""
     {"a" : [1, -2.5, 1e3, 2E-2, true, false, null, "", {}, []],
      "\u00e9\ud83d\ude00\n\"\\\/" : "é"}
    """

    assert Json.decode(text) ==
             {:ok,
              %{
                "a" => [1, -2.5, 1000.0, 0.02, true, false, nil, "", %{}, []],
                "é😀\n\"\\/" => "é"
              }}
  end

  test "encoding and decoding round-trip" do
    value = %{"list" => [%{"n" => 1}, "x\ny\"\\\x01é"], "none" => nil, "yes" => true}
    assert value |> Json.encode() |> Json.decode() == {:ok, value}
  end

  test "invalid text is an error, wherever it is truncated" do
    text = ~S({"a": [1, {"b": "c\u00e9"}], "d": -1.5})
    assert {:ok, _value} = Json.decode(text)

    for size <- 0..(byte_size(text) - 1),
        do: assert(Json.decode(binary_part(text, 0, size)) == :error)

    for bad <- [
          "{} x",
          "[1,]",
          "{\"a\":1,}",
          "{a:1}",
          "[1 2]",
          "nul",
          "\"\\x\"",
          "\"\\ud800\"",
          "\"\\ud800\\u0041\"",
          "\"\xFF\"",
          "\"a\nb\"",
          "1e999",
          "+1",
          String.duplicate("[", 100_000)
        ],
        do: assert(Json.decode(bad) == :error)
  end
end
