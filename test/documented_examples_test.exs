defmodule Dala.DocumentedExamplesTest do
  # The examples of the documentation, word for word, one test each.

  use Dala.Test.GpuCase, async: true

  describe "quick start" do
    test "with run_kernel and three lists" do
      # Check GPU availability
      info = Dala.Gpu.Compute.device_info()
      assert %{name: name, gpu: gpu, version: version} = info
      assert is_binary(name) and is_boolean(gpu) and is_binary(version)

      # Create buffers
      a = Dala.Gpu.Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
      b = Dala.Gpu.Compute.buffer([4.0, 5.0, 6.0], {3}, :f32)
      c = Dala.Gpu.Compute.buffer([0.0, 0.0, 0.0], {3}, :f32)

      # Run a kernel
      assert Dala.Gpu.Compute.run_kernel(:elementwise_add, [a, b], c, %{}) == :ok

      # Read results
      assert Dala.Gpu.Compute.read(c) == f32([5.0, 7.0, 9.0])

      # Cleanup
      assert Dala.Gpu.Compute.free(a) == :ok
      assert Dala.Gpu.Compute.free(b) == :ok
      assert Dala.Gpu.Compute.free(c) == :ok
    end

    test "with add and zeros" do
      assert %{name: _, gpu: _, version: _} = Dala.Gpu.Compute.device_info()

      a = Dala.Gpu.Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
      b = Dala.Gpu.Compute.buffer([4.0, 5.0, 6.0], {3}, :f32)
      c = Dala.Gpu.Compute.buffer_zeros({3}, :f32)

      assert Dala.Gpu.Compute.add(a, b, c) == :ok

      assert Dala.Gpu.Compute.read(c) == f32([5.0, 7.0, 9.0])
      assert Dala.Gpu.Compute.read_list(c) == [5.0, 7.0, 9.0]

      assert Dala.Gpu.Compute.free_many([a, b, c]) == :ok
    end
  end

  describe "buffers" do
    test "buffer/3" do
      buf = Dala.Gpu.Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
      assert Dala.Gpu.Compute.read_list(buf) == [1.0, 2.0, 3.0]
    end

    test "buffer_from_binary/3" do
      binary_data = :binary.copy(<<7>>, 640 * 480 * 4)
      buf = Dala.Gpu.Compute.buffer_from_binary(binary_data, {640, 480, 4}, :u8)
      assert Dala.Gpu.Compute.read(buf) == binary_data
    end

    test "buffer_zeros/2" do
      buf = Dala.Gpu.Compute.buffer_zeros({256, 256}, :f32)
      assert Dala.Gpu.Compute.read(buf) == :binary.copy(<<0>>, 256 * 256 * 4)
    end

    test "a buffer's life" do
      rgba_binary = :crypto.strong_rand_bytes(640 * 480 * 4)

      # From a list
      buf = Dala.Gpu.Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
      assert %Buffer{} = buf

      # Zero-initialized
      buf = Dala.Gpu.Compute.buffer_zeros({256, 256}, :f32)
      assert %Buffer{} = buf

      # From raw binary (e.g. image data)
      buf = Dala.Gpu.Compute.buffer_from_binary(rgba_binary, {640, 480, 4}, :u8)

      # Inspect
      assert Dala.Gpu.Compute.shape(buf) == {640, 480, 4}
      assert Dala.Gpu.Compute.dtype(buf) == :u8
      assert Dala.Gpu.Compute.size(buf) == 1_228_800

      # Read back
      data = Dala.Gpu.Compute.read(buf)
      binary = Dala.Gpu.Compute.read_binary(buf)
      assert data == rgba_binary
      assert binary == rgba_binary

      # Free
      assert Dala.Gpu.Compute.free(buf) == :ok
    end

    test "read/1" do
      buf = Dala.Gpu.Compute.buffer([5.0, 7.0, 9.0], {3}, :f32)
      data = Dala.Gpu.Compute.read(buf)
      assert data == f32([5.0, 7.0, 9.0])
    end
  end

  describe "kernels" do
    test "run_kernel/4" do
      a = Dala.Gpu.Compute.buffer([-10.0, 20.0, 30.0], {3}, :f32)
      b = Dala.Gpu.Compute.buffer([4.0, 5.0, 6.0], {3}, :f32)
      c = Dala.Gpu.Compute.buffer_zeros({3}, :f32)

      assert Dala.Gpu.Compute.run_kernel(:elementwise_add, [a, b], c, %{}) == :ok
      assert Dala.Gpu.Compute.read_list(c) == [-6.0, 25.0, 36.0]

      assert Dala.Gpu.Compute.run_kernel(:relu, [a], b, %{slope: 0.1}) == :ok
      assert_close(Dala.Gpu.Compute.read_list(b), [-1.0, 20.0, 30.0], 1.0e-6)
    end

    test "add/3" do
      a = Dala.Gpu.Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
      b = Dala.Gpu.Compute.buffer([4.0, 5.0, 6.0], {3}, :f32)
      c = Dala.Gpu.Compute.buffer_zeros({3}, :f32)
      assert Dala.Gpu.Compute.add(a, b, c) == :ok
      assert Dala.Gpu.Compute.read_list(c) == [5.0, 7.0, 9.0]
    end

    test "multiply/3" do
      a = Dala.Gpu.Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
      b = Dala.Gpu.Compute.buffer([4.0, 5.0, 6.0], {3}, :f32)
      output = Dala.Gpu.Compute.buffer_zeros({3}, :f32)
      assert Dala.Gpu.Compute.multiply(a, b, output) == :ok
      assert Dala.Gpu.Compute.read_list(output) == [4.0, 10.0, 18.0]
    end

    test "relu/2" do
      input = Dala.Gpu.Compute.buffer([-1.0, 0.0, 2.0], {3}, :f32)
      output = Dala.Gpu.Compute.buffer_zeros({3}, :f32)
      assert Dala.Gpu.Compute.relu(input, output) == :ok
      assert Dala.Gpu.Compute.read_list(output) == [0.0, 0.0, 2.0]
    end

    test "scale/3" do
      input = Dala.Gpu.Compute.buffer([1.0, 2.0], {2}, :f32)
      output = Dala.Gpu.Compute.buffer_zeros({2}, :f32)
      assert Dala.Gpu.Compute.scale(input, 2.5, output) == :ok
      assert Dala.Gpu.Compute.read_list(output) == [2.5, 5.0]
    end

    test "matmul/3" do
      list_4 = [1.0, 2.0, 3.0, 4.0]
      a = Dala.Gpu.Compute.buffer(list_4, {2, 2}, :f32)
      b = Dala.Gpu.Compute.buffer(list_4, {2, 2}, :f32)
      c = Dala.Gpu.Compute.buffer_zeros({2, 2}, :f32)
      assert Dala.Gpu.Compute.matmul(a, b, c) == :ok
      assert Dala.Gpu.Compute.read_list(c) == [7.0, 10.0, 15.0, 22.0]
    end

    test "run_kernel_async/4" do
      a = Dala.Gpu.Compute.buffer([1.0, -2.0], {2}, :f32)
      b = Dala.Gpu.Compute.buffer_zeros({2}, :f32)
      assert Dala.Gpu.Compute.run_kernel_async(:relu, [a], b, %{}) == :ok
      assert Dala.Gpu.Compute.read_list(b) == [1.0, 0.0]
    end

    test "a custom kernel" do
      input = Dala.Gpu.Compute.buffer([1.0, 2.0], {2}, :f32)
      output = Dala.Gpu.Compute.buffer_zeros({2}, :f32)

      # Register a custom kernel
      assert Dala.Gpu.Compute.Kernel.register(
               :my_filter,
               """
               __kernel void my_filter(__global const float *input, __global float *output,
                                       float strength, int n) {
                 int i = get_global_id(0);
                 if (i < n) output[i] = strength * input[i];
               }
               """,
               inputs: 1,
               params: [:strength]
             ) == :ok

      # Use it
      assert Dala.Gpu.Compute.run_kernel(:my_filter, [input], output, %{strength: 0.5}) == :ok
      assert Dala.Gpu.Compute.read_list(output) == [0.5, 1.0]
    end
  end

  describe "asynchronous execution" do
    setup do
      a = Dala.Gpu.Compute.buffer([-1.0, 2.0], {2}, :f32)
      b = Dala.Gpu.Compute.buffer_zeros({2}, :f32)
      %{a: a, b: b}
    end

    test "with references and a string", %{a: a, b: b} do
      cmd_id =
        Dala.Gpu.Compute.submit(%{
          op: :run_kernel,
          kernel: "relu",
          inputs: [a.ref],
          output: b.ref,
          params: %{}
        })

      assert is_integer(cmd_id)
      assert Dala.Gpu.Compute.poll(cmd_id) in [:pending, :completed]
      assert Dala.Gpu.Compute.wait(cmd_id) == :ok
      assert Dala.Gpu.Compute.read_list(b) == [0.0, 2.0]
    end

    test "with buffers and an atom", %{a: a, b: b} do
      cmd_id =
        Dala.Gpu.Compute.submit(%{
          op: :run_kernel,
          kernel: :relu,
          inputs: [a],
          output: b,
          params: %{}
        })

      assert Dala.Gpu.Compute.poll(cmd_id) in [:pending, :completed]
      assert Dala.Gpu.Compute.wait(cmd_id) == :ok
      assert Dala.Gpu.Compute.read_list(b) == [0.0, 2.0]
    end

    test "asked later", %{a: a, b: b} do
      cmd_id =
        Dala.Gpu.Compute.submit(%{
          op: :run_kernel,
          kernel: "relu",
          inputs: [a.ref],
          output: b.ref,
          params: %{}
        })

      later = fn ->
        case Dala.Gpu.Compute.poll(cmd_id) do
          :completed -> Dala.Gpu.Compute.read(b)
          {:error, reason} -> flunk(Exception.message(reason))
          :pending -> nil
        end
      end

      assert eventually(later) == f32([0.0, 2.0])
    end
  end

  describe "pipelines" do
    test "run the variable that began the pipe" do
      input_buf = Dala.Gpu.Compute.buffer([-1.0, 2.0, -3.0], {3}, :f32)
      temp_buf = Dala.Gpu.Compute.buffer_zeros({3}, :f32)
      output_buf = Dala.Gpu.Compute.buffer_zeros({3}, :f32)

      pipeline = Dala.Gpu.Compute.pipeline()

      pipeline
      |> Dala.Gpu.Compute.pipeline_add(%{
        op: :run_kernel,
        kernel: :scalar_mul,
        inputs: [input_buf],
        output: temp_buf,
        params: %{scalar: 3}
      })
      |> Dala.Gpu.Compute.pipeline_add(%{
        op: :run_kernel,
        kernel: :relu,
        inputs: [temp_buf],
        output: output_buf,
        params: %{}
      })

      assert Dala.Gpu.Compute.pipeline_run(pipeline) == :ok
      assert Dala.Gpu.Compute.read_list(output_buf) == [0.0, 6.0, 0.0]
      assert Dala.Gpu.Compute.free_pipeline(pipeline) == :ok
    end

    test "of filters" do
      input_buf = Dala.Gpu.Compute.buffer_from_binary(frame(), {480, 640, 4}, :u8)
      blurred_buf = Dala.Gpu.Compute.buffer_zeros({480, 640, 4}, :u8)
      sharpened_buf = Dala.Gpu.Compute.buffer_zeros({480, 640, 4}, :u8)
      output_buf = Dala.Gpu.Compute.buffer_zeros({480, 640, 4}, :u8)

      pipeline = Dala.Gpu.Compute.pipeline()

      pipeline
      |> Dala.Gpu.Compute.pipeline_add(%{
        op: :run_kernel,
        kernel: :blur,
        inputs: [input_buf],
        output: blurred_buf,
        params: %{radius: 3, sigma: 1.5}
      })
      |> Dala.Gpu.Compute.pipeline_add(%{
        op: :run_kernel,
        kernel: :sharpen,
        inputs: [blurred_buf],
        output: sharpened_buf,
        params: %{amount: 0.5}
      })
      |> Dala.Gpu.Compute.pipeline_add(%{
        op: :run_kernel,
        kernel: :grayscale,
        inputs: [sharpened_buf],
        output: output_buf,
        params: %{}
      })

      assert Dala.Gpu.Compute.pipeline_run(pipeline) == :ok
      # In the middle of a side both blurs see one colour only.
      assert binary_part(Dala.Gpu.Compute.read(output_buf), 4 * 100, 4) == <<76, 76, 76, 255>>
      assert binary_part(Dala.Gpu.Compute.read(output_buf), 4 * 500, 4) == <<29, 29, 29, 255>>
    end

    test "end with softmax" do
      logits_buf = Dala.Gpu.Compute.buffer([1.0, 2.0, 3.0], {1, 3}, :f32)
      probs_buf = Dala.Gpu.Compute.buffer_zeros({1, 3}, :f32)

      pipeline = Dala.Gpu.Compute.pipeline()

      pipeline
      |> Dala.Gpu.Compute.pipeline_add(%{
        op: :run_kernel,
        kernel: :softmax,
        inputs: [logits_buf],
        output: probs_buf,
        params: %{}
      })

      assert Dala.Gpu.Compute.pipeline_run(pipeline) == :ok

      exponentials = Enum.map([1.0, 2.0, 3.0], &:math.exp/1)
      expected = Enum.map(exponentials, &(&1 / Enum.sum(exponentials)))
      assert_close(Dala.Gpu.Compute.read_list(probs_buf), expected)
    end

    test "new, add, run, stage_count and stages" do
      buffer = Dala.Gpu.Compute.buffer([-1.0], {1}, :f32)

      pipeline =
        Dala.Gpu.Compute.Pipeline.add(Dala.Gpu.Compute.Pipeline.new(), %{
          op: :run_kernel,
          kernel: :relu,
          inputs: [buffer],
          output: buffer,
          params: %{}
        })

      assert Dala.Gpu.Compute.Pipeline.stage_count(pipeline) == 1
      ref = buffer.ref

      assert Dala.Gpu.Compute.Pipeline.stages(pipeline) == [
               %{op: :run_kernel, kernel: :relu, inputs: [ref], output: ref, params: %{}}
             ]

      assert Dala.Gpu.Compute.Pipeline.run(pipeline) == :ok
      assert Dala.Gpu.Compute.read_list(buffer) == [0.0]
    end
  end

  # Red on the left, blue on the right.
  defp frame do
    row = :binary.copy(<<255, 0, 0, 255>>, 320) <> :binary.copy(<<0, 0, 255, 255>>, 320)
    :binary.copy(row, 480)
  end

  describe "filters" do
    test "on their own" do
      rgba_data = frame()
      blurred = Dala.Media.Gpu.blur(rgba_data, 640, 480, radius: 3, sigma: 1.5)
      assert byte_size(blurred) == byte_size(rgba_data)
      gray = Dala.Media.Gpu.grayscale(rgba_data, 640, 480)
      assert binary_part(gray, 0, 4) == <<76, 76, 76, 255>>
      bright = Dala.Media.Gpu.brightness(rgba_data, 640, 480, 0.2)
      assert binary_part(bright, 0, 4) == <<255, 51, 51, 255>>
      contrast = Dala.Media.Gpu.contrast(rgba_data, 640, 480, 0.3)
      assert binary_part(contrast, 0, 4) == <<255, 0, 0, 255>>
    end

    test "on frames" do
      rgba_data = frame()
      {:ok, ctx} = Dala.Media.Gpu.start_pipeline(640, 480)

      output =
        Dala.Media.Gpu.process_frame(ctx, rgba_data, [
          {:blur, %{radius: 3, sigma: 1.5}},
          {:sharpen, %{amount: 0.3}},
          {:brightness, %{value: 0.1}}
        ])

      assert binary_part(output, 0, 4) == <<255, 26, 26, 255>>
      assert Dala.Media.Gpu.stop_pipeline(ctx) == :ok
    end

    test "to a surface" do
      {:ok, surface} = Dala.Gpu.create_surface(640, 480)
      output_buf = Dala.Gpu.Compute.buffer_zeros({480, 640, 4}, :u8)

      assert Dala.Gpu.Compute.run_to_surface(:generate_gradient, [], output_buf, surface, %{}) ==
               :ok

      assert Dala.Gpu.Compute.run_kernel(:generate_gradient, [], output_buf, %{}) == :ok
      pixels = Dala.Gpu.Compute.read(output_buf)
      assert Dala.Gpu.set_pixels(surface, pixels) == :ok
      assert Dala.Gpu.present(surface) == :ok
      assert <<_red, _green, 128, 255, _rest::binary>> = Dala.Gpu.get_pixels(surface)
    end
  end

  describe "the Nx bridge" do
    unless Code.ensure_loaded?(Nx) do
      @describetag skip: "Nx is not on the code path (ERL_LIBS)"
    end

    @compile {:no_warn_undefined, [Nx]}

    test "from_nx/1" do
      tensor = Nx.tensor([1.0, 2.0, 3.0])
      buf = Dala.Gpu.Compute.from_nx(tensor)
      assert Dala.Gpu.Compute.read_list(buf) == [1.0, 2.0, 3.0]
    end

    test "to_nx/3" do
      buf = Dala.Gpu.Compute.buffer([1.0, 2.0, 3.0], {3}, :f32)
      tensor = Dala.Gpu.Compute.to_nx(buf, {3}, :f32)
      assert Nx.to_list(tensor) == [1.0, 2.0, 3.0]
    end

    test "a round trip with processing" do
      input = Nx.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
      buf = Dala.Gpu.Compute.from_nx(input)
      output_buf = Dala.Gpu.Compute.buffer_zeros({5}, :f32)
      assert Dala.Gpu.Compute.relu(buf, output_buf) == :ok
      result = Dala.Gpu.Compute.to_nx(output_buf, {5}, :f32)
      assert Nx.to_list(result) == [1.0, 2.0, 3.0, 4.0, 5.0]
    end
  end

  test "version/0 and gpu?/0" do
    assert Dala.Gpu.Compute.version() =~ ~r/^\d+\.\d+\.\d+/
    assert Dala.Gpu.Compute.gpu?() == Dala.Gpu.Compute.device_info().gpu
  end
end
