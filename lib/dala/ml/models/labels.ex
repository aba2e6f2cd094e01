defmodule Dala.ML.Models.Labels do
  @moduledoc """
  The class names of well-known datasets, for the option `labels:` of `Dala.ML`.

    * `:imagenet` - the 1000 classes of ILSVRC 2012
    * `:imagenet_1001` - the same after a background class, as in TensorFlow's models
    * `:coco` - the 80 classes of COCO
    * `:pascal` - the background and the 20 classes of PASCAL VOC
  """

  @folder Path.join(__DIR__, "labels")

  @lists (for name <- [:imagenet, :coco, :pascal] do
            path = Path.join(@folder, "#{name}.txt")
            @external_resource path
            lines = path |> File.read!() |> String.split("\n", trim: true)
            {name, Enum.reject(lines, &String.starts_with?(&1, "#"))}
          end)

  @doc """
  Returns the class names of a dataset, in the order of their indices.

  ## Example

      iex> length(Dala.ML.Models.Labels.list(:imagenet_1001))
      1001
      iex> Enum.take(Dala.ML.Models.Labels.list(:pascal), 3)
      ["background", "aeroplane", "bicycle"]
  """
  @spec list(:imagenet | :imagenet_1001 | :coco | :pascal) :: [String.t()]
  def list(:imagenet_1001), do: ["background" | list(:imagenet)]
  for {name, names} <- @lists, do: def(list(unquote(name)), do: unquote(names))

  # The maximum size of an attached list; class names take far less.
  @largest 256 * 1024

  @doc """
  Returns the lists of class names attached to a TFLite file, by their names in the file.

  Such files end with a zip archive of attachments. Texts larger than 256 KB are skipped.

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
