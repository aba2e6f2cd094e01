defmodule Dala.System.ErlangTest do
  use Dala.Test.GpuCase, async: true

  alias Dala.Test.ChildVM

  test "the Elixir modules from Erlang" do
    program = """
    Compute = 'Elixir.Dala.Gpu.Compute',
    A = Compute:buffer([1.0, 2.0, 3.0], {3}, f32),
    B = Compute:buffer([4, 5, 6], {3}),
    C = Compute:buffer_zeros({3}, f32),
    ok = Compute:add(A, B, C),
    [5.0, 7.0, 9.0] = Compute:read_list(C),
    <<5.0:32/float-native, _/binary>> = Compute:read(C),
    ok = Compute:run_kernel(relu, [C], C, \#{slope => 0.5}),
    ok = Compute:run_kernel(<<"scalar_mul">>, [C], C, [{scalar, 2}]),
    Id = Compute:submit(\#{op => run_kernel, kernel => neg, inputs => [C], output => C}, [{notify, self()}]),
    receive {dala_gpu, Id, ok} -> ok after 30000 -> halt(2) end,
    completed = Compute:poll(Id),
    ok = Compute:wait(Id),
    [-10.0, -14.0, -18.0] = Compute:read_list(C),
    {error, \#{reason := unknown_kernel}} = Compute:run_kernel(nope, [], C),
    \#{name := Name} = Compute:device_info(),
    true = is_binary(Name),
    ok = Compute:free_many([A, B, C]),
    Gpu = 'Elixir.Dala.Gpu',
    {ok, Surface} = Gpu:create_surface(2, 1),
    ok = Gpu:clear(Surface, black),
    ok = Gpu:fill_rect(Surface, 1, 0, 1, 1, {1, 2, 3}),
    ok = Gpu:subscribe(Surface),
    ok = Gpu:present(Surface),
    receive {dala_gpu_frame, Surface, 1} -> ok after 30000 -> halt(3) end,
    <<0, 0, 0, 255, 1, 2, 3, 255>> = Gpu:get_pixels(Surface),
    {error, \#{reason := shape_mismatch}} = Gpu:set_pixels(Surface, <<1>>),
    ok = Gpu:destroy_surface(Surface),
    io:format("ok~n"),
    halt(0).
    """

    elixir = to_string(:code.lib_dir(:elixir, :ebin))
    args = ["-noshell", "-pa", elixir, ChildVM.ebin(), "-eval", program]
    assert ChildVM.run_program("erl", args) == {"ok\n", 0}
  end

  describe "the example" do
    defp example(root, libs) do
      folder = scratch_dir("erlang_pictures")
      script = Path.join(root, "examples/erlang/quick_start.escript")
      env = [{"ERL_LIBS", libs}]
      {folder, ChildVM.run_program("escript", [script, folder], env: env)}
    end

    # A source tree of its own, with nothing built in it.
    defp source_tree do
      root = scratch_dir("erlang")
      File.cp_r!("examples", Path.join(root, "examples"))
      root
    end

    test "finds the library and Elixir by itself" do
      root = source_tree()
      File.mkdir_p!(Path.join(root, "_build/prod/lib"))
      File.ln_s!(Mix.Project.app_path(), Path.join(root, "_build/prod/lib/dala_gpu"))
      {_folder, {output, status}} = example(root, nil)
      assert status == 0, output
      assert output =~ "Sums: [5.0,7.0,9.0]"
    end

    test "says what to do when the library is not built" do
      root = source_tree()
      {_folder, {output, status}} = example(root, nil)
      assert status == 1
      assert output =~ "The library is not built: run `mix compile' in #{root}"
    end

    test "runs with the folders in ERL_LIBS" do
      libs = [Path.dirname(Mix.Project.app_path()), Path.dirname(:code.lib_dir(:elixir))]
      {folder, {output, status}} = example(File.cwd!(), Enum.join(libs, ":"))
      assert status == 0, output
      assert ["Device: " <> _name | results] = String.split(output, "\n", trim: true)

      assert results == [
               "Sums: [5.0,7.0,9.0]",
               "Between: [0.5,15.0]",
               "Command: ok",
               "Roots: [-1.0,-2.0,-3.0]",
               "Picture: #{folder}/dala_erlang.png",
               "Model: [2.0,4.0,6.0]",
               "Error: unknown_param: relu has no parameter slop; it takes slope"
             ]

      {:ok, image} = Dala.Media.Image.read(Path.join(folder, "dala_erlang.png"))
      assert {image.width, image.height} == {640, 480}
    end
  end
end
