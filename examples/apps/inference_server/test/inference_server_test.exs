defmodule InferenceServerTest do
  use ExUnit.Case, async: false

  alias InferenceServer.{Http, Model}

  test "predictions" do
    assert post("1, 2, 3") == {200, "2.0, 4.0, 6.0\n"}
    assert post("0.5\n-1 7") == {200, "1.0, -2.0, 14.0\n"}
  end

  test "bodies that are no input" do
    assert {400, "expected three numbers" <> _rest} = post("1, 2")
    assert {400, _text} = post("one two three")
    assert {400, _text} = post("")
  end

  test "pages" do
    assert {200, "ok\nwaiting 0 of 4\n"} = get("/health")
    {200, _text} = post("1, 2, 3")
    {200, metrics} = get("/metrics")
    assert metrics =~ ~r/^dala_serving_requests_total\{.*result="ok".*\} [1-9]/m
    assert {404, _text} = get("/elsewhere")
    assert {405, _text} = get("/predict")
  end

  test "what does not fit into the queue is told to try again" do
    :ok = :sys.suspend(Model)

    # Nothing takes requests out of the queue now, so each waits for its deadline.
    requests = for _ <- 1..8, do: Task.async(fn -> post("1, 2, 3") end)
    results = Task.await_many(requests, 60_000)
    :ok = :sys.resume(Model)
    assert Enum.all?(results, fn {status, _text} -> status == 503 end)
    assert eventually(fn -> post("1, 2, 3") == {200, "2.0, 4.0, 6.0\n"} end)
  end

  test "a serving that is killed is restarted, and the server answers meanwhile" do
    Process.exit(Process.whereis(Model), :kill)
    {status, _text} = get("/health")
    assert status in [200, 503]
    assert eventually(fn -> match?({200, _text}, post("1, 2, 3")) end)
  end

  defp post(body) do
    request = {url("/predict"), [], 'text/plain', body}
    answer(:httpc.request(:post, request, [], body_format: :binary))
  end

  defp get(path), do: answer(:httpc.request(:get, {url(path), []}, [], body_format: :binary))

  defp answer({:ok, {{_version, status, _reason}, _headers, body}}), do: {status, body}

  defp url(path), do: 'http://localhost:#{Http.port()}#{path}'

  # Waits for something that other processes bring about, with a bound.
  defp eventually(function, left \\ 200) do
    cond do
      function.() -> true
      left == 0 -> false
      true -> receive(do: (:never -> false), after: (50 -> eventually(function, left - 1)))
    end
  end
end
