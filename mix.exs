# What builds, caches and unpacks the native library. Mix needs it before anything under lib is
# compiled.
for file <- ~w(files target cache download archive native) do
  Code.require_file("build/#{file}.ex", __DIR__)
end

defmodule Mix.Tasks.Compile.DalaGpuNative do
  @moduledoc false
  # Objects and the library go under the application's build path: a `priv` folder in the source tree
  # would be shared by all environments and by all applications that depend on this one.
  use Mix.Task.Compiler

  alias Dala.Gpu.Build

  @root __DIR__

  @impl true
  def run(_args) do
    {Build.Native.ensure!(@root, Mix.Project.config()[:version], Mix.Project.app_path()), []}
  rescue
    error in Build.Error ->
      Mix.shell().error(Exception.message(error))

      if System.get_env("DALA_GPU_PRECOMPILED") in [nil, ""] do
        setup = Path.join(@root, "bin/setup")
        Mix.shell().error("Run #{setup} to install (or list) what the build of dala_gpu needs.")
      end

      {:error, []}
  end

  @impl true
  def clean, do: Build.Native.clean!(Mix.Project.app_path())
end

defmodule Dala.Gpu.MixProject do
  use Mix.Project

  @version "0.1.0"

  def project do
    [
      app: :dala_gpu,
      version: @version,
      elixir: "~> 1.14",
      compilers: [:dala_gpu_native] ++ Mix.compilers(),
      elixirc_paths: elixirc_paths(Mix.env()),
      elixirc_options: elixirc_options(Mix.env()),
      erlc_options: erlc_options(Mix.env()),
      start_permanent: Mix.env() == :prod,
      deps: deps(),
      # What is about Nx is compiled whether or not Nx is a dependency.
      xref: [exclude: nx_modules()],
      name: "Dala GPU",
      description: "GPU compute for Elixir on OpenCL",
      package: package(),
      docs: docs()
    ]
  end

  defp nx_modules do
    [Nx, Nx.Backend, Nx.BinaryBackend, Nx.Shared, Nx.Tensor, Nx.Type] ++
      [Nx.Defn.Composite, Nx.Defn.Evaluator, Nx.Defn.Stream, Nx.Defn.Tree]
  end

  def application do
    # Optional: windows need wx, and downloading models needs ssl.
    optional = for app <- [:wx, :crypto, :public_key, :ssl], do: {app, :optional}
    # Child specs of the upper layers, started by the supervisor of the lowest layer.
    parts = [Dala.Nx.Fallback, Dala.Nx.ProgramTable, Dala.Media.Gpu.Streams, Dala.ML.Supervisor]
    [mod: {Dala.Gpu.Application, parts}, extra_applications: optional]
  end

  defp elixirc_paths(:test), do: ["lib", "test/support"]
  defp elixirc_paths(_env), do: ["lib"]

  # Only in the library's own tests: a warning that a later Elixir introduces must
  # not break the build of an application that depends on this one.
  defp elixirc_options(:test), do: [warnings_as_errors: true]
  defp elixirc_options(_env), do: []

  defp erlc_options(:test), do: [:debug_info, :warnings_as_errors]
  defp erlc_options(_env), do: [:debug_info]

  # Mix stops at any Hex package when Hex is not installed, even at an optional
  # one. Nothing here is needed to build or run, so without Hex nothing is listed.
  defp deps do
    if Code.ensure_loaded?(Hex) and System.get_env("DALA_GPU_NO_HEX") not in ["1", "true"] do
      [
        {:fine, "~> 0.1", runtime: false},
        {:nx, "~> 0.7", optional: true},
        {:ex_doc, ">= 0.0.0", only: :dev, runtime: false}
      ]
    else
      []
    end
  end

  defp package do
    [
      licenses: ["Apache-2.0"],
      links: %{},
      files: ~w(lib src c_src cmake build bin/setup CMakeLists.txt Makefile mix.exs .formatter.exs
                guides README.md CHANGELOG.md LICENSE)
    ]
  end

  defp docs do
    [
      main: "readme",
      source_ref: "v#{@version}",
      extras: extras(),
      groups_for_extras: [
        "Getting started": ~r"guides/(cheatsheet|coming_from|photo|deployment)",
        Reference: ~r"guides/(kernels|onnx|tflite|tfjs)",
        Guides: ~r"guides/",
        Development: ~r"(CONTRIBUTING|ARCHITECTURE|CHANGELOG)"
      ],
      groups_for_modules: [
        Compute: [
          Dala.Gpu.Compute,
          Dala.Gpu.Compute.Buffer,
          Dala.Gpu.Compute.Command,
          Dala.Gpu.Compute.Error,
          Dala.Gpu.Compute.Kernel,
          Dala.Gpu.Compute.Kernel.Provider,
          Dala.Gpu.Compute.Pipeline,
          Dala.Gpu.Compute.Pipeline.Plan
        ],
        "Device and tools": [~r/^Dala\.Gpu\.Compute\./],
        Surfaces: [~r/^Dala\.Gpu(\.|$)/],
        Nx: [~r/^Dala\.Nx(\.|$)/],
        "Images and video": [~r/^Dala\.Media\./],
        "Model inference": [~r/^Dala\.ML\.Gpu(\.|$)/],
        "Models as a service": [~r/^Dala\.ML\.Serving(\.|$)/, Dala.Telemetry],
        "Model installation": [~r/^Dala\.ML\.Models(\.|$)/],
        "Vision tasks": [~r/^Dala\.ML(\.|$)/]
      ]
    ]
  end

  defp extras do
    ["README.md" | Path.wildcard("guides/*.{md,livemd,cheatmd}")] ++
      ["CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"]
  end
end
