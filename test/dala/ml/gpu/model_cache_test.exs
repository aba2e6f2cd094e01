defmodule Dala.ML.Gpu.ModelCacheTest do
  # Not async: where models are is a setting of the whole VM.
  use Dala.Test.GpuCase, async: false

  alias Dala.ML.Gpu.ModelCache
  alias Dala.Test.StandIns

  @kernel "test of the cache"

  setup do
    dir = StandIns.models_dir()
    on_exit(fn -> Kernel.unregister(@kernel) end)
    %{model_file: Path.join(dir, "deeplab.onnx")}
  end

  defp fetch!, do: Error.value!(ModelCache.fetch(:deeplab, @kernel))

  test "processes that ask at once get one model", %{model_file: file} do
    File.write!(file, StandIns.deeplab())
    tasks = for _ <- 1..8, do: Task.async(fn -> fetch!().ref end)
    assert [ref] = tasks |> Task.await_many(60_000) |> Enum.uniq()
    assert fetch!().ref == ref
    assert {:ok, _kernel} = Kernel.lookup(@kernel)
  end

  test "a file that has changed is loaded again, and what was known of the first is dropped",
       %{model_file: file} do
    File.write!(file, StandIns.deeplab())
    first = fetch!()
    shape = {1, 3, 8, 16}
    assert ModelCache.output(first, shape) == {:ok, {{1, 21, 8, 16}, :f32}}
    assert ModelCache.output(first, shape) == {:ok, {{1, 21, 8, 16}, :f32}}
    assert [_known] = :ets.match(ModelCache, {{:output, first.ref, :_}, :"$1"})

    File.touch!(file, 1_000_000_000)
    second = fetch!()
    assert second.ref != first.ref
    assert :ets.match(ModelCache, {{:output, first.ref, :_}, :"$1"}) == []
  end

  test "one that is killed begins anew", %{model_file: file} do
    File.write!(file, StandIns.deeplab())
    first = fetch!()
    pid = Process.whereis(ModelCache)
    Process.exit(pid, :kill)
    eventually(fn -> Process.whereis(ModelCache) not in [nil, pid] end)
    second = fetch!()
    assert second.ref != first.ref
    assert ModelCache.output(second, {1, 3, 8, 16}) == {:ok, {{1, 21, 8, 16}, :f32}}
  end

  test "errors are those of loading and of the model", %{model_file: file} do
    assert_error(ModelCache.fetch(:deeplab, @kernel), :model_not_found, "dala.models install")
    File.write!(file, "no model")
    assert_error(ModelCache.fetch(:deeplab, @kernel), :invalid_model)
    File.write!(file, StandIns.deeplab())
    assert_error(ModelCache.output(fetch!(), {1, 3, 4, 4}), :shape_mismatch)
  end
end
