defmodule Dala.Gpu.Compute.ErrorTest do
  use Dala.Test.GpuCase, async: true

  doctest Dala.Gpu.Compute.Error

  test "errors of the native side are exceptions like any other" do
    {:error, error} = Compute.run_kernel(:nope, [], counting(1))
    assert is_exception(error, Error)
    assert %Error{reason: :unknown_kernel, details: %{}} = error
    assert Exception.message(error) == error.message
    assert error.message =~ "nope"
  end

  test "the struct enforces its keys" do
    assert_raise ArgumentError, fn -> struct!(Error, message: "only a message") end
  end

  test "value!/1" do
    error = %Error{reason: :timeout, message: "too late"}
    assert Error.value!({:ok, :value}) == :value
    assert_raise Error, "too late", fn -> Error.value!({:error, error}) end
  end
end
