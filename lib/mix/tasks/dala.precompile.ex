defmodule Mix.Tasks.Dala.Precompile do
  @shortdoc "Packs the native library for other machines"

  @moduledoc """
  Builds the native library and packs it into an archive, with a checksum beside it.

      $ mix dala.precompile
      $ mix dala.precompile --out artefacts

  The archive is named after its target, such as
  `dala_gpu-nif-2.16-x86_64-linux-gnu-0.1.0.tar.gz`: the NIF version, the machine, and the version of
  this library. An application on such a machine takes it instead of building, and needs no compiler:

      $ DALA_GPU_PRECOMPILED=artefacts mix compile
      $ DALA_GPU_PRECOMPILED=https://example.com/dala_gpu-....tar.gz#sha256=... mix compile

  A path is that of the archive, or of a folder that has archives for several targets; its checksum is
  in the `.sha256` file beside it. An address needs the checksum as above. An archive for another
  target, NIF version or version of this library, one that was built from other sources, and one whose
  checksum does not match are errors.

  A library that was linked on an old system runs on newer ones, and not the other way round, so build
  on the oldest system that you deploy to.

  ## Options

    * `--out` - the folder for the archive, `_build/precompiled` by default
  """

  use Mix.Task

  @requirements ["compile"]

  @impl true
  @spec run([String.t()]) :: :ok
  def run(args) do
    case OptionParser.parse(args, strict: [out: :string]) do
      {opts, [], []} ->
        pack(opts[:out] || Path.join("_build", "precompiled"))

      {_opts, [other | _rest], []} ->
        Mix.raise("mix dala.precompile does not take #{other}")

      {_opts, _args, [{name, _value} | _rest]} ->
        Mix.raise("unknown or incomplete option #{name}")
    end
  end

  defp pack(folder) do
    root = Mix.Project.deps_paths()[:dala_gpu] || File.cwd!()
    app_path = Path.dirname(Application.app_dir(:dala_gpu, "ebin"))
    load(root)
    version = to_string(Application.spec(:dala_gpu, :vsn))

    # The modules of build/ belong to mix.exs, not to the library.
    {path, sum} =
      apply(Dala.Gpu.Build.Archive, :pack!, [Path.join(app_path, "priv"), root, version, folder])

    Mix.shell().info("""
    #{path}
      sha256 #{sum}

    On a machine of this target:
      DALA_GPU_PRECOMPILED=#{Path.expand(path)} mix compile
      DALA_GPU_PRECOMPILED=https://.../#{Path.basename(path)}#sha256=#{sum} mix compile
    """)
  end

  # mix.exs has loaded them if this is the library's own project, or if it was compiled just now.
  defp load(root) do
    unless Code.ensure_loaded?(Dala.Gpu.Build.Archive) do
      for file <- ~w(files target cache download archive) do
        Code.require_file("build/#{file}.ex", root)
      end
    end
  end
end
