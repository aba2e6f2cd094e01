defmodule Dala.ML.Models.Registry.Deeplab do
  @moduledoc false

  alias Dala.ML.Models.{Contract, Entry}

  @spec entry() :: Entry.t()
  def entry do
    %Entry{
      name: :deeplab,
      about: "which of 20 kinds of things each pixel belongs to (DeepLabV3 on MobileNetV2)",
      source: {:npm, "@codait/max-image-segmenter@0.3.0", 7_845_049},
      files: [
        file(
          "model.json",
          120_344,
          "d454099ce682e2f7cb5689e9bf167f8437f1c84171982d980758b045d310aa80"
        ),
        file(
          "group1-shard1of3",
          4_194_304,
          "e1501ed0cb05c223055a6dc722bbec872dadccfebb770aecf59ad830c45b0117"
        ),
        file(
          "group1-shard2of3",
          4_194_304,
          "a97acd1e7e2108776e9d112b21211e17c3ce66c72eca4fde8352784dfbb042e9"
        ),
        file(
          "group1-shard3of3",
          28_156,
          "f6caff3822c8cfa842f8f82c8f77019b550c490d6b24c17528fd3c9d03627ea4"
        )
      ],
      licence: %{
        name: "Apache-2.0",
        text:
          "DeepLab by Google, as IBM's MAX image segmenter has it, under the Apache License 2.0.",
        free?: true
      },
      contracts: %{
        # The graph scales colours itself, and takes any size up to 513.
        tfjs:
          Contract.new(
            :segment,
            [size: {513, 513}, fit: :letterbox, border: 127, normalize: :raw, layout: :nhwc],
            labels: :pascal
          ),
        tflite:
          Contract.new(
            :segment,
            [size: {257, 257}, fit: :stretch, normalize: :signed_unit, layout: :nhwc],
            labels: :pascal
          ),
        onnx:
          Contract.new(
            :segment,
            [size: {520, 520}, fit: :stretch, normalize: :imagenet, layout: :nchw],
            labels: :pascal
          )
      }
    }
  end

  defp file(name, bytes, sha256),
    do: %{from: "package/model/" <> name, to: name, bytes: bytes, sha256: sha256}
end
