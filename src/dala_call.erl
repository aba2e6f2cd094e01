%% @private @doc Calls of the Elixir modules, with the conventions of Erlang: options as maps, paths
%% and names as strings, and errors as `{error, {Reason, Message}}'.
-module(dala_call).

-export([value/1, result/1, bare/1, convert/1, options/1, text/1]).

-export_type([error/0]).

-type error() :: {error, {Reason :: atom(), Message :: binary()}}.

-define(ERROR, 'Elixir.Dala.Gpu.Compute.Error').

%% @doc Calls a function that returns a bare value, or raises.
-spec value(fun(() -> Value)) -> {ok, Value} | error().
value(Fun) -> run(Fun, fun(Value) -> {ok, Value} end).

%% @doc Calls a function that returns a result: its errors are converted.
-spec result(fun(() -> Result)) -> Result | error().
result(Fun) -> run(Fun, fun convert/1).

%% @doc Calls a function that fails only for malformed arguments.
-spec bare(fun(() -> Value)) -> Value.
bare(Fun) -> run(Fun, fun(Value) -> Value end).

%% Arguments that are malformed are mistakes of the program, as they are for the functions of OTP.
run(Fun, Return) ->
    try Fun() of
        Value -> Return(Value)
    catch
        error:#{'__struct__' := ?ERROR, reason := Reason, message := Message} ->
            {error, {Reason, Message}};
        error:#{'__struct__' := 'Elixir.ArgumentError', message := Message}:Stacktrace ->
            erlang:raise(error, {badarg, Message}, Stacktrace)
    end.

%% @doc Converts the error in a result, if there is one.
-spec convert(term()) -> term().
convert({error, #{'__struct__' := ?ERROR, reason := Reason, message := Message}}) ->
    {error, {Reason, Message}};
convert(Result) ->
    Result.

%% @doc Gives options as the Elixir functions take them.
-spec options(map()) -> [{atom(), term()}].
options(Options) when is_map(Options) ->
    maps:to_list(Options);
options(Other) ->
    Message = io_lib:format("expected options as a map, got: ~0tP", [Other, 12]),
    error({badarg, unicode:characters_to_binary(Message)}).

%% @doc Gives a string as a binary, and leaves everything else as it is.
-spec text(term()) -> term().
text([_ | _] = String) ->
    case unicode:characters_to_binary(String) of
        Binary when is_binary(Binary) -> Binary;
        _Error -> String
    end;
text(Other) ->
    Other.
