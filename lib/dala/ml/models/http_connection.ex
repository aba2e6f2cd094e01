defmodule Dala.ML.Models.HttpConnection do
  @moduledoc false
  # A connection for one request: TCP or TLS, direct or through the proxy of HTTPS_PROXY or
  # HTTP_PROXY (except for the hosts of NO_PROXY). Errors are strings.

  @connect 30_000
  # The maximum length of a header line.
  @longest_line 16_384

  @type t :: {:gen_tcp, :gen_tcp.socket()} | {:ssl, :ssl.sslsocket()}
  @type line :: {:ok, tuple() | :http_eoh} | {:error, String.t()}

  @doc "Connects; returns the request target, which for a proxy is the whole URL."
  @spec open(URI.t()) :: {:ok, t(), String.t()} | {:error, String.t()}
  def open(%URI{} = uri) do
    case {proxy(uri), uri.scheme} do
      {nil, "http"} ->
        with {:ok, socket} <- tcp(uri.host, uri.port), do: {:ok, {:gen_tcp, socket}, target(uri)}

      {nil, "https"} ->
        with {:ok, socket} <- tcp(uri.host, uri.port),
             {:ok, connection} <- secure(socket, uri.host),
             do: {:ok, connection, target(uri)}

      {{host, port}, "http"} ->
        with {:ok, socket} <- tcp(host, port),
             do: {:ok, {:gen_tcp, socket}, URI.to_string(%{uri | fragment: nil, userinfo: nil})}

      {{host, port}, "https"} ->
        with {:ok, socket} <- tcp(host, port),
             :ok <- tunnel({:gen_tcp, socket}, uri),
             {:ok, connection} <- secure(socket, uri.host),
             do: {:ok, connection, target(uri)}
    end
  end

  @spec transmit(t(), iodata()) :: :ok | {:error, String.t()}
  def transmit({module, socket}, bytes), do: module.send(socket, bytes) |> explained()

  @doc "Returns the next line of the head, as decoded by `:erlang.decode_packet/3`."
  @spec line(t(), timeout()) :: line()
  def line({module, socket}, timeout) do
    case module.recv(socket, 0, timeout) do
      {:ok, {:http_error, _line}} -> {:error, "the server does not speak http"}
      {:ok, line} -> {:ok, line}
      error -> explained(error)
    end
  end

  @doc "Switches the connection from lines to raw bytes."
  @spec raw(t()) :: :ok | {:error, String.t()}
  def raw({:gen_tcp, socket}), do: :inet.setopts(socket, packet: :raw) |> explained()
  def raw({:ssl, socket}), do: :ssl.setopts(socket, packet: :raw) |> explained()

  @doc "Returns the next bytes, or `:end` if the other side has closed the connection."
  @spec bytes(t(), timeout()) :: {:ok, binary()} | :end | {:error, String.t() | :timeout}
  def bytes({module, socket}, timeout) do
    case module.recv(socket, 0, timeout) do
      {:ok, bytes} -> {:ok, bytes}
      {:error, :closed} -> :end
      {:error, :timeout} -> {:error, :timeout}
      error -> explained(error)
    end
  end

  @spec close(t()) :: :ok
  def close({module, socket}) do
    _ = module.close(socket)
    :ok
  end

  defp target(uri) do
    query = if uri.query, do: "?" <> uri.query, else: ""
    (uri.path || "/") <> query
  end

  defp tcp(host, port) do
    options = [
      :binary,
      active: false,
      packet: :http_bin,
      packet_size: @longest_line,
      send_timeout: @connect
    ]

    case :gen_tcp.connect(address(host), port, options, @connect) do
      {:ok, socket} -> {:ok, socket}
      {:error, reason} -> {:error, "no connection: #{text(reason)}"}
    end
  end

  defp address(host) do
    host = String.to_charlist(host)

    case :inet.parse_address(host) do
      {:ok, address} -> address
      {:error, _name} -> host
    end
  end

  # The TLS socket inherits the options of the TCP socket, which must no longer parse lines.
  defp secure(socket, host) do
    :ok = :inet.setopts(socket, packet: :raw)
    options = [packet: :http_bin, packet_size: @longest_line] ++ tls(host)

    case :ssl.connect(socket, options, @connect) do
      {:ok, secure} ->
        {:ok, {:ssl, secure}}

      {:error, reason} ->
        :gen_tcp.close(socket)
        {:error, "no secure connection: #{text(reason)}"}
    end
  end

  defp tunnel({:gen_tcp, socket} = connection, uri) do
    place = "#{uri.host}:#{uri.port}"

    with :ok <- transmit(connection, "CONNECT #{place} HTTP/1.1\r\nhost: #{place}\r\n\r\n"),
         {:ok, {:http_response, _version, 200, _phrase}} <- line(connection, @connect),
         :ok <- skip_headers(connection, 100) do
      :ok
    else
      {:error, why} ->
        :gen_tcp.close(socket)
        {:error, "no connection through the proxy: #{why}"}

      {:ok, _refused} ->
        :gen_tcp.close(socket)
        {:error, "no connection through the proxy: it refused the request"}
    end
  end

  defp skip_headers(_connection, 0), do: {:error, "it sent too many headers"}

  defp skip_headers(connection, left) do
    case line(connection, @connect) do
      {:ok, :http_eoh} -> :ok
      {:ok, _header} -> skip_headers(connection, left - 1)
      error -> error
    end
  end

  defp tls(host) do
    [
      verify: :verify_peer,
      depth: 8,
      server_name_indication: String.to_charlist(host),
      customize_hostname_check: [match_fun: :public_key.pkix_verify_hostname_match_fun(:https)]
    ] ++ trusted()
  end

  defp trusted do
    case System.get_env("SSL_CERT_FILE") do
      file when file in [nil, ""] -> [cacerts: system_certificates()]
      file -> [cacertfile: file]
    end
  end

  defp system_certificates do
    :public_key.cacerts_get()
  rescue
    # Without system certificates no server is trusted.
    _none -> []
  end

  defp proxy(%URI{scheme: scheme, host: host}) do
    name = if scheme == "https", do: "HTTPS_PROXY", else: "HTTP_PROXY"

    with false <- direct?(host),
         %URI{host: proxy, port: port} when proxy not in [nil, ""] and port != nil <-
           URI.parse(variable(name)) do
      {proxy, port}
    else
      _none -> nil
    end
  end

  # NO_PROXY lists hosts, and domains, which match all hosts in them.
  defp direct?(host) do
    hosts = "NO_PROXY" |> variable() |> String.split(",", trim: true) |> Enum.map(&String.trim/1)

    host in ["localhost", "127.0.0.1", "::1"] or "*" in hosts or
      Enum.any?(hosts, fn name ->
        name = String.trim_leading(name, ".")
        host == name or String.ends_with?(host, "." <> name)
      end)
  end

  defp variable(name), do: System.get_env(name) || System.get_env(String.downcase(name)) || ""

  defp explained(:ok), do: :ok
  defp explained({:error, reason}), do: {:error, text(reason)}

  defp text(:closed), do: "the connection was cut"
  defp text(:timeout), do: "the server does not answer"
  defp text(:emsgsize), do: "the server sends a line of more than #{@longest_line} bytes"
  defp text({:tls_alert, {_kind, text}}), do: to_string(text)
  defp text(reason) when is_atom(reason), do: reason |> :inet.format_error() |> to_string()
  defp text(reason), do: inspect(reason, limit: 5, printable_limit: 200)
end
