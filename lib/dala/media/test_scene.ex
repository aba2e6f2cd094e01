defmodule Dala.Media.TestScene do
  @moduledoc """
  A landscape with a face, drawn by a kernel, as a test image.

  It has features that exercise filters: soft gradients, fine texture, hard edges, saturated
  colours, skin, highlights, and with `screen: true` a green screen behind the face. It is animated,
  so a sequence of frames is a video. `mix dala.camera` and the gallery of filters use it.
  """

  alias Dala.Gpu.Compute.{Argument, Buffer, Error, Kernel}

  @kernel :dala_test_scene

  @source """
  float hash(int x, int y) {
    uint h = (uint)x * 374761393u + (uint)y * 668265263u;
    h = (h ^ (h >> 13)) * 1274126177u;
    return (float)((h ^ (h >> 16)) & 0xffffffu) / 16777216.0f;
  }

  // Value noise of one octave; clouds() sums several octaves.
  float noise(float2 p) {
    const float2 cell = floor(p), f = p - cell;
    const float2 s = f * f * (3.0f - 2.0f * f);
    const int x = (int)cell.x, y = (int)cell.y;
    return mix(mix(hash(x, y), hash(x + 1, y), s.x),
               mix(hash(x, y + 1), hash(x + 1, y + 1), s.x), s.y);
  }

  float clouds(float2 p, int octaves) {
    float sum = 0.0f, size = 0.5f;
    for (int i = 0; i < octaves; ++i, size *= 0.5f, p = p * 2.03f + 17.3f) sum += size * noise(p);
    return sum;
  }

  // The coverage of a shape: 1 well inside, 0 well outside. Shapes below return early outside of a
  // bounding box, since most pixels are covered by few shapes.
  float inside(float distance, float softness) {
    return 1.0f - smoothstep(-softness, softness, distance);
  }

  float ellipse(float2 p, float2 centre, float2 radii) {
    return (length((p - centre) / radii) - 1.0f) * min(radii.x, radii.y);
  }

  // The landscape at p: x from 0 to the aspect ratio, y from 0 at the top to 1.
  float3 landscape(float2 p, float time) {
    float3 c = mix((float3)(0.18f, 0.36f, 0.68f), (float3)(0.98f, 0.78f, 0.55f),
                   smoothstep(0.0f, 0.62f, p.y));
    const float2 sun = (float2)(0.35f + 0.02f * time, 0.36f);
    const float from_sun = length(p - sun);
    c += (float3)(1.0f, 0.75f, 0.4f) * (0.35f * exp(-6.0f * from_sun));
    c = mix(c, (float3)(1.0f, 0.97f, 0.85f), inside(from_sun - 0.055f, 0.004f));
    if (p.y < 0.6f) {
      const float cloud = clouds((float2)(p.x * 2.2f + 0.06f * time, p.y * 6.0f), 5);
      c = mix(c, (float3)(1.0f, 0.95f, 0.92f),
              0.8f * smoothstep(0.5f, 0.78f, cloud) * (1.0f - smoothstep(0.3f, 0.6f, p.y)));
    }
    if (p.y < 0.33f) return c;  // Above all mountains.
    const float far = 0.50f - 0.16f * clouds((float2)(p.x * 2.4f + 3.0f, 0.0f), 4);
    c = mix(c, mix((float3)(0.42f, 0.44f, 0.60f), (float3)(0.85f, 0.83f, 0.86f),
                   smoothstep(0.62f, 0.66f, clouds(p * 9.0f, 4) + 0.5f - p.y * 0.3f)),
            inside(far - p.y, 0.002f));
    if (p.y < 0.43f) return c;  // Above all trees.
    const float near = 0.60f - 0.14f * clouds((float2)(p.x * 3.7f + 9.0f, 5.0f), 5);
    const float trees = 0.02f * noise((float2)(p.x * 90.0f, 1.0f));
    c = mix(c, (float3)(0.10f, 0.22f, 0.16f) + 0.10f * clouds(p * 40.0f, 3),
            inside(near - trees - p.y, 0.002f));
    return c;
  }

  // A balloon with stripes; w is its coverage of the pixel.
  float4 balloon(float2 p, float time) {
    const float2 centre =
        (float2)(0.72f + 0.10f * sin(0.35f * time), 0.25f + 0.03f * sin(0.9f * time));
    const float2 q = (p - centre) / 0.13f;
    if (fabs(q.x) > 1.1f || q.y < -1.1f || q.y > 2.2f) return (float4)(0.0f);
    const float bulb = length((float2)(q.x, q.y * (q.y > 0.0f ? 0.72f : 1.0f))) - 1.0f;
    const int stripe = (int)floor((asin(clamp(q.x / sqrt(max(1.0f - q.y * q.y * 0.52f, 0.05f)),
                                              -1.0f, 1.0f)) + 1.6f) * 2.55f);
    float3 c = stripe % 3 == 0 ? (float3)(0.90f, 0.12f, 0.15f)
             : stripe % 3 == 1 ? (float3)(0.98f, 0.80f, 0.10f) : (float3)(0.10f, 0.35f, 0.85f);
    c *= 0.75f + 0.35f * clamp(0.6f - 0.7f * q.x - 0.4f * q.y, 0.0f, 1.0f);
    const float2 b = fabs(q - (float2)(0.0f, 1.85f)) - (float2)(0.2f, 0.16f);
    const float basket = max(b.x, b.y);
    if (basket < bulb) c = (float3)(0.36f, 0.22f, 0.12f);
    return (float4)(c, inside(min(bulb, basket) * 0.13f, 0.002f));
  }

  // Head and shoulders.
  float4 person(float2 p, float aspect, float time) {
    const float2 head = (float2)(aspect - 0.42f + 0.015f * sin(1.1f * time), 0.60f);
    const float2 q = p - head;
    float4 c = (float4)(0.0f);
    if (fabs(q.x) > 0.36f || q.y < -0.3f || q.y > 0.72f) return c;
    const float body = ellipse(q, (float2)(0.0f, 0.46f), (float2)(0.34f, 0.24f));
    const float weave = 0.04f * sin(q.x * 420.0f) * sin(q.y * 420.0f);
    c = mix(c, (float4)(0.16f + weave, 0.27f + weave, 0.45f + weave, 1.0f), inside(body, 0.003f));
    const float3 skin = (float3)(0.86f, 0.62f, 0.50f) * (1.02f - 0.9f * q.x) +
                        0.07f * (clouds(q * 70.0f, 3) - 0.45f);
    const float freckle = smoothstep(0.80f, 0.84f, noise(q * 95.0f)) *
                          inside(ellipse(q, (float2)(0.0f, 0.03f), (float2)(0.13f, 0.07f)), 0.03f);
    const float4 face = (float4)(mix(skin, skin * (float3)(0.72f, 0.56f, 0.48f), 0.7f * freckle), 1.0f);
    const float neck = max(fabs(q.x) - 0.065f, fabs(q.y - 0.18f) - 0.10f);
    c = mix(c, face * (float4)(0.88f, 0.86f, 0.86f, 1.0f), inside(neck, 0.004f));
    const float4 hair = (float4)((float3)(0.23f, 0.14f, 0.09f) *
                                 (0.8f + 0.5f * noise((float2)(q.x * 160.0f, q.y * 14.0f))), 1.0f);
    c = mix(c, hair, inside(ellipse(q, (float2)(0.0f, -0.04f), (float2)(0.185f, 0.22f)), 0.004f));
    c = mix(c, face, inside(ellipse(q, (float2)(0.0f, 0.02f), (float2)(0.15f, 0.19f)), 0.004f));
    const float2 m = (float2)(fabs(q.x), q.y);
    c = mix(c, hair, inside(ellipse(m, (float2)(0.058f, -0.052f), (float2)(0.034f, 0.008f)), 0.003f));
    c = mix(c, (float4)(0.97f, 0.97f, 0.96f, 1.0f),
            inside(ellipse(m, (float2)(0.058f, -0.015f), (float2)(0.028f, 0.015f)), 0.002f));
    c = mix(c, (float4)(0.20f, 0.38f, 0.30f, 1.0f),
            inside(length(m - (float2)(0.058f, -0.015f)) - 0.0135f, 0.002f));
    c = mix(c, (float4)(0.02f, 0.02f, 0.02f, 1.0f),
            inside(length(m - (float2)(0.058f, -0.015f)) - 0.006f, 0.002f));
    c = mix(c, face * (float4)(0.80f, 0.74f, 0.72f, 1.0f),
            0.7f * inside(ellipse(m, (float2)(0.018f, 0.065f), (float2)(0.014f, 0.009f)), 0.004f));
    const float smile = ellipse(q, (float2)(0.0f, 0.115f + 0.9f * q.x * -q.x), (float2)(0.055f, 0.012f));
    return mix(c, (float4)(0.74f, 0.30f, 0.30f, 1.0f), inside(smile, 0.003f));
  }

  __kernel void dala_test_scene(__global uchar *output, int width, int height, float time,
                                int screen) {
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height) return;
    const float aspect = (float)width / (float)height;
    const float2 p = ((float2)(x, y) + 0.5f) / (float)height;
    const float shore = 0.66f;
    float3 c = (float3)(0.05f, 0.78f, 0.18f) * (0.97f + 0.06f * p.y);
    if (!screen) {
      float2 seen = p;
      if (p.y > shore) {
        const float depth = (p.y - shore) / (1.0f - shore);
        const float ripple = noise((float2)(p.x * 9.0f, p.y * 70.0f + 1.5f * time)) - 0.5f;
        seen = (float2)(p.x + 0.03f * ripple * depth, 2.0f * shore - p.y + 0.04f * ripple);
      }
      c = landscape(seen, time);
      const float4 b = balloon(seen, time);
      c = mix(c, b.xyz, b.w);
      if (p.y > shore) c = c * (float3)(0.62f, 0.70f, 0.76f) + (float3)(0.0f, 0.02f, 0.04f);
      if (p.y > 0.79f) {
        const float bank = 0.90f - 0.05f * noise((float2)(p.x * 4.0f, 2.0f));
        const float blades = 0.05f * noise((float2)(p.x * 150.0f, 7.0f));
        const float grass = noise((float2)(p.x * 230.0f, p.y * 40.0f));
        c = mix(c, (float3)(0.20f, 0.42f, 0.10f) * (0.6f + 0.8f * grass),
                inside(bank - blades - p.y, 0.002f));
      }
    }
    const float4 who = person(p, aspect, time);
    c = mix(c, who.xyz, who.w);
    c += 0.012f * (hash(x + 7919 * (int)(30.0f * time), y) - 0.5f);
    const int at = 4 * (y * width + x);
    output[at] = convert_uchar_sat_rte(255.0f * c.x);
    output[at + 1] = convert_uchar_sat_rte(255.0f * c.y);
    output[at + 2] = convert_uchar_sat_rte(255.0f * c.z);
    output[at + 3] = 255;
  }
  """

  @doc """
  Draws the scene into a buffer of shape `{height, width, 4}`, `:u8`.

  ## Options

    * `:time` - the time of the animation in seconds, 0 by default
    * `:screen` - whether a green screen hides the landscape, `false` by default

  ## Example

      iex> frame = Dala.Gpu.Compute.buffer_zeros({48, 64, 4}, :u8)
      iex> Dala.Media.TestScene.draw(frame, time: 1.5)
      :ok
  """
  @spec draw(Buffer.t(), keyword()) :: :ok | {:error, Error.t()}
  def draw(%Buffer{} = output, opts \\ []) do
    opts = Argument.options!(opts, time: 0, screen: false)

    screen = if opts[:screen], do: 1, else: 0
    run = fn -> Kernel.run(@kernel, [], output, time: opts[:time], screen: screen) end

    # The kernel is registered by the first frame, which does not find it.
    with {:error, %Error{reason: :unknown_kernel}} <- run.(), :ok <- register(), do: run.()
  end

  @doc """
  Draws the scene and returns it as an RGBA binary; takes the options of `draw/2`.

  ## Example

      iex> byte_size(Dala.Media.TestScene.frame(64, 48))
      12288
  """
  @spec frame(pos_integer(), pos_integer(), keyword()) :: binary()
  def frame(width, height, opts \\ []) do
    buffer = Buffer.zeros({height, width, 4}, :u8)
    with {:error, error} <- draw(buffer, opts), do: raise(error)
    Buffer.read(buffer)
  end

  defp register do
    Kernel.register(@kernel, @source,
      inputs: 0,
      params: [:time, :screen],
      summary: "A landscape with a face, to try filters on."
    )
  end
end
