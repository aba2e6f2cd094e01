# A low-pass filter on a sound file: its spectrum, without the frequencies above a bound, and back.
# Without a file of its own it writes one, a tone with noise. Run it with
#
#     mix run examples/numeric/low_pass.exs [out.wav] [in.wav] [hertz]

defmodule LowPass do
  alias Dala.Gpu.Compute

  @rate 44_100

  def run(out, input, bound) do
    {rate, samples} = if input, do: read(input), else: noisy_tone()
    count = div(byte_size(samples), 2)
    half = div(count, 2) + 1
    sound = Compute.buffer_zeros({count}, :f32)
    spectrum = Compute.buffer_zeros({half, 2}, :f32)
    :ok = load(samples, sound)
    :ok = Compute.run_kernel(:rfft, [sound], spectrum)
    before = power_above(spectrum, half, bound, rate, count)

    # 1 for the frequencies that stay; a column, so that it applies to real and imaginary part.
    mask = mask(half, bound, rate, count, :less_equal)
    :ok = Compute.run_kernel(:elementwise_mul, [spectrum, mask], spectrum)
    :ok = Compute.run_kernel(:irfft, [spectrum], sound)

    filtered = store(sound)
    :ok = load(filtered, sound)
    :ok = Compute.run_kernel(:rfft, [sound], spectrum)
    later = power_above(spectrum, half, bound, rate, count)
    File.write!(out, wav(filtered, rate))
    quieter = 10 * :math.log10(max(before, 1.0e-30) / max(later, 1.0e-30))
    IO.puts("#{count} samples; above #{bound} Hz it is #{round(quieter)} dB quieter")
    IO.puts("wrote #{out}")
  end

  # Samples of 16 bits to numbers between -1 and 1.
  defp load(samples, sound) do
    numbers =
      for <<x::little-signed-16 <- samples>>, into: <<>>, do: <<x / 32_768::float-32-native>>

    Compute.write(sound, numbers)
  end

  defp store(sound) do
    for <<x::float-32-native <- Compute.read(sound)>>, into: <<>> do
      <<min(max(round(x * 32_768), -32_768), 32_767)::little-signed-16>>
    end
  end

  defp mask(half, bound, rate, count, comparison) do
    places = Compute.buffer_zeros({half, 1}, :f32)
    last = Compute.buffer([bound * count / rate], {1})
    kept = Compute.buffer_zeros({half, 1}, :u8)
    mask = Compute.buffer_zeros({half, 1}, :f32)
    :ok = Compute.run_kernel(:iota, [], places, %{axis: 0})
    :ok = Compute.run_kernel(comparison, [places, last], kept)
    :ok = Compute.run_kernel(:cast, [kept], mask)
    mask
  end

  defp power_above(spectrum, half, bound, rate, count) do
    part = Compute.buffer_zeros({half, 2}, :f32)
    total = Compute.buffer_zeros({}, :f32)
    :ok = Compute.run_kernel(:elementwise_mul, [spectrum, spectrum], part)
    mask = mask(half, bound, rate, count, :greater)
    :ok = Compute.run_kernel(:elementwise_mul, [part, mask], part)
    :ok = Compute.run_kernel(:reduce_sum, [part], total)
    [power] = Compute.read_list(total)
    power
  end

  # Two seconds of 440 Hz and of white noise.
  defp noisy_tone do
    count = 2 * @rate
    noise = Compute.buffer_zeros({count}, :f32)
    :ok = Compute.run_kernel(:random_normal, [], noise, %{seed: 440, std: 0.1})

    samples =
      for {noise, place} <- Enum.with_index(Compute.read_list(noise)), into: <<>> do
        tone = 0.4 * :math.sin(2 * :math.pi() * 440 * place / @rate)
        <<round(min(max(tone + noise, -1.0), 1.0) * 32_767)::little-signed-16>>
      end

    {@rate, samples}
  end

  # The format of plain WAV files: chunks of a name, a length and that many bytes.
  defp read(path) do
    <<"RIFF", _size::little-32, "WAVE", chunks::binary>> = File.read!(path)
    chunks = Map.new(chunks(chunks))

    <<1::little-16, 1::little-16, rate::little-32, _bytes::little-32, _align::little-16,
      16::little-16, _rest::binary>> = chunks["fmt "]

    {rate, chunks["data"]}
  end

  defp chunks(<<name::binary-4, size::little-32, content::binary-size(size), rest::binary>>) do
    padding = min(rem(size, 2), byte_size(rest))
    [{name, content} | chunks(binary_part(rest, padding, byte_size(rest) - padding))]
  end

  defp chunks(_end), do: []

  defp wav(samples, rate) do
    size = byte_size(samples)

    <<"RIFF", size + 36::little-32, "WAVE", "fmt ", 16::little-32, 1::little-16, 1::little-16,
      rate::little-32, rate * 2::little-32, 2::little-16, 16::little-16, "data", size::little-32,
      samples::binary>>
  end
end

case System.argv() do
  [out, input, bound] -> LowPass.run(out, input, String.to_integer(bound))
  [out, input] -> LowPass.run(out, input, 1000)
  [out] -> LowPass.run(out, nil, 1000)
  [] -> LowPass.run("low_pass.wav", nil, 1000)
end
