defmodule Dala.Media.Gpu.Filter do
  @moduledoc """
  The filters of `Dala.Media.Gpu`: their names, and what a list of them means for a frame.

  A filter is `{name, params}`, with params as a map or keyword list, or just its name. Most filters
  are the kernel of the same name (`Dala.Gpu.Compute.kernels/0` lists their parameters); a few take
  more than numbers, or change the size of the frame:

  | Filter | Parameters of its own |
  |---|---|
  | `:resize` | `width`, `height` of the result |
  | `:crop` | `width`, `height` of the result, beside `x` and `y` |
  | `:rotate` | by 90 or 270 degrees the result has the sides exchanged |
  | `:lut` | `file`, the path of a `.cube` file, or `table`, a `Dala.Media.Lut` |
  | `:overlay`, `:blend` | `image`: a `Dala.Media.Image`, or a `{h, w, 4}` buffer |
  | `:segmentation` | `style`, how what was found is shown: `:highlight` (the default) takes the colour from the rest, `:mask` is white on black, `:cutout` makes the rest transparent; and those below |
  | `:background_replace` | what is put behind the person: `blur`, a radius from 1 to 64 (12 by default), `color`, or `image`, a `Dala.Media.Image`; and those below |

  The last two find the person by the model `:deeplab`, which `mix dala.models install deeplab` gets,
  and run it in the same command as the other filters. Without it they are the error
  `:model_not_found`. Both take

    * `class` - what is looked for, `"person"` by default; also `"cat"`, `"dog"`, `"car"` and the
      other classes of PASCAL VOC
    * `softness` - how soft the edges are, from 0 to 16, 3 by default
  """

  alias Dala.Gpu.Compute.{Buffer, Error}
  alias Dala.Media.{Color, Image, Lut}
  alias Dala.Media.Gpu.Segmenter

  @kernels ~w(blur sharpen denoise beauty grayscale sepia vignette lut brightness contrast saturation
              white_balance hdr chroma_key edge_detect overlay blend resize crop flip rotate)a
  @by_model [:segmentation, :background_replace]
  @all @kernels ++ @by_model
  @names Map.new(@all, &{Atom.to_string(&1), &1})

  @type t :: atom() | String.t() | {atom() | String.t(), map() | keyword()}

  @typedoc "Width and height in pixels."
  @type size :: {pos_integer(), pos_integer()}

  @typedoc """
  What a stage reads: the frame as the filter gets it, what the stage before it made, what the n-th
  stage of the filter made, or a buffer.
  """
  @type source :: :frame | :last | {:made, non_neg_integer()} | Buffer.t()

  @typedoc "A kernel on the way to what a filter needs beside the frame."
  @type stage :: %{
          kernel: atom() | String.t(),
          inputs: [source()],
          params: map(),
          shape: tuple(),
          dtype: Buffer.dtype()
        }

  @typedoc """
  A filter of a chain: the stages before it, the kernel with its inputs and parameters, and the size
  of the frame after it.
  """
  @type step :: %{
          before: [stage()],
          kernel: atom(),
          inputs: [source()],
          params: map(),
          size: size()
        }

  @doc """
  Names all filters.

  ## Example

      iex> :blur in Dala.Media.Gpu.Filter.names()
      true
  """
  @spec names() :: [atom()]
  def names, do: Enum.sort(@all)

  @doc false
  # Those that are no kernels, as the kernels describe themselves: a sentence, and the parameters.
  @spec by_model() :: %{atom() => {String.t(), String.t()}}
  def by_model do
    common =
      "`class` (a class of PASCAL VOC, default \"person\"): what is looked for; `softness` (0 to 16, " <>
        "default 3): of the edges"

    %{
      segmentation:
        {"Shows what belongs to a person, which the installed model `:deeplab` finds.",
         "`style` (:highlight or :mask or :cutout, default :highlight): the rest without colour, " <>
           "white on black, or the rest transparent; " <> common},
      background_replace:
        {"Puts something else behind a person, whom the installed model `:deeplab` finds.",
         "`blur` (1 to 64, default 12): the radius of a blur, or `color`, or `image`, a " <>
           "`Dala.Media.Image`; " <> common}
    }
  end

  @doc """
  Brings a list of filters into one form: `{name, params}`, the name an atom, the params a map.

  An unknown filter is an error with the reason `:unknown_kernel` that lists the known ones.

  ## Example

      iex> Dala.Media.Gpu.Filter.normalize([:grayscale, {"blur", radius: 2}])
      {:ok, [grayscale: %{}, blur: %{radius: 2}]}
  """
  @spec normalize([t()]) :: {:ok, [{atom(), map()}]} | {:error, Error.t()}
  def normalize(filters) when length(filters) >= 0 do
    {:ok, Enum.map(filters, &normalize!/1)}
  rescue
    error in Error -> {:error, error}
  end

  def normalize(other) do
    {:error,
     invalid("filters are a list such as [{:blur, %{radius: 3}}], got: #{inspect(other)}")}
  end

  @doc false
  # What each filter does to a frame of that size. Reads files and converts pictures, so its result
  # is for keeping.
  @spec plan([{atom(), map()}], size()) :: {:ok, [step()]} | {:error, Error.t()}
  def plan(filters, size) do
    {steps, _size} = Enum.map_reduce(filters, size, &step!/2)
    {:ok, steps}
  rescue
    error in Error -> {:error, error}
  end

  defp normalize!({name, params}) when is_map(params) and not is_struct(params),
    do: {name!(name), Map.new(params, &param!(name, &1))}

  defp normalize!({name, params}) when is_list(params) do
    unless Keyword.keyword?(params), do: bad_params!(name, params)
    {name!(name), Map.new(params)}
  end

  defp normalize!({name, params}), do: bad_params!(name, params)
  defp normalize!(name), do: {name!(name), %{}}

  defp name!(name) when name in @all, do: name
  defp name!(name) when is_map_key(@names, name), do: @names[name]

  defp name!(other) do
    raise %Error{
      reason: :unknown_kernel,
      message:
        "there is no filter #{inspect(other)}; the filters are #{Enum.map_join(names(), ", ", &inspect/1)}",
      details: %{filters: names()}
    }
  end

  # Names of params that no kernel has must not become atoms, and need not.
  defp param!(_name, {key, value}) when is_atom(key), do: {key, value}

  defp param!(name, {key, value}) when is_binary(key) do
    {String.to_existing_atom(key), value}
  rescue
    ArgumentError ->
      reraise %Error{
                reason: :unknown_param,
                message: "#{name} has no parameter #{key}"
              },
              __STACKTRACE__
  end

  defp param!(name, {key, _value}), do: bad_params!(name, key)

  defp bad_params!(name, params) do
    raise invalid(
            "the parameters of #{inspect(name)} are a map or keyword list, got: #{inspect(params)}"
          )
  end

  defp step!({:resize, params}, _size) do
    {size, params} = size!(:resize, params)
    {step(:resize, params, size), size}
  end

  defp step!({:crop, params}, {width, height}) do
    {{w, h} = size, rest} = size!(:crop, params)
    x = Map.get(params, :x, 0)
    y = Map.get(params, :y, 0)

    if is_integer(x) and is_integer(y) and (x + w > width or y + h > height) do
      raise invalid(
              "crop of #{w}x#{h} at #{x}, #{y} does not fit into a frame of #{width}x#{height}"
            )
    end

    {step(:crop, rest, size), size}
  end

  defp step!({:rotate, params}, {width, height} = size) do
    size =
      case Map.get(params, :angle, 90) do
        angle when is_number(angle) and (angle == 90 or angle == 270 or angle == -90) ->
          {height, width}

        _ ->
          size
      end

    {step(:rotate, params, size), size}
  end

  defp step!({:lut, params}, size) do
    {source, rest} = Map.split(params, [:file, :table])

    table =
      case Map.to_list(source) do
        [file: path] when is_binary(path) ->
          Error.value!(Lut.read(path))

        [table: %Lut{} = table] ->
          table

        _ ->
          raise invalid("lut takes file:, the path of a .cube file, or table:, a Dala.Media.Lut")
      end

    {step(:lut, Map.merge(Lut.params(table), rest), size, [Lut.buffer(table)]), size}
  end

  defp step!({name, params}, size) when name in [:overlay, :blend] do
    case Map.pop(params, :image) do
      {%Image{} = image, rest} ->
        {step(name, rest, size, [Image.to_buffer(image)]), size}

      {%Buffer{} = image, rest} ->
        {step(name, rest, size, [image]), size}

      {other, _rest} ->
        raise invalid(
                "#{name} takes image:, a Dala.Media.Image or a {h, w, 4} buffer, " <>
                  "got: #{inspect(other)}"
              )
    end
  end

  defp step!({:segmentation, params}, size) do
    {style, params} = Map.pop(params, :style, :highlight)
    {mask, region} = mask!(:segmentation, params, size)
    {stages, outside, inside} = style!(style, size)
    {matte(mask, stages, outside, inside, region, size), size}
  end

  defp step!({:background_replace, params}, size) do
    {behind, params} = Map.split(params, [:blur, :color, :image])
    {mask, region} = mask!(:background_replace, params, size)
    {stages, outside} = behind!(Map.to_list(behind), size)
    {matte(mask, stages, outside, :frame, region, size), size}
  end

  defp step!({name, params}, size), do: {step(name, params, size), size}

  defp step(kernel, params, size, extra \\ []) do
    %{before: [], kernel: kernel, inputs: [:frame | extra], params: params, size: size}
  end

  # The mask is white outside.
  defp matte(mask, stages, outside, inside, region, size) do
    mask_at = {:made, length(mask) - 1}
    outside = if outside == :last, do: {:made, length(mask) + length(stages) - 1}, else: outside

    %{
      before: mask ++ stages,
      kernel: :matte,
      inputs: [outside, inside, mask_at],
      params: region,
      size: size
    }
  end

  defp mask!(name, params, size) do
    defaults = %{class: "person", softness: 3}

    with [unknown | _] <- Map.keys(params) -- Map.keys(defaults) do
      raise %Error{reason: :unknown_param, message: "#{name} has no parameter #{unknown}"}
    end

    %{class: class, softness: softness} = Map.merge(defaults, params)
    within!(name, :softness, softness, 0..16)
    Segmenter.mask!(size, class, softness)
  end

  defp style!(:highlight, {width, height}) do
    shape = {height, width, 4}
    gray = %{kernel: :grayscale, inputs: [:frame], params: %{}, shape: shape, dtype: :u8}
    {[gray, Segmenter.stage(:brightness, shape, :u8, %{value: -0.2})], :last, :frame}
  end

  defp style!(:mask, size), do: {[], plain(:black, size), plain(:white, size)}

  # The colours stay, so that soft edges do not darken.
  defp style!(:cutout, {width, height}) do
    opaque = Buffer.new([1, 1, 1, 0], {4}, :u8)
    inputs = [:frame, opaque]
    shape = {height, width, 4}
    clear = %{kernel: :elementwise_mul, inputs: inputs, params: %{}, shape: shape, dtype: :u8}
    {[clear], :last, :frame}
  end

  defp style!(other, _size) do
    raise invalid("style of segmentation is :highlight, :mask or :cutout, got: #{inspect(other)}")
  end

  defp behind!([], size), do: behind!([blur: 12], size)

  defp behind!([blur: radius], {width, height}) do
    within!(:background_replace, :blur, radius, 1..64)
    params = %{radius: radius, sigma: max(radius / 2, 0.5)}
    shape = {height, width, 4}
    {[%{kernel: :blur, inputs: [:frame], params: params, shape: shape, dtype: :u8}], :last}
  end

  defp behind!([color: color], size) do
    {[], plain(color, size)}
  rescue
    error in ArgumentError -> reraise invalid(Exception.message(error)), __STACKTRACE__
  end

  defp behind!([image: %Image{width: width, height: height} = image], {width, height}),
    do: {[], Image.to_buffer(image)}

  defp behind!([image: %Image{} = image], {width, height}) do
    params = %{width: width, height: height}
    rgba = Dala.Media.Gpu.apply_filter(image.data, image.width, image.height, :resize, params)
    {[], Image.to_buffer(Image.new(width, height, rgba))}
  end

  defp behind!([image: other], _size) do
    raise invalid("image of background_replace is a Dala.Media.Image, got: #{inspect(other)}")
  end

  defp behind!(several, _size) do
    raise invalid(
            "background_replace takes one of blur:, color: and image:, got: " <>
              Enum.map_join(several, ", ", fn {key, _value} -> "#{key}:" end)
          )
  end

  defp plain(color, {width, height}),
    do: Image.to_buffer(Image.new(width, height, Color.rgba!(color)))

  defp within!(name, param, value, range) do
    unless is_integer(value) and value in range do
      raise invalid(
              "#{param} of #{name} is an integer from #{range.first} to #{range.last}, got: " <>
                inspect(value)
            )
    end
  end

  defp size!(name, params) do
    case Map.split(params, [:width, :height]) do
      {%{width: width, height: height}, rest}
      when is_integer(width) and is_integer(height) and width > 0 and height > 0 ->
        {{width, height}, rest}

      {given, _rest} ->
        raise invalid(
                "#{name} takes width: and height:, positive integers, got: #{inspect(given)}"
              )
    end
  end

  defp invalid(message), do: %Error{reason: :invalid_param, message: message}
end
