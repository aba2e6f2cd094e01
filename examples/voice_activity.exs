# Streams a sound file through a voice-activity model and prints where someone speaks:
#
#     mix run examples/voice_activity.exs silero_vad_v5.onnx sound.wav
#
# The model is dist/silero_vad_v5.onnx or dist/silero_vad_v6.onnx of the npm package
# @ricky0123/vad-web; the sound is 16-bit PCM at 16 kHz, of which the first channel is used.

alias Dala.Gpu.Compute
alias Dala.ML.Gpu

defmodule Wav do
  @doc "Returns the samples of the first channel, from -1 to 1, and the sample rate."
  def read!(path) do
    <<"RIFF", _size::little-32, "WAVE", rest::binary>> = File.read!(path)
    chunks = chunks(rest)

    <<1::little-16, channels::little-16, rate::little-32, _::48, 16::little-16, _::binary>> =
      chunks["fmt "]

    samples = for <<sample::little-signed-16 <- chunks["data"]>>, do: sample / 32_768
    {Enum.take_every(samples, channels), rate}
  end

  defp chunks(<<id::binary-4, size::little-32, rest::binary>>) do
    size = min(size, byte_size(rest))
    <<content::binary-size(size), rest::binary>> = rest
    padded = if rem(size, 2) == 1 and rest != "", do: binary_part(rest, 1, byte_size(rest) - 1)
    Map.put_new(chunks(padded || rest), id, content)
  end

  defp chunks(_end), do: %{}
end

[model_path, sound_path] =
  case System.argv() do
    [_model, _sound] = paths -> paths
    other -> raise "expected the paths of a model and of a .wav file, got: #{inspect(other)}"
  end

{samples, rate} = Wav.read!(sound_path)
unless rate == 16_000, do: raise("expected a sample rate of 16000, got: #{rate}")

{:ok, model} = Gpu.load_model(model_path)
{:ok, state} = Gpu.new_state(model, state: %{"stateN" => "state"})
rate = Compute.buffer([rate], {}, :s64)
frame_seconds = 512 / 16_000

probabilities =
  for frame <- Enum.chunk_every(samples, 512, 512, List.duplicate(0.0, 511)) do
    input = Compute.buffer(frame, {1, 512})
    {:ok, output} = Gpu.predict(model, %{"input" => input, "sr" => rate}, state: state)
    [probability] = Compute.read_list(output)
    probability
  end

probabilities
|> Enum.with_index()
|> Enum.chunk_by(fn {probability, _index} -> probability > 0.5 end)
|> Enum.each(fn [{probability, first} | _] = run ->
  word = if probability > 0.5, do: "speech", else: "silence"
  from = Float.round(first * frame_seconds, 2)
  to = Float.round((first + length(run)) * frame_seconds, 2)
  IO.puts("#{from} to #{to} s: #{word}")
end)
