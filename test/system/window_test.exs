defmodule Dala.System.WindowTest do
  # A window on a virtual screen: what is seen there is what was drawn.
  use Dala.Test.GpuCase, async: true

  alias Dala.Gpu
  alias Dala.Test.{ChildVM, XScreen}

  cond do
    not Code.ensure_loaded?(:wx) -> @moduletag skip: "OTP's wx is not installed"
    System.find_executable("Xvfb") == nil -> @moduletag skip: "Xvfb is not installed"
    true -> :ok
  end

  # The expected pixels of these drawings, composited over black.
  defp expected(width, height, draw, {shown_width, shown_height}) do
    {:ok, surface} = Gpu.create_surface(width, height)
    draw.(surface)
    pixels = Compute.buffer_from_binary(Gpu.get_pixels(surface), {height, width, 4}, :u8)
    shown = zeros({shown_height, shown_width, 4}, :u8)
    :ok = Compute.run_kernel(:resize, [pixels], shown)

    rgb =
      for <<r, g, b, a <- Compute.read(shown)>>, channel <- [r, g, b], into: <<>> do
        <<div(channel * a + 127, 255)>>
      end

    {shown_width, shown_height, rgb}
  end

  defp assert_seen(screen, window, expected) do
    eventually(fn -> XScreen.screenshot(screen, window) == expected end)
  end

  test "shows frames, follows its size, and closes" do
    screen = XScreen.start()

    child =
      ChildVM.start(
        """
        alias Dala.Gpu
        {:ok, surface} = Gpu.create_surface(200, 150, display: :window, title: "dala window test")
        :ok = Gpu.clear(surface, {20, 40, 60})
        :ok = Gpu.fill_rect(surface, 30, 20, 100, 50, {250, 100, 0})
        :ok = Gpu.draw_line(surface, 0, 149, 199, 0, :white)
        :ok = Gpu.present(surface)

        receive do
          {:dala_gpu_window, ^surface, {:resized, 300, 200}} -> IO.puts("resized")
        after
          100_000 -> System.halt(2)
        end

        receive do
          {:dala_gpu_window, ^surface, {:resized, 310, 210}} -> IO.puts("resized again")
        after
          100_000 -> System.halt(2)
        end

        # A program may go along.
        :ok = Gpu.resize_surface(surface, 120, 80)
        :ok = Gpu.clear(surface, {200, 100, 50, 128})
        for i <- 1..50, do: (:ok = Gpu.fill_rect(surface, i, i, 1, 1, :red); :ok = Gpu.present(surface))

        receive do
          {:dala_gpu_window, ^surface, :closed} -> IO.puts("closed")
        after
          100_000 -> System.halt(3)
        end

        # The surface keeps running.
        :ok = Gpu.present(surface)
        120 = Gpu.width(surface)
        :ok = Gpu.destroy_surface(surface)
        IO.puts("done")
        """,
        env: [{"DISPLAY", screen.display}, {"WAYLAND_DISPLAY", nil}, {"GDK_BACKEND", "x11"}]
      )

    first = fn surface ->
      :ok = Gpu.clear(surface, {20, 40, 60})
      :ok = Gpu.fill_rect(surface, 30, 20, 100, 50, {250, 100, 0})
      :ok = Gpu.draw_line(surface, 0, 149, 199, 0, :white)
    end

    window = XScreen.await_window(screen, "dala window test")
    assert_seen(screen, window, expected(200, 150, first, {200, 150}))
    XScreen.resize(screen, window, 300, 200)
    assert_seen(screen, window, expected(200, 150, first, {300, 200}))
    XScreen.resize(screen, window, 310, 210)
    ChildVM.await_output(child, "resized again")

    second = fn surface ->
      :ok = Gpu.clear(surface, {200, 100, 50, 128})
      for i <- 1..50, do: :ok = Gpu.fill_rect(surface, i, i, 1, 1, :red)
    end

    assert_seen(screen, window, expected(120, 80, second, {120, 80}))
    XScreen.close(screen, window)
    assert {output, 0} = ChildVM.await_exit(child)
    assert output =~ "closed\ndone\n"
    refute XScreen.shown?(screen, "dala window test")
  end

  test "says what is missing" do
    program = """
    [text, after_that] = System.argv()
    if text =~ "install", do: true = :code.del_path(:wx)
    {:error, %{reason: :unsupported, message: message}} =
      Dala.Gpu.create_surface(8, 8, display: :window)
    true = String.contains?(message, text)
    {:ok, surface} = Dala.Gpu.create_surface(8, 8)
    :ok = Dala.Gpu.present(surface)
    IO.puts(after_that)
    """

    nowhere = [{"DISPLAY", ":987"}, {"WAYLAND_DISPLAY", nil}]

    for {text, env} <- [
          {"a window needs a display: neither DISPLAY nor WAYLAND_DISPLAY is set",
           [{"DISPLAY", nil}, {"WAYLAND_DISPLAY", nil}]},
          {"a window needs OTP's wx, which is not installed: install erlang-wx", nowhere},
          {"a window needs a display: cannot connect to DISPLAY=:987", nowhere}
        ] do
      path = Path.join(scratch_dir("window"), "program.exs")
      File.write!(path, program)

      assert {output, 0} =
               ChildVM.run_program("elixir", ["-pa", ChildVM.ebin(), path, text, "goes on"],
                 env: env
               )

      assert output =~ "goes on\n"
    end
  end
end
