defmodule Dala.ML.Serving.QueueTest do
  # The queue beside a plain list that is sorted anew for every operation.
  use ExUnit.Case, async: true

  alias Dala.ML.Serving.{Entry, Queue}

  @now 1_000

  defp entry(opts) do
    struct!(
      %Entry{
        ref: make_ref(),
        from: self(),
        input: nil,
        kind: :a,
        rank: 1,
        lane: :any,
        since: 0,
        deadline: :infinity
      },
      opts
    )
  end

  # What the queue should do, on a list of {place, entry}.
  defmodule Model do
    defstruct [:limit, next: 0, list: []]

    def push(model, entry, now) do
      dead = for {_place, e} <- model.list, Entry.dead(e, now), do: e.ref

      cond do
        length(model.list) < model.limit -> {:ok, append(model, entry), []}
        dead != [] -> {:ok, model |> drop(dead) |> append(entry), dead}
        true -> displace(model, entry)
      end
    end

    defp displace(model, entry) do
      case Enum.max_by(model.list, &elem(&1, 0), fn -> nil end) do
        {{rank, _}, last} when rank > entry.rank ->
          {:ok, model |> drop([last.ref]) |> append(entry), [last.ref]}

        _ ->
          {:full, model, []}
      end
    end

    def append(model, entry) do
      place = {entry.rank, model.next}

      %{
        model
        | next: model.next + 1,
          list: Enum.sort_by([{place, entry} | model.list], &elem(&1, 0))
      }
    end

    def drop(model, refs),
      do: %{model | list: Enum.reject(model.list, &(elem(&1, 1).ref in refs))}

    # Which entries a replica gets: walks in order, skipping other kinds and the keys behind them.
    def collect(model, replica, most, now) do
      own = for {_place, e} <- model.list, e.lane in [:any, replica], do: e
      walk(own, most, now, [], [], [])
    end

    defp walk(_rest, 0, _now, taken, dead, _skipped), do: {Enum.reverse(taken), Enum.sort(dead)}
    defp walk([], _most, _now, taken, dead, _skipped), do: {Enum.reverse(taken), Enum.sort(dead)}

    defp walk([e | rest], most, now, taken, dead, skipped) do
      cond do
        Entry.dead(e, now) ->
          walk(rest, most, now, taken, [e.ref | dead], skipped)

        e.key != nil and e.key in skipped ->
          walk(rest, most, now, taken, dead, skipped)

        taken != [] and hd(taken).kind != e.kind ->
          walk(rest, most, now, taken, dead, [e.key | skipped])

        true ->
          walk(rest, most - 1, now, [e | taken], dead, skipped)
      end
    end
  end

  test "does what a sorted list does, whatever happens" do
    for seed <- 1..200 do
      :rand.seed(:exsss, seed)
      limit = :rand.uniform(12)
      start = {Queue.new(limit), %Model{limit: limit}, @now}

      Enum.reduce(1..60, start, fn _step, {queue, model, now} ->
        {queue, model} =
          step(Enum.random([:push, :push, :push, :collect, :cancel, :restore]), queue, model, now)

        assert Queue.size(queue) == length(model.list)

        assert MapSet.new(Queue.entries(queue), & &1.ref) ==
                 MapSet.new(model.list, &elem(&1, 1).ref)

        {queue, model, now + :rand.uniform(3)}
      end)
    end
  end

  defp step(:push, queue, model, now) do
    key = Enum.random([nil, nil, 1, 2, 3])

    entry =
      entry(
        rank: Enum.random(0..2),
        kind: Enum.random([:a, :a, :b]),
        key: key,
        lane: if(key, do: rem(key, 2), else: :any),
        deadline: Enum.random([:infinity, now + :rand.uniform(20)])
      )

    {verdict, queue, dropped} = Queue.push(queue, entry, now)
    {expected, model, gone} = Model.push(model, entry, now)
    assert verdict == expected
    assert Enum.sort(Enum.map(dropped, &elem(&1, 0).ref)) == Enum.sort(gone)
    {queue, model}
  end

  defp step(:collect, queue, model, now) do
    replica = Enum.random(0..1)
    most = :rand.uniform(4)
    {taken, dropped, queue} = Queue.collect(queue, replica, most, now)
    {expected, dead} = Model.collect(model, replica, most, now)
    assert Enum.map(taken, & &1.ref) == Enum.map(expected, & &1.ref)
    assert Enum.sort(Enum.map(dropped, &elem(&1, 0).ref)) == dead
    taken = Enum.take(taken, :rand.uniform(4))
    {Queue.remove(queue, taken), Model.drop(model, dead ++ Enum.map(taken, & &1.ref))}
  end

  defp step(:cancel, queue, model, _now) do
    ref = if model.list == [], do: make_ref(), else: elem(Enum.random(model.list), 1).ref
    {entry, queue} = Queue.cancel(queue, ref)
    assert (entry && entry.ref) == if(model.list == [], do: nil, else: ref)
    {queue, Model.drop(model, [ref])}
  end

  # What was taken and is put back is where it was.
  defp step(:restore, queue, model, now) do
    {taken, dropped, queue} = Queue.collect(queue, 0, 3, now)
    queue = queue |> Queue.remove(taken) |> Queue.restore(Enum.reverse(taken))
    {queue, Model.drop(model, Enum.map(dropped, &elem(&1, 0).ref))}
  end

  test "requests of processes that have ended are dead" do
    pid = spawn(fn -> :ok end)
    monitor = Process.monitor(pid)
    assert_receive {:DOWN, ^monitor, :process, ^pid, _reason}, 60_000
    assert Entry.dead(entry(from: pid), @now) == :cancelled
    assert Entry.dead(entry([]), @now) == nil
    assert Entry.dead(entry(deadline: @now), @now) == :deadline
    assert Entry.dead(entry(deadline: @now + 1), @now) == nil
  end
end
