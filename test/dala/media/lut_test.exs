defmodule Dala.Media.LutTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu.Compute
  alias Dala.Media.Lut

  doctest Dala.Media.Lut

  # Each entry is its own place, but for red and blue, which are exchanged.
  defp exchange(n) do
    entries =
      for b <- 0..(n - 1), g <- 0..(n - 1), r <- 0..(n - 1) do
        Enum.map_join([b, g, r], " ", &"#{&1 / (n - 1)}") <> "\n"
      end

    "# made by a test\nTITLE \"Exchange\"\n\nLUT_3D_SIZE #{n}\r\n" <> Enum.join(entries)
  end

  defp message(text) do
    assert {:error, %Compute.Error{reason: :invalid_param} = error} = Lut.parse(text)
    error.message
  end

  test "the kernel applies the table of a cube file" do
    assert {:ok, lut} = Lut.parse(exchange(3))
    assert %Lut{dimensions: 3, size: 3, title: "Exchange"} = lut
    image = Compute.buffer([10, 20, 30, 40, 250, 128, 0, 1], {1, 2, 4}, :u8)
    :ok = Compute.run_kernel(:lut, [image, Lut.buffer(lut)], image, Lut.params(lut))
    assert Compute.read_list(image) == [30, 20, 10, 40, 0, 128, 250, 1]
  end

  test "the domain maps to the first and last entry" do
    text = "LUT_1D_SIZE 2\nDOMAIN_MIN 0 0 0.5\nDOMAIN_MAX 1 2 1\n0 0 0\n1 1 1"
    assert {:ok, lut} = Lut.parse(text)
    image = Compute.buffer([0.5, 0.5, 0.5, 1.0, 1.0, 0.75], {1, 2, 3})
    :ok = Compute.run_kernel(:lut, [image, Lut.buffer(lut)], image, Lut.params(lut))
    assert Compute.read_list(image) == [0.5, 0.25, 0.0, 1.0, 0.5, 0.5]
  end

  # The character before the invalid byte matters: graphemes may begin with it.
  test "a line that is not UTF-8 is shown by its bytes" do
    assert {:error, %Compute.Error{} = error} = Lut.parse("\u2700\xA8ZE 25 3")
    assert error.message =~ ~S(line 1 of the .cube file is "✀\xA8ZE 25 3")
  end

  test "a broken line is named by its number" do
    assert message("LUT_1D_SIZE 2\n\n# fine\n0 0 0\n1 1\n") ==
             ~s(line 5 of the .cube file is "1 1", expected three numbers)

    assert message("LUT_3D_SIZE 300") ==
             ~s(line 1 of the .cube file is "LUT_3D_SIZE 300", expected a size from 2 to 256)

    assert message("LUT_1D_SIZE 2\nLUT_1D_SIZE 2") ==
             ~s(line 2 of the .cube file is "LUT_1D_SIZE 2", expected only one such line)

    assert message("0 0 0") ==
             ~s(line 1 of the .cube file is "0 0 0", expected LUT_1D_SIZE or LUT_3D_SIZE before ) <>
               "the first entry"

    assert message("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n2 2 2") ==
             ~s(line 4 of the .cube file is "2 2 2", expected no more than 2 entries)

    assert message("LUT_1D_SIZE 2\n0 0 0\nTITLE \"x\"") ==
             ~s(line 3 of the .cube file is "TITLE \\"x\\"", expected keywords only before the ) <>
               "first entry"

    assert message("TITLE none\n") ==
             ~s(line 1 of the .cube file is "TITLE none", expected a title in double quotes)

    assert message("LUT_1D_SIZE 2\n0 0 1e39") ==
             ~s(line 2 of the .cube file is "0 0 1e39", expected three numbers)

    assert {:error, %{details: %{line: 2}}} = Lut.parse("LUT_1D_SIZE 2\nnoise")
  end

  test "a truncated or empty file is an error" do
    assert message("LUT_3D_SIZE 2\n0 0 0\n") == "the .cube file has 1 entries, expected 8"
    assert message("") == "the .cube file has neither LUT_1D_SIZE nor LUT_3D_SIZE"

    assert message("LUT_1D_SIZE 2\nDOMAIN_MIN 0 1 0\n0 0 0\n1 1 1") ==
             "DOMAIN_MAX of the .cube file is not above its DOMAIN_MIN"

    assert {:error, error} = Lut.read("/nowhere/film.cube")

    assert error.message ==
             "/nowhere/film.cube could not be read: no such file or directory"
  end
end
