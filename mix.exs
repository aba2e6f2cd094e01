defmodule Mix.Tasks.Compile.DalaGpuNative do
  @moduledoc false
  # Builds the NIF library by `make native`. The module is in this file because Mix
  # needs it before anything under lib is compiled. Objects and the library go
  # under the application's build path: a `priv` folder in the source tree would be
  # shared by all environments and by all applications that depend on this one.
  use Mix.Task.Compiler

  @root __DIR__

  @impl true
  def run(_args) do
    with {:ok, make} <- find_make(),
         {:ok, erts} <- find_erts() do
      before = stat()

      case System.cmd(make, ["--no-print-directory", "native"],
             cd: @root,
             env: env(erts),
             into: IO.stream(:stdio, :line),
             stderr_to_stdout: true
           ) do
        {_, 0} -> {if(stat() == before, do: :noop, else: :ok), []}
        {_, _} -> fail("The native library could not be built; see the compiler's output above.")
      end
    else
      {:error, message} -> fail(message)
    end
  end

  @impl true
  def clean do
    File.rm_rf!(Path.join(Mix.Project.app_path(), "obj"))
    File.rm_rf!(library())
    :ok
  end

  defp env(erts) do
    [
      {"MIX_APP_PATH", Mix.Project.app_path()},
      {"ERTS_INCLUDE_DIR", erts},
      {"FINE_INCLUDE_DIR", fine()},
      # Mix may itself run under make; the outer make's flags and job server must not be inherited.
      {"MAKEFLAGS", nil},
      {"MAKELEVEL", nil},
      {"MFLAGS", nil}
    ]
  end

  # With nil, CMake falls back to the subset of fine under c_src/fine.
  defp fine do
    case {System.get_env("FINE_INCLUDE_DIR"), Mix.Project.deps_paths()[:fine]} do
      {dir, _} when dir not in [nil, ""] -> Path.expand(dir)
      {_, nil} -> nil
      {_, path} -> Path.join(path, "c_include")
    end
  end

  defp find_make do
    case System.find_executable("gmake") || System.find_executable("make") do
      nil -> {:error, "make was not found in PATH."}
      make -> {:ok, make}
    end
  end

  defp find_erts do
    dir = Path.join([:code.root_dir(), "erts-#{:erlang.system_info(:version)}", "include"])

    if File.regular?(Path.join(dir, "erl_nif.h")) do
      {:ok, dir}
    else
      {:error, "erl_nif.h was not found in #{dir}. On Debian and Ubuntu, install erlang-dev."}
    end
  end

  defp library, do: Path.join([Mix.Project.app_path(), "priv", "dala_gpu_nif.so"])

  defp stat, do: File.stat(library(), time: :posix)

  defp fail(message) do
    Mix.shell().error("""
    #{message}
    Run #{Path.join(@root, "bin/setup")} to install (or list) what the build of dala_gpu needs.
    """)

    {:error, []}
  end
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
      files: ~w(lib src c_src cmake bin/setup CMakeLists.txt Makefile mix.exs .formatter.exs
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
