defmodule Dala.System.ErlangTest do
  use ExUnit.Case, async: true

  alias Dala.Test.ChildVM

  test "the library from Erlang" do
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
end
