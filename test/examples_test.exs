defmodule Dala.ExamplesTest do
  # The programs in examples/numeric, each in a VM of its own, on less work than they do by default.

  use Dala.Test.GpuCase, async: true

  alias Dala.Test.ChildVM

  defp example(name, args) do
    program = ["-pa", ChildVM.ebin(), "examples/numeric/#{name}.exs" | args]
    {output, status} = ChildVM.run_program("elixir", program)
    assert status == 0, output
    output
  end

  defp number_after(output, words) do
    [_all, number] = Regex.run(~r/#{words} (-?[\d.]+(?:e[+-]?\d+)?)/, output)
    {number, ""} = Float.parse(number)
    number
  end

  test "the plate grows warm from its upper edge, and is drawn" do
    path = Path.join(scratch_dir("heat"), "heat.png")
    output = example("heat", [path, "200"])
    assert output =~ "200 steps"
    # 25 in the end; heat has come as far as the square root of the steps.
    assert_in_delta number_after(output, "mean temperature"), 3.1, 0.3
    assert {:ok, %{width: 256, height: 256} = image} = Dala.Media.Image.read(path)
    # The edge is white, under a line of equal temperature.
    assert <<153, 153, 153, 255, _rest::binary>> = image.data
  end

  test "bodies keep their energy" do
    assert number_after(example("n_body", ["200", "20"]), "relative change") < 1.0e-3
  end

  test "the distances of k-means shrink" do
    output = example("k_means", ["5000", "4"])
    distances = Regex.scan(~r/distance ([\d.]+)/, output, capture: :all_but_first)
    distances = for [distance] <- distances, do: String.to_float(distance)
    assert length(distances) == 4
    assert distances == Enum.sort(distances, :desc)
    assert List.last(distances) < 100
  end

  test "a sound loses its high frequencies, and stays a sound file" do
    dir = scratch_dir("low_pass")
    first = Path.join(dir, "first.wav")
    second = Path.join(dir, "second.wav")
    output = example("low_pass", [first])
    assert number_after(output, "it is") > 60
    assert <<"RIFF", _size::32, "WAVE", _rest::binary>> = File.read!(first)
    # Its own result is an input, too: nothing is left to remove.
    assert number_after(example("low_pass", [second, first, "2000"]), "it is") < 10
    assert byte_size(File.read!(second)) == byte_size(File.read!(first))
  end

  test "the simulated price is that of the formula, within its error" do
    output = example("monte_carlo", ["2"])
    error = number_after(output, "give or take")
    assert_in_delta number_after(output, "price"), number_after(output, "formula"), 4 * error
  end
end
