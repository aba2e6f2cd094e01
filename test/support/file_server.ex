defmodule Dala.Test.FileServer do
  @moduledoc false
  # An http server on this machine that serves one file, and can do so badly. The test process gets
  # `{:request, path, from}` for each request, `from` being the first byte asked for, or nil.
  #
  # Behaviours, one for each request, the last for all that follow:
  #
  #   :serve            the whole, or the range that was asked for
  #   :whole            the whole, whatever was asked for
  #   {:cut, n}         n bytes of what should come, and the end of the connection
  #   {:stall, n}       n bytes, then nothing; the test process gets `:stalled`
  #   {:short, n}       n bytes, and says that that was all
  #   {:status, n}      an error
  #   {:redirect, to}   another address
  #   {:raw, bytes}     just these, and the end of the connection
  #   {:endless, bytes} these, and zeros for as long as anybody listens

  def start(content, behaviours) do
    {:ok, socket} =
      :gen_tcp.listen(0, [
        :binary,
        active: false,
        ip: {127, 0, 0, 1},
        reuseaddr: true,
        backlog: 16
      ])

    {:ok, port} = :inet.port(socket)
    owner = self()
    spawn_link(fn -> accept(socket, content, behaviours, owner) end)
    "http://127.0.0.1:#{port}"
  end

  defp accept(socket, content, [behaviour | rest], owner) do
    {:ok, client} = :gen_tcp.accept(socket)
    {path, from} = request(client, "")
    send(owner, {:request, path, from})

    pid =
      spawn_link(fn -> receive(do: (:go -> answer(behaviour, client, content, from, owner))) end)

    :ok = :gen_tcp.controlling_process(client, pid)
    send(pid, :go)
    accept(socket, content, if(rest == [], do: [behaviour], else: rest), owner)
  end

  defp request(client, head) do
    if head =~ "\r\n\r\n" do
      ["GET", path | _] = String.split(head, " ")

      case Regex.run(~r/range: bytes=(\d+)-/i, head) do
        [_, from] -> {path, String.to_integer(from)}
        nil -> {path, nil}
      end
    else
      {:ok, more} = :gen_tcp.recv(client, 0, 10_000)
      request(client, head <> more)
    end
  end

  defp answer(:serve, client, content, from, _owner), do: send_all(client, content, from)
  defp answer(:whole, client, content, _from, _owner), do: send_all(client, content, nil)

  defp answer({:cut, count}, client, content, from, _owner) do
    {head, body} = response(content, from)
    :gen_tcp.send(client, [head, binary_part(body, 0, min(count, byte_size(body)))])
    :gen_tcp.close(client)
  end

  defp answer({:stall, count}, client, content, from, owner) do
    {head, body} = response(content, from)
    :gen_tcp.send(client, [head, binary_part(body, 0, count)])
    send(owner, :stalled)
    # Until the other side goes away.
    :gen_tcp.recv(client, 0)
  end

  defp answer({:short, count}, client, content, _from, _owner),
    do: send_all(client, binary_part(content, 0, count), nil)

  defp answer({:status, status}, client, _content, _from, _owner) do
    :gen_tcp.send(
      client,
      "HTTP/1.1 #{status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )

    :gen_tcp.close(client)
  end

  defp answer({:redirect, to}, client, _content, _from, _owner) do
    :gen_tcp.send(client, "HTTP/1.1 302 Found\r\nlocation: #{to}\r\ncontent-length: 0\r\n\r\n")
    :gen_tcp.close(client)
  end

  defp answer({:raw, bytes}, client, _content, _from, _owner) do
    :gen_tcp.send(client, bytes)
    :gen_tcp.close(client)
  end

  defp answer({:endless, bytes}, client, _content, _from, _owner) do
    :gen_tcp.send(client, bytes)
    zeros(client, :binary.copy(<<0>>, 65_536))
  end

  defp zeros(client, zeros) do
    with :ok <- :gen_tcp.send(client, zeros), do: zeros(client, zeros)
  end

  defp send_all(client, content, from) do
    {head, body} = response(content, from)
    :gen_tcp.send(client, [head, body])
    :gen_tcp.close(client)
  end

  defp response(content, nil) do
    {"HTTP/1.1 200 OK\r\ncontent-length: #{byte_size(content)}\r\nconnection: close\r\n\r\n",
     content}
  end

  defp response(content, from) do
    size = byte_size(content)
    rest = binary_part(content, from, size - from)

    {"HTTP/1.1 206 Partial Content\r\ncontent-length: #{byte_size(rest)}\r\n" <>
       "content-range: bytes #{from}-#{size - 1}/#{size}\r\nconnection: close\r\n\r\n", rest}
  end
end
