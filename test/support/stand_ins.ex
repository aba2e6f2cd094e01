defmodule Dala.Test.StandIns do
  @moduledoc false
  # Small models in the place of real ones, whose answers are known.

  import Dala.Test.GpuCase, only: [f32: 1, scratch_dir: 1]
  import ExUnit.Callbacks, only: [on_exit: 1]

  alias Dala.Test.OnnxFile

  @doc "An empty models directory, which models by name are looked for in while the test runs."
  def models_dir do
    dir = scratch_dir("models")
    before = System.get_env("DALA_MODELS_DIR")
    System.put_env("DALA_MODELS_DIR", dir)

    on_exit(fn ->
      if before,
        do: System.put_env("DALA_MODELS_DIR", before),
        else: System.delete_env("DALA_MODELS_DIR")
    end)

    dir
  end

  @doc "Red pixels are class 15, a person, green ones class 8, a cat, and others background."
  def deeplab do
    weights =
      for class <- 0..20, channel <- 0..2 do
        if {class, channel} in [{15, 0}, {8, 1}], do: 1.0, else: 0.0
      end

    OnnxFile.model(
      [{"Conv", ["x", "w"], ["y"]}],
      [{"x", :f32, [1, 3, 8, 16]}],
      [{"y", :f32, [1, 21, 8, 16]}],
      constants: [{"w", {:f32, [21, 3, 1, 1], f32(weights)}}]
    )
  end

  @doc "Detects one face in the lower right corner of any image."
  def blazeface do
    scores = List.duplicate(-100.0, 895) ++ [4.0]
    rows = List.duplicate(0.0, 895 * 16) ++ [-20.0, -20.0, 32.0, 40.0] ++ List.duplicate(0.0, 12)

    OnnxFile.model(
      [
        {"ReduceMax", ["x"], ["top"], [keepdims: 1]},
        {"Reshape", ["top", "shape"], ["one"]},
        {"Mul", ["one", "zero"], ["nothing"]},
        {"Add", ["nothing", "scores"], ["classificators"]},
        {"Add", ["nothing", "rows"], ["regressors"]}
      ],
      [{"x", :f32, [1, 3, 128, 128]}],
      [{"classificators", :f32, [1, 896, 1]}, {"regressors", :f32, [1, 896, 16]}],
      constants: [
        {"shape", {:i64, [3], <<1::64-native, 1::64-native, 1::64-native>>}},
        {"zero", {:f32, [1], f32([0.0])}},
        {"scores", {:f32, [1, 896, 1], f32(scores)}},
        {"rows", {:f32, [1, 896, 16], f32(rows)}}
      ]
    )
  end
end
