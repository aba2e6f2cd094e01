defmodule Dala.ML.Models.Registry.Blazeface do
  @moduledoc false

  alias Dala.ML.Models.{Contract, Entry}

  @spec entry() :: Entry.t()
  def entry do
    %Entry{
      name: :blazeface,
      about: "faces within about two metres, with eyes, ears, nose and mouth",
      source: {:npm, "@mediapipe/face_detection@0.4.1657300184", 5_239_212},
      files: [
        %{
          from: "package/face_detection_short_range.tflite",
          to: "model.tflite",
          bytes: 229_032,
          sha256: "3bc182eb9f33925d9e58b5c8d59308a760f4adea8f282370e428c51212c26633"
        }
      ],
      licence: %{
        name: "Apache-2.0",
        text: "MediaPipe's short-range face detector, by Google, under the Apache License 2.0.",
        free?: true
      },
      contracts: %{
        tflite: contract(:nhwc),
        tfjs: contract(:nhwc),
        onnx: contract(:nchw)
      }
    }
  end

  defp contract(layout) do
    Contract.new(
      :faces,
      [size: {128, 128}, fit: :letterbox, border: 0, normalize: :signed_unit, layout: layout],
      threshold: 0.5
    )
  end
end
