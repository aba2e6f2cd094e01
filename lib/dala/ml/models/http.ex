defmodule Dala.ML.Models.Http do
  @moduledoc false
  # Streaming GET from an offset. Certificates are verified against the system's trust store (or the
  # file in SSL_CERT_FILE). A redirect may not leave https; plain http is allowed for localhost
  # only, and may redirect to localhost or to https.
  #
  # Every response ends in an outcome and takes little memory: only the head and the bytes of a
  # download are read, piece by piece. OTP's own client would buffer the whole body of an error
  # page.

  alias Dala.ML.Models.{HttpBody, HttpConnection}

  # A connection without data for this long (in ms) counts as lost.
  @silence 60_000
  @redirects 5
  @most_headers 200
  @this_machine ["localhost", "127.0.0.1", "::1"]

  @type outcome :: :done | {:lost, String.t()}

  @doc """
  Requests the bytes from `offset` on. `start` is called with the total size, or nil if the server
  does not send it, and the actual offset; it returns the state. `data` is called with each piece
  and the state, and returns the new state.
  """
  @spec get(String.t(), non_neg_integer(), state, start, data) :: {outcome(), state}
        when state: var,
             start: (pos_integer() | nil, non_neg_integer() -> state),
             data: (binary(), state -> state)
  def get(address, offset, state, start, data) do
    {:ok, _started} = Application.ensure_all_started(:ssl)

    case usable(address) do
      {:ok, uri} -> request(uri, offset, state, start, data, @redirects)
      {:error, why} -> {{:lost, why}, state}
    end
  end

  defp request(uri, offset, state, start, data, redirects) do
    case HttpConnection.open(uri) do
      {:ok, connection, target} ->
        answer =
          try do
            with :ok <- HttpConnection.transmit(connection, question(uri, target, offset)),
                 {:ok, status, phrase, headers} <- head(connection) do
              answered(connection, {status, phrase, headers}, offset, state, start, data)
            end
          after
            HttpConnection.close(connection)
          end

        follow(answer, uri, offset, state, start, data, redirects)

      {:error, why} ->
        {{:lost, why}, state}
    end
  end

  # The connection of the response is already closed.
  defp follow({:redirect, _location}, _uri, _offset, state, _start, _data, 0),
    do: {{:lost, "it redirects too often"}, state}

  defp follow({:redirect, location}, uri, offset, state, start, data, redirects) do
    case redirected(uri, location) do
      {:ok, uri} -> request(uri, offset, state, start, data, redirects - 1)
      {:error, why} -> {{:lost, why}, state}
    end
  end

  defp follow({:lost, why}, _uri, _offset, state, _start, _data, _redirects),
    do: {{:lost, why}, state}

  defp follow({:error, why}, _uri, _offset, state, _start, _data, _redirects),
    do: {{:lost, why}, state}

  defp follow({:ended, outcome, state}, _uri, _offset, _before, _start, _data, _redirects),
    do: {outcome, state}

  defp question(uri, target, offset) do
    port = if uri.port == URI.default_port(uri.scheme), do: "", else: ":#{uri.port}"
    host = if uri.host =~ ":", do: "[#{uri.host}]", else: uri.host
    range = if offset > 0, do: "range: bytes=#{offset}-\r\n", else: ""

    "GET #{target} HTTP/1.1\r\nhost: #{host}#{port}\r\nuser-agent: dala_gpu\r\n" <>
      "accept: */*\r\nconnection: close\r\n#{range}\r\n"
  end

  defp answered(connection, {status, _phrase, headers}, _offset, _state, start, data)
       when status in [200, 206] do
    {from, total} = range(status, headers)

    with {:ok, framing} <- HttpBody.framing(headers) do
      {outcome, state} = HttpBody.stream(connection, framing, start.(total, from), data, @silence)

      {:ended, outcome, state}
    end
  end

  # Range not satisfiable: the file is complete, or has changed on the server.
  defp answered(_connection, {416, _phrase, _headers}, offset, _state, start, _data)
       when offset > 0,
       do: {:ended, :done, start.(nil, offset)}

  defp answered(_connection, {status, phrase, headers}, _offset, _state, _start, _data) do
    case headers["location"] do
      location when status in [301, 302, 303, 307, 308] and location != nil ->
        {:redirect, location}

      _none ->
        {:lost, "the server answers #{status} #{shown(phrase)}"}
    end
  end

  # The status and the headers, by lower-case name; of repeated headers the first.
  defp head(connection, answers \\ 10)
  defp head(_connection, 0), do: {:error, "the server sent too many headers"}

  defp head(connection, answers) do
    case HttpConnection.line(connection, @silence) do
      {:ok, {:http_response, _version, status, _phrase}} when status in 100..199 ->
        with {:ok, _headers} <- headers(connection, %{}, 0), do: head(connection, answers - 1)

      {:ok, {:http_response, _version, status, phrase}} ->
        with {:ok, headers} <- headers(connection, %{}, 0), do: {:ok, status, phrase, headers}

      {:ok, _other} ->
        {:error, "the server does not speak http"}

      {:error, why} ->
        {:error, why}
    end
  end

  defp headers(_connection, _headers, count) when count > @most_headers,
    do: {:error, "the server sent too many headers"}

  defp headers(connection, headers, count) do
    case HttpConnection.line(connection, @silence) do
      {:ok, {:http_header, _, name, _, value}} ->
        headers =
          Map.put_new(headers, name |> to_string() |> String.downcase(), String.trim(value))

        headers(connection, headers, count + 1)

      {:ok, :http_eoh} ->
        {:ok, headers}

      {:ok, _other} ->
        {:error, "the server sent an invalid header"}

      {:error, why} ->
        {:error, why}
    end
  end

  # Only a partial response has a range: `bytes 100-299/300`.
  defp range(status, headers) do
    with 206 <- status,
         range when range != nil <- headers["content-range"],
         [_all, from, total] <- Regex.run(~r/^bytes (\d{1,18})-\d+\/(\d{1,18}|\*)/, range) do
      {String.to_integer(from), if(total != "*", do: String.to_integer(total))}
    else
      _whole -> {0, HttpBody.length_of(headers)}
    end
  end

  @doc false
  # The URL that a redirect leads to.
  @spec redirected(URI.t(), String.t()) :: {:ok, URI.t()} | {:error, String.t()}
  def redirected(from, location) do
    shown = shown(location)

    with {:ok, relative} <- parse(location),
         {:ok, uri} <- from |> URI.merge(relative) |> URI.to_string() |> usable() do
      if uri.scheme == "https" or (from.scheme == "http" and uri.host in @this_machine),
        do: {:ok, uri},
        else: {:error, "it redirects to #{shown}, which is not https"}
    else
      {:error, why} -> {:error, "it redirects to #{shown}: #{why}"}
    end
  end

  # `URI.new/1` raises for invalid UTF-8, and accepts an empty port.
  defp parse(text) do
    with true <- text =~ ~r/\A[\x21-\x7E]*\z/,
         {:ok, %URI{port: port} = uri} when is_integer(port) or port == nil <- URI.new(text) do
      {:ok, uri}
    else
      _other -> {:error, "it is not a valid URL"}
    end
  end

  defp usable(address) do
    with {:ok, uri} <- parse(address) do
      cond do
        uri.scheme not in ["http", "https"] -> {:error, "only https is supported"}
        uri.host in [nil, ""] or byte_size(uri.host) > 255 -> {:error, "it has no valid host"}
        uri.port not in 1..65_535 -> {:error, "#{uri.port} is not a valid port"}
        true -> {:ok, uri}
      end
    end
  end

  # Text from a server may contain anything.
  defp shown(text) do
    text = if String.valid?(text), do: text, else: inspect(text)
    text |> String.slice(0, 200) |> String.replace(~r/[^[:print:]]/u, "?")
  end
end
