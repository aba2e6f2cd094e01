defmodule Dala.Media.Lut do
  @moduledoc """
  Tables that give every colour another one: `.cube` files, for the kernel `lut`.

      {:ok, lut} = Dala.Media.Lut.read("film.cube")
      :ok = Compute.run_kernel(:lut, [image, Dala.Media.Lut.buffer(lut)], output, Dala.Media.Lut.params(lut))

  A file has one table: of three dimensions (`LUT_3D_SIZE n`, n from 2 to 256), where red, green
  and blue together choose the entry, or of one (`LUT_1D_SIZE n`, n from 2 to 65536), where each
  channel is looked up alone. `DOMAIN_MIN` and `DOMAIN_MAX` say which colours the first and the
  last entry stand for (0 0 0 and 1 1 1), `TITLE` is a name, and lines that begin with `#` are
  comments. Entries are three numbers each, red changing fastest. Anything else is an error that
  names its line.
  """

  alias Dala.Gpu.Compute
  alias Dala.Gpu.Compute.{Argument, Buffer, Error}

  @enforce_keys [:dimensions, :size, :data]
  defstruct [
    :dimensions,
    :size,
    :data,
    title: nil,
    domain_min: {0.0, 0.0, 0.0},
    domain_max: {1.0, 1.0, 1.0}
  ]

  @typedoc "A table; `data` holds its entries as native f32, in the order of the file."
  @type t :: %__MODULE__{
          dimensions: 1 | 3,
          size: pos_integer(),
          data: binary(),
          title: String.t() | nil,
          domain_min: {float(), float(), float()},
          domain_max: {float(), float(), float()}
        }

  @largest %{1 => 65_536, 3 => 256}

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
    start = %{keys: %{}, entries: [], count: 0}

    text
    |> String.split(["\r\n", "\n", "\r"])
    |> Enum.with_index(1)
    |> Enum.reduce_while({:ok, start}, fn {line, number}, {:ok, state} ->
      case line(words(line), state) do
        {:ok, state} -> {:cont, {:ok, state}}
        {:error, expected} -> {:halt, broken(line, number, expected)}
      end
    end)
    |> table()
  end

  def parse(other), do: Argument.refuse!("the text of a .cube file as a string", other)

  @doc """
  The table in a buffer, as the kernel `lut` takes it: `{n, n, n, 3}` or `{n, 3}`.

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
  The parameters that go with the table: its domain.

      iex> {:ok, lut} = Dala.Media.Lut.parse("LUT_1D_SIZE 2\\nDOMAIN_MAX 1 1 2\\n0 0 0\\n1 1 1")
      iex> Dala.Media.Lut.params(lut)
      %{domain_min: {0.0, 0.0, 0.0}, domain_max: {1.0, 1.0, 2.0}}
  """
  @spec params(t()) :: map()
  def params(%__MODULE__{domain_min: min, domain_max: max}),
    do: %{domain_min: min, domain_max: max}

  defp file(path) do
    case File.read(path) do
      {:ok, text} ->
        {:ok, text}

      {:error, reason} ->
        error("#{path} could not be read: #{:file.format_error(reason)}", %{path: path})
    end
  end

  defp words(line), do: String.split(line)

  # One line: what has been read with it, or what was expected instead.
  defp line([], state), do: {:ok, state}
  defp line(["#" <> _ | _], state), do: {:ok, state}
  defp line(["TITLE" | words], state), do: key(state, :title, title(Enum.join(words, " ")))
  defp line(["LUT_1D_SIZE" | words], state), do: key(state, :size, size(1, words))
  defp line(["LUT_3D_SIZE" | words], state), do: key(state, :size, size(3, words))
  defp line(["DOMAIN_MIN" | words], state), do: key(state, :domain_min, three(words))
  defp line(["DOMAIN_MAX" | words], state), do: key(state, :domain_max, three(words))

  defp line(words, %{keys: keys} = state) do
    with {:ok, {r, g, b}} <- three(words),
         {:ok, wanted} <- wanted(keys),
         :ok <- room(state.count, wanted) do
      entry = <<r::float-32-native, g::float-32-native, b::float-32-native>>
      {:ok, %{state | entries: [state.entries, entry], count: state.count + 1}}
    end
  end

  # Keywords come once, and before the table.
  defp key(_state, _name, {:error, expected}), do: {:error, expected}

  defp key(%{count: count}, _name, _value) when count > 0,
    do: {:error, "keywords before the first entry only"}

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

  # Numbers beyond f32 are none: the table could not hold them.
  defp number(word) do
    case Float.parse(word) do
      {number, ""} when abs(number) < 3.4e38 -> [number]
      _ -> []
    end
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
      %__MODULE__{dimensions: dimensions, size: size, data: IO.iodata_to_binary(entries)}
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
    shown = line |> String.slice(0, 60) |> inspect()
    error("line #{number} of the .cube file is #{shown}, expected #{expected}", %{line: number})
  end

  defp error(message, details),
    do: {:error, %Error{reason: :invalid_param, message: message, details: details}}
end
