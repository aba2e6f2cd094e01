defmodule Dala.LayersTest do
  # Dependencies point one way: Nx, ML and Media use Gpu, which uses Compute; ML uses Media. If a
  # lower layer needs a higher one, the higher one registers a module. See Dala.Gpu.Compute.Kernel.Provider.
  use ExUnit.Case, async: true

  # Lowest first; a module may use its own layer and those before it.
  @layers [
    telemetry: "Dala.Telemetry",
    compute: "Dala.Gpu.Compute",
    gpu: "Dala.Gpu",
    nx: "Dala.Nx",
    media: "Dala.Media",
    ml: "Dala.ML"
  ]

  defp layer(name) do
    Enum.find_value(@layers, fn {layer, prefix} ->
      if name == prefix or String.starts_with?(name, prefix <> "."), do: layer
    end)
  end

  defp rank(layer), do: Enum.find_index(@layers, fn {name, _prefix} -> name == layer end)

  defp modules do
    {:ok, modules} = :application.get_key(:dala_gpu, :modules)
    for module <- modules, "Elixir." <> name <- [Atom.to_string(module)], layer(name), do: module
  end

  # Every module that the compiled code names: in calls, as an atom, and as a struct.
  defp named(module) do
    {:ok, {_module, chunks}} = :beam_lib.chunks(:code.which(module), [:imports, :atoms])
    imported = for {other, _function, _arity} <- chunks[:imports], do: other
    atoms = for {_index, atom} <- chunks[:atoms], do: atom

    for atom <- Enum.uniq(imported ++ atoms),
        name = Atom.to_string(atom),
        name =~ ~r/^Elixir\./ do
      String.replace_prefix(name, "Elixir.", "")
    end
  end

  test "a layer names no layer above it" do
    upwards =
      for module <- modules(),
          "Elixir." <> name = Atom.to_string(module),
          # The implementation of a protocol belongs to the type it is for, and a protocol that is
          # consolidated names all of them.
          not String.starts_with?(name, "Dala.Gpu.Picture"),
          other <- named(module),
          above = layer(other),
          rank(above) > rank(layer(name)),
          do: {name, other}

    assert upwards == []
  end

  test "the sources of the lower layers do not name models" do
    for path <- ["lib/dala/gpu.ex" | Path.wildcard("lib/dala/{gpu,media}/**/*.ex")] do
      refute File.read!(path) =~ "Dala.ML", path
    end

    for path <- Path.wildcard("lib/dala/gpu/**/*.ex"), do: refute(File.read!(path) =~ "ML", path)
  end

  # Lowest first, as for modules. Media files and the compiler of foreign sources stand beside them.
  @folders ~w(runtime kernels plan model nif)

  defp included(path) do
    for [_, name] <- Regex.scan(~r/^#include "(\w+)\//m, File.read!(path)), do: name
  end

  test "a folder of c_src includes no folder above it" do
    upwards =
      for {folder, rank} <- Enum.with_index(@folders),
          path <- Path.wildcard("c_src/#{folder}/**/*.{cpp,hpp,cl,h}"),
          name <- included(path),
          above = Enum.find_index(@folders, &(&1 == name)),
          above > rank,
          do: {path, name}

    assert upwards == []

    for path <- Path.wildcard("c_src/media/**/*.{cpp,hpp}"), name <- included(path) do
      assert name in ["media", "runtime"], path
    end
  end

  test "no file of the library depends on itself" do
    {output, 0} =
      System.cmd("mix", ["xref", "graph", "--format", "cycles", "--no-compile"],
        env: [{"MIX_ENV", "test"}]
      )

    assert output =~ "No cycles found"
  end
end
