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
  """

  alias Dala.Gpu.Compute.{Buffer, Error}
  alias Dala.Media.{Image, Lut}

  @kernels ~w(blur sharpen denoise beauty grayscale sepia vignette lut brightness contrast saturation
              white_balance hdr chroma_key edge_detect overlay blend resize crop flip rotate)a
  @names Map.new(@kernels, &{Atom.to_string(&1), &1})

  @type t :: atom() | String.t() | {atom() | String.t(), map() | keyword()}

  @typedoc "Width and height in pixels."
  @type size :: {pos_integer(), pos_integer()}

  @typedoc """
  A filter of a chain: the kernel with its parameters, what it reads beside the frame, and the size
  of the frame after it.
  """
  @type step :: %{kernel: atom(), params: map(), extra: [Buffer.t()], size: size()}

  @doc """
  Names all filters.

  ## Example

      iex> :blur in Dala.Media.Gpu.Filter.names()
      true
  """
  @spec names() :: [atom()]
  def names, do: Enum.sort(@kernels)

  @doc """
  Brings a list of filters into one form: `{name, params}`, the name an atom, the params a map.

  An unknown filter is an error with the reason `:unknown_kernel` that lists the known ones.

  ## Example

      iex> Dala.Media.Gpu.Filter.normalize([:grayscale, {"blur", radius: 2}])
      {:ok, [grayscale: %{}, blur: %{radius: 2}]}
  """
  @spec normalize([t()]) :: {:ok, [{atom(), map()}]} | {:error, Error.t()}
  def normalize(filters) when is_list(filters) do
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

  defp name!(name) when name in @kernels, do: name
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

  defp step!({name, params}, size), do: {step(name, params, size), size}

  defp step(kernel, params, size, extra \\ []) do
    %{kernel: kernel, params: params, extra: extra, size: size}
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
