defmodule Dala.Gpu.Compute.Kernel.Options do
  @moduledoc false
  # The options with which kernels are registered, checked and in the form of the native side.

  alias Dala.Gpu.Compute.Argument

  @most_params 64
  @most_items 0x7FFFFFFF
  @most_group 65_536

  @doc "Options of `Kernel.register/3`."
  @spec register!(term()) :: map()
  def register!(opts) do
    opts =
      Argument.options!(opts,
        inputs: 1,
        outputs: 1,
        params: [],
        range: :auto,
        local: {},
        local_memory: [],
        entry: nil,
        summary: "",
        headers: %{},
        sizes: [],
        trusted: false
      )

    %{
      inputs: count!(opts[:inputs]),
      outputs: outputs!(opts[:outputs]),
      params: names!(opts[:params]),
      range: range!(opts[:range]),
      items: items!(opts[:range]),
      local: group!(opts[:local]),
      local_memory: local_memory!(opts[:local_memory]),
      entry: entry!(opts[:entry]),
      summary: text!(:summary, opts[:summary]),
      headers: headers!(opts[:headers]),
      sizes: sizes!(opts[:sizes]),
      trusted: flag!(:trusted, opts[:trusted])
    }
  end

  @doc "Options of `Kernel.elementwise/3`."
  @spec elementwise!(term()) :: map()
  def elementwise!(opts) do
    opts = Argument.options!(opts, inputs: 1, params: [], summary: "")

    %{
      inputs: count!(opts[:inputs]),
      params: names!(opts[:params]),
      summary: text!(:summary, opts[:summary])
    }
  end

  @spec text!(atom(), term()) :: String.t()
  def text!(_what, text) when is_binary(text), do: text

  def text!(what, other) do
    raise ArgumentError, "expected the #{what} as a string, got: #{Argument.show(other)}"
  end

  defp count!(count) when is_integer(count) and count in 0..64, do: count

  defp count!(other) do
    raise ArgumentError,
          "expected inputs: to be an integer in 0..64, got: #{Argument.show(other)}"
  end

  defp outputs!(1), do: ["output"]

  defp outputs!(count) when is_integer(count) and count in 2..64,
    do: for(i <- 0..(count - 1), do: "output#{i}")

  defp outputs!(names) when length(names) in 1..64 do
    names = Enum.map(names, &name!(:outputs, &1))

    if names != Enum.uniq(names),
      do: Argument.refuse!("outputs: to be different names", names)

    names
  end

  defp outputs!(other),
    do: Argument.refuse!("outputs: to be an integer in 1..64 or a list of names", other)

  defp names!(names) when length(names) > @most_params do
    raise ArgumentError,
          "expected params: to be at most #{@most_params} names, got: #{length(names)}"
  end

  defp names!(names) when length(names) >= 0, do: Enum.map(names, &name!(:params, &1))

  defp names!(other) do
    raise ArgumentError, "expected params: to be a list of names, got: #{Argument.show(other)}"
  end

  defp name!(_key, name) when is_binary(name) and name != "", do: name

  defp name!(_key, name) when is_atom(name) and name not in [nil, true, false],
    do: Atom.to_string(name)

  defp name!(key, other) do
    raise ArgumentError,
          "expected #{key}: to be a list of atoms or strings, got: #{Argument.show(other)}"
  end

  defp headers!(headers) when is_map(headers) do
    for {name, text} <- headers, do: {text!(:header_name, name), text!(:header, text)}
  end

  defp headers!(other) do
    raise ArgumentError,
          "expected headers: to be a map of names and texts, got: #{inspect(other)}"
  end

  # The empty name stands for all buffers.
  defp sizes!(:any), do: [{"", 0}]

  defp sizes!(sizes) when is_map(sizes) or is_list(sizes) do
    Enum.map(sizes, fn
      {name, :any} -> {name!(:sizes, name), 0}
      {name, size} when size in 0..0xFFFFFFFFFFFF -> {name!(:sizes, name), size}
      _other -> bad_sizes!(sizes)
    end)
  end

  defp sizes!(other), do: bad_sizes!(other)

  defp bad_sizes!(sizes) do
    raise ArgumentError,
          "expected sizes: to be :any or a list such as [table: 256], got: #{inspect(sizes)}"
  end

  defp flag!(_key, flag) when is_boolean(flag), do: flag

  defp flag!(key, other) do
    raise ArgumentError, "expected #{key}: to be true or false, got: #{inspect(other)}"
  end

  defp range!(range) when range in [:auto, :elements, :pixels], do: Atom.to_string(range)
  defp range!(_items), do: "auto"

  defp items!(range) when range in [:auto, :elements, :pixels], do: []

  defp items!(range) do
    dimensions(range, @most_items) ||
      raise ArgumentError,
            "expected range: to be :auto, :elements, :pixels or a tuple of one to three positive " <>
              "integers, got: #{Argument.show(range)}"
  end

  defp group!({}), do: []

  defp group!(local) do
    dimensions(local, @most_group) ||
      raise ArgumentError,
            "expected local: to be a tuple of one to three integers from 1 to #{@most_group}, " <>
              "got: #{Argument.show(local)}"
  end

  defp dimensions(tuple, most) when is_tuple(tuple) and tuple_size(tuple) in 1..3 do
    sizes = Tuple.to_list(tuple)
    if Enum.all?(sizes, &(is_integer(&1) and &1 in 1..most)), do: sizes
  end

  defp dimensions(_other, _most), do: nil

  defp local_memory!(sizes) when is_map(sizes) or is_list(sizes) do
    Enum.map(sizes, fn
      {name, size} when size in 1..0xFFFFFFFF -> {name!(:local_memory, name), size}
      _other -> bad_local_memory!(sizes)
    end)
  end

  defp local_memory!(other), do: bad_local_memory!(other)

  defp bad_local_memory!(sizes) do
    raise ArgumentError,
          "expected local_memory: to be numbers of elements such as [tile: 256], got: " <>
            Argument.show(sizes)
  end

  defp entry!(nil), do: ""
  defp entry!(entry) when is_atom(entry), do: Atom.to_string(entry)
  defp entry!(entry) when is_binary(entry), do: entry

  defp entry!(other) do
    raise ArgumentError,
          "expected entry: to be the name of a kernel function, got: #{Argument.show(other)}"
  end
end
