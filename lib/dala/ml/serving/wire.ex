defmodule Dala.ML.Serving.Wire do
  @moduledoc false
  # Requests and answers between nodes. A buffer is a reference into the memory of its node, so its
  # content goes instead. A channel between nodes that is full suspends whoever sends to it; neither
  # a replica nor the process of a request may be held up by a node that does not read.

  alias Dala.Gpu.Compute.Buffer

  defmodule Tensor do
    @moduledoc false
    @enforce_keys [:shape, :dtype, :bytes]
    defstruct [:shape, :dtype, :bytes]
    @type t :: %__MODULE__{shape: tuple(), dtype: Buffer.dtype(), bytes: binary()}
  end

  @doc "Replaces the buffers in a term by their content; raises for one that was freed."
  @spec pack(term()) :: term()
  def pack(%Buffer{} = buffer),
    do: %Tensor{shape: buffer.shape, dtype: buffer.dtype, bytes: Buffer.read(buffer)}

  def pack(term), do: walk(term, &pack/1)

  @doc "Makes buffers of this node of what `pack/1` made."
  @spec unpack(term()) :: term()
  def unpack(%Tensor{} = tensor), do: Buffer.from_binary(tensor.bytes, tensor.shape, tensor.dtype)
  def unpack(term), do: walk(term, &unpack/1)

  defp walk([head | tail], fun), do: [fun.(head) | fun.(tail)]

  defp walk(tuple, fun) when is_tuple(tuple),
    do: tuple |> Tuple.to_list() |> Enum.map(fun) |> List.to_tuple()

  defp walk(map, fun) when is_map(map), do: :maps.map(fn _key, value -> fun.(value) end, map)
  defp walk(other, _fun), do: other

  @doc "Sends to a process of any node without waiting; false when the message was not sent."
  @spec send_now(pid() | {atom(), node()} | reference(), term()) :: boolean()
  def send_now(to, message), do: :erlang.send(to, message, [:nosuspend, :noconnect]) == :ok

  @doc "Answers a request. An answer that does not fit into the channel now is sent by a process."
  @spec reply(reference(), term()) :: :ok
  def reply(ref, answer) when node(ref) == node() do
    send(ref, {ref, answer})
    :ok
  end

  def reply(ref, answer) do
    message = {ref, packed(answer)}

    if :erlang.send(ref, message, [:nosuspend, :noconnect]) == :nosuspend,
      do: spawn(fn -> :erlang.send(ref, message, [:noconnect]) end)

    :ok
  end

  defp packed(answer) do
    pack(answer)
  rescue
    error in Dala.Gpu.Compute.Error -> {:answer, {:error, error}}
  end
end
