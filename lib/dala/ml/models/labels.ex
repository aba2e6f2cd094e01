defmodule Dala.ML.Models.Labels do
  @moduledoc """
  The names of the classes that well-known datasets have, for the `labels:` of `Dala.ML`.

    * `:imagenet` - 1000 classes of ILSVRC 2012
    * `:imagenet_1001` - the same after a first one for the background, as TensorFlow's models have
      them
    * `:coco` - 80 things
    * `:pascal` - the background, and 20 things
  """

  @folder Path.join(__DIR__, "labels")

  @lists (for name <- [:imagenet, :coco, :pascal] do
            path = Path.join(@folder, "#{name}.txt")
            @external_resource path
            lines = path |> File.read!() |> String.split("\n", trim: true)
            {name, Enum.reject(lines, &String.starts_with?(&1, "#"))}
          end)

  @doc """
  Gives the names of a dataset's classes, in the order of their numbers.

  ## Example

      iex> length(Dala.ML.Models.Labels.list(:imagenet_1001))
      1001
      iex> Enum.take(Dala.ML.Models.Labels.list(:pascal), 3)
      ["background", "aeroplane", "bicycle"]
  """
  @spec list(:imagenet | :imagenet_1001 | :coco | :pascal) :: [String.t()]
  def list(:imagenet_1001), do: ["background" | list(:imagenet)]
  for {name, names} <- @lists, do: def(list(unquote(name)), do: unquote(names))

  # Of a list as it lies in the file; names of classes take far less.
  @largest 256 * 1024

  @doc """
  Gives the lists of names that a TFLite file carries, by the names they have there.

  Such files end in an archive of what its authors attached. Texts larger than 256 KB are left out.

  ## Example

      iex> Dala.ML.Models.Labels.attached("examples/double.tflite")
      %{}
  """
  @spec attached(Path.t()) :: %{String.t() => [String.t()]}
  def attached(path) do
    case :zip.unzip(File.read!(path), [:memory, file_filter: &small_text?/1]) do
      {:ok, files} ->
        for {name, text} <- files, String.valid?(text), into: %{} do
          {to_string(name), String.split(text, ["\r\n", "\n"], trim: true)}
        end

      {:error, _no_archive} ->
        %{}
    end
  end

  defp small_text?({:zip_file, name, _info, _comment, _offset, size}) do
    Path.extname(to_string(name)) == ".txt" and size <= @largest
  end
end
