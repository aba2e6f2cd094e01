defmodule Bench.Nx do
  # What Nx does on Dala.Nx beside PyTorch: a chain of eight operations as one defn, an operation on
  # few elements, and a step of training. Without Nx there is nothing to measure.

  alias Bench.Line

  @compile {:no_warn_undefined, [Nx, Nx.Defn, Nx.Random]}

  # That of the packages that bin/setup installs.
  @python "/usr/bin/python3"
  @torch Path.expand("../torch_nx.py", __DIR__)
  @shapes [{784, 512}, {512}, {512, 512}, {512}, {512, 10}, {10}]

  def family, do: "nx"

  def workloads(options) do
    if Code.ensure_loaded?(Nx) do
      {:ok, _apps} = Application.ensure_all_started(:nx)

      [
        {"chain of 8 f32 4M", fn -> [measure("chain", &chain/0, 3, 1.5, options)] end},
        {"add f32 1K", fn -> [measure("add", &add/0, 2000, 0.5, options)] end},
        {"mlp training step", fn -> [measure("mlp", &mlp/0, 5, 0.8, options)] end}
      ]
    else
      []
    end
  end

  defp measure(work, prepare, calls, least, options) do
    Nx.default_backend(Dala.Nx.Backend)
    Nx.Defn.default_options(compiler: Dala.Nx.Compiler)
    run = prepare.()
    for _call <- 1..5, do: run.()
    peer = open()
    rounds = if options.quick, do: 5, else: 15
    # The first answer of the peer includes its own preparation.
    if peer, do: ask(peer, work, 1)
    times = for _round <- 1..rounds, do: {time(run, calls), peer && ask(peer, work, calls)}
    if peer, do: Port.close(peer)
    {ours, theirs} = Enum.unzip(times)

    %Line{
      peer: "torch",
      ours: Line.median(ours),
      theirs: if(peer, do: Line.median(theirs)),
      ratio: if(peer, do: Line.median(for {mine, other} <- times, do: other / mine)),
      at_least: least
    }
  end

  defp time(run, calls) do
    {microseconds, _} = :timer.tc(fn -> for _call <- 1..calls, do: run.() end)
    microseconds * 1000 / calls
  end

  defp open do
    with true <- File.exists?(@python),
         {_output, 0} <- System.cmd(@python, ["-c", "import torch"], stderr_to_stdout: true) do
      Port.open({:spawn_executable, @python}, [:binary, line: 100, args: [@torch]])
    else
      _missing -> nil
    end
  end

  defp ask(port, work, calls) do
    Port.command(port, "#{work} #{calls} #{System.schedulers_online()}\n")

    receive do
      {^port, {:data, {:eol, answer}}} -> String.to_float(answer)
    after
      120_000 -> raise "torch does not answer"
    end
  end

  # Results are waited for: an operation itself returns at once.

  defp chain do
    [x, y] = for seed <- 1..2, do: uniform({4 * 1024 * 1024}, seed)
    fun = Nx.Defn.jit(&eight/2)
    fn -> wait(fun.(x, y)) end
  end

  defp eight(x, y) do
    z = Nx.exp(Nx.negate(Nx.add(Nx.multiply(x, y), 0.5)))
    z = Nx.divide(z, Nx.add(1.0, z))
    Nx.multiply(Nx.sqrt(Nx.add(z, y)), 2.0)
  end

  defp add do
    [x, y] = for seed <- 1..2, do: uniform({1024}, seed)
    fn -> Nx.add(x, y) end
  end

  defp mlp do
    params = for {shape, seed} <- Enum.with_index(@shapes), do: uniform(shape, seed)
    params = for param <- params, do: Nx.multiply(Nx.subtract(param, 0.5), 0.1)
    x = uniform({128, 784}, 7)
    y = Nx.equal(Nx.remainder(Nx.iota({128, 1}), 10), Nx.iota({1, 10}))
    step = Nx.Defn.jit(&step/3)
    state = :ets.new(:params, [])
    :ets.insert(state, {:params, List.to_tuple(params)})

    fn ->
      [{:params, params}] = :ets.lookup(state, :params)
      {loss, params} = step.(params, x, y)
      :ets.insert(state, {:params, params})
      Nx.to_number(loss)
    end
  end

  defp step(params, x, y) do
    {loss, grads} = Nx.Defn.value_and_grad(params, &loss(&1, x, y))

    updated =
      Enum.zip_with(Tuple.to_list(params), Tuple.to_list(grads), fn param, grad ->
        Nx.subtract(param, Nx.multiply(grad, 0.05))
      end)

    {loss, List.to_tuple(updated)}
  end

  defp loss({w1, b1, w2, b2, w3, b3}, x, y) do
    hidden = Nx.max(Nx.add(Nx.dot(x, w1), b1), 0)
    hidden = Nx.max(Nx.add(Nx.dot(hidden, w2), b2), 0)
    logits = Nx.add(Nx.dot(hidden, w3), b3)
    largest = Nx.reduce_max(logits, axes: [1], keep_axes: true)
    shifted = Nx.subtract(logits, largest)
    sums = Nx.log(Nx.sum(Nx.exp(shifted), axes: [1], keep_axes: true))
    Nx.negate(Nx.mean(Nx.sum(Nx.multiply(Nx.subtract(shifted, sums), y), axes: [1])))
  end

  defp uniform(shape, seed) do
    {tensor, _key} = Nx.Random.uniform(Nx.Random.key(seed), shape: shape)
    tensor
  end

  defp wait(tensor) do
    _first = Nx.to_number(Nx.reshape(Nx.slice_along_axis(tensor, 0, 1), {}))
    tensor
  end
end
