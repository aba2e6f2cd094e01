defmodule Dala.Gpu.Compute.Argument do
  @moduledoc false
  # What public functions ask of their arguments. What is malformed raises ArgumentError, which says
  # what was expected and what was given.

  @doc "Checks options as `Keyword.validate!/2` does, and that they are a keyword list at all."
  @spec options!(term(), [atom() | {atom(), term()}]) :: keyword()
  def options!(opts, known), do: opts |> keyword!() |> Keyword.validate!(known)

  @doc "Checks that options are a keyword list."
  @spec keyword!(term()) :: keyword()
  def keyword!(opts) do
    if Keyword.keyword?(opts), do: opts, else: refuse!("options as a keyword list", opts)
  end

  @doc "Checks that a value is a struct of the module; `what` is a name for it."
  @spec struct!(term(), module(), String.t()) :: struct()
  def struct!(value, module, what) do
    if is_struct(value, module), do: value, else: refuse!(what, value)
  end

  @doc "Checks the name of a file or folder."
  @spec path!(term()) :: String.t()
  def path!(path) do
    IO.chardata_to_string(path)
  rescue
    _error -> refuse!("a path as a string", path)
  end

  @doc "Checks an option that is an integer of a range."
  @spec integer!(atom(), term(), Range.t()) :: integer()
  def integer!(name, value, first..last) do
    if is_integer(value) and value >= first and value <= last,
      do: value,
      else: refuse!("#{name}: to be from #{first} to #{last}", value)
  end

  @doc "Checks how long to wait: milliseconds, or `:infinity`."
  @spec timeout!(term()) :: timeout()
  def timeout!(:infinity), do: :infinity
  def timeout!(timeout) when is_integer(timeout) and timeout in 0..0xFFFFFFFF, do: timeout
  def timeout!(other), do: refuse!("the timeout in milliseconds or :infinity", other)

  @doc "Raises what was expected and what was given."
  @spec refuse!(String.t(), term()) :: no_return()
  def refuse!(expected, given) do
    raise ArgumentError, "expected #{expected}, got: #{inspect(given, limit: 5)}"
  end
end
