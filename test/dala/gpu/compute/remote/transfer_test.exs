defmodule Dala.Gpu.Compute.Remote.TransferTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute.Native
  alias Dala.Gpu.Compute.Remote.Transfer

  test "chunks cover all bytes" do
    assert Transfer.chunks(1) == [{0, 1}]
    mib = 1024 * 1024
    assert Transfer.chunks(mib) == [{0, mib}]
    assert Transfer.chunks(2 * mib + 5) == [{0, mib}, {mib, mib}, {2 * mib, 5}]
  end

  test "small results go inside the message, large ones are lent" do
    assert Transfer.pack_read({:ok, "small"}, true) == {:ok, {:inline, "small"}}
    error = {:error, %Error{reason: :freed, message: "gone"}}
    assert Transfer.pack_read(error, true) == error
    large = :binary.copy("large", 100_000)

    assert {:lend, ^large, describe} = Transfer.pack_read({:ok, large}, false)
    assert describe.(7) == {:download, 7, 500_000}

    assert {:lend, copy, describe} = Transfer.pack_read({:ok, large}, true)
    assert copy == large
    assert {:segment, place, 500_000, 9} = describe.(9)
    assert Transfer.unpack(describe.(9), %{}) == {:ok, {:binary, large}}
    assert {:ok, ^place} = Native.segment_place(copy)
  end

  test "a shared binary is held until it is returned, or its link ends" do
    binary = :binary.copy("bytes", 100_000)
    link = spawn(fn -> receive do: (:end -> :ok) end)
    assert {:ok, {:segment, place, 500_000, 4} = sent, holder} = Transfer.share(binary, link, 4)
    assert Transfer.readable?(sent)
    assert {:ok, mapped} = Native.segment_map(place, 500_000, self(), 4)
    assert mapped == binary
    assert {:ok, _sent, other} = Transfer.share(binary, link, 6)
    monitors = for pid <- [holder, other], do: Process.monitor(pid)
    send(holder, :returned)
    send(link, :end)
    for monitor <- monitors, do: assert_receive({:DOWN, ^monitor, :process, _pid, _reason})
    # What is mapped stays.
    assert mapped == binary
    refute Transfer.readable?(nil)
  end

  test "whoever lent a binary is told when the last reference to it has gone" do
    parent = self()

    spawn(fn ->
      {:ok, copy} = Native.segment_copy(:binary.copy("bytes", 100_000))
      {:ok, place} = Native.segment_place(copy)
      {:ok, mapped} = Native.segment_map(place, 500_000, parent, 12)
      send(parent, {:size, byte_size(mapped)})
    end)

    assert_receive {:size, 500_000}
    assert_receive {:dala_gpu_released, 12}, 60_000
    spawn(fn -> Native.token_new(parent, 14) end)
    assert_receive {:dala_gpu_released, 14}, 60_000
  end

  test "uploads and lists" do
    things = %{2 => {:upload, [["ab"] | "cd"]}}
    assert Transfer.unpack({:upload, 2}, things) == {:ok, {:binary, "abcd"}}
    sent = {:inline, :erlang.term_to_binary([1, 2])}
    assert Transfer.unpack({:list, sent}, %{}) == {:ok, {:list, [1, 2]}}
    assert Transfer.unpack(:zeros, %{}) == {:ok, :zeros}
    assert_error(Transfer.unpack({:segment, {1, 100_000, 1, 0}, 10, 2}, %{}), :device_error)
  end
end
