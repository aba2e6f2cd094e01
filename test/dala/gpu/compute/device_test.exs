defmodule Dala.Gpu.Compute.DeviceTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute.Device

  doctest Dala.Gpu.Compute.Device

  test "info/0 describes the chosen device" do
    info = Device.info()

    for key <- [:name, :vendor, :version, :opencl_version, :driver, :platform, :why, :cache_dir] do
      assert is_binary(info[key]), "#{key}"
    end

    for key <- [:compute_units, :global_memory, :max_allocation, :local_memory] do
      assert is_integer(info[key]) and info[key] > 0, "#{key}"
    end

    for key <- [:gpu, :fp64, :zero_copy], do: assert(is_boolean(info[key]), "#{key}")
    assert info.type in [:cpu, :gpu, :accelerator, :custom]
    assert info.class in [:cpu, :gpu]
    assert info.gpu == (info.type == :gpu)
    assert info.opencl_version =~ "OpenCL"
    assert File.dir?(info.cache_dir)
  end

  test "version/0 is that of the application" do
    assert Device.version() == to_string(Application.spec(:dala_gpu, :vsn))
  end

  test "list/0 has the chosen device" do
    info = Device.info()
    devices = Device.list()
    chosen = Enum.find(devices, &(&1.name == info.name and &1.platform == info.platform))
    assert chosen.available
    assert chosen.type == info.type
    assert chosen.gpu == info.gpu
    assert chosen.compute_units == info.compute_units
  end

  test "list/0 can be called concurrently" do
    lists = 1..8 |> Enum.map(fn _ -> Task.async(&Device.list/0) end) |> Task.await_many(30_000)
    assert lists |> Enum.uniq() |> length() == 1
  end

  test "counters count copies, but not shared memory" do
    before = Compute.counters()
    data = :binary.copy(<<1>>, 1_000_000)
    buffer = Compute.buffer_from_binary(data, {1_000_000}, :u8)
    assert Compute.read(buffer) == data
    now = Compute.counters()
    assert now.reads > before.reads
    copied = if Compute.device_info().zero_copy, do: 0, else: 1_000_000
    assert now.bytes_in - before.bytes_in >= copied
    assert now.bytes_out - before.bytes_out >= copied
  end
end
