defmodule Dala.Gpu.Build.Download do
  @moduledoc false
  # Fetches archives over http(s), certificates verified, and keeps them in the user's cache folder
  # by their checksum.

  alias Dala.Gpu.Build.Files

  @timeout 60_000

  @doc "The content of the address, from the cache if a file there has the checksum."
  def cached!(address, sum) do
    folder = Files.cache() && Path.join(Files.cache(), "precompiled")
    file = folder && Path.join(folder, "#{String.replace(sum, ~r/[^0-9a-f]/, "")}.tar.gz")

    with true <- is_binary(file),
         {:ok, bytes} <- File.read(file),
         true <- Files.digest(bytes) == sum do
      bytes
    else
      _missing ->
        bytes = get!(address)
        if file && Files.digest(bytes) == sum, do: keep(bytes, file)
        bytes
    end
  end

  defp keep(bytes, file) do
    fresh = "#{file}.new-#{System.pid()}"

    with :ok <- File.mkdir_p(Path.dirname(file)),
         :ok <- File.write(fresh, bytes),
         do: File.rename(fresh, file)
  end

  defp get!(address) do
    Enum.each([:inets, :ssl], &start!/1)
    set_proxy(address)
    request = {to_charlist(address), [{'user-agent', 'dala_gpu'}]}
    http = [timeout: 10 * @timeout, connect_timeout: @timeout, ssl: tls(address)]

    case :httpc.request(:get, request, http, body_format: :binary) do
      {:ok, {{_protocol, 200, _text}, _headers, body}} ->
        body

      {:ok, {{_protocol, status, text}, _headers, _body}} ->
        Files.fail!("#{address} cannot be downloaded: #{status} #{text}")

      {:error, reason} ->
        Files.fail!("#{address} cannot be downloaded: #{inspect(reason)}")
    end
  end

  # Later versions of Mix remove applications that are not dependencies from the code path.
  defp start!(app) do
    if function_exported?(Mix, :ensure_application!, 1),
      do: apply(Mix, :ensure_application!, [app])

    case Application.ensure_all_started(app) do
      {:ok, _started} -> :ok
      {:error, _reason} -> Files.fail!("Downloading needs OTP's #{app}, which is not installed.")
    end
  end

  defp set_proxy(address) do
    {option, names} =
      case address do
        "https" <> _rest -> {:https_proxy, ~w(HTTPS_PROXY https_proxy)}
        _http -> {:proxy, ~w(HTTP_PROXY http_proxy)}
      end

    with proxy when proxy != nil <- Enum.find_value(names, &System.get_env/1),
         %URI{host: host, port: port} when is_binary(host) and is_integer(port) <-
           URI.parse(proxy) do
      :httpc.set_options([{option, {{to_charlist(host), port}, ['localhost', '127.0.0.1']}}])
    end
  end

  defp tls("https" <> _rest) do
    [
      verify: :verify_peer,
      cacerts: :public_key.cacerts_get(),
      depth: 4,
      customize_hostname_check: [match_fun: :public_key.pkix_verify_hostname_match_fun(:https)]
    ]
  end

  defp tls(_http), do: []
end
