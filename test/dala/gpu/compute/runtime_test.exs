defmodule Dala.Gpu.Compute.RuntimeTest do
  # Changes the application environment, which nothing reads once the device is running.
  use ExUnit.Case, async: false

  alias Dala.Gpu.Compute.Runtime
  alias Dala.Test.ChildVM

  setup do
    before = Application.get_all_env(:dala_gpu)

    on_exit(fn ->
      for {key, _value} <- Application.get_all_env(:dala_gpu) do
        Application.delete_env(:dala_gpu, key)
      end

      Application.put_all_env(dala_gpu: before)
    end)
  end

  test "the defaults" do
    assert Runtime.config() == %{
             device: "auto",
             device_class: "auto",
             matmul: "auto",
             cache_dir: "",
             zero_copy: true,
             pin_threads: true,
             executor: true,
             fusion: true,
             tune: false,
             memory_limit: 0,
             cache_limit: 1_073_741_824,
             kernel_timeout: 0,
             build_timeout: 60_000
           }
  end

  test "every key" do
    Application.put_all_env(
      dala_gpu: [
        device: "pocl",
        device_class: :gpu,
        matmul: :builtin,
        cache_dir: "/tmp/kernels",
        zero_copy: false,
        pin_threads: false,
        executor: false,
        fusion: false,
        tune: true,
        memory_limit: 1_000_000,
        cache_limit: 2_000_000,
        kernel_timeout: 10_000
      ]
    )

    assert Runtime.config() == %{
             device: "pocl",
             device_class: "gpu",
             matmul: "builtin",
             cache_dir: "/tmp/kernels",
             zero_copy: false,
             pin_threads: false,
             executor: false,
             fusion: false,
             tune: true,
             memory_limit: 1_000_000,
             cache_limit: 2_000_000,
             kernel_timeout: 10_000,
             build_timeout: 60_000
           }
  end

  test "invalid values" do
    for {key, value, expected} <- [
          {:device, :tpu, ":auto, :gpu, :cpu or part of a device's name"},
          {:device, "", ":auto, :gpu, :cpu or part of a device's name"},
          {:device_class, "cpu", ":auto, :cpu or :gpu"},
          {:matmul, :fast, ":auto, :builtin or :clblast"},
          {:cache_dir, nil, "the path of a directory"},
          {:zero_copy, 1, "true or false"},
          {:pin_threads, :yes, "true or false"},
          {:executor, nil, "true or false"},
          {:fusion, 0, "true or false"},
          {:tune, :always, "true or false"},
          {:memory_limit, -1, "a number of bytes (0 is what the device has)"},
          {:cache_limit, "1 GiB", "a number of bytes (0 is no limit)"},
          {:kernel_timeout, 1.5, "a number of milliseconds (0 is no limit)"}
        ] do
      Application.put_env(:dala_gpu, key, value)

      assert_raise ArgumentError,
                   "config :dala_gpu, #{key}: expected #{expected}, got: #{inspect(value)}",
                   fn -> Runtime.config() end

      Application.delete_env(:dala_gpu, key)
    end
  end

  test "unknown keys" do
    Application.put_env(:dala_gpu, :devise, :gpu)

    assert_raise ArgumentError,
                 "config :dala_gpu has no key :devise; it takes :build_timeout, :cache_dir, :cache_limit, " <>
                   ":device, :device_class, :executor, :fusion, :kernel_timeout, :matmul, " <>
                   ":memory_limit, :models_dir, :nx, :pin_threads, :tune, :zero_copy",
                 fn -> Runtime.config() end
  end

  describe "in a child VM" do
    test "many processes may start the device concurrently" do
      assert {"ok\n", 0} =
               ChildVM.run("""
               results =
                 1..50
                 |> Enum.map(fn i ->
                   Task.async(fn ->
                     a = Dala.Gpu.Compute.buffer([i], {1})
                     :ok = Dala.Gpu.Compute.add(a, a, a)
                     Dala.Gpu.Compute.read_list(a)
                   end)
                 end)
                 |> Task.await_many(60_000)

               ^results = for i <- 1..50, do: [i * 2.0]
               IO.puts("ok")
               """)
    end

    test "an invalid configuration is raised by every call but available?/0" do
      assert {"ok\n", 0} =
               ChildVM.run("""
               Application.put_env(:dala_gpu, :device, :tpu)
               false = Dala.Gpu.Compute.available?()
               false = Dala.Gpu.Compute.gpu?()
               true = Dala.Gpu.Compute.doctor() =~ "expected :auto, :gpu, :cpu"

               for call <- [
                     fn -> Dala.Gpu.Compute.device_info() end,
                     fn -> Dala.Gpu.Compute.buffer([1], {1}) end,
                     fn -> Dala.Gpu.Compute.kernels() end
                   ] do
                 try do
                   call.()
                   raise "no error"
                 rescue
                   error in ArgumentError -> true = error.message =~ "got: :tpu"
                 end
               end

               IO.puts("ok")
               """)
    end

    test "environment variables take precedence over the configuration" do
      assert {"cpu\n", 0} =
               ChildVM.run(
                 """
                 Application.put_env(:dala_gpu, :device, "no such device")
                 Application.put_env(:dala_gpu, :memory_limit, 1)
                 12_345_678 = Dala.Gpu.Compute.memory_info().limit
                 IO.puts(Dala.Gpu.Compute.device_info().type)
                 """,
                 env: [{"DALA_GPU_DEVICE", "cpu"}, {"DALA_GPU_MEMORY_LIMIT", "12345678"}]
               )
    end

    test "an invalid environment variable" do
      assert {output, 0} =
               ChildVM.run(
                 """
                 false = Dala.Gpu.Compute.available?()
                 try do
                   Dala.Gpu.Compute.buffer([1], {1})
                 rescue
                   error in Dala.Gpu.Compute.Error -> IO.puts([inspect(error.reason), " ", error.message])
                 end
                 """,
                 env: [{"DALA_GPU_MEMORY_LIMIT", "much"}]
               )

      assert output =~ ":invalid_param"
      assert output =~ "DALA_GPU_MEMORY_LIMIT takes a number of bytes, got much"
    end

    test "an unknown device is no_device, with a list of the devices" do
      assert {output, 0} =
               ChildVM.run("""
               Application.put_env(:dala_gpu, :device, "no such device")
               try do
                 Dala.Gpu.Compute.buffer([1], {1})
               rescue
                 error in Dala.Gpu.Compute.Error -> IO.puts([inspect(error.reason), " ", error.message])
               end
               """)

      assert output =~ ":no_device"
      assert output =~ "no such device"
      assert output =~ Dala.Gpu.Compute.device_info().name
    end

    test "device class gpu and a device without zero copy give the same results" do
      for env <- [[{"DALA_GPU_DEVICE_CLASS", "gpu"}], [{"DALA_GPU_ZERO_COPY", "0"}]] do
        assert {"ok\n", 0} =
                 ChildVM.run(
                   """
                   alias Dala.Gpu.Compute
                   a = Compute.buffer(Enum.to_list(1..10_000), {100, 100})
                   b = Compute.buffer_zeros({100, 100}, :f32)
                   :ok = Compute.add(a, a, b)
                   before = Compute.read(b)
                   :ok = Compute.scale(b, 0.5, b)
                   true = Compute.read(a) == Compute.read(b)
                   true = before == for(i <- 1..10_000, into: <<>>, do: <<i * 2.0::float-32-native>>)
                   true = Compute.read_list(a) == Enum.map(1..10_000, & &1 * 1.0)
                   binary = :binary.copy(<<1, 2, 3, 4>>, 100_000)
                   c = Compute.buffer_from_binary(binary, {400_000}, :u8)
                   :ok = Compute.scale(c, 2, c)
                   true = Compute.read(c) == :binary.copy(<<2, 4, 6, 8>>, 100_000)
                   IO.puts("ok")
                   """,
                   env: env
                 )
      end
    end
  end
end
