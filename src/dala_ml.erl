%% @doc Models from Erlang: loading ONNX, TFLite and TF.js files, predicting, and tasks on pictures.
%%
%% ```
%% {ok, Model} = dala_ml:load_model("examples/double.onnx"),
%% {ok, Input} = dala_gpu:buffer([1, 2, 3], {1, 3}),
%% {ok, Output} = dala_ml:predict(Model, Input),
%% {ok, [2.0, 4.0, 6.0]} = dala_gpu:read_list(Output).
%% '''
%%
%% The functions are those of the Elixir modules `Dala.ML.Gpu' and `Dala.ML', and the most used ones
%% of `Dala.ML.Models' and `Dala.ML.Annotation'; their documentation says more about each.
%% {@link dala_gpu} tells the conventions.
-module(dala_ml).

%% Models
-export([load_model/1, load_model/2, model_info/1, predict/2, predict/3, predict_async/2,
         predict_async/3, new_state/1, new_state/2, reset_state/1, state_values/1, await/1, await/2,
         yield/2, free_model/1, top_k/1, top_k/2, available_models/0]).
%% Tasks
-export([preprocess/1, preprocess/2, geometry/1, geometry/2, classify/2, classify/3, detect/2,
         detect/3, faces/2, faces/3, pose/2, pose/3, segment/2, segment/3, draw/2, draw/3]).
%% Installing models
-export([list_models/0, list_models/1, install_model/1, install_model/2, import_model/2,
         import_model/3, remove_model/1, remove_model/2]).

-export_type([model/0, state/0, prediction/0, input/0, output/0, picture/0]).

-define(GPU, 'Elixir.Dala.ML.Gpu').
-define(STATE, 'Elixir.Dala.ML.Gpu.State').
-define(ML, 'Elixir.Dala.ML').
-define(MODELS, 'Elixir.Dala.ML.Models').
-define(ANNOTATION, 'Elixir.Dala.ML.Annotation').

-type model() :: 'Elixir.Dala.ML.Gpu.Model':t().
-type state() :: 'Elixir.Dala.ML.Gpu.State':t().
-type prediction() :: 'Elixir.Dala.ML.Gpu.Prediction':t().

-type input() ::
    dala_gpu:buffer() | [dala_gpu:buffer()] | #{binary() | atom() => dala_gpu:buffer()}.
%% One buffer, a list of them in the order of the model's inputs, or a map of them by name.

-type output() :: dala_gpu:buffer() | #{binary() => dala_gpu:buffer()}.
%% The buffer of a model with one output, or a map of the outputs by name.

-type picture() ::
    dala_media:image() | {binary(), pos_integer(), pos_integer()} | dala_gpu:buffer() | binary().
%% An image, `{Rgba, Width, Height}', a buffer of shape `{H, W, C}', or a binary with the option
%% `from'.

%% Models

%% @equiv load_model(Source, #{})
-spec load_model(atom() | file:name_all() | {binary, binary()}) ->
    {ok, model()} | dala_gpu:error().
load_model(Source) -> load_model(Source, #{}).

%% @doc Loads a model: one of {@link available_models/0}, the path of a file, or `{binary, Bytes}'.
%%
%% ```
%% {error, {model_not_found, _Message}} = dala_ml:load_model("no/such/model.onnx"),
%% {ok, _Model} = dala_ml:load_model("examples/double.onnx", #{shapes => {16, 3}}).
%% '''
-spec load_model(atom() | file:name_all() | {binary, binary()},
                 #{models_dir => file:name_all(),
                   as => atom() | binary(),
                   shapes => tuple() | [tuple()] | #{binary() | atom() => tuple()}}) ->
    {ok, model()} | dala_gpu:error().
load_model(Source, Options) ->
    dala_call:result(fun() -> ?GPU:load_model(dala_call:text(Source), options(Options)) end).

%% @doc Tells what a model takes and gives, and how large it is.
-spec model_info(model()) -> {ok, map()} | dala_gpu:error().
model_info(Model) -> dala_call:value(fun() -> ?GPU:model_info(Model) end).

%% @equiv predict(Model, Input, #{})
-spec predict(model(), input()) -> {ok, output()} | dala_gpu:error().
predict(Model, Input) ->
    dala_call:result(fun() -> ?GPU:predict(Model, Input, []) end).

%% @doc Runs a model and gives its output, or a map of its outputs by name when there are several.
%% With `profile => true' the result is `{ok, Output, Layers}'; with `state => State' the model reads
%% and updates a state of {@link new_state/2}.
-spec predict(model(), input(), #{profile => boolean(), state => state()}) ->
    {ok, output()} | {ok, output(), [map()]} | dala_gpu:error().
predict(Model, Input, Options) ->
    dala_call:result(fun() -> ?GPU:predict(Model, Input, dala_call:options(Options)) end).

%% @doc Starts a prediction and returns at once; {@link await/2} gives its result.
%%
%% ```
%% {ok, Model} = dala_ml:load_model("examples/double.onnx"),
%% {ok, Input} = dala_gpu:buffer([1, 2, 3], {1, 3}),
%% {ok, Prediction} = dala_ml:predict_async(Model, Input),
%% {ok, Output} = dala_ml:await(Prediction, 60000),
%% {ok, [2.0, 4.0, 6.0]} = dala_gpu:read_list(Output).
%% '''
-spec predict_async(model(), input()) -> {ok, prediction()} | dala_gpu:error().
predict_async(Model, Input) -> predict_async(Model, Input, #{}).

%% @doc The same with the option `state'.
-spec predict_async(model(), input(), #{state => state()}) ->
    {ok, prediction()} | dala_gpu:error().
predict_async(Model, Input, Options) ->
    dala_call:result(fun() -> ?GPU:predict_async(Model, Input, dala_call:options(Options)) end).

%% @equiv new_state(Model, #{})
-spec new_state(model()) -> {ok, state()} | dala_gpu:error().
new_state(Model) -> new_state(Model, #{}).

%% @doc Gives a new state of a model, which keeps the variables of a TFLite file, or the outputs that
%% `state' pairs with inputs, from one prediction to the next; `initial' are the first values.
%%
%% ```
%% {ok, Model} = dala_ml:load_model("examples/double.onnx"),
%% {ok, First} = dala_gpu:buffer([1, 2, 3], {1, 3}),
%% {ok, State} = dala_ml:new_state(Model, #{state => #{<<"y">> => <<"x">>},
%%                                          initial => #{<<"x">> => First}}),
%% {ok, #{}} = dala_ml:predict(Model, [], #{state => State}),
%% {ok, #{<<"x">> := Next}} = dala_ml:state_values(State),
%% {ok, [2.0, 4.0, 6.0]} = dala_gpu:read_list(Next).
%% '''
-spec new_state(model(), #{state => #{binary() | atom() => binary() | atom()},
                           initial => #{binary() | atom() => dala_gpu:buffer()}}) ->
    {ok, state()} | dala_gpu:error().
new_state(Model, Options) ->
    dala_call:result(fun() -> ?GPU:new_state(Model, dala_call:options(Options)) end).

%% @doc Sets a state back to its first values.
-spec reset_state(state()) -> ok | dala_gpu:error().
reset_state(State) -> dala_call:result(fun() -> ?STATE:reset(State) end).

%% @doc Gives the present values of a state by the names of their inputs.
-spec state_values(state()) -> {ok, #{binary() => dala_gpu:buffer()}} | dala_gpu:error().
state_values(State) -> dala_call:result(fun() -> ?STATE:values(State) end).

%% @equiv await(Prediction, infinity)
-spec await(prediction()) -> {ok, output()} | dala_gpu:error().
await(Prediction) -> await(Prediction, infinity).

%% @doc Waits for a prediction that this process started; when the time runs out, it is given up.
-spec await(prediction(), timeout()) -> {ok, output()} | dala_gpu:error().
await(Prediction, Timeout) -> dala_call:result(fun() -> ?GPU:await(Prediction, Timeout) end).

%% @doc Waits for a prediction as {@link await/2} does, but gives `nil' when the time runs out; the
%% prediction goes on.
-spec yield(prediction(), timeout()) -> {ok, output()} | nil | dala_gpu:error().
yield(Prediction, Timeout) -> dala_call:result(fun() -> ?GPU:yield(Prediction, Timeout) end).

%% @doc Gives the memory of a model back.
-spec free_model(model()) -> ok | dala_gpu:error().
free_model(Model) -> dala_call:result(fun() -> ?GPU:free_model(Model) end).

%% @equiv top_k(Output, #{})
-spec top_k(dala_gpu:buffer()) -> {ok, list()} | dala_gpu:error().
top_k(Output) -> top_k(Output, #{}).

%% @doc Gives the highest scores of an output with their places or `labels', highest first.
%%
%% ```
%% {ok, Output} = dala_gpu:buffer([0.5, 0.25, 0.125], {1, 3}),
%% {ok, [{0.5, 0}, {0.25, 1}]} = dala_ml:top_k(Output, #{k => 2}).
%% '''
-spec top_k(dala_gpu:buffer(), #{k => pos_integer(), labels => [binary()]}) ->
    {ok, list()} | dala_gpu:error().
top_k(Output, Options) ->
    dala_call:value(fun() -> ?GPU:top_k(Output, dala_call:options(Options)) end).

%% @doc Lists the models that have a name.
-spec available_models() -> [atom()].
available_models() -> ?GPU:available_models().

%% Tasks

%% @equiv preprocess(Picture, #{})
-spec preprocess(picture() | [picture()]) -> {ok, dala_gpu:buffer()} | dala_gpu:error().
preprocess(Picture) -> preprocess(Picture, #{}).

%% @doc Makes the input of a model from a picture, or from several, with the options of
%% `Dala.ML.preprocess/2'.
%%
%% ```
%% {ok, Image} = dala_media:new_image(640, 480, black),
%% {ok, Input} = dala_ml:preprocess(Image, #{size => {224, 224}, normalize => signed_unit}),
%% {1, 3, 224, 224} = dala_gpu:shape(Input).
%% '''
-spec preprocess(picture() | [picture()], map()) -> {ok, dala_gpu:buffer()} | dala_gpu:error().
preprocess(Picture, Options) ->
    dala_call:value(fun() -> ?ML:preprocess(Picture, dala_call:options(Options)) end).

%% @equiv geometry(Picture, #{})
-spec geometry(picture() | [picture()]) -> {ok, map() | [map()]} | dala_gpu:error().
geometry(Picture) -> geometry(Picture, #{}).

%% @doc Tells which part of a picture {@link preprocess/2} puts where, given the same options.
-spec geometry(picture() | [picture()], map()) -> {ok, map() | [map()]} | dala_gpu:error().
geometry(Picture, Options) ->
    dala_call:value(fun() -> ?ML:geometry(Picture, dala_call:options(Options)) end).

%% @equiv classify(Model, Picture, #{})
-spec classify(model(), picture() | [picture()]) -> {ok, list()} | dala_gpu:error().
classify(Model, Picture) -> classify(Model, Picture, #{}).

%% @doc Tells what a picture shows: the classes, the likeliest first. Given a list of pictures, this
%% task and the others give a list of results.
-spec classify(model(), picture() | [picture()], map()) -> {ok, list()} | dala_gpu:error().
classify(Model, Picture, Options) ->
    dala_call:result(fun() -> ?ML:classify(Model, Picture, dala_call:options(Options)) end).

%% @equiv detect(Model, Picture, #{})
-spec detect(model(), picture() | [picture()]) -> {ok, list()} | dala_gpu:error().
detect(Model, Picture) -> detect(Model, Picture, #{}).

%% @doc Finds things in a picture: boxes with labels and scores, the surest first.
-spec detect(model(), picture() | [picture()], map()) -> {ok, list()} | dala_gpu:error().
detect(Model, Picture, Options) ->
    dala_call:result(fun() -> ?ML:detect(Model, Picture, dala_call:options(Options)) end).

%% @equiv faces(Model, Picture, #{})
-spec faces(model(), picture() | [picture()]) -> {ok, list()} | dala_gpu:error().
faces(Model, Picture) -> faces(Model, Picture, #{}).

%% @doc Finds faces in a picture, the surest first.
-spec faces(model(), picture() | [picture()], map()) -> {ok, list()} | dala_gpu:error().
faces(Model, Picture, Options) ->
    dala_call:result(fun() -> ?ML:faces(Model, Picture, dala_call:options(Options)) end).

%% @equiv pose(Model, Picture, #{})
-spec pose(model(), picture() | [picture()]) -> {ok, map() | list()} | dala_gpu:error().
pose(Model, Picture) -> pose(Model, Picture, #{}).

%% @doc Finds 17 keypoints of a person in a picture; with `mode => multi', those of several people.
-spec pose(model(), picture() | [picture()], map()) -> {ok, map() | list()} | dala_gpu:error().
pose(Model, Picture, Options) ->
    dala_call:result(fun() -> ?ML:pose(Model, Picture, dala_call:options(Options)) end).

%% @equiv segment(Model, Picture, #{})
-spec segment(model(), picture() | [picture()]) -> {ok, map() | [map()]} | dala_gpu:error().
segment(Model, Picture) -> segment(Model, Picture, #{}).

%% @doc Says of every pixel of a picture which class it is.
-spec segment(model(), picture() | [picture()], map()) -> {ok, map() | [map()]} | dala_gpu:error().
segment(Model, Picture, Options) ->
    dala_call:result(fun() -> ?ML:segment(Model, Picture, dala_call:options(Options)) end).

%% @equiv draw(Image, Result, #{})
-spec draw(dala_media:image(), map() | [map()]) -> {ok, dala_media:image()} | dala_gpu:error().
draw(Image, Result) -> draw(Image, Result, #{}).

%% @doc Gives the image with the result of a task drawn onto it.
%%
%% ```
%% {ok, White} = dala_media:new_image(64, 48, white),
%% Found = [#{label => <<"cat">>, score => 0.9, box => {10.0, 20.0, 30.0, 20.0}}],
%% {ok, #{width := 64}} = dala_ml:draw(White, Found).
%% '''
-spec draw(dala_media:image(), map() | [map()], #{threshold => number(), alpha => number()}) ->
    {ok, dala_media:image()} | dala_gpu:error().
draw(Image, Result, Options) ->
    dala_call:value(fun() -> ?ANNOTATION:draw(Image, Result, dala_call:options(Options)) end).

%% Installing models

%% @equiv list_models(#{})
-spec list_models() -> {ok, [map()]} | dala_gpu:error().
list_models() -> list_models(#{}).

%% @doc Lists the models that have a name: task, size, licence, and whether they are installed.
-spec list_models(#{models_dir => file:name_all()}) -> {ok, [map()]} | dala_gpu:error().
list_models(Options) -> dala_call:value(fun() -> ?MODELS:list(options(Options)) end).

%% @equiv install_model(Name, #{})
-spec install_model(atom() | binary()) -> {ok, binary()} | dala_gpu:error().
install_model(Name) -> install_model(Name, #{}).

%% @doc Installs a model, with the options of `Dala.ML.Models.install/2', and gives its folder.
-spec install_model(atom() | binary(), map()) -> {ok, binary()} | dala_gpu:error().
install_model(Name, Options) ->
    dala_call:result(fun() -> ?MODELS:install(Name, options(Options)) end).

%% @equiv import_model(Path, Name, #{})
-spec import_model(file:name_all(), atom() | binary()) -> {ok, binary()} | dala_gpu:error().
import_model(Path, Name) -> import_model(Path, Name, #{}).

%% @doc Installs a file of yours as the model of that name, with the options of
%% `Dala.ML.Models.import_file/3'.
-spec import_model(file:name_all(), atom() | binary(), map()) ->
    {ok, binary()} | dala_gpu:error().
import_model(Path, Name, Options) ->
    dala_call:result(fun() ->
        ?MODELS:import_file(dala_call:text(Path), Name, options(Options))
    end).

%% @equiv remove_model(Name, #{})
-spec remove_model(atom() | binary()) -> {ok, removed | not_installed} | dala_gpu:error().
remove_model(Name) -> remove_model(Name, #{}).

%% @doc Removes an installed model.
-spec remove_model(atom() | binary(), #{models_dir => file:name_all()}) ->
    {ok, removed | not_installed} | dala_gpu:error().
remove_model(Name, Options) ->
    dala_call:result(fun() -> ?MODELS:remove(Name, options(Options)) end).

%% Folders may be strings.
options(#{models_dir := Folder} = Options) ->
    dala_call:options(Options#{models_dir := dala_call:text(Folder)});
options(Options) ->
    dala_call:options(Options).
