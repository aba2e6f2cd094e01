defmodule Dala.ML.Models.HttpBody do
  @moduledoc false
  # Streams the body of a response: with a Content-Length, chunked, or until the connection closes.

  alias Dala.ML.Models.HttpConnection

  # The maximum length of the line before a chunk.
  @longest_line 1024

  @type framing :: {:length, non_neg_integer()} | :chunked | :until_closed

  @doc "Returns how the end of the body is determined."
  @spec framing(%{String.t() => String.t()}) :: {:ok, framing()} | {:error, String.t()}
  def framing(headers) do
    case {headers["transfer-encoding"], headers["content-length"]} do
      {nil, nil} -> {:ok, :until_closed}
      {nil, _length} -> length_framing(headers)
      {coding, _length} -> coding_framing(String.downcase(coding))
    end
  end

  @doc "Returns the Content-Length, or nil."
  @spec length_of(%{String.t() => String.t()}) :: pos_integer() | nil
  def length_of(headers) do
    with text when is_binary(text) <- headers["content-length"],
         true <- byte_size(text) <= 18,
         {length, ""} when length > 0 <- Integer.parse(text) do
      length
    else
      _none -> nil
    end
  end

  defp length_framing(%{"content-length" => "0"}), do: {:ok, {:length, 0}}

  defp length_framing(headers) do
    case length_of(headers) do
      nil -> {:error, "the server sent an invalid Content-Length"}
      length -> {:ok, {:length, length}}
    end
  end

  defp coding_framing("chunked"), do: {:ok, :chunked}
  defp coding_framing("identity"), do: {:ok, :until_closed}
  defp coding_framing(_other), do: {:error, "the server sent an unsupported Transfer-Encoding"}

  @doc "Calls `data` with each piece and the state; `data` returns the new state."
  @spec stream(HttpConnection.t(), framing(), state, (binary(), state -> state), timeout()) ::
          {:done | {:lost, String.t()}, state}
        when state: var
  def stream(connection, framing, state, data, silence) do
    body = %{connection: connection, data: data, silence: silence}

    case HttpConnection.raw(connection) do
      :ok when framing == :chunked -> chunk("", body, state)
      :ok -> pieces(framing, body, state)
      {:error, why} -> {{:lost, why}, state}
    end
  end

  defp pieces({:length, 0}, _body, state), do: {:done, state}

  defp pieces(framing, body, state) do
    case {next(body), framing} do
      {{:ok, bytes}, :until_closed} ->
        pieces(framing, body, body.data.(bytes, state))

      {:end, :until_closed} ->
        {:done, state}

      {{:ok, bytes}, {:length, left}} ->
        bytes = binary_part(bytes, 0, min(left, byte_size(bytes)))
        pieces({:length, left - byte_size(bytes)}, body, body.data.(bytes, state))

      {:end, _length} ->
        {{:lost, "the connection was cut"}, state}

      {{:error, why}, _framing} ->
        {{:lost, why}, state}
    end
  end

  # A chunk is a line with its size in hexadecimal digits, the bytes, and an empty line; the last
  # chunk has size 0. `held` has the bytes that have not been parsed yet.
  defp chunk(held, body, state) do
    case :binary.split(held, "\r\n") do
      [line, rest] ->
        case chunk_size(line) do
          nil -> {{:lost, "the server sent an invalid chunk size"}, state}
          0 -> {:done, state}
          size -> chunk_bytes(rest, size, body, state)
        end

      [_part] when byte_size(held) > @longest_line ->
        {{:lost, "the server sent an invalid chunk size"}, state}

      [_part] ->
        more(held, body, state, &chunk(&1, body, state))
    end
  end

  defp chunk_bytes("", left, body, state) when left > 0,
    do: more("", body, state, &chunk_bytes(&1, left, body, state))

  defp chunk_bytes(held, left, body, state) when left > 0 do
    count = min(left, byte_size(held))
    <<bytes::binary-size(count), rest::binary>> = held
    chunk_bytes(rest, left - count, body, body.data.(bytes, state))
  end

  defp chunk_bytes(<<"\r\n", rest::binary>>, 0, body, state), do: chunk(rest, body, state)

  defp chunk_bytes(held, 0, body, state) when byte_size(held) < 2,
    do: more(held, body, state, &chunk_bytes(&1, 0, body, state))

  defp chunk_bytes(_held, 0, _body, state),
    do: {{:lost, "the server sent a chunk that does not have its announced size"}, state}

  defp more(held, body, state, continue) do
    case next(body) do
      {:ok, bytes} -> continue.(held <> bytes)
      :end -> {{:lost, "the connection was cut"}, state}
      {:error, why} -> {{:lost, why}, state}
    end
  end

  defp next(%{connection: connection, silence: silence}) do
    case HttpConnection.bytes(connection, silence) do
      {:error, :timeout} -> {:error, "the transfer timed out"}
      result -> result
    end
  end

  defp chunk_size(line) do
    [digits | _extension] = :binary.split(line, ";")
    digits = String.trim(digits)

    with true <- byte_size(digits) <= 12,
         {size, ""} when size >= 0 <- Integer.parse(digits, 16) do
      size
    else
      _other -> nil
    end
  end
end
