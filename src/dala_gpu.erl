%% @doc GPU compute from Erlang: buffers, kernels, commands, pipelines and surfaces.
%%
%% ```
%% {ok, A} = dala_gpu:buffer([1.0, 2.0, 3.0], {3}),
%% {ok, B} = dala_gpu:buffer([4.0, 5.0, 6.0], {3}),
%% {ok, C} = dala_gpu:buffer_zeros({3}),
%% ok = dala_gpu:add(A, B, C),
%% {ok, [5.0, 7.0, 9.0]} = dala_gpu:read_list(C).
%% '''
%%
%% The functions are those of the Elixir modules `Dala.Gpu.Compute' and `Dala.Gpu', and the most
%% used ones of `Dala.Gpu.Compute.Kernel' and `Dala.Gpu.Compute.Pipeline'; their documentation says
%% more about each. The conventions are those of Erlang:
%% <ul>
%% <li>What can fail returns `ok', `{ok, Value}' or `{error, {Reason, Message}}'. `Reason' is an
%%   atom to match on, one of those that `Dala.Gpu.Compute.Error' lists; `Message' is a binary for
%%   people. Functions that cannot fail return the value itself.</li>
%% <li>A malformed argument, such as a shape that is no tuple, is an exception of the class `error':
%%   `{badarg, Message}'.</li>
%% <li>Options and parameters are maps.</li>
%% <li>Paths and names of kernels may be strings; all other text is binaries.</li>
%% <li>Buffers, pipelines and errors in messages are Elixir structs, which are maps. {@link
%%   result/1} converts a result that came in a message.</li>
%% </ul>
%%
%% The modules of this library and those of Elixir have to be in the code path; the file
%% `examples/erlang/README.md' says how.
-module(dala_gpu).

%% The device
-export([device_info/0, devices/0, devices/1, with_device/2, start_isolated/0, start_isolated/1,
         stop_isolated/1, is_available/0, is_gpu/0, version/0, doctor/0, memory_info/0,
         counters/0, kernels/0, warmup/0, warmup/1, profile/1]).
%% Buffers
-export([buffer/2, buffer/3, buffer/4, buffer_from_binary/3, buffer_from_binary/4, buffer_zeros/1,
         buffer_zeros/2, buffer_zeros/3, copy_to/2, write/2, shape/1,
         dtype/1, size/1, read/1, read/3, read_binary/1, read_list/1, read_list/3, free/1,
         free_many/1]).
%% Kernels
-export([compute/4, compute/5, run_kernel/3, run_kernel/4, run_kernel_async/3, run_kernel_async/4, run_to_surface/4,
         run_to_surface/5, add/3, multiply/3, relu/2, scale/3, matmul/3, matmul/4, lookup_kernel/1,
         register_kernel/2, register_kernel/3, elementwise_kernel/2, elementwise_kernel/3,
         unregister_kernel/1]).
%% Commands
-export([submit/1, submit/2, poll/1, wait/1, wait/2, cancel/1, result/1]).
%% Pipelines
-export([pipeline/0, pipeline_add/2, pipeline_run_kernel/4, pipeline_run_kernel/5,
         pipeline_run_kernel/6, pipeline_copy/3, pipeline_barrier/1, pipeline_set/3, pipeline_run/1,
         pipeline_run/2, pipeline_submit/1, pipeline_submit/2, pipeline_explain/1, free_pipeline/1,
         temporary/1, temporary/2]).
%% Surfaces
-export([create_surface/2, create_surface/3, destroy_surface/1, resize_surface/3, set_pixels/2,
         get_pixels/1, with_pixels/2, present/1, subscribe/1, subscribe/2, unsubscribe/1,
         unsubscribe/2, clear/2, fill_rect/6, draw_line/6, width/1, height/1, snapshot/2]).

-export_type([buffer/0, device/0, pipeline/0, dtype/0, shape/0, element/0, kernel/0, params/0, output/0,
              runs/0, stage/0, command/0, surface/0, color/0, error/0]).

-define(COMPUTE, 'Elixir.Dala.Gpu.Compute').
-define(KERNEL, 'Elixir.Dala.Gpu.Compute.Kernel').
-define(PIPELINE, 'Elixir.Dala.Gpu.Compute.Pipeline').
-define(SURFACE, 'Elixir.Dala.Gpu').

-type error() :: dala_call:error().
%% What failed: a reason to match on, and a sentence for people.

-type buffer() :: 'Elixir.Dala.Gpu.Compute.Buffer':t().
%% Numbers in the memory of the device.

-type device() :: 'Elixir.Dala.Gpu.Compute.Device':t().
%% A device: of this VM, of another node, or in a VM of its own.

-type pipeline() :: 'Elixir.Dala.Gpu.Compute.Pipeline':t().
%% A fixed sequence of stages that runs again and again.

-type dtype() ::
    f32 | f64 | s32 | s64 | u32 | u8 | f16 | bf16 | s8 | s16 | u16 | u64 | c64.
-type shape() :: tuple() | [non_neg_integer()].
-type element() :: number() | nan | infinity | neg_infinity.
-type kernel() :: atom() | binary() | string().
-type params() :: #{atom() => term()}.

-type output() :: buffer() | reference() | [buffer() | reference()].
%% The buffer that a kernel writes to; a list for a custom kernel with several outputs.

-type runs() :: #{times => pos_integer(), swap => [{buffer(), buffer()}]}.
%% How often a pipeline runs, and which buffers exchange their contents between runs.

-type stage() ::
    #{op := run_kernel | copy_buffer | barrier,
      kernel => atom() | binary(),
      inputs => [buffer() | reference()],
      output => output(),
      params => params(),
      name => atom() | binary()}.
%% A stage of a pipeline.

-type command() ::
    #{op := run_kernel | copy_buffer,
      kernel => atom() | binary(),
      inputs := [buffer() | reference()],
      output := output(),
      params => params()}.
%% A command for {@link submit/2}.

-type surface() :: pid() | atom() | {global, term()} | {via, module(), term()}.
%% The process of a surface, or its name.

-type color() :: {byte(), byte(), byte()} | {byte(), byte(), byte(), byte()} | atom().
%% A colour, as `Dala.Gpu.Color' has it: `{255, 128, 0}', `{255, 128, 0, 128}' or `red'.

%% The device

%% @doc Describes the device that is used: its `name', whether it is a `gpu', and more.
-spec device_info() -> {ok, map()} | error().
device_info() -> dala_call:value(fun() -> ?COMPUTE:device_info() end).

%% @doc Lists every OpenCL device on this machine, usable or not.
-spec devices() -> {ok, [device()]} | error().
devices() -> dala_call:value(fun() -> ?COMPUTE:devices() end).

%% @doc Lists every OpenCL device of a node.
%%
%% ```
%% true = dala_gpu:devices(node()) =:= dala_gpu:devices().
%% '''
-spec devices(node()) -> {ok, [device()]} | error().
devices(Node) -> dala_call:value(fun() -> ?COMPUTE:devices(Node) end).

%% @doc Runs a function whose buffers are made on a device: `{ok, Result}'.
%%
%% ```
%% {ok, Device} = dala_gpu:start_isolated(#{deadline => 10000}),
%% {ok, {ok, A}} = dala_gpu:with_device(Device, fun() -> dala_gpu:buffer([1, -2], {2}) end),
%% ok = dala_gpu:relu(A, A),
%% {ok, [1.0, 0.0]} = dala_gpu:read_list(A),
%% ok = dala_gpu:stop_isolated(Device).
%% '''
-spec with_device(device(), fun(() -> Result)) -> {ok, Result} | error().
with_device(Device, Fun) -> dala_call:value(fun() -> ?COMPUTE:with_device(Device, Fun) end).

%% @equiv start_isolated(#{})
-spec start_isolated() -> {ok, device()} | error().
start_isolated() -> start_isolated(#{}).

%% @doc Starts a device in a VM of its own, for kernels that are not trusted, with the options of
%% `Dala.Gpu.Compute.Isolated.start/1'.
-spec start_isolated(map()) -> {ok, device()} | error().
start_isolated(Options) ->
    dala_call:result(fun() -> ?COMPUTE:start_isolated(dala_call:options(Options)) end).

%% @doc Stops an isolated device; a second time is fine.
-spec stop_isolated(device()) -> ok.
stop_isolated(Device) -> dala_call:bare(fun() -> ?COMPUTE:stop_isolated(Device) end).

%% @doc Tells whether there is a usable device.
-spec is_available() -> boolean().
is_available() -> ?COMPUTE:'available?'().

%% @doc Tells whether the device that is used is a GPU.
-spec is_gpu() -> boolean().
is_gpu() -> ?COMPUTE:'gpu?'().

%% @doc Gives the version of this library.
-spec version() -> binary().
version() -> ?COMPUTE:version().

%% @doc Gives a report for people: drivers, devices, which one is used and why, and what to install
%% when there is none.
-spec doctor() -> binary().
doctor() -> ?COMPUTE:doctor().

%% @doc Gives the device memory in bytes: `in_use' by buffers, the `peak' of that, `pooled' for
%% reuse, `shared' with binaries, and the `limit'.
-spec memory_info() -> {ok, #{atom() => non_neg_integer()}} | error().
memory_info() -> dala_call:value(fun() -> ?COMPUTE:memory_info() end).

%% @doc Counts what the library has done so far, such as allocations and copies.
-spec counters() -> {ok, #{atom() => non_neg_integer()}} | error().
counters() -> dala_call:value(fun() -> ?COMPUTE:counters() end).

%% @doc Describes every kernel: its inputs, element types and parameters, and the output it needs.
%%
%% ```
%% {ok, Kernels} = dala_gpu:kernels(),
%% [2] = [Inputs || #{name := <<"matmul">>, inputs := Inputs} <- Kernels].
%% '''
-spec kernels() -> {ok, [map()]} | error().
kernels() -> dala_call:value(fun() -> ?COMPUTE:kernels() end).

%% @equiv warmup(#{})
-spec warmup() -> ok | error().
warmup() -> warmup(#{}).

%% @doc Compiles the built-in kernels ahead of time, with the options of
%% `Dala.Gpu.Compute.Warmup.run/1'.
%%
%% ```
%% ok = dala_gpu:warmup(#{dtypes => []}).
%% '''
-spec warmup(map()) -> ok | error().
warmup(Options) ->
    dala_call:result(fun() -> ?COMPUTE:warmup(dala_call:options(Options)) end).

%% @doc Runs a function and tells what the device did meanwhile: `{ok, {Result, Profile}}'.
%%
%% ```
%% {ok, A} = dala_gpu:buffer([-1, 2], {2}),
%% {ok, {ok, #{wall_ms := Ms}}} = dala_gpu:profile(fun() -> dala_gpu:relu(A, A) end),
%% true = Ms > 0.
%% '''
-spec profile(fun(() -> Result)) -> {ok, {Result, map()}} | error().
profile(Fun) -> dala_call:value(fun() -> ?COMPUTE:profile(Fun) end).

%% Buffers

%% @equiv buffer(List, Shape, f32)
-spec buffer([element()], shape()) -> {ok, buffer()} | error().
buffer(List, Shape) -> buffer(List, Shape, f32).

%% @doc Creates a buffer from a flat list of numbers; for float types also of `nan', `infinity' and
%% `neg_infinity'.
%%
%% ```
%% {ok, Buffer} = dala_gpu:buffer([1, 2, 3, 4, 5, 6], {2, 3}, s32),
%% {2, 3} = dala_gpu:shape(Buffer),
%% {error, {shape_mismatch, _Message}} = dala_gpu:buffer([1, 2], {3}, s32).
%% '''
-spec buffer([element()], shape(), dtype()) -> {ok, buffer()} | error().
buffer(List, Shape, Dtype) -> buffer(List, Shape, Dtype, #{}).

%% @doc Creates a buffer from a flat list of numbers, on a device.
-spec buffer([element()], shape(), dtype(), #{device => device()}) -> {ok, buffer()} | error().
buffer(List, Shape, Dtype, Options) ->
    dala_call:value(fun() -> ?COMPUTE:buffer(List, Shape, Dtype, dala_call:options(Options)) end).

%% @doc Creates a buffer from the bytes of its elements, without a copy where the device allows
%% that.
%%
%% ```
%% {ok, Pixel} = dala_gpu:buffer_from_binary(<<255, 128, 0, 255>>, {1, 1, 4}, u8),
%% {ok, <<255, 128, 0, 255>>} = dala_gpu:read(Pixel).
%% '''
-spec buffer_from_binary(binary(), shape(), dtype()) -> {ok, buffer()} | error().
buffer_from_binary(Binary, Shape, Dtype) -> buffer_from_binary(Binary, Shape, Dtype, #{}).

%% @doc Creates a buffer from the bytes of its elements, on a device.
-spec buffer_from_binary(binary(), shape(), dtype(), #{device => device()}) ->
    {ok, buffer()} | error().
buffer_from_binary(Binary, Shape, Dtype, Options) ->
    dala_call:value(fun() ->
        ?COMPUTE:buffer_from_binary(Binary, Shape, Dtype, dala_call:options(Options))
    end).

%% @equiv buffer_zeros(Shape, f32)
-spec buffer_zeros(shape()) -> {ok, buffer()} | error().
buffer_zeros(Shape) -> buffer_zeros(Shape, f32).

%% @doc Creates a buffer full of zeros.
-spec buffer_zeros(shape(), dtype()) -> {ok, buffer()} | error().
buffer_zeros(Shape, Dtype) -> buffer_zeros(Shape, Dtype, #{}).

%% @doc Creates a buffer full of zeros, on a device.
-spec buffer_zeros(shape(), dtype(), #{device => device()}) -> {ok, buffer()} | error().
buffer_zeros(Shape, Dtype, Options) ->
    dala_call:value(fun() -> ?COMPUTE:buffer_zeros(Shape, Dtype, dala_call:options(Options)) end).

%% @doc Copies a buffer to a device.
%%
%% ```
%% {ok, A} = dala_gpu:buffer([1, 2], {2}),
%% {ok, [Device | _]} = dala_gpu:devices(),
%% {ok, B} = dala_gpu:copy_to(A, Device),
%% {ok, [1.0, 2.0]} = dala_gpu:read_list(B).
%% '''
-spec copy_to(buffer(), device()) -> {ok, buffer()} | error().
copy_to(Buffer, Device) -> dala_call:value(fun() -> ?COMPUTE:copy_to(Buffer, Device) end).

%% @doc Gives a buffer new content.
-spec write(buffer(), binary()) -> ok | error().
write(Buffer, Binary) -> dala_call:result(fun() -> ?COMPUTE:write(Buffer, Binary) end).

%% @doc Gives the shape of a buffer as a tuple.
-spec shape(buffer()) -> tuple().
shape(Buffer) -> dala_call:bare(fun() -> ?COMPUTE:shape(Buffer) end).

%% @doc Gives the element type of a buffer.
-spec dtype(buffer()) -> dtype().
dtype(Buffer) -> dala_call:bare(fun() -> ?COMPUTE:dtype(Buffer) end).

%% @doc Gives the size of a buffer in bytes.
-spec size(buffer()) -> non_neg_integer().
size(Buffer) -> dala_call:bare(fun() -> ?COMPUTE:size(Buffer) end).

%% @doc Reads the bytes of a buffer, after everything that was submitted on it.
-spec read(buffer()) -> {ok, binary()} | error().
read(Buffer) -> dala_call:value(fun() -> ?COMPUTE:read(Buffer) end).

%% @doc Reads the bytes of `Count' elements from `Offset' on, without copying the others.
%%
%% ```
%% {ok, Buffer} = dala_gpu:buffer([1, 2, 3, 4], {2, 2}, u8),
%% {ok, <<3>>} = dala_gpu:read(Buffer, 2, 1).
%% '''
-spec read(buffer(), non_neg_integer(), non_neg_integer()) -> {ok, binary()} | error().
read(Buffer, Offset, Count) ->
    dala_call:value(fun() -> ?COMPUTE:read(Buffer, Offset, Count) end).

%% @doc Reads the bytes of a buffer; the same as {@link read/1}.
-spec read_binary(buffer()) -> {ok, binary()} | error().
read_binary(Buffer) -> dala_call:value(fun() -> ?COMPUTE:read_binary(Buffer) end).

%% @doc Reads the elements of a buffer as a flat list.
-spec read_list(buffer()) -> {ok, [element()]} | error().
read_list(Buffer) -> dala_call:value(fun() -> ?COMPUTE:read_list(Buffer) end).

%% @doc Reads `Count' elements from `Offset' on as a flat list.
-spec read_list(buffer(), non_neg_integer(), non_neg_integer()) -> {ok, [element()]} | error().
read_list(Buffer, Offset, Count) ->
    dala_call:value(fun() -> ?COMPUTE:read_list(Buffer, Offset, Count) end).

%% @doc Gives the memory of a buffer back at once; a second time is fine.
%%
%% ```
%% {ok, Buffer} = dala_gpu:buffer_zeros({8}),
%% ok = dala_gpu:free(Buffer),
%% {error, {freed, _Message}} = dala_gpu:read(Buffer).
%% '''
-spec free(buffer()) -> ok | error().
free(Buffer) -> dala_call:result(fun() -> ?COMPUTE:free(Buffer) end).

%% @doc Frees several buffers.
-spec free_many([buffer()]) -> ok | error().
free_many(Buffers) -> dala_call:result(fun() -> ?COMPUTE:free_many(Buffers) end).

%% Kernels

%% @equiv compute(Kernel, Inputs, Shape, Dtype, #{})
-spec compute(kernel(), [buffer()], shape(), dtype()) -> {ok, buffer()} | error().
compute(Kernel, Inputs, Shape, Dtype) -> compute(Kernel, Inputs, Shape, Dtype, #{}).

%% @doc Submits a kernel whose output is a new buffer, and returns that buffer immediately; reading
%% it waits for the kernel.
%%
%% ```
%% {ok, A} = dala_gpu:buffer([1.0, 2.0], {2}),
%% {ok, B} = dala_gpu:compute(elementwise_mul, [A, A], {2}, f32),
%% {ok, [1.0, 4.0]} = dala_gpu:read_list(B).
%% '''
-spec compute(kernel(), [buffer()], shape(), dtype(), params()) -> {ok, buffer()} | error().
compute(Kernel, Inputs, Shape, Dtype, Params) ->
    Name = dala_call:text(Kernel),
    dala_call:value(fun() -> ?KERNEL:compute(Name, Inputs, Shape, Dtype, Params) end).

%% @equiv run_kernel(Kernel, Inputs, Output, #{})
-spec run_kernel(kernel(), [buffer()], output()) -> ok | error().
run_kernel(Kernel, Inputs, Output) -> run_kernel(Kernel, Inputs, Output, #{}).

%% @doc Runs a kernel and returns when the result is there; only the calling process waits.
%%
%% ```
%% {ok, A} = dala_gpu:buffer([-10.0, 10.0], {2}),
%% ok = dala_gpu:run_kernel(relu, [A], A, #{slope => 0.5}),
%% {ok, [-5.0, 10.0]} = dala_gpu:read_list(A).
%% '''
-spec run_kernel(kernel(), [buffer()], output(), params()) -> ok | error().
run_kernel(Kernel, Inputs, Output, Params) ->
    Name = dala_call:text(Kernel),
    dala_call:result(fun() -> ?COMPUTE:run_kernel(Name, Inputs, Output, Params) end).

%% @equiv run_kernel_async(Kernel, Inputs, Output, #{})
-spec run_kernel_async(kernel(), [buffer()], output()) -> ok | error().
run_kernel_async(Kernel, Inputs, Output) -> run_kernel_async(Kernel, Inputs, Output, #{}).

%% @doc Submits a kernel as an asynchronous command, then waits for it; {@link submit/2} does not
%% wait.
-spec run_kernel_async(kernel(), [buffer()], output(), params()) -> ok | error().
run_kernel_async(Kernel, Inputs, Output, Params) ->
    Name = dala_call:text(Kernel),
    dala_call:result(fun() -> ?COMPUTE:run_kernel_async(Name, Inputs, Output, Params) end).

%% @equiv run_to_surface(Kernel, Inputs, Output, Surface, #{})
-spec run_to_surface(kernel(), [buffer()], buffer(), surface()) -> ok | error().
run_to_surface(Kernel, Inputs, Output, Surface) ->
    run_to_surface(Kernel, Inputs, Output, Surface, #{}).

%% @doc Runs a kernel and hands the result to a surface, without a read-back.
-spec run_to_surface(kernel(), [buffer()], buffer(), surface(), params()) -> ok | error().
run_to_surface(Kernel, Inputs, Output, Surface, Params) ->
    Name = dala_call:text(Kernel),
    dala_call:result(fun() -> ?COMPUTE:run_to_surface(Name, Inputs, Output, Surface, Params) end).

%% @doc Adds two buffers, element by element: Output = A + B.
-spec add(buffer(), buffer(), buffer()) -> ok | error().
add(A, B, Output) -> dala_call:result(fun() -> ?COMPUTE:add(A, B, Output) end).

%% @doc Multiplies two buffers, element by element: Output = A * B.
-spec multiply(buffer(), buffer(), buffer()) -> ok | error().
multiply(A, B, Output) -> dala_call:result(fun() -> ?COMPUTE:multiply(A, B, Output) end).

%% @doc Replaces negative elements by zero: Output = max(0, Input).
-spec relu(buffer(), buffer()) -> ok | error().
relu(Input, Output) -> dala_call:result(fun() -> ?COMPUTE:relu(Input, Output) end).

%% @doc Multiplies a buffer by a number: Output = Input * Scalar.
-spec scale(buffer(), number(), buffer()) -> ok | error().
scale(Input, Scalar, Output) ->
    dala_call:result(fun() -> ?COMPUTE:scale(Input, Scalar, Output) end).

%% @equiv matmul(A, B, Output, #{})
-spec matmul(buffer(), buffer(), buffer()) -> ok | error().
matmul(A, B, Output) -> matmul(A, B, Output, #{}).

%% @doc Multiplies two matrices, or two batches of them.
%%
%% ```
%% {ok, A} = dala_gpu:buffer([1, 2, 3, 4], {2, 2}),
%% {ok, B} = dala_gpu:buffer([5, 6, 7, 8], {2, 2}),
%% {ok, C} = dala_gpu:buffer_zeros({2, 2}),
%% ok = dala_gpu:matmul(A, B, C, #{transpose_b => true}),
%% {ok, [17.0, 23.0, 39.0, 53.0]} = dala_gpu:read_list(C).
%% '''
-spec matmul(buffer(), buffer(), buffer(), params()) -> ok | error().
matmul(A, B, Output, Params) ->
    dala_call:result(fun() -> ?COMPUTE:matmul(A, B, Output, Params) end).

%% @doc Describes one kernel, or gives `error' when no kernel has that name.
%%
%% ```
%% {ok, #{inputs := 1}} = dala_gpu:lookup_kernel(relu),
%% error = dala_gpu:lookup_kernel(no_such_kernel).
%% '''
-spec lookup_kernel(kernel()) -> {ok, map()} | error | error().
lookup_kernel(Kernel) ->
    dala_call:result(fun() -> ?KERNEL:lookup(dala_call:text(Kernel)) end).

%% @equiv register_kernel(Name, Source, #{})
-spec register_kernel(kernel(), unicode:chardata()) -> ok | error().
register_kernel(Name, Source) -> register_kernel(Name, Source, #{}).

%% @doc Adds a kernel written in OpenCL C, with the options of
%% `Dala.Gpu.Compute.Kernel.register/3'.
%%
%% ```
%% Source =
%%     "__kernel void edoc_twice(__global const float *input, __global float *output, int n) {"
%%     "  int i = get_global_id(0);"
%%     "  if (i < n) output[i] = 2 * input[i];"
%%     "}",
%% ok = dala_gpu:register_kernel(edoc_twice, Source, #{inputs => 1}),
%% {ok, A} = dala_gpu:buffer([1, 2], {2}),
%% ok = dala_gpu:run_kernel(edoc_twice, [A], A),
%% {ok, [2.0, 4.0]} = dala_gpu:read_list(A).
%% '''
-spec register_kernel(kernel(), unicode:chardata(), map()) -> ok | error().
register_kernel(Name, Source, Options) ->
    dala_call:result(fun() ->
        ?KERNEL:register(dala_call:text(Name), dala_call:text(Source), dala_call:options(Options))
    end).

%% @equiv elementwise_kernel(Name, Expression, #{})
-spec elementwise_kernel(kernel(), unicode:chardata()) -> ok | error().
elementwise_kernel(Name, Expression) -> elementwise_kernel(Name, Expression, #{}).

%% @doc Adds a kernel that computes one expression per element, with the options of
%% `Dala.Gpu.Compute.Kernel.elementwise/3'.
%%
%% ```
%% ok = dala_gpu:elementwise_kernel(edoc_lerp, "x + (y - x) * t", #{inputs => 2, params => [t]}),
%% {ok, A} = dala_gpu:buffer([0, 10], {2}),
%% {ok, B} = dala_gpu:buffer([1, 20], {2}),
%% ok = dala_gpu:run_kernel(edoc_lerp, [A, B], A, #{t => 0.5}),
%% {ok, [0.5, 15.0]} = dala_gpu:read_list(A).
%% '''
-spec elementwise_kernel(kernel(), unicode:chardata(), map()) -> ok | error().
elementwise_kernel(Name, Expression, Options) ->
    dala_call:result(fun() ->
        Text = dala_call:text(Expression),
        ?KERNEL:elementwise(dala_call:text(Name), Text, dala_call:options(Options))
    end).

%% @doc Removes a custom kernel.
-spec unregister_kernel(kernel()) -> ok | error().
unregister_kernel(Name) ->
    dala_call:result(fun() -> ?KERNEL:unregister(dala_call:text(Name)) end).

%% Commands

%% @equiv submit(Command, #{})
-spec submit(command()) -> {ok, pos_integer()} | error().
submit(Command) -> submit(Command, #{}).

%% @doc Hands a command to the device and returns its id at once. With `notify', a process is sent
%% `{dala_gpu, Id, Result}' when the command is done; {@link result/1} converts `Result'.
%%
%% ```
%% {ok, A} = dala_gpu:buffer([1, 2], {2}),
%% Command = #{op => run_kernel, kernel => neg, inputs => [A], output => A},
%% {ok, Id} = dala_gpu:submit(Command, #{notify => self()}),
%% receive {dala_gpu, Id, Result} -> ok = dala_gpu:result(Result) end,
%% completed = dala_gpu:poll(Id).
%% '''
-spec submit(command(), #{notify => pid()}) -> {ok, pos_integer()} | error().
submit(Command, Options) ->
    dala_call:value(fun() -> ?COMPUTE:submit(Command, dala_call:options(Options)) end).

%% @doc Tells how a command is doing.
-spec poll(pos_integer()) -> pending | completed | error().
poll(Id) -> dala_call:result(fun() -> ?COMPUTE:poll(Id) end).

%% @equiv wait(Id, infinity)
-spec wait(pos_integer()) -> ok | error().
wait(Id) -> wait(Id, infinity).

%% @doc Waits until a command is done, or for that many milliseconds; only the calling process
%% waits.
-spec wait(pos_integer(), timeout()) -> ok | error().
wait(Id, Timeout) -> dala_call:result(fun() -> ?COMPUTE:wait(Id, Timeout) end).

%% @doc Takes back a command that has not started.
-spec cancel(pos_integer()) -> ok | error().
cancel(Id) -> dala_call:result(fun() -> ?COMPUTE:cancel(Id) end).

%% @doc Converts a result that came in a message: an Elixir error in it becomes
%% `{error, {Reason, Message}}'; every other result is returned as it is.
-spec result(term()) -> term().
result(Result) -> dala_call:convert(Result).

%% Pipelines

%% @doc Creates an empty pipeline.
%%
%% ```
%% {ok, A} = dala_gpu:buffer([-1, 2], {2}),
%% {ok, Pipeline} = dala_gpu:pipeline(),
%% {ok, _} = dala_gpu:pipeline_run_kernel(Pipeline, neg, [A], A),
%% {ok, _} = dala_gpu:pipeline_run_kernel(Pipeline, relu, [A], A),
%% ok = dala_gpu:pipeline_run(Pipeline),
%% {ok, [1.0, 0.0]} = dala_gpu:read_list(A),
%% ok = dala_gpu:free_pipeline(Pipeline).
%% '''
-spec pipeline() -> {ok, pipeline()} | error().
pipeline() -> dala_call:value(fun() -> ?COMPUTE:pipeline() end).

%% @doc Adds a stage, given as a map, to a pipeline. The pipeline itself changes.
-spec pipeline_add(pipeline(), stage()) -> {ok, pipeline()} | error().
pipeline_add(Pipeline, Stage) ->
    dala_call:value(fun() -> ?COMPUTE:pipeline_add(Pipeline, Stage) end).

%% @equiv pipeline_run_kernel(Pipeline, Kernel, Inputs, Output, #{})
-spec pipeline_run_kernel(pipeline(), kernel(), [buffer()], output()) ->
    {ok, pipeline()} | error().
pipeline_run_kernel(Pipeline, Kernel, Inputs, Output) ->
    pipeline_run_kernel(Pipeline, Kernel, Inputs, Output, #{}).

%% @equiv pipeline_run_kernel(Pipeline, Kernel, Inputs, Output, Params, #{})
-spec pipeline_run_kernel(pipeline(), kernel(), [buffer()], output(), params()) ->
    {ok, pipeline()} | error().
pipeline_run_kernel(Pipeline, Kernel, Inputs, Output, Params) ->
    pipeline_run_kernel(Pipeline, Kernel, Inputs, Output, Params, #{}).

%% @doc Adds a stage that runs a kernel. The pipeline itself changes. The option `name' gives the stage
%% a name for {@link pipeline_set/3}.
-spec pipeline_run_kernel(pipeline(), kernel(), [buffer()], output(), params(),
                          #{name => kernel()}) -> {ok, pipeline()} | error().
pipeline_run_kernel(Pipeline, Kernel, Inputs, Output, Params, Options) ->
    Name = dala_call:text(Kernel),
    Given = [{Key, dala_call:text(Value)} || {Key, Value} <- dala_call:options(Options)],
    dala_call:value(fun() ->
        ?PIPELINE:run_kernel(Pipeline, Name, Inputs, Output, Params, Given)
    end).

%% @doc Adds a stage that copies a buffer to another one of the same size.
-spec pipeline_copy(pipeline(), buffer(), buffer()) -> {ok, pipeline()} | error().
pipeline_copy(Pipeline, Source, Destination) ->
    dala_call:value(fun() -> ?PIPELINE:copy(Pipeline, Source, Destination) end).

%% @doc Adds a barrier: later stages start when all earlier ones are done.
-spec pipeline_barrier(pipeline()) -> {ok, pipeline()} | error().
pipeline_barrier(Pipeline) -> dala_call:value(fun() -> ?PIPELINE:barrier(Pipeline) end).

%% @doc Changes parameters of a stage, by its index from 0 or by its name; the others stay as they are.
-spec pipeline_set(pipeline(), non_neg_integer() | kernel(), params()) ->
    {ok, pipeline()} | error().
pipeline_set(Pipeline, Stage, Params) ->
    Name = dala_call:text(Stage),
    dala_call:value(fun() -> ?COMPUTE:pipeline_set(Pipeline, Name, Params) end).

%% @equiv pipeline_run(Pipeline, #{})
-spec pipeline_run(pipeline()) -> ok | error().
pipeline_run(Pipeline) -> pipeline_run(Pipeline, #{}).

%% @doc Runs all stages of a pipeline in order and waits for the last one.
%%
%% `times' is the number of runs, 1 by default. The buffers of each pair in `swap' exchange their
%% contents between two runs:
%% ```
%% {ok, A} = dala_gpu:buffer([1, 2], {2}),
%% {ok, B} = dala_gpu:buffer_zeros({2}),
%% {ok, Pipeline} = dala_gpu:pipeline(),
%% {ok, _} = dala_gpu:pipeline_run_kernel(Pipeline, scalar_mul, [A], B, #{scalar => 2}),
%% ok = dala_gpu:pipeline_run(Pipeline, #{times => 3, swap => [{A, B}]}),
%% {ok, [8.0, 16.0]} = dala_gpu:read_list(B).
%% '''
-spec pipeline_run(pipeline(), runs()) -> ok | error().
pipeline_run(Pipeline, Options) ->
    Given = dala_call:options(Options),
    dala_call:result(fun() -> ?COMPUTE:pipeline_run(Pipeline, Given) end).

%% @equiv pipeline_submit(Pipeline, #{})
-spec pipeline_submit(pipeline()) -> {ok, pos_integer()} | error().
pipeline_submit(Pipeline) -> pipeline_submit(Pipeline, #{}).

%% @doc Submits a run of a pipeline and returns the id of its command, for {@link wait/1}, {@link
%% poll/1} and {@link cancel/1}. The options are those of {@link pipeline_run/2}, and `notify', a process
%% that gets a message as {@link submit/2} explains.
-spec pipeline_submit(pipeline(), #{notify => pid(), times => pos_integer(),
                                    swap => [{buffer(), buffer()}]}) ->
    {ok, pos_integer()} | error().
pipeline_submit(Pipeline, Options) ->
    Given = dala_call:options(Options),
    dala_call:value(fun() -> ?COMPUTE:pipeline_submit(Pipeline, Given) end).

%% @doc Tells what a run of a pipeline does: which stages are fused, and how many bytes they move.
-spec pipeline_explain(pipeline()) -> {ok, map()} | error().
pipeline_explain(Pipeline) -> dala_call:value(fun() -> ?COMPUTE:pipeline_explain(Pipeline) end).

%% @doc Releases a pipeline and its hold on the buffers.
-spec free_pipeline(pipeline()) -> ok | error().
free_pipeline(Pipeline) -> dala_call:result(fun() -> ?COMPUTE:free_pipeline(Pipeline) end).

%% @equiv temporary(Shape, f32)
-spec temporary(shape()) -> {ok, buffer()} | error().
temporary(Shape) -> temporary(Shape, f32).

%% @doc Creates a buffer for values between the stages of a pipeline; only stages may use it.
-spec temporary(shape(), dtype()) -> {ok, buffer()} | error().
temporary(Shape, Dtype) -> dala_call:value(fun() -> ?PIPELINE:temporary(Shape, Dtype) end).

%% Surfaces

%% @equiv create_surface(Width, Height, #{})
-spec create_surface(pos_integer(), pos_integer()) -> {ok, pid()} | error().
create_surface(Width, Height) -> create_surface(Width, Height, #{}).

%% @doc Creates a surface, linked to the calling process. `display => window' shows presented frames
%% in a window with a `title'.
%%
%% ```
%% {ok, Surface} = dala_gpu:create_surface(2, 1),
%% ok = dala_gpu:clear(Surface, black),
%% ok = dala_gpu:fill_rect(Surface, 1, 0, 1, 1, {1, 2, 3}),
%% {ok, <<0, 0, 0, 255, 1, 2, 3, 255>>} = dala_gpu:get_pixels(Surface),
%% ok = dala_gpu:destroy_surface(Surface).
%% '''
-spec create_surface(pos_integer(), pos_integer(), #{display => window, title => binary()}) ->
    {ok, pid()} | error().
create_surface(Width, Height, Options) ->
    dala_call:result(fun() ->
        ?SURFACE:create_surface(Width, Height, dala_call:options(Options))
    end).

%% @doc Ends a surface and gives its memory back; a second time is fine.
-spec destroy_surface(surface()) -> ok | error().
destroy_surface(Surface) -> dala_call:result(fun() -> ?SURFACE:destroy_surface(Surface) end).

%% @doc Gives a surface another size; its pixels are transparent black then.
-spec resize_surface(surface(), pos_integer(), pos_integer()) -> ok | error().
resize_surface(Surface, Width, Height) ->
    dala_call:result(fun() -> ?SURFACE:resize_surface(Surface, Width, Height) end).

%% @doc Replaces all pixels by those of a binary, an image or a buffer.
-spec set_pixels(surface(), binary() | map()) -> ok | error().
set_pixels(Surface, Pixels) ->
    dala_call:result(fun() -> ?SURFACE:set_pixels(Surface, Pixels) end).

%% @doc Reads all pixels, after everything that was drawn before, as RGBA.
-spec get_pixels(surface()) -> {ok, binary()} | error().
get_pixels(Surface) -> dala_call:value(fun() -> ?SURFACE:get_pixels(Surface) end).

%% @doc Reads all pixels, calls a function with them, and replaces them by what it returns.
-spec with_pixels(surface(), fun((binary()) -> binary())) -> ok | error().
with_pixels(Surface, Fun) -> dala_call:result(fun() -> ?SURFACE:with_pixels(Surface, Fun) end).

%% @doc Presents the frame: waits until everything is drawn, shows it in the window if there is one,
%% and tells the subscribers.
-spec present(surface()) -> ok | error().
present(Surface) -> dala_call:result(fun() -> ?SURFACE:present(Surface) end).

%% @equiv subscribe(Surface, self())
-spec subscribe(surface()) -> ok | error().
subscribe(Surface) -> subscribe(Surface, self()).

%% @doc Sends `{dala_gpu_frame, Surface, Number}' to a process at every {@link present/1} from now
%% on.
-spec subscribe(surface(), pid()) -> ok | error().
subscribe(Surface, Pid) -> dala_call:result(fun() -> ?SURFACE:subscribe(Surface, Pid) end).

%% @equiv unsubscribe(Surface, self())
-spec unsubscribe(surface()) -> ok | error().
unsubscribe(Surface) -> unsubscribe(Surface, self()).

%% @doc Ends what {@link subscribe/2} began.
-spec unsubscribe(surface(), pid()) -> ok | error().
unsubscribe(Surface, Pid) -> dala_call:result(fun() -> ?SURFACE:unsubscribe(Surface, Pid) end).

%% @doc Sets every pixel to a colour, alpha included.
-spec clear(surface(), color()) -> ok | error().
clear(Surface, Color) -> dala_call:result(fun() -> ?SURFACE:clear(Surface, Color) end).

%% @doc Fills a rectangle; a colour that is not opaque goes over what is there.
-spec fill_rect(surface(), integer(), integer(), non_neg_integer(), non_neg_integer(), color()) ->
    ok | error().
fill_rect(Surface, X, Y, Width, Height, Color) ->
    dala_call:result(fun() -> ?SURFACE:fill_rect(Surface, X, Y, Width, Height, Color) end).

%% @doc Draws a line, one pixel wide, from (X0, Y0) to (X1, Y1), both included.
-spec draw_line(surface(), integer(), integer(), integer(), integer(), color()) -> ok | error().
draw_line(Surface, X0, Y0, X1, Y1, Color) ->
    dala_call:result(fun() -> ?SURFACE:draw_line(Surface, X0, Y0, X1, Y1, Color) end).

%% @doc Gives the number of columns of a surface.
-spec width(surface()) -> {ok, pos_integer()} | error().
width(Surface) -> dala_call:value(fun() -> ?SURFACE:width(Surface) end).

%% @doc Gives the number of rows of a surface.
-spec height(surface()) -> {ok, pos_integer()} | error().
height(Surface) -> dala_call:value(fun() -> ?SURFACE:height(Surface) end).

%% @doc Saves the pixels as a PNG file, or as a JPEG file when the name ends in `.jpg' or `.jpeg', or
%% as a WebP file when it ends in `.webp'.
-spec snapshot(surface(), file:name_all()) -> ok | error().
snapshot(Surface, Path) ->
    dala_call:result(fun() -> ?SURFACE:snapshot(Surface, dala_call:text(Path)) end).
