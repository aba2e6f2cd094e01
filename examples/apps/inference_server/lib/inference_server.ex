defmodule InferenceServer.Application do
  @moduledoc false
  use Application

  alias InferenceServer.{Http, Model}

  @impl true
  def start(_type, _args) do
    children = [
      {Dala.ML.Serving, [name: Model, queue: number("QUEUE", 256)] ++ Model.options()},
      {Http, port: number("PORT", 8080)}
    ]

    Supervisor.start_link(children, strategy: :one_for_one, name: InferenceServer.Supervisor)
  end

  defp number(name, default) do
    case System.get_env(name) do
      nil ->
        Application.get_env(:inference_server, String.to_atom(String.downcase(name)), default)

      text ->
        String.to_integer(text)
    end
  end
end

defmodule InferenceServer.Model do
  @moduledoc """
  The model, and how a body becomes its input and its result a text.
  """

  alias Dala.Gpu.Compute
  alias Dala.Media.Image
  alias Dala.ML.Serving

  @double Path.expand("../../../double.onnx", __DIR__)

  # What an upload may unpack to.
  @most_pixels 20_000_000

  @doc "The serving's options: a model of `mix dala.models` by name, or the example."
  def options do
    case System.get_env("MODEL") do
      nil -> [model: @double]
      name -> [model: String.to_existing_atom(name)]
    end
  end

  @doc "Runs the model on a body; returns the lines of the answer."
  def predict(body, timeout) do
    with {:ok, input} <- input(body),
         {:ok, result} <- Serving.run(__MODULE__, input, timeout: timeout) do
      {:ok, lines(result)}
    end
  end

  defp input(body) do
    if System.get_env("MODEL"),
      do: Image.decode(body, max_pixels: @most_pixels),
      else: numbers(body)
  end

  defp numbers(body) do
    numbers =
      for text <- String.split(body, [",", " ", "\n"], trim: true) do
        case Float.parse(text) do
          {number, ""} -> number
          _other -> :error
        end
      end

    if length(numbers) == 3 and :error not in numbers,
      do: {:ok, Compute.buffer(numbers, {1, 3})},
      else: {:error, :not_numbers}
  end

  defp lines(%Compute.Buffer{} = output), do: [output |> Compute.read_list() |> Enum.join(", ")]
  defp lines(results) when is_list(results), do: Enum.map(results, &line/1)
  defp lines(result), do: [inspect(result)]

  defp line(%{label: label, score: score, box: {x, y, w, h}}),
    do: "#{label} #{Float.round(score, 3)} #{Enum.map_join([x, y, w, h], " ", &round/1)}"

  defp line(%{label: label, score: score}), do: "#{label} #{Float.round(score, 3)}"
end

defmodule InferenceServer.Http do
  @moduledoc """
  The routes, as a module of OTP's httpd, which calls `do/1` in a process per connection.
  """

  require Record

  alias Dala.Gpu.Compute.Error
  alias Dala.ML.Serving
  alias InferenceServer.Model

  Record.defrecordp(:mod, Record.extract(:mod, from_lib: "inets/include/httpd.hrl"))

  @most_bytes 20_000_000
  @retry [:overloaded, :deadline, :freed, :device_lost, :out_of_memory]

  def child_spec(opts) do
    %{id: __MODULE__, start: {__MODULE__, :start_link, [opts]}, type: :supervisor}
  end

  @doc "Starts the web server; port 0 is any that is free."
  def start_link(opts) do
    {:ok, _apps} = Application.ensure_all_started(:inets)
    folder = to_charlist(System.tmp_dir!())
    port = if opts[:port] == 0, do: free_port(), else: opts[:port]
    :persistent_term.put(__MODULE__, port)

    # Linked to the supervisor that calls this, and not to that of inets.
    :inets.start(
      :httpd,
      [
        port: port,
        server_name: 'inference_server',
        server_root: folder,
        document_root: folder,
        modules: [__MODULE__],
        max_body_size: @most_bytes,
        max_clients: 512
      ],
      :stand_alone
    )
  end

  @doc "The port of the server."
  def port, do: :persistent_term.get(__MODULE__)

  defp free_port do
    {:ok, socket} = :gen_tcp.listen(0, [])
    {:ok, port} = :inet.port(socket)
    :ok = :gen_tcp.close(socket)
    port
  end

  @doc false
  def unquote(:do)(request) do
    method = to_string(mod(request, :method))
    [path | _query] = request |> mod(:request_uri) |> to_string() |> String.split("?")
    body = request |> mod(:entity_body) |> IO.iodata_to_binary()
    {status, text} = route(method, path, body)

    headers = [
      code: status,
      content_type: 'text/plain; charset=utf-8',
      content_length: length_of(text)
    ]

    {:proceed, [{:response, {:response, headers, [text]}}]}
  end

  defp length_of(text), do: text |> byte_size() |> Integer.to_charlist()

  defp route("POST", "/predict", body) do
    timeout = "TIMEOUT" |> System.get_env("1000") |> String.to_integer()

    case Model.predict(body, timeout) do
      {:ok, lines} ->
        {200, Enum.map_join(lines, &(&1 <> "\n"))}

      {:error, :not_numbers} ->
        {400, "expected three numbers, such as 1, 2, 3\n"}

      {:error, %Error{reason: reason} = error} ->
        {status(reason), Exception.message(error) <> "\n"}
    end
  end

  # A load balancer takes out a node that is not able to answer.
  defp route("GET", "/health", _body) do
    info = Serving.info(Model)
    {200, "ok\nwaiting #{info.waiting} of #{info.queue}\n"}
  rescue
    error in Error -> {503, Exception.message(error) <> "\n"}
  end

  defp route("GET", "/metrics", _body), do: {200, Serving.metrics(Model)}

  defp route(_method, path, _body) when path in ["/predict", "/health", "/metrics"],
    do: {405, "no\n"}

  defp route(_method, _path, _body), do: {404, "there are /predict, /health and /metrics\n"}

  defp status(reason) when reason in @retry, do: 503
  defp status(:crashed), do: 500
  defp status(_reason), do: 422
end
