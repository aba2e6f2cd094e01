defmodule Dala.GuidesTest do
  use Dala.Test.GpuCase, async: true

  import ExUnit.CaptureIO

  alias Dala.Media.Image
  alias Dala.Test.KernelTable

  @start "<!-- The table is checked by test/guides_test.exs, which also says how to renew it. -->\n"

  test "the table of kernels is up to date" do
    check_table("guides/kernels.md", KernelTable.render())
  end

  test "the table of filters is up to date and has an image for each filter" do
    check_table("guides/filters.md", KernelTable.render_filters())

    for name <- Dala.Media.Gpu.Filter.names() do
      assert {:ok, _picture} = Image.read("guides/images/filters/#{name}.jpg")
    end
  end

  defp check_table(guide, rendered) do
    [before, table] = guide |> File.read!() |> String.split(@start)

    if System.get_env("DALA_UPDATE_GUIDES") == "1" do
      File.write!(guide, before <> @start <> rendered)
    else
      assert table == rendered,
             "#{guide} is out of date; update it with " <>
               "DALA_UPDATE_GUIDES=1 mix test test/guides_test.exs"
    end
  end

  test "the examples on filters" do
    dir = scratch_dir("filters")
    photo = Path.join(dir, "photo.jpg")
    :ok = Image.write(Image.new(64, 48, Dala.Media.TestScene.frame(64, 48)), photo)

    "guides/filters.md"
    |> code()
    |> Enum.join("\n")
    |> String.replace("photo.jpg", photo)
    |> String.replace("soft.png", Path.join(dir, "soft.png"))
    |> Code.eval_string()

    assert {:ok, %{width: 64, height: 48}} = Image.read(Path.join(dir, "soft.png"))
  end

  # The Elixir code blocks of a document, in order, without configuration and dependencies.
  defp code(file) do
    blocks = Regex.scan(~r/^```elixir\n(.*?)^```$/ms, File.read!(file), capture: :all_but_first)

    for [block] <- blocks,
        not (block =~ "config :dala_gpu" or block =~ "{:dala_gpu, path"),
        do: block
  end

  test "the examples of the README" do
    code = Enum.join(code("README.md"), "\n")
    {{_result, binding}, output} = with_io(fn -> Code.eval_string(code) end)
    assert output =~ "shape"
    assert_close(Compute.read_list(binding[:c]), softmax([1.0, 2.0, 3.0]))
  end

  test "the links and images of the README and the guides" do
    for file <- ["README.md", "CONTRIBUTING.md" | Path.wildcard("guides/*.{md,livemd,cheatmd}")],
        [target] <-
          Regex.scan(~r/\]\(([^)#]+)[^)]*\)/, File.read!(file), capture: :all_but_first),
        not String.starts_with?(target, "http") do
      assert File.regular?(Path.expand(target, Path.dirname(file))), "#{file} links to #{target}"
    end
  end

  test "the cheatsheet" do
    code = Enum.join(code("guides/cheatsheet.cheatmd"), "\n")
    output = capture_io(fn -> Code.eval_string(code) end)
    assert output =~ "scalar_mul"
    assert output =~ "elementwise_add"
  end

  defp softmax(list) do
    exponentials = Enum.map(list, &:math.exp/1)
    Enum.map(exponentials, &(&1 / Enum.sum(exponentials)))
  end

  test "the examples on custom kernels" do
    image = Compute.buffer(Enum.to_list(0..17), {3, 6}, :u8)

    binding = [
      a: Compute.buffer([0, 4], {2}),
      b: Compute.buffer([8, 8], {2}),
      output: zeros({2}),
      image: image,
      blurred: zeros({3, 6}, :u8),
      small: Compute.buffer([1, 2, 3, 4], {2, 2}, :u8),
      large: zeros({4, 6}, :u8),
      table: Compute.buffer(Enum.map(0..255, &(255 - &1)), {256}, :u8),
      recoloured: zeros({3, 6}, :u8),
      numbers: counting(1000),
      sums: zeros({16})
    ]

    Code.eval_string(Enum.join(code("guides/custom_kernels.md"), "\n"), binding)
    assert Compute.read_list(binding[:output]) == [2.0, 5.0]

    rows =
      for row <- Enum.chunk_every(0..17, 6) do
        for x <- 0..5 do
          div(Enum.sum(for dx <- -2..2, do: Enum.at(row, min(max(x + dx, 0), 5))), 5)
        end
      end

    assert Compute.read_list(binding[:blurred]) == List.flatten(rows)
    above = [1, 1, 1, 2, 2, 2]
    below = [3, 3, 3, 4, 4, 4]
    assert Compute.read_list(binding[:large]) == above ++ above ++ below ++ below
    assert Compute.read_list(binding[:recoloured]) == Enum.map(0..17, &(255 - &1))
    sums = for part <- Enum.chunk_every(1..1000, 64), do: Enum.sum(part) * 1.0
    assert Compute.read_list(binding[:sums]) == sums
  end

  @tag :capture_log
  test "the examples on devices" do
    # test/system/remote_devices_test.exs covers other nodes.
    blocks = Enum.reject(code("guides/devices.md"), &(&1 =~ "worker@"))
    {_result, binding} = Code.eval_string(Enum.join(blocks, "\n"))
    assert Compute.read_list(binding[:output]) == [1.0, 2.0, 3.0, 4.0]
    assert Compute.read_list(binding[:here]) == [2.0, 4.0]
    assert byte_size(binding[:pixels]) == 1080 * 1920 * 4
    Supervisor.stop(binding[:supervisor])
  end

  test "the examples on surfaces" do
    dir = scratch_dir("guide")

    # test/system/window_test.exs covers windows.
    blocks = Enum.reject(code("guides/surfaces.md"), &(&1 =~ "window"))
    code = String.replace(Enum.join(blocks, "\n"), "frame.png", Path.join(dir, "frame.png"))
    Code.eval_string(code)
    assert {:ok, image} = Dala.Media.Image.read(Path.join(dir, "frame.png"))
    assert {image.width, image.height} == {640, 480}
    assert <<32, 32, 32, 255, _rest::binary>> = image.data
  end

  test "the surface example writes an image" do
    path = Path.join(scratch_dir("example"), "surface.png")

    {output, 0} =
      Dala.Test.ChildVM.run_program("elixir", [
        "-pa",
        Dala.Test.ChildVM.ebin(),
        "examples/surface.exs",
        path
      ])

    assert output =~ path
    assert {:ok, %{width: 640, height: 480}} = Dala.Media.Image.read(path)
  end

  test "the examples on models" do
    Code.eval_string(Enum.join(code("guides/onnx.md"), "\n"))
    Code.eval_string(Enum.join(code("guides/tfjs.md"), "\n"))
    Code.eval_string(Enum.join(code("guides/tflite.md"), "\n"))
    Code.eval_string(Enum.join(code("guides/state.md"), "\n"))
  end

  test "the examples on vision tasks" do
    Code.eval_string(Enum.join(code("guides/vision.md"), "\n"))
  end

  test "the example on pipelines, and its plan" do
    image =
      Compute.buffer(List.duplicate(-1, 500_000) ++ List.duplicate(4, 500_000), {1000, 1000})

    binding = [image: image, bias: Compute.buffer([0.5], {1}), total: zeros({})]
    guide = "guides/pipelines.md"
    {_result, binding} = Code.eval_string(Enum.join(code(guide), "\n"), binding)
    assert Compute.read_list(binding[:total]) == [1_250_000.0]

    [[plan]] =
      Regex.scan(~r/^```\n(stages .*?)\n```$/ms, File.read!(guide), capture: :all_but_first)

    assert to_string(Pipeline.explain(binding[:pipeline])) == plan
  end

  test "the examples on numeric work" do
    {_result, binding} = Code.eval_string(Enum.join(code("guides/numeric.md"), "\n"))
    dice = Compute.read_list(binding[:dice])
    assert Enum.all?(dice, &(&1 in 1..6))
    assert_close(Compute.read_list(binding[:back]), [1, 0, -1, 0, 1, 0, -1, 0])
    assert_close(Compute.read_list(binding[:values]), [1.0, 3.0])
    assert Enum.sum(Compute.read_list(binding[:bins])) in 995..1000
  end

  test "the example on kernels" do
    binding = [input: Compute.buffer([-1, 0.5, 2], {3}), output: zeros({3})]
    Code.eval_string(Enum.join(code("guides/kernels.md"), "\n"), binding)
    assert Compute.read_list(binding[:output]) == [0.0, 0.5, 1.0]
  end
end
