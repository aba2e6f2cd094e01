defmodule Dala.Gpu.Build.Native do
  @moduledoc false
  # Puts the native library into an application's priv folder, in the first of these ways:
  #
  #   a precompiled archive  if DALA_GPU_PRECOMPILED names one
  #   nothing to do          if the library there was built from the same
  #   the build cache        if another application, environment or checkout has built the same
  #   make                   otherwise; the result goes into the build cache
  #
  # "The same" is a key: sources, compiler and its flags, OTP, target, and whose fine.hpp. A file
  # beside priv, the stamp, has the key of the library that is there.

  alias Dala.Gpu.Build.{Archive, Cache, Files, Target}

  # The time that one file takes on one core, measured with GCC 12 on a virtual machine with two
  # cores.
  @seconds_per_file 2.4

  @doc "Returns :ok if the library was replaced, :noop if it was up to date."
  def ensure!(root, version, app_path) do
    case System.get_env("DALA_GPU_PRECOMPILED") do
      empty when empty in [nil, ""] -> build!(root, version, app_path)
      place -> unpack!(place, root, version, app_path)
    end
  end

  def clean!(app_path) do
    File.rm_rf!(Path.join(app_path, "obj"))
    File.rm_rf!(stamp_file(app_path))
    Files.remove!(priv(app_path))
  end

  def priv(app_path), do: Path.join(app_path, "priv")

  defp unpack!(place, root, version, app_path) do
    archive = Archive.locate!(place, version)

    if current?(app_path, archive.sum) do
      :noop
    else
      Archive.install!(archive, root, version, priv(app_path))
      stamp!(app_path, archive.sum, "precompiled")
    end
  end

  defp build!(root, version, app_path) do
    erts = erts!()
    key = key(root, version, erts)

    cond do
      current?(app_path, key) ->
        :noop

      Cache.fetch(key, priv(app_path)) ->
        stamp!(app_path, key, "cache")

      true ->
        make!(root, app_path, erts)

        # A source that was changed meanwhile may or may not be in the library; the next run
        # rebuilds it.
        if key(root, version, erts) == key do
          Cache.store(key, priv(app_path))
          stamp!(app_path, key, "make")
        else
          stamp!(app_path, "changed", "make")
        end
    end
  end

  @doc "The key of a build: whatever can change its result."
  def key(root, version, erts) do
    cxx = System.get_env("CXX") || "c++"
    flags = for name <- ~w(CXXFLAGS CPPFLAGS LDFLAGS CPATH), do: [System.get_env(name) || "", 0]

    fine =
      case fine() do
        nil -> ""
        folder -> folder |> Path.join("fine.hpp") |> File.read() |> inspect(limit: :infinity)
      end

    Files.digest([
      [Files.sources(root), 0, version, 0, Target.triple(), 0, Target.nif_version(), 0],
      [erts, 0, cxx, 0, compiler(cxx), 0, flags, fine]
    ])
  end

  defp compiler(cxx) do
    [program | args] = OptionParser.split(cxx)
    {text, _status} = System.cmd(program, args ++ ["--version"], stderr_to_stdout: true)
    text
  rescue
    # CMake reports what is missing.
    _error in ErlangError -> ""
  end

  # If the library did not come from these objects, it is newer than they are, and the linker would
  # be skipped.
  defp make!(root, app_path, erts) do
    if Files.read_manifest(stamp_file(app_path))["from"] != "make",
      do: Files.remove!(priv(app_path))

    File.rm_rf!(stamp_file(app_path))
    unless File.dir?(Path.join(app_path, "obj")), do: announce(root)

    env = [
      {"MIX_APP_PATH", app_path},
      {"ERTS_INCLUDE_DIR", erts},
      {"FINE_INCLUDE_DIR", fine()},
      # Mix may itself run under make; the outer make's flags and job server must not be inherited.
      {"MAKEFLAGS", nil},
      {"MAKELEVEL", nil},
      {"MFLAGS", nil}
    ]

    {_, status} =
      System.cmd(make_program!(), ["--no-print-directory", "native"],
        cd: root,
        env: env,
        into: IO.stream(:stdio, :line),
        stderr_to_stdout: true
      )

    if status != 0 or not Files.complete?(priv(app_path)) do
      Files.fail!("The native library could not be built; see the compiler's output above.")
    end
  end

  defp announce(root) do
    files = Files.units(root)
    cores = System.schedulers_online()

    ccache =
      if System.find_executable("ccache"),
        do: "ccache is installed, so files that it has seen take no time.",
        else: "With ccache installed, building again after a change takes less."

    Mix.shell().info("""
    Building the native library of dala_gpu: #{files} C++ files on #{cores} #{if cores == 1, do: "core", else: "cores"}, about #{duration(files * @seconds_per_file / cores)}.
    [12/60] below means that 12 of 60 steps are done; a step compiles the files of a folder. #{ccache}
    The result is kept for other applications and environments#{kept_in()}.
    """)
  end

  defp kept_in do
    case Cache.folder() do
      nil -> ", except that DALA_GPU_BUILD_CACHE switches that off"
      folder -> " in #{folder}"
    end
  end

  defp duration(seconds) when seconds < 90, do: "a minute"
  defp duration(seconds), do: "#{round(seconds / 60)} minutes"

  # With nil, CMake falls back to the subset of fine under c_src/fine.
  defp fine do
    case {System.get_env("FINE_INCLUDE_DIR"), Mix.Project.deps_paths()[:fine]} do
      {dir, _} when dir not in [nil, ""] -> Path.expand(dir)
      {_, nil} -> nil
      {_, path} -> Path.join(path, "c_include")
    end
  end

  defp make_program! do
    System.find_executable("gmake") || System.find_executable("make") ||
      Files.fail!("make was not found in PATH.")
  end

  defp erts! do
    dir = Path.join([:code.root_dir(), "erts-#{:erlang.system_info(:version)}", "include"])

    if File.regular?(Path.join(dir, "erl_nif.h")) do
      dir
    else
      Files.fail!("erl_nif.h was not found in #{dir}. On Debian and Ubuntu, install erlang-dev.")
    end
  end

  defp stamp_file(app_path), do: Path.join(app_path, "native.stamp")

  defp current?(app_path, key) do
    Files.complete?(priv(app_path)) and Files.read_manifest(stamp_file(app_path))["key"] == key
  end

  defp stamp!(app_path, key, from) do
    File.write!(stamp_file(app_path), Files.manifest_text([{"key", key}, {"from", from}]))
    :ok
  end
end
