defmodule Dala.Nx.LinearAlgebraTest do
  use Dala.Test.GpuCase, async: false

  alias Dala.Nx.Backend

  @compile {:no_warn_undefined, [Complex, Nx, Nx.BinaryBackend, Nx.LinAlg]}

  unless Code.ensure_loaded?(Nx) do
    @moduletag skip: "Nx is not on the code path (ERL_LIBS)"
  end

  setup do
    Nx.default_backend(Backend)
    Dala.Nx.reset_fallbacks()
    :ok
  end

  defp random(shape, seed) do
    :rand.seed(:exsss, {seed, 3, 4})
    list = for _ <- 1..Tuple.product(shape), do: :rand.normal()
    list |> Nx.tensor(type: :f32) |> Nx.reshape(shape)
  end

  defp transposed(matrix) do
    rank = tuple_size(matrix.shape)
    Nx.transpose(matrix, axes: Enum.to_list(0..(rank - 3)//1) ++ [rank - 1, rank - 2])
  end

  # Products and differences are Nx's own, computed on the host.
  defp product([first | rest]) do
    Enum.reduce(rest, host(first), fn next, acc ->
      rank = tuple_size(acc.shape)
      batch = Enum.to_list(0..(rank - 3)//1)
      Nx.dot(acc, [rank - 1], batch, host(next), [rank - 2], batch)
    end)
  end

  defp host(tensor), do: Nx.backend_copy(tensor, Nx.BinaryBackend)

  defp assert_near(actual, expected, tolerance \\ 1.0e-4) do
    assert actual.shape == expected.shape
    {a, b} = {Nx.to_flat_list(host(actual)), Nx.to_flat_list(host(expected))}
    for {x, y} <- Enum.zip(a, b), do: assert(abs(x - y) <= tolerance, "#{x} is not close to #{y}")
  end

  defp assert_orthogonal(matrix) do
    rank = tuple_size(matrix.shape)
    n = elem(matrix.shape, rank - 1)
    shape = put_elem(matrix.shape, rank - 2, n)
    eye = Nx.broadcast(Nx.eye(n, backend: Nx.BinaryBackend), shape)
    assert_near(product([transposed(matrix), matrix]), Nx.as_type(eye, :f32))
  end

  for shape <- [{3, 3}, {5, 3}, {3, 5}, {2, 4, 4}] do
    test "qr of #{inspect(shape)}" do
      a = random(unquote(Macro.escape(shape)), 1)

      for mode <- [:reduced, :complete] do
        {q, r} = Nx.LinAlg.qr(a, mode: mode)
        assert_orthogonal(q)
        assert_near(product([q, r]), a)
      end

      assert Dala.Nx.fallbacks() == %{}
    end

    test "svd of #{inspect(shape)}" do
      a = random(unquote(Macro.escape(shape)), 2)
      {u, s, vt} = Nx.LinAlg.svd(a, full_matrices?: false)
      scaled = Nx.multiply(host(u), Nx.new_axis(host(s), -2))
      assert_near(product([scaled, vt]), a)
      assert_orthogonal(transposed(vt))
      values = host(s) |> Nx.to_batched(1) |> Enum.flat_map(&Nx.to_flat_list/1)
      assert Enum.all?(values, &(&1 >= 0))
      assert Dala.Nx.fallbacks() == %{}
    end
  end

  test "singular values that are 0 but for rounding are 0" do
    a = Nx.dot(random({4, 2}, 3), random({2, 4}, 4))
    {_u, s, _vt} = Nx.LinAlg.svd(a)
    assert [_, b, +0.0, +0.0] = Nx.to_flat_list(s)
    assert b > 0
  end

  test "eigenvalues come in the order of their size" do
    base = random({2, 5, 5}, 5)
    a = Nx.add(base, transposed(base))
    {values, vectors} = Nx.LinAlg.eigh(a)
    scaled = Nx.multiply(host(vectors), Nx.new_axis(host(values), -2))
    assert_near(product([a, vectors]), scaled)
    assert_orthogonal(vectors)

    for row <- Nx.to_batched(host(values), 1) do
      sizes = row |> Nx.to_flat_list() |> Enum.map(&abs/1)
      assert sizes == Enum.sort(sizes, :desc)
    end

    assert Dala.Nx.fallbacks() == %{}
  end

  test "lu, cholesky and triangular systems, in batches and in narrow types" do
    a = random({2, 4, 4}, 6)
    {p, l, u} = Nx.LinAlg.lu(a)
    assert_near(product([p, l, u]), a)

    positive = Nx.add(Nx.dot(a, [2], [0], a, [2], [0]), Nx.eye(4))
    factor = Nx.LinAlg.cholesky(positive)
    assert_near(product([factor, transposed(factor)]), positive)

    b = random({2, 4, 3}, 7)
    x = Nx.LinAlg.triangular_solve(factor, b)
    assert_near(product([factor, x]), b)
    y = Nx.LinAlg.triangular_solve(factor, b, transform_a: :transpose)
    assert_near(product([transposed(factor), y]), b)

    half = Nx.LinAlg.cholesky(Nx.as_type(positive, :f16))
    assert half.type == {:f, 16}
    assert_near(Nx.as_type(half, :f32), factor, 0.05)

    assert_near(
      product([a, Nx.LinAlg.invert(a)]),
      host(Nx.broadcast(Nx.eye(4), {2, 4, 4})),
      1.0e-3
    )

    assert Dala.Nx.fallbacks() == %{}
  end

  # The sums that define the transform.
  defp dft(list, sign) do
    n = length(list)

    for j <- 0..(n - 1) do
      list
      |> Enum.with_index()
      |> Enum.reduce(Complex.new(0), fn {x, k}, sum ->
        angle = sign * 2 * :math.pi() * j * k / n
        Complex.add(sum, Complex.multiply(x, Complex.new(:math.cos(angle), :math.sin(angle))))
      end)
    end
  end

  defp assert_complex(tensor, expected) do
    for {x, y} <- Enum.zip(Nx.to_flat_list(tensor), List.flatten(expected)),
        do: assert(Complex.abs(Complex.subtract(x, y)) < 1.0e-4)
  end

  test "fft of real and complex numbers, longer, shorter and along any axis" do
    list = [1.0, -2.0, 0.5, 4.0, 3.0]
    t = Nx.tensor(list)
    assert %{type: {:c, 64}, shape: {5}} = spectrum = Nx.fft(t)
    assert_complex(spectrum, dft(list, -1))
    assert_complex(Nx.ifft(spectrum), list)
    assert_complex(Nx.fft(t, length: 8), dft(list ++ [0, 0, 0], -1))
    assert_complex(Nx.fft(t, length: 3), dft(Enum.take(list, 3), -1))

    columns = Nx.tensor([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]])
    expected = Enum.zip_with(dft([1, 3, 7], -1), dft([2, 5, 11], -1), &[&1, &2])
    assert_complex(Nx.fft(columns, axis: 0), expected)
    both = expected |> Enum.map(&dft(&1, -1))
    assert_complex(Nx.fft2(columns), both)
    assert_complex(Nx.ifft2(Nx.fft2(columns)), [[1, 2], [3, 5], [7, 11]])

    wide = Nx.fft(Nx.as_type(t, :f64))
    assert wide.type == {:c, 128}
    assert_complex(wide, dft(list, -1))
    assert Dala.Nx.fallbacks() == %{}
  end

  test "c64 is on the device, with its parts" do
    t = Nx.tensor([Complex.new(1, 2), Complex.new(3, -4)])

    assert Nx.to_flat_list(Nx.multiply(t, t)) == [
             Complex.new(-3.0, 4.0),
             Complex.new(-7.0, -24.0)
           ]

    assert Nx.to_flat_list(Nx.real(t)) == [1.0, 3.0]
    assert Nx.to_flat_list(Nx.imag(t)) == [2.0, -4.0]
    assert Nx.to_flat_list(Nx.conjugate(t)) == [Complex.new(1.0, -2.0), Complex.new(3.0, 4.0)]
    assert_near(Nx.abs(t), Nx.tensor([:math.sqrt(5), 5.0]))
    assert_near(Nx.phase(t), Nx.tensor([:math.atan2(2, 1), :math.atan2(-4, 3)]))
    assert Dala.Nx.fallbacks() == %{}
  end

  test "a real factor scales both parts, infinite ones too" do
    t = Nx.tensor([Complex.new(:infinity, 7), Complex.new(3, -4)])
    half = [Complex.new(:infinity, 3.5), Complex.new(1.5, -2.0)]
    assert Nx.to_flat_list(Nx.divide(t, Nx.tensor([2.0, 2.0]))) == half
    assert Nx.to_flat_list(Nx.multiply(0.5, t)) == half
    assert Dala.Nx.fallbacks() == %{}
  end
end
