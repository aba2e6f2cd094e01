defmodule InferenceServer.MixProject do
  use Mix.Project

  def project do
    [
      app: :inference_server,
      version: "0.1.0",
      elixir: "~> 1.14",
      deps: [{:dala_gpu, path: "../../.."}]
    ]
  end

  def application do
    [mod: {InferenceServer.Application, []}, extra_applications: [:logger, :inets]]
  end
end
