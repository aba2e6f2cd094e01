%% Small pictures of all image files of a folder on one sheet, each with its name below.
-module(contact_sheet).

-export([main/1, read_all/1, sheet/2]).

-type picture() :: {Name :: unicode:unicode_binary(), Image :: map()}.

-define(CELL_WIDTH, 180).
-define(CELL_HEIGHT, 160).
-define(PICTURE, 160).
-define(MARGIN, 10).

%% @doc The program: `contact_sheet Folder Output'.
-spec main([string()]) -> no_return().
main([Folder, Output]) ->
    {ok, _Started} = application:ensure_all_started(dala_gpu),
    {Pictures, Failures} = read_all(Folder),
    [io:format(standard_error, "~ts: ~ts~n", [Name, Message])
     || {Name, {_Reason, Message}} <- Failures],
    case Pictures of
        [] ->
            stop("there are no pictures in ~ts~n", [Folder]);
        _ ->
            {ok, Sheet} = sheet(Pictures, #{columns => 4}),
            case dala_media:write_image(Sheet, Output) of
                ok ->
                    io:format("~b pictures: ~ts~n", [length(Pictures), Output]),
                    halt(0);
                {error, {_Reason, Message}} ->
                    stop("~ts~n", [Message])
            end
    end;
main(_Arguments) ->
    stop("usage: contact_sheet Folder Output~n", []).

%% @doc Reads the image files of a folder, each in a process of its own: no call blocks a scheduler,
%% so files are decoded side by side.
-spec read_all(file:filename()) -> {[picture()], [{unicode:unicode_binary(), {atom(), binary()}}]}.
read_all(Folder) ->
    Files = lists:sort(filelib:wildcard(filename:join(Folder, "*.{png,jpg,jpeg,bmp}"))),
    Readers = [{name(File), spawn_monitor(fun() -> exit({read, small(File)}) end)} || File <- Files],
    Results = [{Name, collect(Reader)} || {Name, Reader} <- Readers],
    {[{Name, Image} || {Name, {ok, Image}} <- Results],
     [{Name, Reason} || {Name, {error, Reason}} <- Results]}.

%% @doc The sheet. Options: `columns', 4 by default.
-spec sheet([picture()], #{columns => pos_integer()}) -> {ok, map()} | {error, {atom(), binary()}}.
sheet(Pictures, Options) ->
    Columns = min(maps:get(columns, Options, 4), length(Pictures)),
    Rows = (length(Pictures) + Columns - 1) div Columns,
    {ok, Paper} = dala_media:new_image(Columns * ?CELL_WIDTH, Rows * ?CELL_HEIGHT, white),
    place(Pictures, 0, Columns, {ok, Paper}).

place([{Name, Picture} | Rest], Index, Columns, {ok, Sheet}) ->
    #{width := Width, height := Height} = Picture,
    X = Index rem Columns * ?CELL_WIDTH + (?CELL_WIDTH - Width) div 2,
    Y = Index div Columns * ?CELL_HEIGHT + ?MARGIN,
    Overlay = #{image => Picture, x => X, y => Y},
    case dala_media:apply_filter(Sheet, overlay, Overlay) of
        {ok, Placed} ->
            Text = {text, Name, {X, Y + Height + 2}, #{color => black}},
            place(Rest, Index + 1, Columns, dala_media:draw(Placed, [Text]));
        {error, Reason} ->
            {error, Reason}
    end;
place(_Pictures, _Index, _Columns, Result) ->
    Result.

small(File) ->
    case dala_media:read_image(File) of
        {ok, Image} -> dala_media:thumbnail(Image, {?PICTURE, ?PICTURE - 40});
        {error, Reason} -> {error, Reason}
    end.

collect({Pid, Monitor}) ->
    receive
        {'DOWN', Monitor, process, Pid, {read, Result}} -> Result;
        {'DOWN', Monitor, process, Pid, Crash} -> {error, {crashed, format(Crash)}}
    end.

format(Term) -> unicode:characters_to_binary(io_lib:format("~tp", [Term])).

name(File) -> unicode:characters_to_binary(filename:rootname(filename:basename(File))).

-spec stop(string(), [term()]) -> no_return().
stop(Format, Arguments) ->
    io:format(standard_error, Format, Arguments),
    halt(1).
