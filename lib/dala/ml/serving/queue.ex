defmodule Dala.ML.Serving.Queue do
  @moduledoc false
  # The requests that wait, as a value. Their order is that of priorities, and of arrival within a
  # priority. A request with a key waits in the lane of its replica, any other in the lane :any, so
  # that the next request of a replica is the first of two lanes. A lane is a balanced tree by
  # place, and `places` finds a request by its reference: every operation on one request takes
  # logarithmic time.

  alias Dala.ML.Serving.Entry

  @enforce_keys [:limit]
  defstruct [:limit, next: 0, lanes: %{}, places: %{}]

  @type t :: %__MODULE__{
          limit: non_neg_integer(),
          next: integer(),
          lanes: %{(:any | non_neg_integer()) => :gb_trees.tree()},
          places: %{reference() => {:any | non_neg_integer(), {0..2, integer()}}}
        }
  @type dropped :: [{Entry.t(), :deadline | :cancelled | :overloaded}]

  @spec new(non_neg_integer()) :: t()
  def new(limit), do: %__MODULE__{limit: limit}

  @spec size(t()) :: non_neg_integer()
  def size(%__MODULE__{places: places}), do: map_size(places)

  @doc """
  Adds a request. In a full queue it takes the place of one that nobody waits for any more, or of
  the latest one of the lowest priority if that is below its own; otherwise the queue is `:full`.
  """
  @spec push(t(), Entry.t(), integer()) :: {:ok | :full, t(), dropped()}
  def push(queue, entry, now) do
    if size(queue) < queue.limit do
      {:ok, append(queue, entry), []}
    else
      {dropped, queue} = drop_dead(queue, now)
      make_room(queue, entry, dropped)
    end
  end

  defp make_room(queue, entry, [_ | _] = dropped), do: {:ok, append(queue, entry), dropped}

  defp make_room(queue, entry, []) do
    case last(queue) do
      %Entry{rank: rank} = last when rank > entry.rank ->
        {:ok, queue |> remove([last]) |> append(entry), [{last, :overloaded}]}

      _none_or_as_high ->
        {:full, queue, []}
    end
  end

  @doc "Puts requests back where they were taken from, whatever the limit."
  @spec restore(t(), [Entry.t()]) :: t()
  def restore(queue, entries), do: Enum.reduce(entries, queue, &insert(&2, &1))

  @doc "Takes a request out by its reference."
  @spec cancel(t(), reference()) :: {Entry.t() | nil, t()}
  def cancel(queue, ref) do
    case queue.places do
      %{^ref => {lane, place}} ->
        entry = :gb_trees.get(place, Map.fetch!(queue.lanes, lane))
        {entry, remove(queue, [entry])}

      _none ->
        {nil, queue}
    end
  end

  @doc """
  Finds what a replica may run at once: the first request of its lanes, and those behind it of the
  same kind, `most` at most. Requests of one key are never taken out of order. Those that nobody
  waits for, as far as they are met on the way, are dropped.
  """
  @spec collect(t(), non_neg_integer(), pos_integer(), integer()) :: {[Entry.t()], dropped(), t()}
  def collect(queue, replica, most, now) do
    {taken, dropped} =
      queue
      |> iterator(replica)
      |> gather(most, now, {[], [], MapSet.new()})

    {taken, dropped, remove(queue, Enum.map(dropped, &elem(&1, 0)))}
  end

  defp gather(iterator, most, now, {taken, dropped, passed} = found) do
    with false <- most == 0, {entry, rest} <- next(iterator) do
      cond do
        reason = Entry.dead(entry, now) ->
          gather(rest, most, now, {taken, [{entry, reason} | dropped], passed})

        same?(taken, entry) and not MapSet.member?(passed, {:key, entry.key}) ->
          gather(rest, most - 1, now, {[entry | taken], dropped, passed})

        true ->
          gather(rest, most, now, {taken, dropped, pass(passed, entry.key)})
      end
    else
      _end -> {Enum.reverse(elem(found, 0)), elem(found, 1)}
    end
  end

  defp same?([], _entry), do: true
  defp same?([%Entry{kind: kind} | _], entry), do: entry.kind == kind

  defp pass(passed, nil), do: passed
  defp pass(passed, key), do: MapSet.put(passed, {:key, key})

  @doc "Takes requests out."
  @spec remove(t(), [Entry.t()]) :: t()
  def remove(queue, entries) do
    Enum.reduce(entries, queue, fn entry, queue ->
      lanes = Map.update!(queue.lanes, entry.lane, &:gb_trees.delete(entry.place, &1))

      %{queue | lanes: lanes, places: Map.delete(queue.places, entry.ref)}
    end)
  end

  @doc "Drops the requests that nobody waits for any more."
  @spec drop_dead(t(), integer()) :: {dropped(), t()}
  def drop_dead(queue, now) do
    dropped = for entry <- entries(queue), reason = Entry.dead(entry, now), do: {entry, reason}
    {dropped, remove(queue, Enum.map(dropped, &elem(&1, 0)))}
  end

  @doc "All requests, lane by lane."
  @spec entries(t()) :: [Entry.t()]
  def entries(queue),
    do: Enum.flat_map(queue.lanes, fn {_lane, tree} -> :gb_trees.values(tree) end)

  @doc "Changes every request; lane and place stay."
  @spec map(t(), (Entry.t() -> Entry.t())) :: t()
  def map(queue, fun) do
    lanes =
      Map.new(queue.lanes, fn {lane, tree} ->
        {lane, :gb_trees.map(fn _place, entry -> fun.(entry) end, tree)}
      end)

    %{queue | lanes: lanes}
  end

  defp append(queue, entry) do
    entry = %{entry | place: {entry.rank, queue.next}}
    insert(%{queue | next: queue.next + 1}, entry)
  end

  defp insert(queue, entry) do
    tree = queue.lanes |> Map.get_lazy(entry.lane, &:gb_trees.empty/0)
    tree = :gb_trees.insert(entry.place, entry, tree)

    %{
      queue
      | lanes: Map.put(queue.lanes, entry.lane, tree),
        places: Map.put(queue.places, entry.ref, {entry.lane, entry.place})
    }
  end

  defp last(queue) do
    queue.lanes
    |> Map.values()
    |> Enum.reject(&:gb_trees.is_empty/1)
    |> Enum.map(&(&1 |> :gb_trees.largest() |> elem(1)))
    |> Enum.max_by(& &1.place, fn -> nil end)
  end

  # Both lanes of a replica as one, in the order of places.
  defp iterator(queue, replica) do
    for lane <- [:any, replica], tree = queue.lanes[lane], reduce: [] do
      heads -> advance(:gb_trees.iterator(tree), heads)
    end
  end

  defp advance(iterator, heads) do
    case :gb_trees.next(iterator) do
      {place, entry, rest} -> [{place, entry, rest} | heads]
      :none -> heads
    end
  end

  defp next([]), do: nil
  defp next([{_place, entry, rest}]), do: {entry, advance(rest, [])}

  defp next([{first, _, _} = a, {second, _, _} = b]) when first > second, do: next([b, a])
  defp next([{_place, entry, rest}, other]), do: {entry, advance(rest, [other])}
end
