defmodule Dala.Test.KernelTable do
  @moduledoc false
  # The tables of guides/kernels.md and guides/filters.md, generated from the kernel
  # descriptors.

  alias Dala.Gpu.Compute.Kernel

  @doc "Writes the table."
  def render do
    rows = for kernel <- Kernel.list(), not kernel.custom, do: row(kernel)

    Enum.join(
      ["| Kernel | Inputs | Types | Parameters | Output |", "|---|---|---|---|---|" | rows],
      "\n"
    ) <> "\n"
  end

  # Parameters that only flat buffers need.
  @of_flat_buffers ~w(width height channels)

  @doc "Renders the table of filters, each with an example image."
  def render_filters do
    kernels = Map.new(Kernel.list(), &{&1.name, &1})

    rows =
      for name <- Dala.Media.Gpu.Filter.names() do
        {summary, params} = filter(name, kernels)

        cells = [
          "![#{name}](images/filters/#{name}.jpg)",
          "`#{name}`: #{summary}",
          params
        ]

        "| #{Enum.map_join(cells, " | ", &String.replace(&1, "|", "\\|"))} |"
      end

    Enum.join(["| | Filter | Parameters |", "|---|---|---|" | rows], "\n") <> "\n"
  end

  # Filters are kernels, but for those that are made of several, or run a model.
  defp filter(name, kernels) do
    alias Dala.Media.Gpu.Filter

    with nil <- Filter.by_model()[name], nil <- Filter.composed()[name] do
      kernel = Map.fetch!(kernels, Atom.to_string(name))
      params = Enum.reject(kernel.params, &(&1.name in @of_flat_buffers))
      {kernel.summary, params(params)}
    end
  end

  defp row(kernel) do
    cells = [
      "`#{kernel.name}`: #{kernel.summary}",
      inputs(kernel),
      types(kernel.dtypes),
      params(kernel.params),
      kernel.output
    ]

    "| #{Enum.map_join(cells, " | ", &String.replace(&1, "|", "\\|"))} |"
  end

  defp inputs(%{inputs: least, optional_inputs: 0}), do: "#{least}"
  defp inputs(%{inputs: least, optional_inputs: more}), do: "#{least} to #{least + more}"

  @floats [:f16, :bf16, :f32, :f64]
  @integers [:s8, :s16, :s32, :s64, :u8, :u16, :u32, :u64]

  defp types(dtypes) do
    if (@floats ++ @integers ++ [:c64]) -- dtypes == [] do
      "all"
    else
      {names, rest} = Enum.reduce([floats: @floats, integers: @integers], {[], dtypes}, &group/2)
      Enum.join(names ++ Enum.map(rest, &"`#{&1}`"), ", ")
    end
  end

  defp group({name, group}, {names, dtypes}) do
    if group -- dtypes == [],
      do: {names ++ ["#{name}"], dtypes -- group},
      else: {names, dtypes}
  end

  defp params([]), do: "none"
  defp params(params), do: Enum.map_join(params, "; ", &param/1)

  defp param(param) do
    facts =
      [
        param.choices != [] && Enum.map_join(param.choices, " or ", &inspect/1),
        range(param),
        param.required && "required",
        param.default != nil && "default #{inspect(param.default)}"
      ]
      |> Enum.filter(& &1)
      |> case do
        [] -> ""
        facts -> " (#{Enum.join(facts, ", ")})"
      end

    "`#{param.name}`#{facts}: #{param.summary}"
  end

  defp range(%{min: nil, max: nil}), do: false
  defp range(%{min: min, max: nil}), do: "at least #{number(min)}"
  defp range(%{min: nil, max: max}), do: "at most #{number(max)}"
  defp range(%{min: min, max: max}), do: "#{number(min)} to #{number(max)}"

  defp number(float) when is_float(float) and trunc(float) == float and abs(float) < 1.0e15,
    do: "#{trunc(float)}"

  defp number(other), do: "#{other}"
end
