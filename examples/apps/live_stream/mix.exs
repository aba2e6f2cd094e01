defmodule LiveStream.MixProject do
  use Mix.Project

  def project do
    [
      app: :live_stream,
      version: "0.1.0",
      elixir: "~> 1.14",
      deps: [{:dala_gpu, path: "../../.."}]
    ]
  end

  def application, do: [mod: {LiveStream.Application, []}, extra_applications: [:logger]]
end
