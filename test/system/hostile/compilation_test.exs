defmodule Dala.System.Hostile.CompilationTest do
  # Sources over which a compiler crashes, loops or waits, and launches that would compile.
  use Dala.Test.GpuCase, async: false

  alias Dala.Test.ChildVM

  @moduletag timeout: 300_000

  # For child VMs. `Sources.endless/0` expands macros for hours without ever becoming large.
  @sources """
  defmodule Sources do
    def kernel(before \\\\ "", body), do: before <> "\\n__kernel void k(__global int *output) { " <> body <> " }"

    def endless do
      levels = for i <- 1..12, do: "#define A\#{i} " <> String.duplicate("A\#{i - 1} ", 10) <> "\\n"
      kernel("#define A0\\n" <> Enum.join(levels), "A12 output[0] = 1;")
    end
  end

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.Kernel
  x = Compute.buffer([-1, 2], {2})
  :ok = Compute.relu(x, x)
  """

  test "formulas that would crash a compiler are rejected" do
    {output, status} =
      ChildVM.run(
        @sources <>
          """
          for {name, formula} <- [
                sum: "x" <> String.duplicate("+x", 50_000),
                minuses: String.duplicate("-", 200_000) <> "x",
                parentheses: String.duplicate("(", 100_000) <> "x" <> String.duplicate(")", 100_000),
                calls: String.duplicate("exp(", 800) <> "x" <> String.duplicate(")", 800),
                signs: String.duplicate("- ", 2000) <> "x"
              ] do
            {:error, error} = Kernel.elementwise(name, formula)
            IO.puts(error.message)
          end
          """
      )

    assert status == 0, output

    assert output == """
           the expression of sum has 100001 bytes, the limit is 65536
           the expression of minuses has 200001 bytes, the limit is 65536
           the expression of parentheses has 200001 bytes, the limit is 65536
           the expression of calls nests parentheses more than 64 levels deep
           the expression of signs has more than 16 prefix operators in a row
           """
  end

  test "a source that crashes the compiler is an error, and the VM keeps running" do
    {output, status} =
      ChildVM.run(
        @sources <>
          """
          source = Sources.kernel("output[0] = " <> String.duplicate("-", 500_000) <> "1;")
          {:error, error} = Kernel.register(:crash, source, inputs: 0)
          IO.puts("\#{error.reason}: \#{error.message}")
          :ok = Compute.relu(x, x)
          IO.puts("still here")
          """
      )

    assert status == 0, output
    assert output =~ "build_failed: the compiler ended with signal "
    assert output =~ "still here\n"
  end

  test "a build that takes too long fails alone" do
    {output, status} =
      ChildVM.run(
        @sources <>
          """
          parent = self()

          for name <- [:first, :second, :third] do
            spawn_link(fn -> send(parent, {name, Kernel.register(name, Sources.endless(), inputs: 0)}) end)
          end

          # Meanwhile others compile and run.
          :ok = Kernel.register(:fine, Sources.kernel("output[0] = 5;"), inputs: 0)
          y = Compute.buffer_zeros({1}, :s32)
          :ok = Kernel.run(:fine, [], y)
          [5] = Compute.read_list(y)
          :ok = Compute.run_kernel(:sigmoid, [x], x)

          for name <- [:first, :second, :third] do
            receive do
              {^name, {:error, error}} -> IO.puts("\#{error.reason}: \#{error.message}")
            end
          end
          """,
        env: [{"DALA_GPU_BUILD_TIMEOUT", "15000"}],
        timeout: 240_000
      )

    assert status == 0, output

    line =
      "build_failed: the compiler was ended: it took longer for this source than build_timeout " <>
        "allows (15000 ms)\n"

    assert output == String.duplicate(line, 3)
  end

  test "a VM stops while it is compiling" do
    child =
      ChildVM.start(
        @sources <>
          """
          for name <- [:first, :second, :third] do
            spawn(fn -> Kernel.register(name, Sources.endless(), inputs: 0) end)
          end

          # Registered after the others, so that those are being compiled.
          :ok = Kernel.register(:fine, Sources.kernel("output[0] = 5;"), inputs: 0)
          IO.puts("compiling")
          System.halt(3)
          """
      )

    ChildVM.await_output(child, "compiling")
    assert {_output, 3} = ChildVM.await_exit(child, 30_000)
  end

  test "a source that includes a FIFO does not block" do
    fifo = Path.join(scratch_dir("fifo"), "fifo.h")
    {_output, 0} = System.cmd("mkfifo", [fifo])

    {output, status} =
      ChildVM.run(
        @sources <>
          """
          source = Sources.kernel("#include \\"#{fifo}\\"\\n", "output[0] = 1;")
          for name <- [:first, :second] do
            {:error, %{reason: :invalid_param}} = Kernel.register(name, source, inputs: 0)
          end
          :ok = Kernel.register(:fine, Sources.kernel("output[0] = 5;"), inputs: 0)
          """,
        timeout: 60_000
      )

    assert {output, status} == {"", 0}
  end

  # Many different functions, so that a driver takes its time.
  defp heavy(name) do
    terms =
      for i <- 1..60, do: "x += pow(fabs(x) + #{i}.5f, 1.0f / #{i}) + exp(-x * #{i}) + tan(x);\n"

    """
    __kernel void #{name}(__global const float *input, __global float *output, int n) {
      int i = get_global_id(0);
      if (i >= n) return;
      float x = input[i];
      #{terms}
      output[i] = x;
    }
    """
  end

  test "a launch compiles nothing that register/3 could have" do
    cache = scratch_dir("cache")

    {output, status} =
      ChildVM.run(
        """
        alias Dala.Gpu.Compute
        alias Dala.Gpu.Compute.Kernel
        :ok = Kernel.register(:heavy, #{inspect(heavy("heavy"))})
        :ok = Kernel.elementwise(:formula, "x * 3 + exp(x)")
        compiled = fn ->
          for name <- ["heavy.so", "run_expression.so"],
              path <- Path.wildcard("#{cache}/**/" <> name),
              do: path
        end

        before = compiled.()

        for count <- [1, 7, 8, 64, 1000, 6400, 131_072] do
          buffer = Compute.buffer_zeros({count}, :f32)
          :ok = Kernel.run(:heavy, [buffer], buffer)
          :ok = Kernel.run(:formula, [buffer], buffer)
        end

        IO.puts(length(before))
        IO.inspect(compiled.() -- before)
        """,
        env: [{"POCL_CACHE_DIR", cache}, {"DALA_GPU_CACHE_DIR", Path.join(cache, "dala")}],
        timeout: 240_000
      )

    assert status == 0, output
    assert [count, "[]", ""] = String.split(output, "\n")
    # Other drivers have no such files.
    assert String.to_integer(count) >= 0
  end

  test "while a launch waits for its specialisation, others continue" do
    cache = scratch_dir("cache")

    {output, status} =
      ChildVM.run(
        """
        alias Dala.Gpu.Compute
        alias Dala.Gpu.Compute.Kernel
        run_of = &%{op: :run_kernel, kernel: &1, inputs: [&2], output: &2}
        x = Compute.buffer([-1, 2], {2})
        :ok = Compute.relu(x, x)
        :ok = Kernel.register(:heavy, #{inspect(heavy("heavy"))})
        compiled = fn -> Enum.sort(Path.wildcard("#{cache}/**/heavy.so")) end
        before = compiled.()
        # A wide grid with an odd number of items needs a specialisation that is not precompiled.
        odd = Compute.buffer_zeros({100_003}, :f32)
        last = Compute.submit(run_of.(:heavy, odd), notify: self())

        for _ <- 1..20 do
          id = Compute.submit(run_of.(:relu, x), notify: self())
          receive do: ({:dala_gpu, ^id, :ok} -> :ok)
        end

        # The driver was still compiling when the others were done.
        IO.inspect(compiled.() == before)
        receive do: ({:dala_gpu, ^last, :ok} -> :ok)
        IO.inspect(before == [] or length(compiled.()) == length(before) + 1)
        """,
        env: [{"POCL_CACHE_DIR", cache}, {"DALA_GPU_CACHE_DIR", Path.join(cache, "dala")}],
        timeout: 240_000
      )

    assert {output, status} == {"true\ntrue\n", 0}
  end

  defp run_of(kernel, buffer),
    do: %{op: :run_kernel, kernel: kernel, inputs: [buffer], output: buffer}

  test "formulas of f64 and in pipelines are also compiled in another process" do
    :ok = Kernel.elementwise(:hostile_cube, "x * x * x")
    doubles = Compute.buffer([1.0, 2.0], {2}, :f64)
    assert Kernel.run(:hostile_cube, [doubles], doubles) == :ok
    assert Compute.read_list(doubles) == [1.0, 8.0]
    buffer = counting(2)
    output = zeros({2})

    pipeline =
      Compute.pipeline()
      |> Compute.pipeline_add(run_of(:hostile_cube, buffer))
      |> Compute.pipeline_add(%{op: :run_kernel, kernel: :neg, inputs: [buffer], output: output})

    assert Compute.pipeline_run(pipeline) == :ok
    assert Compute.read_list(output) == [-1.0, -8.0]
  end
end
