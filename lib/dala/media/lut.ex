defmodule Dala.Media.Lut do
  @moduledoc """
  Colour lookup tables from `.cube` files, for the kernel `lut`.

      {:ok, lut} = Dala.Media.Lut.read("film.cube")
      :ok = Compute.run_kernel(:lut, [image, Dala.Media.Lut.buffer(lut)], output, Dala.Media.Lut.params(lut))

  A file has one table: either three-dimensional (`LUT_3D_SIZE n`, n from 2 to 256), indexed by red,
  green and blue together, or one-dimensional (`LUT_1D_SIZE n`, n from 2 to 65536), applied to each
  channel separately. `DOMAIN_MIN` and `DOMAIN_MAX` are the colours of the first and the last entry
  (0 0 0 and 1 1 1 by default), `TITLE` is a name, and lines that start with `#` are comments. An
  entry is three numbers; red changes fastest. Anything else is an error that names the line, as are
  a line of more than 1024 bytes and a number of more than 64 characters.
  """

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Argument, Buffer, Error, RegularFile}

  @enforce_keys [:dimensions, :size, :data]
  defstruct [
    :dimensions,
    :size,
    :data,
    title: nil,
    domain_min: {0.0, 0.0, 0.0},
    domain_max: {1.0, 1.0, 1.0}
  ]

  @typedoc "A table; `data` has the entries as native f32, in the order of the file."
  @type t :: %__MODULE__{
          dimensions: 1 | 3,
          size: pos_integer(),
          data: binary(),
          title: String.t() | nil,
          domain_min: {float(), float(), float()},
          domain_max: {float(), float(), float()}
        }

  @largest %{1 => 65_536, 3 => 256}

  # The largest table, with numbers of 17 digits, takes 1 GB.
  @most_bytes 1024 * 1024 * 1024
  @longest_line 1024
  @longest_number 64
  @most_others 100_000

  @doc """
  Reads a `.cube` file.

      iex> path = Path.join(System.tmp_dir!(), "dala_lut_doctest.cube")
      iex> File.write!(path, "LUT_1D_SIZE 2\\n0 0 0\\n1 0.5 1\\n")
      iex> {:ok, lut} = Dala.Media.Lut.read(path)
      iex> File.rm!(path)
      iex> {lut.dimensions, lut.size}
      {1, 2}
  """
  @spec read(Path.t()) :: {:ok, t()} | {:error, Error.t()}
  def read(path) do
    with {:ok, text} <- path |> Argument.path!() |> file(), do: parse(text)
  end

  @doc """
  Parses the text of a `.cube` file.

      iex> {:ok, lut} = Dala.Media.Lut.parse(~s(TITLE "Half"\\nLUT_1D_SIZE 2\\n0 0 0\\n0.5 0.5 0.5))
      iex> {lut.title, lut.size}
      {"Half", 2}

      iex> {:error, error} = Dala.Media.Lut.parse("LUT_1D_SIZE 2\\n0 0 0\\n1 one 1")
      iex> error.message
      "line 3 of the .cube file is \\"1 one 1\\", expected three numbers"
  """
  @spec parse(String.t()) :: {:ok, t()} | {:error, Error.t()}
  def parse(text) when is_binary(text) do
    ends = :binary.compile_pattern(["\r\n", "\n", "\r"])
    text |> lines(ends, 1, %{keys: %{}, entries: "", count: 0, others: 0}) |> table()
  end

  def parse(other), do: Argument.refuse!("the text of a .cube file as a string", other)

  @doc """
  Returns the table as a buffer for the kernel `lut`: `{n, n, n, 3}` or `{n, 3}`.

      iex> {:ok, lut} = Dala.Media.Lut.parse("LUT_1D_SIZE 2\\n0 0 0\\n1 0.5 1")
      iex> buffer = Dala.Media.Lut.buffer(lut)
      iex> {buffer.shape, Dala.Gpu.Compute.read_list(buffer)}
      {{2, 3}, [0.0, 0.0, 0.0, 1.0, 0.5, 1.0]}
  """
  @spec buffer(t()) :: Buffer.t()
  def buffer(%__MODULE__{dimensions: 3, size: n, data: data}),
    do: Compute.buffer_from_binary(data, {n, n, n, 3}, :f32)

  def buffer(%__MODULE__{dimensions: 1, size: n, data: data}),
    do: Compute.buffer_from_binary(data, {n, 3}, :f32)

  @doc """
  Returns the table's domain as parameters for the kernel `lut`.

      iex> {:ok, lut} = Dala.Media.Lut.parse("LUT_1D_SIZE 2\\nDOMAIN_MAX 1 1 2\\n0 0 0\\n1 1 1")
      iex> Dala.Media.Lut.params(lut)
      %{domain_min: {0.0, 0.0, 0.0}, domain_max: {1.0, 1.0, 2.0}}
  """
  @spec params(t()) :: map()
  def params(%__MODULE__{domain_min: min, domain_max: max}),
    do: %{domain_min: min, domain_max: max}

  defp file(path) do
    with {:error, reason} <- RegularFile.read(path, @most_bytes) do
      error("#{path} could not be read: #{RegularFile.explain(reason)}", %{path: path})
    end
  end

  # Lines are parsed one by one, so that a file of many lines takes no more memory than its table.
  defp lines(text, ends, number, state) do
    {line, rest} = cut(text, ends)

    case line(line, state) do
      {:ok, %{others: others}} when others > @most_others ->
        error(
          "the .cube file has more than #{@most_others} lines that are not entries",
          %{line: number}
        )

      {:ok, state} when rest == nil ->
        {:ok, state}

      {:ok, state} ->
        lines(rest, ends, number + 1, state)

      {:error, expected} ->
        broken(line, number, expected)
    end
  end

  # Splits off the first line, or its beginning if it is too long.
  defp cut(text, ends) do
    scope = {0, min(byte_size(text), @longest_line + 1)}

    case :binary.match(text, ends, scope: scope) do
      {at, size} ->
        <<line::binary-size(at), _end::binary-size(size), rest::binary>> = text
        {line, rest}

      :nomatch ->
        {binary_part(text, 0, elem(scope, 1)), nil}
    end
  end

  defp line(line, _state) when byte_size(line) > @longest_line,
    do: {:error, "a line of at most #{@longest_line} bytes"}

  defp line(line, state), do: words(String.split(line), state)

  # Parses one line: returns the new state, or what was expected.
  defp words([], state), do: {:ok, %{state | others: state.others + 1}}
  defp words(["#" <> _ | _], state), do: {:ok, %{state | others: state.others + 1}}
  defp words(["TITLE" | words], state), do: key(state, :title, title(Enum.join(words, " ")))
  defp words(["LUT_1D_SIZE" | words], state), do: key(state, :size, size(1, words))
  defp words(["LUT_3D_SIZE" | words], state), do: key(state, :size, size(3, words))
  defp words(["DOMAIN_MIN" | words], state), do: key(state, :domain_min, three(words))
  defp words(["DOMAIN_MAX" | words], state), do: key(state, :domain_max, three(words))

  defp words(words, %{keys: keys} = state) do
    with {:ok, {r, g, b}} <- three(words),
         {:ok, wanted} <- wanted(keys),
         :ok <- room(state.count, wanted) do
      entry = <<r::float-32-native, g::float-32-native, b::float-32-native>>
      {:ok, %{state | entries: state.entries <> entry, count: state.count + 1}}
    end
  end

  # Each keyword may occur once, and only before the table.
  defp key(_state, _name, {:error, expected}), do: {:error, expected}

  defp key(%{count: count}, _name, _value) when count > 0,
    do: {:error, "keywords only before the first entry"}

  defp key(state, name, {:ok, value}) do
    if Map.has_key?(state.keys, name),
      do: {:error, "only one such line"},
      else: {:ok, put_in(state.keys[name], value)}
  end

  defp title(text) do
    case Regex.run(~r/^"(.*)"$/, text) do
      [_, title] -> {:ok, title}
      nil -> {:error, "a title in double quotes"}
    end
  end

  defp size(dimensions, words) do
    largest = @largest[dimensions]

    with [word] <- words,
         {size, ""} when size >= 2 and size <= largest <- Integer.parse(word) do
      {:ok, {dimensions, size}}
    else
      _ -> {:error, "a size from 2 to #{largest}"}
    end
  end

  defp three(words) do
    with [_, _, _] <- words, [r, g, b] <- Enum.flat_map(words, &number/1) do
      {:ok, {r, g, b}}
    else
      _ -> {:error, "three numbers"}
    end
  end

  # Numbers outside the range of f32 are rejected, since the table could not hold them.
  defp number(word) when byte_size(word) > @longest_number, do: []

  defp number(word) do
    case Float.parse(word) do
      {number, ""} when abs(number) < 3.4e38 -> [number]
      _ -> []
    end
  rescue
    # The number is outside the range of a double.
    ArgumentError -> []
  end

  defp wanted(%{size: {1, size}}), do: {:ok, size}
  defp wanted(%{size: {3, size}}), do: {:ok, size * size * size}
  defp wanted(_keys), do: {:error, "LUT_1D_SIZE or LUT_3D_SIZE before the first entry"}

  defp room(count, wanted) when count < wanted, do: :ok
  defp room(_count, wanted), do: {:error, "no more than #{wanted} entries"}

  defp table({:error, error}), do: {:error, error}

  defp table({:ok, %{keys: keys, count: count, entries: entries}}) do
    with {:ok, {dimensions, size}} <- Map.fetch(keys, :size),
         {:ok, ^count} <- wanted(keys) do
      %__MODULE__{dimensions: dimensions, size: size, data: :binary.copy(entries)}
      |> Map.merge(Map.delete(keys, :size))
      |> with_domain()
    else
      :error ->
        error("the .cube file has neither LUT_1D_SIZE nor LUT_3D_SIZE", %{})

      {:ok, wanted} ->
        error("the .cube file has #{count} entries, expected #{wanted}", %{})
    end
  end

  defp with_domain(%{domain_min: min, domain_max: max} = lut) do
    ordered? = Enum.all?(0..2, &(elem(min, &1) < elem(max, &1)))

    if ordered?,
      do: {:ok, lut},
      else: error("DOMAIN_MAX of the .cube file is not above its DOMAIN_MIN", %{})
  end

  defp broken(line, number, expected) do
    # The line may be anything, and functions on graphemes raise for some invalid text.
    shown = line |> binary_part(0, min(byte_size(line), 60)) |> inspect(binaries: :as_strings)
    error("line #{number} of the .cube file is #{shown}, expected #{expected}", %{line: number})
  end

  defp error(message, details),
    do: {:error, %Error{reason: :invalid_param, message: message, details: details}}
end
