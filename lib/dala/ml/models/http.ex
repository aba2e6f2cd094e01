defmodule Dala.ML.Models.Http do
  @moduledoc false
  # GET as a stream, from some byte on, by OTP's own client. Certificates are checked against those
  # that the system trusts (or the file that SSL_CERT_FILE names); a redirect may not leave https.
  # HTTPS_PROXY and NO_PROXY are heeded.

  # Without any news for that long, the connection counts as lost.
  @silence 60_000
  @connect 30_000
  @redirects 5

  @type outcome :: :done | {:lost, String.t()}

  @doc """
  Asks for the bytes from `offset` on. `start` is called with the total size, where the server says
  it, and the offset that it begins at; `data` with each piece. Both take and give the state.
  """
  @spec get(String.t(), non_neg_integer(), state, start, data) :: {outcome(), state}
        when state: var,
             start: (pos_integer() | nil, non_neg_integer() -> state),
             data: (binary(), state -> state)
  def get(address, offset, state, start, data) do
    for app <- [:inets, :ssl], do: {:ok, _started} = Application.ensure_all_started(app)
    request(address, offset, state, start, data, @redirects)
  end

  defp request(address, offset, state, start, data, redirects) do
    range = if offset > 0, do: [{'range', 'bytes=#{offset}-'}], else: []
    headers = [{'user-agent', 'dala_gpu'}, {'connection', 'close'} | range]
    uri = URI.parse(address)
    proxy(uri)

    {:ok, id} =
      :httpc.request(
        :get,
        {String.to_charlist(address), headers},
        [autoredirect: false, connect_timeout: @connect, ssl: tls(uri.host)],
        sync: false,
        stream: {:self, :once},
        body_format: :binary
      )

    try do
      case first(id, offset) do
        {:stream, pid, total, from} ->
          stream(id, pid, start.(total, from), data)

        {:redirect, _location} when redirects == 0 ->
          {{:lost, "it redirects too often"}, state}

        {:redirect, location} ->
          location = uri |> URI.merge(location) |> URI.to_string()

          if uri.scheme == "https" and not String.starts_with?(location, "https:"),
            do: {{:lost, "it redirects to #{location}, which is not https"}, state},
            else: request(location, offset, state, start, data, redirects - 1)

        # What there is is all there is, or does not fit what the server has now.
        :all_there ->
          {:done, start.(nil, offset)}

        {:lost, why} ->
          {{:lost, why}, state}
      end
    after
      :httpc.cancel_request(id)
    end
  end

  defp first(id, offset) do
    receive do
      {:http, {^id, :stream_start, headers, pid}} ->
        {from, total} = range(headers)
        {:stream, pid, total, from}

      {:http, {^id, {:error, reason}}} ->
        {:lost, explain(reason)}

      {:http, {^id, {{_version, 416, _phrase}, _headers, _body}}} when offset > 0 ->
        :all_there

      {:http, {^id, {{_version, status, phrase}, headers, _body}}} ->
        case header(headers, 'location') do
          location when status in [301, 302, 303, 307, 308] and location != nil ->
            {:redirect, List.to_string(location)}

          _none ->
            {:lost, "the server answers #{status} #{phrase}"}
        end
    after
      @silence -> {:lost, "the server does not answer"}
    end
  end

  # Only an answer with the rest has a range: `bytes 100-299/300`.
  defp range(headers) do
    with range when range != nil <- header(headers, 'content-range'),
         [_all, from, total] <- Regex.run(~r/^bytes (\d+)-\d+\/(\d+|\*)/, List.to_string(range)) do
      {String.to_integer(from), if(total != "*", do: String.to_integer(total))}
    else
      _whole -> {0, length_of(header(headers, 'content-length'))}
    end
  end

  defp length_of(nil), do: nil

  defp length_of(text) do
    case text |> List.to_string() |> Integer.parse() do
      {length, ""} when length > 0 -> length
      _other -> nil
    end
  end

  defp stream(id, pid, state, data) do
    :ok = :httpc.stream_next(pid)

    receive do
      {:http, {^id, :stream, bytes}} -> stream(id, pid, data.(bytes, state), data)
      {:http, {^id, :stream_end, _headers}} -> {:done, state}
      {:http, {^id, {:error, reason}}} -> {{:lost, explain(reason)}, state}
    after
      @silence -> {{:lost, "no more bytes come"}, state}
    end
  end

  defp header(headers, name) do
    Enum.find_value(headers, fn {key, value} ->
      if :string.lowercase(key) == name, do: value
    end)
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
    # A system without any trusts nobody.
    _none -> []
  end

  defp proxy(%URI{scheme: scheme}) do
    name = if scheme == "https", do: "HTTPS_PROXY", else: "HTTP_PROXY"
    address = System.get_env(name) || System.get_env(String.downcase(name)) || ""
    option = if scheme == "https", do: :https_proxy, else: :proxy

    case URI.parse(address) do
      %URI{host: host, port: port} when host not in [nil, ""] and port != nil ->
        :httpc.set_options([{option, {{String.to_charlist(host), port}, no_proxy()}}])

      _none ->
        :ok
    end
  end

  defp no_proxy do
    hosts = System.get_env("NO_PROXY") || System.get_env("no_proxy") || ""

    [
      'localhost',
      '127.0.0.1'
      | for(
          host <- String.split(hosts, ",", trim: true),
          do: String.to_charlist(String.trim(host))
        )
    ]
  end

  defp explain({:failed_connect, details}) do
    case List.keyfind(List.wrap(details), :inet, 0) do
      {:inet, _options, {:tls_alert, {_kind, text}}} -> "no secure connection: #{text}"
      {:inet, _options, reason} -> "no connection: #{reason_text(reason)}"
      _other -> "no connection: #{inspect(details)}"
    end
  end

  defp explain(:socket_closed_remotely), do: "the connection was cut"
  defp explain(:timeout), do: "the server does not answer"
  defp explain(reason), do: reason_text(reason)

  defp reason_text(reason) when is_atom(reason), do: reason |> :inet.format_error() |> to_string()
  defp reason_text(reason), do: inspect(reason)
end
