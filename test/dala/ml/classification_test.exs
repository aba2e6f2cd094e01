defmodule Dala.ML.ClassificationTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.ML.Classification

  doctest Dala.ML.Classification

  test "probabilities of logits, whichever shape they have" do
    logits = [1.0, -2.0, 3.5, 0.25]
    total = logits |> Enum.map(&:math.exp/1) |> Enum.sum()

    for shape <- [{4}, {1, 4}, {1, 4, 1, 1}, {1, 1, 1, 4}] do
      got = Classification.top_k(Compute.buffer(logits, shape), k: 3)
      assert Enum.map(got, & &1.index) == [2, 0, 3]
      want = for x <- [3.5, 1.0, 0.25], do: :math.exp(x) / total
      assert_close(Enum.map(got, & &1.score), want, 1.0e-6)
    end
  end

  test "rows one by one, scores as they are, labels where there are some" do
    output = Compute.buffer([0.25, 0.75, 0.5, 0.125], {2, 2})

    assert Classification.top_k(output, softmax: false, labels: ["cat"], k: 1) == [
             [%{label: 1, index: 1, score: 0.75}],
             [%{label: "cat", index: 0, score: 0.5}]
           ]

    doubles = Compute.buffer([0.25, 0.75], {2}, :f64)
    assert [%{index: 1, score: 0.75}, _] = Classification.top_k(doubles, softmax: false)
  end

  test "invalid options" do
    output = Compute.buffer([1, 2], {2})

    assert_raise ArgumentError, "expected k: to be a positive integer, got: 0", fn ->
      Classification.top_k(output, k: 0)
    end

    assert_raise ArgumentError, "expected softmax: to be true or false, got: :auto", fn ->
      Classification.top_k(output, softmax: :auto)
    end

    assert_raises(:shape_mismatch, "the output has shape {2, 3, 4}, expected {n, classes}", fn ->
      Classification.top_k(zeros({2, 3, 4}))
    end)
  end
end
