%% @doc Pictures and video from Erlang: filters on the device, streams of frames, picture files.
%%
%% ```
%% {ok, Image} = dala_media:new_image(2, 1, <<255, 0, 0, 255, 0, 0, 255, 255>>),
%% #{width := 2, height := 1, data := Rgba} = Image,
%% {ok, Gray} = dala_media:apply_filter(Rgba, 2, 1, grayscale),
%% <<76, 76, 76, 255, 29, 29, 29, 255>> = Gray.
%% '''
%%
%% The functions are those of the Elixir modules `Dala.Media.Gpu' and `Dala.Media.Image' (whose
%% names have `_image' here), and `Dala.Media.Lut' (`_lut'); their documentation says more about
%% each. The guide "Filters" has the filters with their parameters. {@link dala_gpu} tells the
%% conventions.
%%
%% A picture is an image, a map with the keys `width', `height' and `data'; a frame is a binary of
%% RGBA pixels. The functions that Elixir has for each filter of an image are {@link apply_filter/3}
%% here. A filter is its name, or `{Name, Params}' with a map of parameters.
-module(dala_media).

%% Single pictures
-export([apply_filters/2, apply_filter/2, apply_filter/3, apply_filter/4, apply_filter/5, blur/3,
         blur/4, sharpen/3, sharpen/4, grayscale/3, brightness/4, contrast/4, saturation/4]).
%% Streams
-export([start_pipeline/2, start_pipeline/3, process_frame/3, process_frame_async/3, stats/1,
         stop_pipeline/1]).
%% Picture files
-export([new_image/3, read_image/1, read_image/2, write_image/2, write_image/3, decode_image/1,
         decode_image/2, encode_image/1, encode_image/2, image_from_buffer/1, image_to_buffer/1]).
%% Sizes, levels and drawing
-export([resize_image/2, thumbnail/2, thumbnail/3, crop_image/2, crop_image/3, histogram/1,
         histogram/2, draw/2]).
%% Tables of colours
-export([read_lut/1, parse_lut/1]).
%% Something to look at
-export([test_frame/2, test_frame/3]).

-export_type([image/0, filter/0, shape/0, stream/0, lut/0]).

-define(GPU, 'Elixir.Dala.Media.Gpu').
-define(IMAGE, 'Elixir.Dala.Media.Image').
-define(DRAW, 'Elixir.Dala.Media.Draw').
-define(LUT, 'Elixir.Dala.Media.Lut').
-define(SCENE, 'Elixir.Dala.Media.TestScene').

-type image() :: 'Elixir.Dala.Media.Image':t().
%% A picture: `#{width := pos_integer(), height := pos_integer(), data := binary()}', RGBA.

-type filter() :: atom() | binary() | {atom() | binary(), map()}.

-type shape() ::
    {box, {number(), number(), number(), number()}, map()}
    | {line, {number(), number()}, {number(), number()}, map()}
    | {circle, {number(), number()}, number(), map()}
    | {text, binary(), {number(), number()}, map()}.
%% A shape with its options, as `Dala.Media.Draw' has it.

-type stream() :: 'Elixir.Dala.Media.Gpu.Context':t() | pid() | atom().
%% What {@link start_pipeline/3} gives, or the pid or name of a stream that is supervised.

-type lut() :: 'Elixir.Dala.Media.Lut':t().
%% A table of colours.

%% Single pictures

%% @equiv apply_filter(Image, Filter, #{})
-spec apply_filter(image(), atom() | binary()) -> {ok, image()} | dala_gpu:error().
apply_filter(Image, Filter) -> apply_filter(Image, Filter, #{}).

%% @doc Applies one filter to an image, and gives an image.
%%
%% ```
%% {ok, Image} = dala_media:new_image(4, 2, red),
%% {ok, #{width := 2, height := 1}} = dala_media:apply_filter(Image, resize, #{width => 2}).
%% '''
-spec apply_filter(image(), atom() | binary(), map()) -> {ok, image()} | dala_gpu:error().
apply_filter(Image, Filter, Params) ->
    dala_call:value(fun() -> ?GPU:apply_filter(Image, Filter, Params) end).

%% @doc Applies a list of filters to an image, as one command, and gives an image.
%%
%% ```
%% {ok, Image} = dala_media:new_image(1, 1, {100, 100, 100}),
%% {ok, #{data := <<151, 151, 151, 255>>}} =
%%     dala_media:apply_filters(Image, [{brightness, #{value => 0.2}}, grayscale]).
%% '''
-spec apply_filters(image(), [filter()]) -> {ok, image()} | dala_gpu:error().
apply_filters(Image, Filters) ->
    dala_call:value(fun() -> ?GPU:apply_filters(Image, Filters) end).

%% @equiv apply_filter(Rgba, Width, Height, Filter, #{})
-spec apply_filter(binary(), pos_integer(), pos_integer(), atom() | binary()) ->
    {ok, binary()} | dala_gpu:error().
apply_filter(Rgba, Width, Height, Filter) -> apply_filter(Rgba, Width, Height, Filter, #{}).

%% @doc Applies one filter to a picture.
%%
%% ```
%% Frame = <<1, 2, 3, 4, 5, 6, 7, 8>>,
%% {ok, <<5, 6, 7, 8, 1, 2, 3, 4>>} =
%%     dala_media:apply_filter(Frame, 2, 1, flip, #{direction => horizontal}),
%% {error, {unknown_kernel, _Message}} = dala_media:apply_filter(Frame, 2, 1, no_such_filter).
%% '''
-spec apply_filter(binary(), pos_integer(), pos_integer(), atom() | binary(), map()) ->
    {ok, binary()} | dala_gpu:error().
apply_filter(Rgba, Width, Height, Filter, Params) ->
    dala_call:value(fun() -> ?GPU:apply_filter(Rgba, Width, Height, Filter, Params) end).

%% @equiv blur(Rgba, Width, Height, #{})
-spec blur(binary(), pos_integer(), pos_integer()) -> {ok, binary()} | dala_gpu:error().
blur(Rgba, Width, Height) -> blur(Rgba, Width, Height, #{}).

%% @doc Blurs a picture with a Gaussian: `radius' from 0 to 64, 3 by default, and `sigma', 1.5 by
%% default.
-spec blur(binary(), pos_integer(), pos_integer(), #{radius => 0..64, sigma => number()}) ->
    {ok, binary()} | dala_gpu:error().
blur(Rgba, Width, Height, Options) ->
    dala_call:value(fun() -> ?GPU:blur(Rgba, Width, Height, Options) end).

%% @equiv sharpen(Rgba, Width, Height, #{})
-spec sharpen(binary(), pos_integer(), pos_integer()) -> {ok, binary()} | dala_gpu:error().
sharpen(Rgba, Width, Height) -> sharpen(Rgba, Width, Height, #{}).

%% @doc Sharpens a picture by an unsharp mask of an `amount', 0.5 by default.
-spec sharpen(binary(), pos_integer(), pos_integer(), #{amount => number()}) ->
    {ok, binary()} | dala_gpu:error().
sharpen(Rgba, Width, Height, Options) ->
    dala_call:value(fun() -> ?GPU:sharpen(Rgba, Width, Height, Options) end).

%% @doc Makes a picture grey, with the luma of BT.601.
-spec grayscale(binary(), pos_integer(), pos_integer()) -> {ok, binary()} | dala_gpu:error().
grayscale(Rgba, Width, Height) ->
    dala_call:value(fun() -> ?GPU:grayscale(Rgba, Width, Height) end).

%% @doc Makes a picture brighter or darker: 0 leaves it as it is.
-spec brightness(binary(), pos_integer(), pos_integer(), number()) ->
    {ok, binary()} | dala_gpu:error().
brightness(Rgba, Width, Height, Value) ->
    dala_call:value(fun() -> ?GPU:brightness(Rgba, Width, Height, Value) end).

%% @doc Gives a picture more or less contrast: 0 leaves it as it is.
-spec contrast(binary(), pos_integer(), pos_integer(), number()) ->
    {ok, binary()} | dala_gpu:error().
contrast(Rgba, Width, Height, Value) ->
    dala_call:value(fun() -> ?GPU:contrast(Rgba, Width, Height, Value) end).

%% @doc Gives a picture more or less colour: 0 leaves it as it is, -1 takes all of it away.
-spec saturation(binary(), pos_integer(), pos_integer(), number()) ->
    {ok, binary()} | dala_gpu:error().
saturation(Rgba, Width, Height, Value) ->
    dala_call:value(fun() -> ?GPU:saturation(Rgba, Width, Height, Value) end).

%% Streams

%% @equiv start_pipeline(Width, Height, #{})
-spec start_pipeline(pos_integer(), pos_integer()) -> {ok, stream()} | dala_gpu:error().
start_pipeline(Width, Height) -> start_pipeline(Width, Height, #{}).

%% @doc Starts a stream of frames of one size. It belongs to the calling process and ends with it,
%% or with {@link stop_pipeline/1}.
%%
%% ```
%% {ok, Stream} = dala_media:start_pipeline(1, 1, #{queue => 2}),
%% {ok, <<76, 76, 76, 9>>} = dala_media:process_frame(Stream, <<255, 0, 0, 9>>, [grayscale]),
%% ok = dala_media:stop_pipeline(Stream).
%% '''
-spec start_pipeline(pos_integer(), pos_integer(),
                     #{format => atom(),
                       output_format => atom(),
                       matrix => bt601 | bt709,
                       range => limited | full,
                       queue => 0..1024,
                       on_overload => wait | drop_oldest | drop_newest}) ->
    {ok, stream()} | dala_gpu:error().
start_pipeline(Width, Height, Options) ->
    dala_call:result(fun() -> ?GPU:start_pipeline(Width, Height, dala_call:options(Options)) end).

%% @doc Runs filters on a frame and gives the result, or `dropped' where the policy of an overloaded
%% stream says so; only the calling process waits.
-spec process_frame(stream(), binary(), [filter()]) ->
    {ok, binary()} | dropped | dala_gpu:error().
process_frame(Stream, Frame, Filters) ->
    case dala_call:value(fun() -> ?GPU:process_frame(Stream, Frame, Filters) end) of
        {ok, dropped} -> dropped;
        Result -> Result
    end.

%% @doc Hands a frame to the stream. The result comes as a message `{dala_media_frame, Ref,
%% Result}', where `Result' is `{ok, Frame}', `dropped' or an error that {@link dala_gpu:result/1}
%% converts.
%%
%% ```
%% {ok, Stream} = dala_media:start_pipeline(1, 1),
%% {ok, Ref} = dala_media:process_frame_async(Stream, <<255, 0, 0, 9>>, [grayscale]),
%% {ok, <<76, 76, 76, 9>>} =
%%     receive {dala_media_frame, Ref, Result} -> dala_gpu:result(Result) end.
%% '''
-spec process_frame_async(stream(), binary(), [filter()]) ->
    {ok, reference()} | dala_gpu:error().
process_frame_async(Stream, Frame, Filters) ->
    dala_call:result(fun() -> ?GPU:process_frame_async(Stream, Frame, Filters) end).

%% @doc Tells how a stream is doing: frames done, dropped and failed, frames per second, latency,
%% and the time of each stage.
-spec stats(stream()) -> {ok, map()} | dala_gpu:error().
stats(Stream) -> dala_call:value(fun() -> ?GPU:stats(Stream) end).

%% @doc Ends a stream and gives its memory back; frames that wait get an error.
-spec stop_pipeline(stream()) -> ok | dala_gpu:error().
stop_pipeline(Stream) -> dala_call:result(fun() -> ?GPU:stop_pipeline(Stream) end).

%% Picture files

%% @doc Makes an image of the given pixels, or of one colour.
-spec new_image(pos_integer(), pos_integer(), binary() | dala_gpu:color()) ->
    {ok, image()} | dala_gpu:error().
new_image(Width, Height, Data) ->
    dala_call:value(fun() -> ?IMAGE:new(Width, Height, Data) end).

%% @equiv read_image(Path, #{})
-spec read_image(file:name_all()) -> {ok, image()} | dala_gpu:error().
read_image(Path) -> read_image(Path, #{}).

%% @doc Reads a PNG, JPEG, WebP, GIF or BMP file.
-spec read_image(file:name_all(), #{max_pixels => pos_integer()}) ->
    {ok, image()} | dala_gpu:error().
read_image(Path, Options) ->
    dala_call:result(fun() -> ?IMAGE:read(dala_call:text(Path), dala_call:options(Options)) end).

%% @equiv write_image(Image, Path, #{})
-spec write_image(image(), file:name_all()) -> ok | dala_gpu:error().
write_image(Image, Path) -> write_image(Image, Path, #{}).

%% @doc Writes an image to a file: PNG, or JPEG when the name ends in `.jpg' or `.jpeg', or
%% WebP when it ends in `.webp'.
-spec write_image(image(), file:name_all(), #{format => png | jpeg, quality => 1..100}) ->
    ok | dala_gpu:error().
write_image(Image, Path, Options) ->
    dala_call:result(fun() ->
        ?IMAGE:write(Image, dala_call:text(Path), dala_call:options(Options))
    end).

%% @equiv decode_image(Bytes, #{})
-spec decode_image(binary()) -> {ok, image()} | dala_gpu:error().
decode_image(Bytes) -> decode_image(Bytes, #{}).

%% @doc Gives the image in the bytes of a PNG, JPEG, WebP, GIF or BMP file.
-spec decode_image(binary(), #{max_pixels => pos_integer()}) ->
    {ok, image()} | dala_gpu:error().
decode_image(Bytes, Options) ->
    dala_call:result(fun() -> ?IMAGE:decode(Bytes, dala_call:options(Options)) end).

%% @equiv encode_image(Image, #{})
-spec encode_image(image()) -> {ok, binary()} | dala_gpu:error().
encode_image(Image) -> encode_image(Image, #{}).

%% @doc Gives the bytes of a PNG, JPEG or WebP file of the image.
%%
%% ```
%% {ok, Image} = dala_media:new_image(8, 8, {0, 0, 255}),
%% {ok, Png} = dala_media:encode_image(Image, #{format => png}),
%% {ok, Image} = dala_media:decode_image(Png).
%% '''
-spec encode_image(image(), #{format => png | jpeg, quality => 1..100}) ->
    {ok, binary()} | dala_gpu:error().
encode_image(Image, Options) ->
    dala_call:result(fun() -> ?IMAGE:encode(Image, dala_call:options(Options)) end).

%% @doc Reads a `u8' buffer of shape `{Height, Width, 4}' as an image.
-spec image_from_buffer(dala_gpu:buffer()) -> {ok, image()} | dala_gpu:error().
image_from_buffer(Buffer) -> dala_call:value(fun() -> ?IMAGE:from_buffer(Buffer) end).

%% @doc Gives a `u8' buffer of shape `{Height, Width, 4}' with the image.
-spec image_to_buffer(image()) -> {ok, dala_gpu:buffer()} | dala_gpu:error().
image_to_buffer(Image) -> dala_call:value(fun() -> ?IMAGE:to_buffer(Image) end).

%% Sizes, levels and drawing

%% @doc Gives an image another size; with one side alone, the aspect ratio stays.
%%
%% ```
%% {ok, Image} = dala_media:new_image(40, 30, gray),
%% {ok, #{width := 20, height := 15}} = dala_media:resize_image(Image, #{width => 20}).
%% '''
-spec resize_image(image(), #{width => pos_integer(),
                              height => pos_integer(),
                              mode => area | bilinear | nearest}) ->
    {ok, image()} | dala_gpu:error().
resize_image(Image, Options) ->
    dala_call:value(fun() -> ?IMAGE:resize(Image, dala_call:options(Options)) end).

%% @equiv thumbnail(Image, Size, #{})
-spec thumbnail(image(), pos_integer() | {pos_integer(), pos_integer()}) ->
    {ok, image()} | dala_gpu:error().
thumbnail(Image, Size) -> thumbnail(Image, Size, #{}).

%% @doc Gives a small image that fits into a box, in proportion, or with `fit => cover' fills it.
-spec thumbnail(image(), pos_integer() | {pos_integer(), pos_integer()},
                #{fit => contain | cover}) ->
    {ok, image()} | dala_gpu:error().
thumbnail(Image, Size, Options) ->
    dala_call:value(fun() -> ?IMAGE:thumbnail(Image, Size, dala_call:options(Options)) end).

%% @equiv crop_image(Image, Box, #{})
-spec crop_image(image(), {number(), number(), number(), number()}) ->
    {ok, image()} | dala_gpu:error().
crop_image(Image, Box) -> crop_image(Image, Box, #{}).

%% @doc Cuts a box `{X, Y, Width, Height}' out of an image, with a `margin' around it.
-spec crop_image(image(), {number(), number(), number(), number()}, #{margin => number()}) ->
    {ok, image()} | dala_gpu:error().
crop_image(Image, Box, Options) ->
    dala_call:value(fun() -> ?IMAGE:crop(Image, Box, dala_call:options(Options)) end).

%% @equiv histogram(Image, #{})
-spec histogram(image()) -> {ok, #{atom() => [non_neg_integer()]}} | dala_gpu:error().
histogram(Image) -> dala_call:value(fun() -> ?IMAGE:histogram(Image, []) end).

%% @doc Counts how often each of the 256 levels occurs in an image: in the channels, or the luma.
-spec histogram(image(), #{'of' => channels | luma}) ->
    {ok, #{atom() => [non_neg_integer()]} | [non_neg_integer()]} | dala_gpu:error().
histogram(Image, Options) ->
    dala_call:value(fun() -> ?IMAGE:histogram(Image, dala_call:options(Options)) end).

%% @doc Draws a list of shapes onto an image.
%%
%% ```
%% {ok, Image} = dala_media:new_image(64, 48, white),
%% {ok, #{width := 64}} =
%%     dala_media:draw(Image, [{box, {8, 8, 32, 24}, #{color => red}},
%%                             {circle, {24, 20}, 6, #{fill => true}}]).
%% '''
-spec draw(image(), [shape()]) -> {ok, image()} | dala_gpu:error().
draw(Image, Shapes) ->
    dala_call:value(fun() -> ?DRAW:shapes(Image, [with_options(Shape) || Shape <- Shapes]) end).

%% The options of a shape are its last element.
with_options(Shape) when is_tuple(Shape), is_map(element(tuple_size(Shape), Shape)) ->
    Options = element(tuple_size(Shape), Shape),
    setelement(tuple_size(Shape), Shape, dala_call:options(Options));
with_options(Shape) ->
    Shape.

%% Tables of colours

%% @doc Reads a `.cube' file, for the filter `lut': `{lut, #{table => Lut}}'.
-spec read_lut(file:name_all()) -> {ok, lut()} | dala_gpu:error().
read_lut(Path) -> dala_call:result(fun() -> ?LUT:read(dala_call:text(Path)) end).

%% @doc Reads the text of a `.cube' file.
-spec parse_lut(binary()) -> {ok, lut()} | dala_gpu:error().
parse_lut(Text) -> dala_call:result(fun() -> ?LUT:parse(Text) end).

%% Something to look at

%% @equiv test_frame(Width, Height, #{})
-spec test_frame(pos_integer(), pos_integer()) -> {ok, binary()} | dala_gpu:error().
test_frame(Width, Height) -> test_frame(Width, Height, #{}).

%% @doc Draws a landscape with a face, as RGBA; it moves with `time', in seconds.
-spec test_frame(pos_integer(), pos_integer(), #{time => number(), screen => boolean()}) ->
    {ok, binary()} | dala_gpu:error().
test_frame(Width, Height, Options) ->
    dala_call:value(fun() -> ?SCENE:frame(Width, Height, dala_call:options(Options)) end).
