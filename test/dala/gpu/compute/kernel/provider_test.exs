defmodule Dala.Gpu.Compute.Kernel.ProviderTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute.Kernel.Provider

  doctest Provider

  defmodule Named do
    @behaviour Provider

    @impl true
    def kernels, do: ["test_provided_run", "test_provided_submit", "test_provided_stage"]

    @impl true
    def load(name), do: Kernel.elementwise(name, "x + 1")
  end

  defmodule Broken do
    @behaviour Provider

    @impl true
    def kernels, do: ["test_refused", "test_forgotten"]

    @impl true
    def load("test_refused"), do: {:error, %Error{reason: :model_not_found, message: "not today"}}
    def load("test_forgotten"), do: :ok
  end

  defmodule Rival do
    @behaviour Provider

    @impl true
    def kernels, do: ["test_provided_run"]

    @impl true
    def load(_name), do: :ok
  end

  setup do
    for provider <- [Named, Broken] do
      :ok = Provider.register(provider)
      on_exit(fn -> Provider.unregister(provider) end)
    end

    :ok
  end

  test "a kernel is loaded by its first use, in a call, a command and a stage" do
    a = Compute.buffer([1, 2], {2})
    assert Kernel.lookup(:test_provided_run) == :error
    assert Kernel.run(:test_provided_run, [a], a) == :ok
    assert {:ok, _kernel} = Kernel.lookup(:test_provided_run)

    command = %{op: :run_kernel, kernel: :test_provided_submit, inputs: [a], output: a}
    assert command |> Compute.submit() |> Compute.wait() == :ok

    stage = %{op: :run_kernel, kernel: :test_provided_stage, inputs: [a], output: a}
    pipeline = Pipeline.add(Pipeline.new(), stage)
    assert %{steps: [%{kernels: ["test_provided_stage"]}]} = Pipeline.explain(pipeline)
    assert Pipeline.run(pipeline) == :ok
    assert Compute.read_list(a) == [4.0, 5.0]
  end

  test "an error of the provider is the error of the call, with the stage" do
    a = Compute.buffer([1], {1})
    assert_error(Kernel.run(:test_refused, [a], a), :model_not_found, "not today")

    command = %{op: :run_kernel, kernel: :test_refused, inputs: [a], output: a}
    assert_error(command |> Compute.submit() |> Compute.wait(), :model_not_found, "not today")

    pipeline = Pipeline.new() |> Pipeline.add(%{op: :barrier}) |> Pipeline.add(command)
    error = assert_error(Pipeline.run(pipeline), :model_not_found, "stage 1: not today")
    assert error.details.stage == 1
  end

  test "a provider that loads nothing is an error, not an endless loop" do
    a = Compute.buffer([1], {1})
    text = "Broken.load/1 returned :ok but did not load the kernel test_forgotten"
    assert_error(Kernel.run(:test_forgotten, [a], a), :unknown_kernel, text)
  end

  test "a kernel has one provider, and a provider implements both callbacks" do
    error = assert_raise(ArgumentError, fn -> Provider.register(Rival) end)

    assert error.message =~
             "cannot provide the kernel test_provided_run: #{inspect(Named)} already"

    assert Provider.register(Named) == :ok

    error = assert_raise(ArgumentError, fn -> Provider.register(String) end)
    assert error.message == "expected a module with kernels/0 and load/1, got: String"
  end

  test "after unregister, its kernels that were not loaded are unknown" do
    :ok = Provider.unregister(Broken)
    a = Compute.buffer([1], {1})
    assert_error(Kernel.run(:test_refused, [a], a), :unknown_kernel, "test_refused")
  end
end
