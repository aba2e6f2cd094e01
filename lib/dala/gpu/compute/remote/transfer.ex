defmodule Dala.Gpu.Compute.Remote.Transfer do
  @moduledoc false
  # How the bytes of buffers get from one VM to another. A few go inside the message. Many go through
  # shared memory to a VM of this machine, and in chunks to another node, or where there is no shared
  # memory: a chunk is sent when the one before has arrived, so neither the memory that a transfer
  # takes nor the time for which it occupies the connection grows with its size.
  #
  # On the wire: `{:inline, binary}`, `{:segment, place, bytes, tag}`, `{:upload, id}` and
  # `{:download, tag, bytes}`.

  alias Dala.Gpu.Compute.{Error, Native}

  @inline 64 * 1024
  @chunk 1024 * 1024

  @type sent :: {:inline, binary()} | tuple()

  @spec large?(binary()) :: boolean()
  def large?(binary), do: byte_size(binary) > @inline

  @doc "The chunks of so many bytes: offsets and sizes."
  @spec chunks(pos_integer()) :: [{non_neg_integer(), pos_integer()}]
  def chunks(bytes),
    do: for(offset <- 0..(bytes - 1)//@chunk, do: {offset, min(@chunk, bytes - offset)})

  @doc """
  Puts a binary where the other VM can map it. A new process holds it there, which ends when it is
  sent `:returned` or the link ends.
  """
  @spec share(binary(), pid(), non_neg_integer()) :: {:ok, sent(), pid()} | :error
  def share(binary, link, tag) do
    caller = self()

    {pid, monitor} =
      spawn_monitor(fn ->
        with {:ok, copy} <- Native.segment_copy(binary),
             {:ok, place} <- Native.segment_place(copy) do
          watch = Process.monitor(link)
          send(caller, {self(), {:segment, place, byte_size(copy), tag}})
          hold(copy, watch)
        end
      end)

    receive do
      {^pid, sent} ->
        Process.demonitor(monitor, [:flush])
        {:ok, sent, pid}

      {:DOWN, ^monitor, :process, ^pid, _reason} ->
        :error
    end
  end

  # The result is used by nobody; it keeps the copy alive while this waits.
  defp hold(copy, watch) do
    # The data this process received is garbage by now.
    :erlang.garbage_collect()

    receive do
      :returned -> byte_size(copy)
      {:DOWN, ^watch, :process, _link, _reason} -> byte_size(copy)
    end
  end

  @doc "Whether a segment of the other VM can be mapped here."
  @spec readable?(sent() | nil) :: boolean()
  def readable?(nil), do: false
  def readable?(sent), do: match?({:ok, _binary}, bytes(sent, %{}))

  @doc "The content of a buffer, on the side of the device."
  @spec unpack(sent() | :zeros, map()) ::
          {:ok, :zeros | {:binary, binary()} | {:list, list()}} | {:error, Error.t()}
  def unpack(:zeros, _things), do: {:ok, :zeros}

  def unpack({:list, sent}, things) do
    with {:ok, binary} <- bytes(sent, things),
         do: {:ok, {:list, :erlang.binary_to_term(binary)}}
  end

  def unpack(sent, things) do
    with {:ok, binary} <- bytes(sent, things), do: {:ok, {:binary, binary}}
  end

  defp bytes({:inline, binary}, _things), do: {:ok, binary}

  defp bytes({:segment, place, bytes, tag}, _things),
    do: Native.segment_map(place, bytes, self(), tag)

  defp bytes({:upload, id}, things) do
    {:upload, parts} = Map.fetch!(things, id)
    {:ok, IO.iodata_to_binary(parts)}
  end

  @doc """
  How the result of a read goes to the other side: as it is, or `{:lend, binary, describe}`, with a
  binary to hold, and a function that gives the answer with the number of what is held.
  """
  @spec pack_read({:ok, binary()} | {:error, Error.t()}, boolean()) ::
          {:ok, sent()} | {:error, Error.t()} | {:lend, binary(), (non_neg_integer() -> sent())}
  def pack_read({:ok, binary}, _sharing) when byte_size(binary) <= @inline,
    do: {:ok, {:inline, binary}}

  def pack_read({:ok, binary}, true) do
    with {:error, _not_shared} <- lend_segment(binary),
         {:ok, copy} <- Native.segment_copy(binary),
         {:error, _not_shared} <- lend_segment(copy) do
      lend_chunks(binary)
    else
      {:error, _no_shared_memory} -> lend_chunks(binary)
      lent -> lent
    end
  end

  def pack_read({:ok, binary}, false), do: lend_chunks(binary)
  def pack_read({:error, _error} = failed, _sharing), do: failed

  defp lend_segment(binary) do
    with {:ok, place} <- Native.segment_place(binary),
         do: {:lend, binary, &{:segment, place, byte_size(binary), &1}}
  end

  defp lend_chunks(binary), do: {:lend, binary, &{:download, &1, byte_size(binary)}}

  @doc """
  Gives the answer of a device to whoever asked; called by the link. Bytes that were lent are returned
  when the last reference to them goes: if the caller has ended, that is now, so the link itself must
  not keep one.
  """
  @spec hand_over(GenServer.from(), term()) :: :ok
  def hand_over(from, {:ok, {:segment, place, bytes, tag}}) do
    GenServer.reply(from, Native.segment_map(place, bytes, self(), tag))
    true = :erlang.garbage_collect()
    :ok
  end

  def hand_over(from, {:ok, {:download, tag, bytes}}) do
    GenServer.reply(from, {:ok, {:download, tag, bytes, Native.token_new(self(), tag)}})
    true = :erlang.garbage_collect()
    :ok
  end

  def hand_over(from, result), do: GenServer.reply(from, result)
end
