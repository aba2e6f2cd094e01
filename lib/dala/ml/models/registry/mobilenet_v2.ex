defmodule Dala.ML.Models.Registry.MobilenetV2 do
  @moduledoc false

  alias Dala.ML.Models.{Contract, Entry}

  @spec entry() :: Entry.t()
  def entry do
    %Entry{
      name: :mobilenet_v2,
      about: "what a picture shows, one of 1000 classes of ImageNet",
      source:
        {:url,
         "https://github.com/onnx/models/raw/main/validated/vision/classification/mobilenet/model/mobilenetv2-12.tar.gz",
         13_498_787, "5f83b422708a708b592a5fd56d84710038511789df3ae510b84123930c37762d"},
      files: [%{from: "*.onnx", to: "model.onnx", bytes: nil, sha256: nil}],
      licence: %{
        name: "Apache-2.0",
        text: "The ONNX model zoo's mobilenetv2-12, under the Apache License 2.0.",
        free?: true
      },
      contracts: %{
        # As torchvision trained it: the middle of the picture, colours by mean and deviation.
        onnx:
          Contract.new(
            :classify,
            [size: {224, 224}, fit: :crop, normalize: :imagenet, layout: :nchw],
            labels: :imagenet
          ),
        # TensorFlow's have a class for the background in front, and end in a softmax.
        tflite:
          Contract.new(
            :classify,
            [size: {224, 224}, fit: :crop, normalize: :signed_unit, layout: :nhwc],
            labels: :imagenet,
            softmax: false
          ),
        tfjs:
          Contract.new(
            :classify,
            [size: {224, 224}, fit: :crop, normalize: :signed_unit, layout: :nhwc],
            labels: :imagenet,
            softmax: false
          )
      }
    }
  end
end
