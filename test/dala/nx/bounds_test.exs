defmodule Dala.Nx.BoundsTest do
  use Dala.Test.GpuCase, async: false

  @compile {:no_warn_undefined, [Nx, Nx.Defn]}

  unless Code.ensure_loaded?(Nx) do
    @moduletag skip: "Nx is not on the code path (ERL_LIBS)"
  end

  setup do
    Nx.default_backend(Dala.Nx.Backend)
    before = Application.get_env(:dala_gpu, :nx, [])
    on_exit(fn -> Application.put_env(:dala_gpu, :nx, before) end)
    %{settings: before}
  end

  test "indices are checked if the configuration says so", %{settings: settings} do
    t = Nx.tensor([[1, 2], [3, 4]])
    outside = Nx.tensor([[0, 1], [1, 2]])
    assert Nx.to_flat_list(Nx.gather(t, outside)) == [2, 0]

    Application.put_env(:dala_gpu, :nx, Keyword.put(settings, :check_bounds, true))

    text = "index 2 is out of bounds for axis 1 in shape {2, 2}"
    ones = Nx.tensor([1, 1])
    assert_raise ArgumentError, text, fn -> Nx.gather(t, outside) end
    assert_raise ArgumentError, text, fn -> Nx.indexed_add(t, outside, ones) end
    assert_raise ArgumentError, text, fn -> Nx.indexed_put(t, outside, ones) end
    assert_raise ArgumentError, text, fn -> Nx.take(t, Nx.tensor([0, 2]), axis: 1) end
    assert_raise ArgumentError, text, fn -> Nx.take_along_axis(t, outside, axis: 1) end

    compiled = Nx.Defn.jit(&Nx.gather/2, compiler: Dala.Nx.Compiler)
    assert_raise ArgumentError, text, fn -> compiled.(t, outside) end

    assert Nx.to_flat_list(Nx.take(t, Nx.tensor([1, 0]), axis: 1)) == [2, 1, 4, 3]
    assert Nx.to_flat_list(Nx.gather(t, Nx.tensor([[1, 1], [0, 0]]))) == [4, 1]
    assert Nx.to_flat_list(compiled.(t, Nx.tensor([[1, 0], [0, 1]]))) == [3, 2]
  end
end
