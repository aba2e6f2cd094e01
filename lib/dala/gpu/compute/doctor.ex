defmodule Dala.Gpu.Compute.Doctor do
  @moduledoc """
  A human-readable report of the OpenCL drivers and devices, which device is used and why.

  `mix dala.doctor` prints the report.
  """

  alias Dala.Gpu.Compute.{Bytes, Device, Error, Runtime}

  # Prefixes of environment variables that configure the library or the CPU driver.
  @prefixes ["DALA_", "POCL_"]

  @install [
    {"any CPU", "pocl-opencl-icd"},
    {"NVIDIA GPU", "nvidia-opencl-icd (comes with the proprietary driver)"},
    {"AMD GPU", "mesa-opencl-icd, or AMD's ROCm packages (rocm-opencl-runtime)"},
    {"Intel GPU", "intel-opencl-icd"}
  ]

  @doc """
  Returns the report as a string.

  ## Example

      iex> Dala.Gpu.Compute.Doctor.report() =~ "Drivers"
      true
  """
  @spec report() :: String.t()
  def report do
    survey = Device.survey()
    choice = choice()

    [
      "Dala GPU #{Device.version()}, Elixir #{System.version()}, OTP #{System.otp_release()}",
      section("Drivers", drivers()),
      section("Loader", loader(survey)),
      section("Platforms and devices", platforms(survey)),
      section("Chosen", chosen(choice)),
      section("Settings", settings()),
      if(choice.info, do: [], else: section("What to install", install()))
    ]
    |> List.flatten()
    |> Enum.join("\n")
  end

  defp section(title, lines), do: ["", title, Enum.map(lines, &("  " <> &1))]

  # The ICD loader reads one file per driver, which contains the name of the library to open.

  defp drivers do
    icd_files() ++
      case System.get_env("OCL_ICD_FILENAMES") do
        empty when empty in [nil, ""] -> []
        names -> ["OCL_ICD_FILENAMES adds #{names}"]
      end
  end

  defp icd_files do
    {place, from} =
      case System.get_env("OCL_ICD_VENDORS") do
        empty when empty in [nil, ""] -> {"/etc/OpenCL/vendors", ""}
        place -> {place, " (from OCL_ICD_VENDORS)"}
      end

    files = if File.dir?(place), do: place |> Path.join("*.icd") |> Path.wildcard(), else: [place]

    cond do
      files == [] -> ["#{place}#{from} has no *.icd file"]
      not File.exists?(place) -> ["#{place}#{from} does not exist"]
      true -> Enum.map(files, &"#{&1}: #{icd_content(&1)}#{from}")
    end
  end

  defp icd_content(file) do
    case File.read(file) do
      {:ok, content} -> String.trim(content)
      {:error, reason} -> "cannot be read: #{:file.format_error(reason)}"
    end
  end

  defp loader(%{problem: problem}) when is_binary(problem), do: [problem]
  defp loader(_survey), do: [loaded_loader() || "the OpenCL loader library is loaded"]

  # On Linux, /proc/self/maps lists every file mapped by the process.
  defp loaded_loader do
    with {:ok, maps} <- File.read("/proc/self/maps"),
         [path] <- Regex.run(~r{/\S*/(?:libOpenCL)\.so\S*}, maps) do
      path
    else
      _ -> nil
    end
  end

  defp platforms(%{platforms: []}), do: ["none"]
  defp platforms(%{platforms: platforms}), do: Enum.flat_map(platforms, &platform/1)

  defp platform(%{name: name, version: version, problem: problem, devices: devices}) do
    problem = if problem, do: ": #{problem}", else: ""
    ["#{name} (#{version})#{problem}" | Enum.map(devices, &("  " <> device(&1)))]
  end

  defp device(device) do
    [
      "#{device.name}: #{device.type}",
      "#{device.compute_units} compute units",
      "#{Bytes.format(device.global_memory)} memory",
      "#{Bytes.format(device.local_memory)} local",
      if(device.fp64, do: "f64", else: "no f64"),
      if(device.available, do: "usable", else: "not usable (not available, or without a compiler)")
    ]
    |> Enum.join(", ")
  end

  defp choice do
    case Runtime.ensure() do
      :ok -> %{info: Device.info(), problem: nil}
      {:error, %Error{message: message}} -> %{info: nil, problem: message}
    end
  rescue
    error in ArgumentError -> %{info: nil, problem: Exception.message(error)}
  end

  defp chosen(%{info: nil, problem: problem}), do: ["no device: #{problem}"]

  defp chosen(%{info: info}) do
    memory = Device.memory()

    [
      "#{info.name} (#{info.platform}), because #{info.why}",
      "kernels for a #{info.class}-class device",
      "zero copy: #{if info.zero_copy, do: "yes, binaries and buffers share memory", else: "no"}",
      "memory limit: #{Bytes.format(memory.limit)}, largest buffer: " <>
        Bytes.format(info.max_allocation)
      | cache(info)
    ]
  end

  defp cache(%{cache_why: nil} = info),
    do: ["compiled kernels are not kept: #{info.cache_note}"]

  defp cache(info) do
    limit =
      if info.cache_limit == 0, do: "no limit", else: "at most #{Bytes.format(info.cache_limit)}"

    [
      "compiled kernels are kept in #{info.cache_dir}, because #{info.cache_why}",
      "  #{Bytes.format(cache_size(info.cache_dir))} so far, #{limit}"
    ] ++
      if(info.work_dir,
        do: ["the CPU driver loads them from #{info.work_dir}, because #{info.work_why}"],
        else: []
      ) ++
      if(info.cache_note, do: ["note: #{info.cache_note}"], else: [])
  end

  defp cache_size(folder) do
    for name <- list(folder),
        Path.extname(name) in [".bin", ".pack"],
        {:ok, stat} <- [File.stat(Path.join(folder, name))],
        reduce: 0,
        do: (sum -> sum + stat.size)
  end

  defp list(folder) do
    case File.ls(folder) do
      {:ok, names} -> names
      {:error, _reason} -> []
    end
  end

  defp settings do
    config = for {key, value} <- Application.get_all_env(:dala_gpu), do: setting(key, value)

    variables =
      for {name, value} <- Enum.sort(System.get_env()),
          String.starts_with?(name, @prefixes),
          do: "#{name}=#{value} (from the environment)"

    case config ++ variables do
      [] -> ["all at their defaults"]
      lines -> lines ++ overruled()
    end
  end

  # Keys that are in the configuration and in the environment, which wins.
  defp overruled do
    for {key, _value} <- Application.get_all_env(:dala_gpu),
        name <- [variable(key)],
        System.get_env(name) not in [nil, ""],
        do: "#{name} overrules config :dala_gpu, #{key}:"
  end

  defp variable(:models_dir), do: "DALA_MODELS_DIR"
  defp variable(key), do: "DALA_GPU_" <> String.upcase(to_string(key))

  defp setting(key, value), do: "config :dala_gpu, #{key}: #{inspect(value)}"

  defp install do
    lines = for {hardware, package} <- @install, do: "#{hardware}: #{package}"
    lines ++ ["(Debian's and Ubuntu's package names; ocl-icd-libopencl1 is the loader)"]
  end
end
