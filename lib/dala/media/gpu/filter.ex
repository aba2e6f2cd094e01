defmodule Dala.Media.Gpu.Filter do
  @moduledoc """
  The filters of `Dala.Media.Gpu`.

  A filter is `{name, params}`, with params as a map or keyword list, or just its name. Most filters
  are the kernel of the same name (`Dala.Gpu.Compute.kernels/0` lists their parameters). These have
  other parameters, or change the size of the frame:

  | Filter | Additional parameters |
  |---|---|
  | `:resize` | `width` and `height` of the result, or one of them, which keeps the aspect ratio |
  | `:crop` | `width`, `height` of the result, beside `x` and `y` |
  | `:rotate` | by 90 or 270 degrees the result has the sides exchanged |
  | `:lut` | `file`, the path of a `.cube` file, or `table`, a `Dala.Media.Lut` |
  | `:overlay`, `:blend` | `image`: a `Dala.Media.Image`, or a `{h, w, 4}` buffer |
  | `:open`, `:close` | `radius`, from 0 to 64, 1 by default: `:erode` and then `:dilate`, which removes small bright spots, or the other way round, which fills small dark ones |
  | `:affine` | `matrix`, six numbers `{a, b, c, d, e, f}`: the pixel at (x, y) goes to (a x + b y + c, d x + e y + f) |
  | `:perspective` | `from`, four points of the frame such as `[{10, 10}, {90, 15}, {95, 80}, {5, 85}]`, that go to the points `to`, by default the corners of the result from the top left on, clockwise; or `matrix`, nine numbers |
  | `:segmentation` | `style`, how what was found is shown: `:highlight` (the default) takes the colour from the rest, `:mask` is white on black, `:cutout` makes the rest transparent; and those below |
  | `:background_replace` | what is put behind the person: `blur`, a radius from 1 to 64 (12 by default), `color`, or `image`, a `Dala.Media.Image`; and those below |

  `:affine` and `:perspective` also take `width` and `height` of the result, those of the frame by
  default, and `border`, what is seen outside of the frame: `:zero` (the default), which is
  transparent, or `:edge`.

  The last two use the model `:deeplab`, which `mix dala.models install deeplab` installs, and run it
  in the same command as the other filters. Without the model, the error is `:model_not_found`. Both
  take

    * `class` - the class to segment, `"person"` by default; also `"cat"`, `"dog"`, `"car"` and the
      other classes of PASCAL VOC
    * `softness` - the softness of the edges, from 0 to 16, 3 by default
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, Kernel}
  alias Dala.Media.{Color, Image, Lut}
  alias Dala.Media.Gpu.{Matrix, Segmenter}

  @kernels ~w(blur sharpen denoise beauty grayscale sepia vignette lut brightness contrast saturation
              white_balance hdr chroma_key edge_detect overlay blend resize crop flip rotate threshold
              erode dilate auto_levels auto_white_balance equalize clahe)a
  @composed [:open, :close, :affine, :perspective]
  @by_model [:segmentation, :background_replace]
  @all @kernels ++ @composed ++ @by_model
  @names Map.new(@all, &{Atom.to_string(&1), &1})

  @type t :: atom() | String.t() | {atom() | String.t(), map() | keyword()}

  @typedoc "Width and height in pixels."
  @type size :: {pos_integer(), pos_integer()}

  @typedoc """
  An input of a stage: the input frame of the filter, the output of the previous stage, the output
  of the filter's n-th stage, or a buffer.
  """
  @type source :: :frame | :last | {:made, non_neg_integer()} | Buffer.t()

  @typedoc "A preparatory kernel of a filter."
  @type stage :: %{
          kernel: atom() | String.t(),
          inputs: [source()],
          params: map(),
          shape: tuple(),
          dtype: Buffer.dtype()
        }

  @typedoc """
  A filter of a chain: its preparatory stages, the kernel with its inputs and parameters, and the
  size of the resulting frame.
  """
  @type step :: %{
          before: [stage()],
          kernel: atom(),
          inputs: [source()],
          params: map(),
          size: size()
        }

  @doc """
  Returns the names of all filters.

  ## Example

      iex> :blur in Dala.Media.Gpu.Filter.names()
      true
  """
  @spec names() :: [atom()]
  def names, do: Enum.sort(@all)

  @doc false
  # Descriptions of the filters that are not kernels, for the table of the guide: a sentence, and
  # the parameters.
  @spec by_model() :: %{atom() => {String.t(), String.t()}}
  def by_model do
    common =
      "`class` (a class of PASCAL VOC, default \"person\"): the class to segment; " <>
        "`softness` (0 to 16, default 3): the softness of the edges"

    %{
      segmentation:
        {"Shows which pixels belong to a person, found by the installed model `:deeplab`.",
         "`style` (:highlight or :mask or :cutout, default :highlight): a grey background, " <>
           "white on black, or a transparent background; " <> common},
      background_replace:
        {"Replaces the background of a person, found by the installed model `:deeplab`.",
         "`blur` (1 to 64, default 12): the radius of a blur, or `color`, or `image`, a " <>
           "`Dala.Media.Image`; " <> common}
    }
  end

  @doc false
  # Descriptions of the filters that are made of other kernels, likewise.
  @spec composed() :: %{atom() => {String.t(), String.t()}}
  def composed do
    radius = "`radius` (0 to 64, default 1): how many pixels to each side count"

    size =
      "; `width`, `height`: of the result, by default those of the frame; `border` (:zero or " <>
        ":edge, default :zero): what is outside of the frame"

    %{
      open:
        {"`erode`, then `dilate`: removes bright spots that the square does not fit into.",
         radius},
      close:
        {"`dilate`, then `erode`: fills dark spots that the square does not fit into.", radius},
      affine:
        {"Moves pixels from (x, y) to (a x + b y + c, d x + e y + f), bilinear.",
         "`matrix` (6 numbers, required): {a, b, c, d, e, f}" <> size},
      perspective:
        {"Moves pixels so that four points come to lie on four others, bilinear.",
         "`from` (4 points): [{x, y}, ...] of the frame; `to` (4 points, default the corners of the " <>
           "result, clockwise from the top left): where they go; or `matrix` (9 numbers)" <> size}
    }
  end

  @doc """
  Normalizes a list of filters to `{name, params}`, with the name as an atom and the params as a
  map.

  An unknown filter is an error with the reason `:unknown_kernel`, which lists the known ones.

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
  # Plans the filters for a frame of that size. This reads files and converts images, so the result
  # should be reused.
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

  # Unknown param names must not create atoms.
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

  defp step!({:resize, params}, {width, height}) do
    params =
      case params do
        %{width: w} when is_integer(w) and w > 0 and not is_map_key(params, :height) ->
          Map.put(params, :height, max(round(height * w / width), 1))

        %{height: h} when is_integer(h) and h > 0 and not is_map_key(params, :width) ->
          Map.put(params, :width, max(round(width * h / height), 1))

        _both ->
          params
      end

    {size, params} = size!(:resize, params)
    {step(:resize, params, size), size}
  end

  defp step!({name, params}, {width, height} = size) when name in [:open, :close] do
    [first, second] = if name == :open, do: [:erode, :dilate], else: [:dilate, :erode]
    unknown!(name, params, [:radius])
    within!(name, :radius, Map.get(params, :radius, 1), 0..64)

    stage = %{
      kernel: first,
      inputs: [:frame],
      params: params,
      shape: {height, width, 4},
      dtype: :u8
    }

    {%{before: [stage], kernel: second, inputs: [{:made, 0}], params: params, size: size}, size}
  end

  defp step!({name, params}, size) when name in [:affine, :perspective] do
    unknown!(name, params, [:matrix, :from, :to, :width, :height, :border])
    {width, height} = size
    given = %{width: Map.get(params, :width, width), height: Map.get(params, :height, height)}
    {to_size, %{}} = size!(name, given)
    warp = Map.take(params, [:border])
    matrix = matrix!(name, Map.take(params, [:matrix, :from, :to]), to_size)
    {step(:warp, Map.put(warp, :matrix, matrix), to_size), to_size}
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

  # The mask is white on the background.
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

  # The matrix from positions in the result to positions in the frame, as the kernel takes it.
  defp matrix!(:affine, %{matrix: matrix} = given, _size) when map_size(given) == 1 do
    case numbers(matrix, 6) do
      {:ok, numbers} -> inverse!(:affine, numbers ++ [0, 0, 1], matrix)
      :error -> raise invalid("matrix of affine is six numbers, got: #{Argument.show(matrix)}")
    end
  end

  defp matrix!(:affine, given, _size) do
    raise invalid("affine takes matrix:, six numbers, got: #{Argument.show(given)}")
  end

  defp matrix!(:perspective, %{matrix: matrix} = given, _size) when map_size(given) == 1 do
    case numbers(matrix, 9) do
      {:ok, numbers} ->
        inverse!(:perspective, numbers, matrix)

      :error ->
        raise invalid("matrix of perspective is nine numbers, got: #{Argument.show(matrix)}")
    end
  end

  defp matrix!(:perspective, %{from: from} = given, {width, height})
       when not is_map_key(given, :matrix) do
    {right, bottom} = {width - 1, height - 1}
    to = Map.get(given, :to, [{0, 0}, {right, 0}, {right, bottom}, {0, bottom}])
    from = points!(:from, from)
    to = points!(:to, to)

    case Matrix.through(to, from) do
      {:ok, matrix} ->
        matrix

      :error ->
        raise invalid(
                "from: and to: of perspective have to be four corners, no three of which are on a " <>
                  "line, got: #{inspect(from)} and #{inspect(to)}"
              )
    end
  end

  defp matrix!(:perspective, given, _size) do
    raise invalid(
            "perspective takes from: (and to:), four points, or matrix:, nine numbers, got: " <>
              Argument.show(given)
          )
  end

  defp inverse!(name, numbers, given) do
    case Matrix.inverse(numbers) do
      {:ok, inverse} -> inverse
      :error -> raise invalid("matrix of #{name} has no inverse: #{inspect(given)}")
    end
  end

  defp numbers(tuple, count) when is_tuple(tuple), do: tuple |> Tuple.to_list() |> numbers(count)

  defp numbers(list, count) when length(list) == count do
    if Enum.all?(list, &number?/1), do: {:ok, list}, else: :error
  end

  defp numbers(_other, _count), do: :error

  # Products of larger numbers would overflow a float.
  defp number?(value), do: is_number(value) and abs(value) <= 1.0e9

  defp points!(name, points) do
    if is_list(points) and length(points) == 4 and
         Enum.all?(points, &match?({:ok, _numbers}, numbers(&1, 2))) do
      for point <- points, do: point |> numbers(2) |> elem(1) |> List.to_tuple()
    else
      raise invalid("#{name} of perspective is four points {x, y}, got: #{Argument.show(points)}")
    end
  end

  defp unknown!(name, params, known) do
    with [unknown | _] <- Map.keys(params) -- known do
      raise %Error{reason: :unknown_param, message: "#{name} has no parameter #{unknown}"}
    end
  end

  defp mask!(name, params, size) do
    defaults = %{class: "person", softness: 3}
    unknown!(name, params, Map.keys(defaults))

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

  # The colours are unchanged, so that soft edges do not darken.
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
    resized = Buffer.zeros({height, width, 4}, :u8)

    with {:error, error} <- Kernel.run(:resize, [Image.to_buffer(image)], resized),
         do: raise(error)

    {[], resized}
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
        either = if name == :resize, do: "width:, height: or both", else: "width: and height:"
        raise invalid("#{name} takes #{either}, positive integers, got: #{inspect(given)}")
    end
  end

  defp invalid(message), do: %Error{reason: :invalid_param, message: message}
end
