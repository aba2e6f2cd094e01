defmodule Dala.Gpu.Compute.BytesTest do
  use ExUnit.Case, async: true

  alias Dala.Gpu.Compute.Bytes

  doctest Dala.Gpu.Compute.Bytes

  test "units go by 1024, with at most one decimal" do
    assert Enum.map(
             [0, 1, 1023, 1024, 1100, 1024 * 1024 - 1, 3 * 1024 ** 3, 5000 * 1024 ** 4],
             &Bytes.format/1
           ) == ["0 B", "1 B", "1023 B", "1 KiB", "1.1 KiB", "1024 KiB", "3 GiB", "5000 TiB"]
  end
end
