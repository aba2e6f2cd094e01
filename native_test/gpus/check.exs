# Compiles the programs that the native tests built on the GPU family for devices that need not be
# here, and compares the kernels with the table in table.txt: `make check-gpus`.
#
#   elixir check.exs <folder of programs> [--update] [--all] [--only <part of a target's name>]
#
# Without --all, programs of element types other than f32 are left out. With it, all of them have to
# compile and to keep to the rules, but only f32 is in the table.
#
# A program is a file of OpenCL C whose first line is a comment with its build options. A target
# whose compiler is missing is left out, and said so.
defmodule Gpus do
  @folder __DIR__
  @table Path.join(@folder, "table.txt")
  @clang "clang-15"

  # Every driver takes 1024 bytes of arguments; OpenCL asks for no more.
  @most_arguments 1024
  # What every device has, at least: OpenCL 1.2, full profile.
  @most_local 32 * 1024
  # With more, a quarter of the items that a compute unit can hold are not resident; of gfx900, a
  # fifth, since its compute units hold more.
  @most_registers %{"gfx900" => 128, "gfx1030" => 200, "sm_75" => 255}
  # Compilers of the same version differ by a few registers; the table does not change for these.
  @slack 4

  @metrics [:registers, :scratch, :spills, :arguments, :local]

  # Kernels that need private memory, or more registers than others, and why.
  @exceptions Path.join(@folder, "exceptions.txt")

  def main(arguments) do
    {options, [folder], []} =
      OptionParser.parse(arguments, strict: [update: :boolean, all: :boolean, only: :string])

    programs = folder |> Path.join("*.cl") |> Path.wildcard() |> Enum.sort()
    programs = if options[:all], do: programs, else: Enum.filter(programs, &of_floats?/1)
    if programs == [], do: halt("there is no program in #{folder}")
    targets = Enum.filter(targets(), &(&1.name =~ Keyword.get(options, :only, "")))
    scratch = Path.join(System.tmp_dir!(), "check_gpus_#{System.pid()}")
    File.mkdir_p!(scratch)

    results =
      try do
        compile(programs, targets, scratch)
      after
        File.rm_rf!(scratch)
      end

    report(results, length(programs), targets, options)
  end

  defp of_floats?(program) do
    case Regex.run(~r/^#define T (\w+)$/m, File.read!(program)) do
      [_, type] -> type == "float"
      nil -> true
    end
  end

  # Targets -----------------------------------------------------------------------------------------

  defp targets do
    all = [
      %{
        name: "gfx900",
        tools: [@clang],
        files: [device_libs()],
        run: &amd("gfx900", "900", &1, &2)
      },
      %{
        name: "gfx1030",
        tools: [@clang],
        files: [device_libs()],
        run: &amd("gfx1030", "1030", &1, &2)
      },
      %{
        name: "sm_75",
        tools: [@clang, ptxas()],
        files: [libclc()],
        run: &nvidia("sm_75", &1, &2)
      },
      %{name: "spirv", tools: [@clang, "llvm-spirv-15", "spirv-val"], files: [], run: &spirv/2}
    ]

    Enum.filter(all, fn target ->
      missing =
        Enum.reject(target.tools, &System.find_executable/1) ++
          Enum.reject(target.files, &File.exists?/1)

      if missing != [], do: IO.puts("#{target.name} is left out: no #{Enum.join(missing, ", ")}")
      missing == []
    end)
  end

  defp device_libs, do: "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
  defp libclc, do: "/usr/lib/clc/nvptx64--nvidiacl.bc"

  defp ptxas, do: System.find_executable("ptxas") || "/usr/local/cuda/bin/ptxas"

  defp amd(cpu, isa, program, out) do
    libraries =
      for name <-
            ~w(opencl ocml ockl oclc_daz_opt_off oclc_unsafe_math_off oclc_finite_only_off
            oclc_correctly_rounded_sqrt_on oclc_abi_version_400) ++
              [
                "oclc_isa_version_#{isa}",
                "oclc_wavefrontsize64_#{if isa == "900", do: "on", else: "off"}"
              ],
          flag <- ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", "#{device_libs()}/#{name}.bc"],
          do: flag

    target = ["-target", "amdgcn-amd-amdhsa", "-mcpu=#{cpu}", "-nogpulib" | libraries]

    with {:ok, _} <- clang(program, target ++ ["-O3", "-S", "-o", out]) do
      {:ok, out |> File.read!() |> amd_kernels()}
    end
  end

  # The metadata of the assembly, a list of kernels in YAML.
  defp amd_kernels(assembly) do
    [_, metadata] = String.split(assembly, "amdhsa.kernels:", parts: 2)

    for kernel <- metadata |> String.split("\n  - .args:") |> tl() do
      number = fn key ->
        [_, digits] = Regex.run(~r/^    \.#{key}: +(\d+)$/m, kernel)
        String.to_integer(digits)
      end

      [_, name] = Regex.run(~r/^    \.name: +'?([^'\n]+)'?$/m, kernel)
      vector_spills = number.("vgpr_spill_count")

      {name,
       %{
         registers: number.("vgpr_count"),
         scratch: number.("private_segment_fixed_size"),
         spills: vector_spills,
         arguments: amd_arguments(kernel),
         local: number.("group_segment_fixed_size")
       }}
    end
  end

  # Behind the kernel's own arguments there are hidden ones.
  defp amd_arguments(kernel) do
    sizes =
      for argument <- String.split(kernel, "- .", trim: true),
          not (argument =~ ".value_kind:     hidden"),
          [_, offset] <- [Regex.run(~r/offset: +(\d+)/, argument)],
          [_, size] <- [Regex.run(~r/ \.size: +(\d+)/, argument)],
          do: String.to_integer(offset) + String.to_integer(size)

    Enum.max(sizes, fn -> 0 end)
  end

  defp nvidia(architecture, program, out) do
    libraries = ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", libclc()]
    target = ["-target", "nvptx64-nvidia-nvcl" | libraries]

    with {:ok, _} <- clang(program, target ++ ["-O3", "-S", "-o", out]),
         {:ok, log} <- run(ptxas(), ["-v", "-arch=#{architecture}", out, "-o", "/dev/null"]) do
      sizes = ptx_arguments(File.read!(out))
      {:ok, nvidia_kernels(log, sizes)}
    end
  end

  defp nvidia_kernels(log, arguments) do
    for text <- log |> String.split("Compiling entry function '") |> tl() do
      [name | _] = String.split(text, "'", parts: 2)

      number = fn pattern ->
        case Regex.run(pattern, text) do
          [_, digits] -> String.to_integer(digits)
          nil -> 0
        end
      end

      {name,
       %{
         registers: number.(~r/Used (\d+) registers/),
         scratch: number.(~r/(\d+) bytes stack frame/),
         spills: number.(~r/(\d+) bytes spill stores/),
         arguments: Map.get(arguments, name, 0),
         local: number.(~r/(\d+) bytes smem/)
       }}
    end
  end

  # Pointers and scalars of the parameter list, and arrays of bytes, which structs are.
  defp ptx_arguments(assembly) do
    for [_, name, list] <- Regex.scan(~r/\.entry (\w+)\(\n(.*?)\n\)/s, assembly), into: %{} do
      bytes =
        for line <- String.split(list, "\n"), reduce: 0 do
          sum ->
            case Regex.run(~r/\.b8 \w+\[(\d+)\]|\.[a-z](\d+) /, line) do
              [_, bytes] -> sum + String.to_integer(bytes)
              [_, "", bits] -> sum + div(String.to_integer(bits), 8)
              nil -> sum
            end
        end

      {name, bytes}
    end
  end

  # The translator knows no `freeze`, which optimisations insert.
  defp spirv(program, out) do
    module = out <> ".spv"

    with {:ok, _} <- clang(program, ["-target", "spir64", "-O0", "-emit-llvm", "-c", "-o", out]),
         {:ok, _} <- run("llvm-spirv-15", ["--spirv-max-version=1.0", out, "-o", module]),
         {:ok, _} <- run("spirv-val", ["--target-env", "opencl1.2", module]) do
      {:ok, []}
    end
  end

  defp clang(program, flags) do
    options =
      File.open!(program, &IO.read(&1, :line)) |> String.trim_leading("// ") |> String.split()

    # Warnings of ours count; those that a driver would hide are hidden by the options themselves.
    options = Enum.reject(options, &(&1 == "-w"))
    common = ["-x", "cl", "-Xclang", "-finclude-default-header" | options]
    run(@clang, common ++ warnings() ++ flags ++ [program])
  end

  # Templates are compiled for types and variants that leave parts of them without effect.
  defp warnings do
    ~w(-Wall -Werror -Wno-linker-warnings -Wno-unused -Wno-tautological-compare -Wno-unknown-pragmas -Wno-pass-failed)
  end

  defp run(command, arguments) do
    case System.cmd(command, arguments, stderr_to_stdout: true) do
      {log, 0} -> {:ok, log}
      {log, _status} -> {:error, log}
    end
  end

  # All of them -------------------------------------------------------------------------------------

  defp compile(programs, targets, scratch) do
    work = for target <- targets, program <- programs, do: {target, program}

    work
    |> Enum.with_index()
    |> Task.async_stream(
      fn {{target, program}, index} ->
        out = Path.join(scratch, "#{index}")
        result = target.run.(program, out)
        for path <- [out, out <> ".spv"], do: File.rm(path)
        {target.name, program, result}
      end,
      timeout: :infinity,
      ordered: false
    )
    |> Enum.map(fn {:ok, result} -> result end)
  end

  # The most that any program needs for a kernel of this name.
  defp kernels(results) do
    for {target, _program, {:ok, kernels}} <- results, {name, numbers} <- kernels, reduce: %{} do
      all ->
        Map.update(
          all,
          {name, target},
          numbers,
          &Map.merge(&1, numbers, fn _, a, b -> max(a, b) end)
        )
    end
  end

  defp report(results, count, targets, options) do
    errors = for {target, program, {:error, log}} <- results, do: {target, program, log}

    for {target, program, log} <- errors do
      IO.puts(
        "#{target}: #{program}\n#{log |> String.split("\n") |> Enum.take(12) |> Enum.join("\n")}"
      )
    end

    found = kernels(results)
    names = found |> Map.keys() |> Enum.map(&elem(&1, 0)) |> Enum.uniq()

    IO.puts(
      "#{count} programs, #{length(names)} kernels, " <>
        "#{Enum.map_join(targets, " ", & &1.name)}: #{length(errors)} do not compile"
    )

    if options[:update] do
      names = Enum.map(targets, & &1.name)
      others = Map.reject(read_table(), fn {{_kernel, target}, _} -> target in names end)
      write_table(Map.merge(others, found))
      IO.puts("wrote #{Path.relative_to_cwd(@table)}")
    end

    compare = not Keyword.get(options, :update, false) and not Keyword.get(options, :all, false)
    problems = rules(found) ++ if(compare, do: changes(found, read_table()), else: [])
    Enum.each(problems, &IO.puts/1)
    if errors != [] or problems != [], do: System.halt(1)
  end

  defp rules(found) do
    excused = excused()

    for {{name, target}, numbers} <- Enum.sort(found),
        {metric, most} <- [
          arguments: @most_arguments,
          local: @most_local,
          scratch: 0,
          spills: 0,
          registers: @most_registers[target]
        ],
        numbers[metric] > most,
        not Enum.any?(excused, fn {pattern, excuse} -> excuse == metric and name =~ pattern end) do
      "#{name} on #{target}: #{numbers[metric]} #{unit(metric)}, at most #{most} expected"
    end
  end

  defp unit(:arguments), do: "bytes of arguments"
  defp unit(:local), do: "bytes of local memory"
  defp unit(:scratch), do: "bytes of private memory"
  defp unit(:spills), do: "spilled registers"
  defp unit(:registers), do: "registers"

  # Lines of "<metric> <pattern of names> <reason>".
  defp excused do
    for line <- lines(@exceptions) do
      [metric, pattern | _reason] = String.split(line, " ", parts: 3)
      {Regex.compile!("^(#{pattern})$"), String.to_existing_atom(metric)}
    end
  end

  # A target that the table does not have yet is checked by the rules alone.
  defp changes(found, table) do
    known = table |> Map.keys() |> Enum.map(&elem(&1, 1)) |> Enum.uniq()

    for {{name, target} = key, numbers} <- Enum.sort(found), metric <- @metrics do
      case table do
        %{^key => stored} ->
          slack = if metric == :registers, do: @slack, else: 0

          if numbers[metric] > stored[metric] + slack do
            "#{name} on #{target}: #{numbers[metric]} #{unit(metric)}, the table has #{stored[metric]}"
          end

        _ ->
          if metric == :registers and target in known do
            "#{name} on #{target} is not in the table"
          end
      end
    end
    |> Enum.filter(& &1)
  end

  # The table ---------------------------------------------------------------------------------------

  @heading """
  # The kernels of the GPU family, compiled for f32 on these targets: the most of all variants that
  # the native tests meet. Written by `make check-gpus UPDATE=1`.
  # kernel, target, then: registers, bytes of private memory, spills, bytes of arguments, bytes of
  # local memory that the kernel declares
  """

  defp write_table(found) do
    width = found |> Map.keys() |> Enum.map(&String.length(elem(&1, 0))) |> Enum.max()

    rows =
      for {{name, target}, numbers} <- Enum.sort(found) do
        columns = Enum.map(@metrics, &String.pad_leading("#{numbers[&1]}", 6))
        [String.pad_trailing(name, width), " ", String.pad_trailing(target, 8), columns, "\n"]
      end

    File.write!(@table, [@heading | rows])
  end

  defp read_table do
    for line <- lines(@table), into: %{} do
      [name, target | numbers] = String.split(line)
      {{name, target}, @metrics |> Enum.zip(Enum.map(numbers, &String.to_integer/1)) |> Map.new()}
    end
  end

  defp lines(path) do
    path
    |> File.read!()
    |> String.split("\n", trim: true)
    |> Enum.reject(&String.starts_with?(&1, "#"))
  end

  defp halt(message) do
    IO.puts(:stderr, message)
    System.halt(1)
  end
end

Gpus.main(System.argv())
