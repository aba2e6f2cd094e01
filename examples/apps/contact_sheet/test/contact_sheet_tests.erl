-module(contact_sheet_tests).

-include_lib("eunit/include/eunit.hrl").

sheet_test_() ->
    {setup, fun start/0, fun file:del_dir_r/1, fun(Folder) -> {timeout, 120, ?_test(check(Folder))} end}.

start() ->
    {ok, _Started} = application:ensure_all_started(dala_gpu),
    Folder = filename:join(os:getenv("TMPDIR", "/tmp"), "contact_sheet_" ++ os:getpid()),
    ok = filelib:ensure_dir(filename:join(Folder, "x")),
    Folder.

check(Folder) ->
    [begin
         {ok, Image} = dala_media:new_image(320, 240, Color),
         ok = dala_media:write_image(Image, filename:join(Folder, Name))
     end || {Name, Color} <- [{"a.png", red}, {"b.jpg", blue}, {"c.png", green}]],
    ok = file:write_file(filename:join(Folder, "broken.png"), <<"no image">>),
    {Pictures, Failures} = contact_sheet:read_all(Folder),
    ?assertMatch([{<<"a">>, #{width := 160, height := 120}}, {<<"b">>, _}, {<<"c">>, _}], Pictures),
    ?assertMatch([{<<"broken">>, {unsupported, _}}], Failures),

    %% Three pictures in two columns are two rows.
    {ok, Sheet} = contact_sheet:sheet(Pictures, #{columns => 2}),
    ?assertMatch(#{width := 360, height := 320}, Sheet),
    ?assertEqual(<<255, 0, 0, 255>>, pixel(Sheet, 90, 60)),
    ?assertEqual(<<255, 255, 255, 255>>, pixel(Sheet, 2, 2)),
    %% A name is ink below its picture.
    Ink = [X || X <- lists:seq(10, 30), Y <- lists:seq(132, 146), pixel(Sheet, X, Y) =:= <<0, 0, 0, 255>>],
    ?assert(length(Ink) > 5).

pixel(#{width := Width, data := Data}, X, Y) -> binary:part(Data, 4 * (Y * Width + X), 4).
