defmodule Dala.System.Hostile.CustomKernelsTest do
  # Kernels whose buffers are shorter than they think, that write to what they only read, and whose
  # source has what no kernel needs.
  use Dala.Test.GpuCase, async: true

  alias Dala.Test.ChildVM

  @moduletag timeout: 300_000

  @box_blur """
  __kernel void box_blur(__global const uchar *input, __global uchar *output,
                         int radius, int width, int height, int channels) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;

    for (int c = 0; c < channels; ++c) {
      int sum = 0;
      for (int dx = -radius; dx <= radius; ++dx)
        sum += input[(y * width + clamp(x + dx, 0, width - 1)) * channels + c];
      output[(y * width + x) * channels + c] = (uchar)(sum / (2 * radius + 1));
    }
  }
  """

  # For child VMs: reads and writes out of bounds end them, or nothing does.
  defp with_box_blur(code) do
    """
    alias Dala.Gpu.Compute
    :ok = Compute.Kernel.register(:box_blur, #{inspect(@box_blur)}, params: [:radius])
    small = Compute.buffer_zeros({4, 4, 3}, :u8)
    """ <> code
  end

  test "an input that is smaller than the output is an error, not an overread" do
    {output, status} =
      ChildVM.run(
        with_box_blur("""
        large = Compute.buffer_zeros({8000, 8000, 3}, :u8)
        {:error, error} = Compute.run_kernel(:box_blur, [small], large, %{radius: 2})
        IO.puts("\#{error.reason}: \#{error.message}")
        """)
      )

    assert status == 0, output

    assert output ==
             "shape_mismatch: input 0 (input) of box_blur has 48 elements, but the kernel may " <>
               "read 192000000 according to the size of the output; declare an argument with " <>
               "the length of the input, such as int input_n, or register the kernel with " <>
               "sizes: [input: ...]\n"
  end

  test "params that exceed the size of an image are an error" do
    {output, status} =
      ChildVM.run(
        with_box_blur("""
        output = Compute.buffer_zeros({4, 4, 3}, :u8)
        flat = Compute.buffer_zeros({48}, :u8)

        for target <- [output, flat], size <- [%{width: 5000, height: 5000}, %{width: 5000, height: 4}] do
          params = Map.merge(%{radius: 2}, size)
          {:error, %{reason: :shape_mismatch}} = Compute.run_kernel(:box_blur, [small], target, params)
        end

        {:error, error} = Compute.run_kernel(:box_blur, [small], output, %{radius: 2, width: 5000})
        IO.puts(error.message)
        # Sizes that fit are taken.
        :ok = Compute.run_kernel(:box_blur, [small], flat, %{radius: 2, width: 2, height: 8})
        """)
      )

    assert status == 0, output

    assert output ==
             "width 5000, height 4 and channels 3 make 60000 elements; the output of box_blur has 48\n"
  end

  test "a kernel that takes its input's lengths may have one of any size" do
    :ok =
      Kernel.register(:hostile_last, """
      __kernel void last(__global const int *values, int values_n, __global int *output, int n) {
        int i = get_global_id(0);
        if (i < n) output[i] = values_n > 0 ? values[min(i, values_n - 1)] : -1;
      }
      """)

    output = zeros({5}, :s32)
    assert Kernel.run(:hostile_last, [counting(3, :s32)], output) == :ok
    assert Compute.read_list(output) == [1, 2, 3, 3, 3]
    assert Kernel.run(:hostile_last, [zeros({0}, :s32)], output) == :ok
    assert Compute.read_list(output) == [-1, -1, -1, -1, -1]
  end

  test "sizes: state what a table has, or leave it to the kernel" do
    source = """
    __kernel void pick(__global const int *table, __global int *output, int n) {
      int i = get_global_id(0);
      if (i < n) output[i] = table[i % 4];
    }
    """

    output = zeros({6}, :s32)
    :ok = Kernel.register(:hostile_pick, source)
    assert_error(Kernel.run(:hostile_pick, [counting(4, :s32)], output), :shape_mismatch)
    :ok = Kernel.register(:hostile_pick, source, sizes: [table: 4])
    assert Kernel.run(:hostile_pick, [counting(4, :s32)], output) == :ok
    assert Compute.read_list(output) == [1, 2, 3, 4, 1, 2]

    assert_error(
      Kernel.run(:hostile_pick, [counting(3, :s32)], output),
      :shape_mismatch,
      "input 0 (table) of hostile_pick has 3 elements, expected at least 4"
    )

    for any <- [:any, [table: :any], %{"table" => :any}] do
      :ok = Kernel.register(:hostile_pick, source, sizes: any)
      assert Kernel.run(:hostile_pick, [counting(4, :s32)], output) == :ok
    end

    assert_raise ArgumentError, ~r/expected sizes: to be :any or a list/, fn ->
      Kernel.register(:hostile_pick, source, sizes: [table: -1])
    end
  end

  test "a kernel that casts const away changes no binary" do
    :ok =
      Kernel.register(:hostile_cast, """
      __kernel void cast_away(__global const uchar *input, __global uchar *output) {
        size_t i = get_global_id(0);
        ((__global uchar *)input)[i] = 255;
        output[i] = input[i];
      }
      """)

    binary = :binary.copy(<<7>>, 100_000)
    expected = :binary.copy(<<7>>, 100_000)
    given = Compute.buffer_from_binary(binary, {100_000}, :u8)
    output = zeros({100_000}, :u8)
    assert Kernel.run(:hostile_cast, [given], output) == :ok
    assert binary == expected

    own = zeros({100_000}, :u8)
    read = Compute.read(own)
    assert Kernel.run(:hostile_cast, [own], output) == :ok
    assert read == :binary.copy(<<0>>, 100_000)
  end

  test "a binary that is read while such a kernel runs does not change" do
    :ok =
      Kernel.register(
        :hostile_slow_cast,
        """
        __kernel void slow_cast(__global const uint *input, __global uint *output, int rounds) {
          if (get_global_id(0) != 0) return;
          uint x = input[0] | 1u;
          for (int i = 0; i < rounds; ++i) {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
          }
          ((__global uint *)input)[0] = x;
          output[0] = x;
        }
        """,
        params: [:rounds]
      )

    input = counting(2000, :u32)
    output = zeros({2000}, :u32)
    assert Kernel.run(:hostile_slow_cast, [input], output, rounds: 1) == :ok
    input = counting(2000, :u32)
    id = Kernel.async_run(:hostile_slow_cast, [input], output, rounds: 200 * rounds_per_ms())
    read = Compute.read(input)
    copy = :binary.copy(read)
    assert Compute.wait(id, 60_000) == :ok
    assert read == copy
  end

  test "constructs that no kernel needs are rejected" do
    for {source, message} <- [
          {"__asm__(\"nop\");", "line 1 of the source of hostile_refused has __asm__"},
          {"#define A(x, y) x##y\nA(__as, m__)(\"nop\");",
           "has ##, which could form __asm__ from its words"},
          {"__attribute__((constructor)) void f(void) {}", "the attribute constructor"},
          {"int system(__constant char *command);", "declares system"},
          {"#if __has_include(\"/etc/passwd\")\n#endif", "__has_include"},
          {"#include \"/etc/passwd\"", "files are not read"},
          {"#include <stdio.h>", "includes stdio.h, which is not one of its headers"},
          {"int a;\0int b;", "zero byte"},
          {String.duplicate(" ", 1_048_577), "bytes, at most 1048576 are allowed"},
          {String.duplicate(" ", 3_000_000), "bytes, the limit is 2097152"}
        ] do
      source = source <> "\n__kernel void k(__global int *output) { output[0] = 1; }"

      assert_error(
        Kernel.register(:hostile_refused, source, inputs: 0),
        :invalid_param,
        message
      )
    end

    assert Kernel.lookup(:hostile_refused) == :error
  end

  test "headers are texts, not files" do
    source = """
    #include "twice.h"
    __kernel void k(__global int *output) { output[get_global_id(0)] = twice(21); }
    """

    header = "int twice(int x) { return 2 * x; }"

    assert Kernel.register(:hostile_header, source, inputs: 0, headers: %{"twice.h" => header}) ==
             :ok

    output = zeros({1}, :s32)
    assert Kernel.run(:hostile_header, [], output) == :ok
    assert Compute.read_list(output) == [42]

    assert_raise ArgumentError, ~r/expected headers: to be a map/, fn ->
      Kernel.register(:hostile_header, source, headers: ["twice.h"])
    end
  end

  test "more __local memory than the device has is an error at registration" do
    {output, status} =
      ChildVM.run("""
      alias Dala.Gpu.Compute

      register =
        Compute.Kernel.register(:greedy, \"\"\"
        __kernel void greedy(__global int *output) {
          __local int shared[64 * 1024 * 1024];
          size_t i = get_local_id(0);
          shared[i * 1024] = output[0];
          barrier(CLK_LOCAL_MEM_FENCE);
          output[get_global_id(0)] = shared[1024 * (get_local_size(0) - 1 - i)];
        }
        \"\"\", inputs: 0)

      result = with :ok <- register, do: Compute.run_kernel(:greedy, [], Compute.buffer_zeros({64}, :s32))
      {:error, error} = result
      IO.puts("\#{error.reason}: \#{error.message}")
      """)

    assert status == 0, output
    assert output =~ "unsupported: greedy uses 268435456 bytes of __local memory; "
  end

  test "private arrays that overflow a thread's stack are an error" do
    {output, status} =
      ChildVM.run("""
      alias Dala.Gpu.Compute

      register =
        Compute.Kernel.register(:deep, \"\"\"
        __kernel void deep(__global const int *x, __global int *output, int n) {
          int own[1000000];
          for (int i = 0; i < n; ++i) own[(i * 7919) % 1000000] = x[i];
          output[get_global_id(0)] = own[x[get_global_id(0)]];
        }
        \"\"\")

      x = Compute.buffer_zeros({64}, :s32)
      result = with :ok <- register, do: Compute.run_kernel(:deep, [x], Compute.buffer_zeros({64}, :s32))
      IO.puts(inspect(result))
      """)

    # Drivers that keep private arrays elsewhere may well run it.
    assert status == 0, output
    assert output == ":ok\n" or output =~ "its private arrays take"
  end
end
