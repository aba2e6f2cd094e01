defmodule Heat.MixProject do
  use Mix.Project

  def project do
    [
      app: :heat,
      version: "0.1.0",
      elixir: "~> 1.14",
      deps: [{:dala_gpu, path: "../../.."}]
    ]
  end

  def application, do: [extra_applications: [:logger]]
end
