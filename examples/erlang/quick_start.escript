#!/usr/bin/env escript
%% A tour from Erlang: run `mix compile' once, then `escript examples/erlang/quick_start.escript'.
%% The argument is the folder for the picture that it writes, the temporary folder by default.

main(Arguments) ->
    add_paths(),
    {ok, _Started} = application:ensure_all_started(dala_gpu),
    {ok, #{name := Device}} = dala_gpu:device_info(),
    io:format("Device: ~ts~n", [Device]),
    numbers(),
    kernels(),
    commands(),
    pipelines(),
    pictures(folder(Arguments)),
    models(),
    errors().

%% The library is an Elixir application: its own modules, which Mix puts below _build, and those of
%% Elixir have to be in the code path. ERL_LIBS can name both folders instead; see README.md.
add_paths() ->
    case code:which(dala_gpu) of
        non_existing ->
            ok = code:add_pathsa(built() ++ elixir());
        _Found ->
            ok
    end.

built() ->
    Root = filename:absname(filename:join([filename:dirname(escript:script_name()), "..", ".."])),
    case filelib:wildcard(filename:join(Root, "_build/{prod,dev}/lib/dala_gpu/ebin")) of
        [] -> stop("The library is not built: run `mix compile' in ~ts~n", [Root]);
        Folders -> [lists:last(Folders)]
    end.

elixir() ->
    Script = "IO.write(Path.dirname(to_string(:code.lib_dir(:elixir))))",
    case os:find_executable("elixir") of
        false ->
            stop("elixir is not in the PATH~n", []);
        _Path ->
            Folder = os:cmd("elixir -e '" ++ Script ++ "'"),
            filelib:wildcard(filename:join(Folder, "{elixir,logger}/ebin"))
    end.

folder([Folder]) -> Folder;
folder([]) -> os:getenv("TMPDIR", "/tmp").

%% Buffers are numbers on the device; kernels work on them.
numbers() ->
    {ok, A} = dala_gpu:buffer([1.0, 2.0, 3.0], {3}),
    {ok, B} = dala_gpu:buffer([4.0, 5.0, 6.0], {3}),
    {ok, C} = dala_gpu:buffer_zeros({3}),
    ok = dala_gpu:add(A, B, C),
    {ok, Sums} = dala_gpu:read_list(C),
    io:format("Sums: ~w~n", [Sums]),
    ok = dala_gpu:free_many([A, B, C]).

%% One formula per element is a kernel of one line.
kernels() ->
    ok = dala_gpu:elementwise_kernel(lerp, "x + (y - x) * t", #{inputs => 2, params => [t]}),
    {ok, A} = dala_gpu:buffer([0, 10], {2}),
    {ok, B} = dala_gpu:buffer([1, 20], {2}),
    ok = dala_gpu:run_kernel(lerp, [A, B], A, #{t => 0.5}),
    {ok, Between} = dala_gpu:read_list(A),
    io:format("Between: ~w~n", [Between]).

%% A command is submitted now; a message tells when it is done.
commands() ->
    {ok, A} = dala_gpu:buffer([1, 2], {2}),
    Command = #{op => run_kernel, kernel => neg, inputs => [A], output => A},
    {ok, Id} = dala_gpu:submit(Command, #{notify => self()}),
    receive
        {dala_gpu, Id, Result} -> io:format("Command: ~w~n", [dala_gpu:result(Result)])
    after 60000 ->
        stop("the command did not end~n", [])
    end.

%% Several kernels as one command; these three run as one kernel.
pipelines() ->
    {ok, A} = dala_gpu:buffer([1.0, 4.0, -9.0], {3}),
    {ok, Pipeline} = dala_gpu:pipeline(),
    [{ok, _} = dala_gpu:pipeline_run_kernel(Pipeline, Kernel, [A], A)
     || Kernel <- [abs, sqrt, neg]],
    ok = dala_gpu:pipeline_run(Pipeline),
    {ok, Roots} = dala_gpu:read_list(A),
    io:format("Roots: ~w~n", [Roots]),
    ok = dala_gpu:free_pipeline(Pipeline).

%% A chain of filters on a frame of video.
pictures(Folder) ->
    {Width, Height} = {640, 480},
    {ok, Frame} = dala_media:test_frame(Width, Height, #{time => 1.5}),
    {ok, Stream} = dala_media:start_pipeline(Width, Height),
    Filters = [{blur, #{radius => 2}}, {sepia, #{intensity => 0.9}}, vignette],
    {ok, Filtered} = dala_media:process_frame(Stream, Frame, Filters),
    ok = dala_media:stop_pipeline(Stream),
    {ok, Image} = dala_media:new_image(Width, Height, Filtered),
    Path = filename:join(Folder, "dala_erlang.png"),
    ok = dala_media:write_image(Image, Path),
    io:format("Picture: ~ts~n", [Path]).

models() ->
    Path = filename:join([filename:dirname(escript:script_name()), "..", "double.onnx"]),
    {ok, Model} = dala_ml:load_model(Path),
    {ok, Input} = dala_gpu:buffer([1, 2, 3], {1, 3}),
    {ok, Output} = dala_ml:predict(Model, Input),
    {ok, Doubled} = dala_gpu:read_list(Output),
    io:format("Model: ~w~n", [Doubled]),
    ok = dala_ml:free_model(Model).

errors() ->
    {ok, A} = dala_gpu:buffer_zeros({3}),
    {error, {Reason, Message}} = dala_gpu:run_kernel(relu, [A], A, #{slop => 0.1}),
    io:format("Error: ~w: ~ts~n", [Reason, Message]).

-spec stop(string(), [term()]) -> no_return().
stop(Format, Arguments) ->
    io:format(standard_error, Format, Arguments),
    halt(1).
