defmodule Dala.ML.Models.LabelsTest do
  use ExUnit.Case, async: true

  alias Dala.ML.Models.Labels

  doctest Labels

  test "the number of classes of each dataset, without duplicates" do
    for {name, count} <- [imagenet: 1000, imagenet_1001: 1001, coco: 80, pascal: 21] do
      labels = Labels.list(name)
      assert length(labels) == count
      assert length(Enum.uniq(labels)) == count
      assert Enum.all?(labels, &(String.valid?(&1) and String.trim(&1) == &1 and &1 != ""))
    end
  end

  test "well-known classes have their usual indices" do
    imagenet = Labels.list(:imagenet)
    assert Enum.at(imagenet, 0) == "tench"
    assert Enum.at(imagenet, 281) == "tabby"
    assert Enum.at(imagenet, 388) == "giant panda"
    assert Enum.at(imagenet, 999) == "toilet tissue"
    assert Enum.at(Labels.list(:imagenet_1001), 282) == "tabby"
    coco = Labels.list(:coco)

    assert {Enum.at(coco, 0), Enum.at(coco, 16), Enum.at(coco, 79)} ==
             {"person", "dog", "toothbrush"}

    pascal = Labels.list(:pascal)
    assert {Enum.at(pascal, 8), Enum.at(pascal, 15)} == {"cat", "person"}
  end
end
