defmodule Dala.Gpu.Compute.Argument do
  @moduledoc false
  # Argument validation of the public functions. A malformed argument raises ArgumentError, whose
  # message says what was expected and what was given.

  # Integers of up to 128 bits are printed in full.
  @short_integers -0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF..0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF

  @doc "Checks that options are a keyword list, and validates them like `Keyword.validate!/2`."
  @spec options!(term(), [atom() | {atom(), term()}]) :: keyword()
  def options!(opts, known), do: opts |> keyword!() |> Keyword.validate!(known)

  @doc "Checks that options are a keyword list."
  @spec keyword!(term()) :: keyword()
  def keyword!(opts) do
    if Keyword.keyword?(opts), do: opts, else: refuse!("options as a keyword list", opts)
  end

  @doc "Checks that a value is a struct of the module; `what` names it in the error message."
  @spec struct!(term(), module(), String.t()) :: struct()
  def struct!(value, module, what) do
    if is_struct(value, module), do: value, else: refuse!(what, value)
  end

  @doc "Checks the path of a file or directory."
  @spec path!(term()) :: String.t()
  def path!(path) do
    IO.chardata_to_string(path)
  rescue
    _error -> refuse!("a path as a string", path)
  end

  @doc "Checks an option that is an integer in a range."
  @spec integer!(atom(), term(), Range.t()) :: integer()
  def integer!(name, value, first..last) do
    if is_integer(value) and value >= first and value <= last,
      do: value,
      else: refuse!("#{name}: to be from #{first} to #{last}", value)
  end

  @doc "Checks a timeout: milliseconds, or `:infinity`."
  @spec timeout!(term()) :: timeout()
  def timeout!(:infinity), do: :infinity
  def timeout!(timeout) when is_integer(timeout) and timeout in 0..0xFFFFFFFF, do: timeout
  def timeout!(other), do: refuse!("the timeout in milliseconds or :infinity", other)

  @doc "Raises an ArgumentError that says what was expected and what was given."
  @spec refuse!(String.t(), term()) :: no_return()
  def refuse!(expected, given) do
    raise ArgumentError, "expected #{expected}, got: #{show(given)}"
  end

  @doc """
  Formats a term for an error message: like `inspect/1`, but abbreviated.

  Large integers are shown by their size, because printing one takes time quadratic in its digits
  and blocks a scheduler. Collections are cut off after a few elements.
  """
  @spec show(term()) :: String.t()
  def show(term), do: term |> brief(3) |> inspect(limit: 12, printable_limit: 200)

  @shown 8

  defp brief(term, _depth) when is_integer(term) and term not in @short_integers,
    do: {:integer_of_bits, bits(abs(term))}

  defp brief(term, 0) when is_list(term) or is_tuple(term) or is_map(term), do: :...
  defp brief([], _depth), do: []
  defp brief([head | tail], depth), do: [brief(head, depth - 1) | rest(tail, depth - 1, @shown)]

  defp brief(term, depth) when is_tuple(term) and tuple_size(term) <= @shown,
    do: term |> Tuple.to_list() |> Enum.map(&brief(&1, depth - 1)) |> List.to_tuple()

  defp brief(term, _depth) when is_tuple(term), do: {:tuple_of_size, tuple_size(term)}
  defp brief(term, _depth) when is_struct(term), do: term

  defp brief(term, _depth) when is_map(term) and map_size(term) > @shown,
    do: {:map_of_size, map_size(term)}

  defp brief(term, depth) when is_map(term),
    do: Map.new(term, fn {key, value} -> {brief(key, depth - 1), brief(value, depth - 1)} end)

  defp brief(term, _depth) when is_binary(term) and byte_size(term) > 1000,
    do: {:binary_of_bytes, byte_size(term)}

  defp brief(term, _depth), do: term

  defp rest([head | tail], depth, left) when left > 1,
    do: [brief(head, depth) | rest(tail, depth, left - 1)]

  defp rest([_ | _], _depth, _left), do: [:...]
  defp rest([], _depth, _left), do: []
  defp rest(improper, depth, _left), do: brief(improper, depth)

  defp bits(number), do: 8 * byte_size(:binary.encode_unsigned(number))
end
