defmodule Dala.System.ConsumerAppTest do
  # An application that has the library as a path dependency, on a machine without Hex. It builds
  # the native library once more, so this takes a while.
  use Dala.Test.GpuCase, async: false

  alias Dala.Test.ChildVM

  @moduletag timeout: 900_000
  @moduletag :slow

  test "a new application compiles and runs with the library as a path dependency" do
    app = scratch_dir("consumer")
    root = File.cwd!()

    write(app, "mix.exs", """
    defmodule Consumer.MixProject do
      use Mix.Project

      def project do
        [app: :consumer, version: "0.1.0", deps: [{:dala_gpu, path: #{inspect(root)}}]]
      end

      def application, do: [extra_applications: [:logger]]
    end
    """)

    write(app, "config/config.exs", """
    import Config
    config :dala_gpu, device: :auto, memory_limit: 64_000_000
    """)

    write(app, "lib/consumer.ex", """
    defmodule Consumer do
      alias Dala.Gpu.Compute

      def run do
        a = Compute.buffer([1, 2, 3], {3})
        :ok = Compute.add(a, a, a)
        {Compute.read_list(a), Compute.memory_info().limit}
      end
    end
    """)

    env = [
      {"MIX_ENV", "prod"},
      {"DALA_GPU_NO_HEX", "1"},
      {"MIX_BUILD_PATH", nil},
      {"MIX_DEPS_PATH", nil}
    ]

    {output, status} =
      ChildVM.run_program("mix", ["run", "-e", "IO.inspect(Consumer.run())"],
        cd: app,
        env: env,
        timeout: 600_000
      )

    assert status == 0, output
    assert output =~ "{[2.0, 4.0, 6.0], 64000000}"
    refute output =~ "warning"

    # Nothing is built twice, nothing is left in the source tree.
    {output, 0} = ChildVM.run_program("mix", ["compile"], cd: app, env: env)
    assert output == ""
    refute File.exists?(Path.join(root, "priv"))

    {output, status} = ChildVM.run_program("mix", ["dala.doctor"], cd: app, env: env)
    assert status == 0, output
    assert output =~ "config :dala_gpu, memory_limit: 64000000"
  end

  defp write(app, path, content) do
    file = Path.join(app, path)
    File.mkdir_p!(Path.dirname(file))
    File.write!(file, content)
  end
end
