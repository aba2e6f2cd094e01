defmodule Mix.Tasks.Compile.DalaGpuNative do
  @moduledoc false
  # Builds the NIF library by `make native`. It lives in this file because Mix
  # needs it before anything under lib is compiled. Objects and the library go
  # under the application's build path: with a `priv` folder in the source tree
  # all environments, and all applications that depend on this one, would share
  # one file.
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
        {_, _} -> fail("The native library could not be built; the lines above say why.")
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
      # Flags of a make that runs Mix, such as its job server, are not for this one.
      {"MAKEFLAGS", nil},
      {"MAKELEVEL", nil},
      {"MFLAGS", nil}
    ]
  end

  # nil leaves the choice to CMake: the stand-in under c_src/fine.
  defp fine do
    case {System.get_env("FINE_INCLUDE_DIR"), Mix.Project.deps_paths()[:fine]} do
      {dir, _} when dir not in [nil, ""] -> Path.expand(dir)
      {_, nil} -> nil
      {_, path} -> Path.join(path, "c_include")
    end
  end

  defp find_make do
    case System.find_executable("gmake") || System.find_executable("make") do
      nil -> {:error, "make was not found."}
      make -> {:ok, make}
    end
  end

  defp find_erts do
    dir = Path.join([:code.root_dir(), "erts-#{:erlang.system_info(:version)}", "include"])

    if File.regular?(Path.join(dir, "erl_nif.h")) do
      {:ok, dir}
    else
      {:error, "erl_nif.h is not in #{dir}. On Debian and Ubuntu it is part of erlang-dev."}
    end
  end

  defp library, do: Path.join([Mix.Project.app_path(), "priv", "dala_gpu_nif.so"])

  defp stat, do: File.stat(library(), time: :posix)

  defp fail(message) do
    Mix.shell().error("""
    #{message}
    #{Path.join(@root, "bin/setup")} installs, or names, everything the build of dala_gpu needs.
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
      start_permanent: Mix.env() == :prod,
      deps: deps(),
      # The bridge to Nx is compiled whether or not Nx is there.
      xref: [exclude: [Nx, Nx.Tensor]],
      name: "Dala GPU",
      description: "GPU compute for Elixir on OpenCL",
      package: package(),
      docs: docs()
    ]
  end

  def application do
    # Windows go through wx, and models are fetched by inets and ssl, where they are.
    optional = for app <- [:wx, :crypto, :inets, :public_key, :ssl], do: {app, :optional}
    [extra_applications: [:logger | optional]]
  end

  defp elixirc_paths(:test), do: ["lib", "test/support"]
  defp elixirc_paths(_env), do: ["lib"]

  # In the library's own tests only: a warning that a later Elixir invents must
  # not break the build of an application that depends on this one.
  defp elixirc_options(:test), do: [warnings_as_errors: true]
  defp elixirc_options(_env), do: []

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
      files: ~w(lib c_src cmake bin/setup CMakeLists.txt Makefile mix.exs .formatter.exs
                guides README.md CHANGELOG.md LICENSE)
    ]
  end

  defp docs do
    [
      main: "readme",
      source_ref: "v#{@version}",
      extras: ["README.md", "CHANGELOG.md"] ++ Path.wildcard("guides/*.{md,livemd}")
    ]
  end
end
