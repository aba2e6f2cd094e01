// The colour filters: functions of pixels, their position and the parameters of the filter. All of
// them keep alpha, except chroma_key, which computes it.
#pragma once

#include "kernels/image/pixels/pixels.cl"

// in; for conversions between numbers of channels.
static inline Pixels pixel_copy(const Pixels in, const Place place, const PixelValues values) {
  return in;
}

// BT.601, in a form in which the luma of a grey is exactly that grey.
static inline Reals luma(const Pixels in) {
  return fma((Reals)(0.299f), in.r - in.g, fma((Reals)(0.114f), in.b - in.g, in.g));
}

// y = 0.299 r + 0.587 g + 0.114 b in each channel.
static inline Pixels pixel_grayscale(const Pixels in, const Place place, const PixelValues values) {
  const Reals y = luma(in);
  const Pixels out = {y, y, y, in.a};
  return out;
}

// in + intensity * (sepia - in); values: intensity.
static inline Reals toned(const Pixels in, const float r, const float g, const float b) {
  return fma((Reals)(r), in.r, fma((Reals)(g), in.g, in.b * b));
}
static inline Pixels pixel_sepia(const Pixels in, const Place place, const PixelValues values) {
  const Reals intensity = (Reals)(values.at[0]);
  const Pixels out = {fma(intensity, toned(in, 0.393f, 0.769f, 0.189f) - in.r, in.r),
                      fma(intensity, toned(in, 0.349f, 0.686f, 0.168f) - in.g, in.g),
                      fma(intensity, toned(in, 0.272f, 0.534f, 0.131f) - in.b, in.b), in.a};
  return out;
}

// in * (1 - intensity * d^2), d the distance from the centre: 1 in the corners; values: intensity.
static inline Pixels pixel_vignette(const Pixels in, const Place place, const PixelValues values) {
  const Reals d2 = fma(place.x, place.x, place.y * place.y) * 0.5f;
  const Reals factor = fma((Reals)(-values.at[0]), d2, (Reals)(1.0f));
  const Pixels out = {in.r * factor, in.g * factor, in.b * factor, in.a};
  return out;
}

// in + value; values: value.
static inline Pixels pixel_brightness(const Pixels in, const Place place,
                                      const PixelValues values) {
  const float value = values.at[0];
  const Pixels out = {in.r + value, in.g + value, in.b + value, in.a};
  return out;
}

// in + value * (in - 0.5); values: value.
static inline Pixels pixel_contrast(const Pixels in, const Place place, const PixelValues values) {
  const Reals value = (Reals)(values.at[0]);
  const Pixels out = {fma(value, in.r - 0.5f, in.r), fma(value, in.g - 0.5f, in.g),
                      fma(value, in.b - 0.5f, in.b), in.a};
  return out;
}

// in + value * (in - luma); values: value.
static inline Pixels pixel_saturation(const Pixels in, const Place place,
                                      const PixelValues values) {
  const Reals y = luma(in), value = (Reals)(values.at[0]);
  const Pixels out = {fma(value, in.r - y, in.r), fma(value, in.g - y, in.g),
                      fma(value, in.b - y, in.b), in.a};
  return out;
}

// 1 where the luma is at least the level, 0 elsewhere, in each channel; values: level.
static inline Pixels pixel_threshold(const Pixels in, const Place place, const PixelValues values) {
  const Reals level = (Reals)(values.at[0]);
  const Reals y = luma(in) < level ? (Reals)(0.0f) : (Reals)(1.0f);
  const Pixels out = {y, y, y, in.a};
  return out;
}

// Each channel times its gain; values: the gains of red, green and blue.
static inline Pixels pixel_white_balance(const Pixels in, const Place place,
                                         const PixelValues values) {
  const Pixels out = {in.r * values.at[0], in.g * values.at[1], in.b * values.at[2], in.a};
  return out;
}

// v * (1 + v / 4) / (1 + v), where v = 2 * exposure * in, and 0 below 0. With an exposure of 1,
// black and white stay and the shadows are twice as bright; values: 2 * exposure.
static inline Reals tone_mapped(const Reals x, const float gain) {
  const Reals v = at_least(0.0f, x * gain);
  return v * fma(v, (Reals)(0.25f), (Reals)(1.0f)) / (v + 1.0f);
}
static inline Pixels pixel_hdr(const Pixels in, const Place place, const PixelValues values) {
  const float gain = values.at[0];
  const Pixels out = {tone_mapped(in.r, gain), tone_mapped(in.g, gain), tone_mapped(in.b, gain),
                      in.a};
  return out;
}

// alpha * clamp((d - threshold) / softness, 0, 1), d the distance from the key in the plane of the
// colour differences cb = 0.564 (b - y) and cr = 0.713 (r - y); values: the key's cb and cr, the
// threshold, 1 / softness.
static inline Pixels pixel_chroma_key(const Pixels in, const Place place,
                                      const PixelValues values) {
  const Reals y = luma(in);
  const Reals cb = fma(in.b - y, (Reals)(0.564f), (Reals)(-values.at[0]));
  const Reals cr = fma(in.r - y, (Reals)(0.713f), (Reals)(-values.at[1]));
  const Reals distance = sqrt(fma(cb, cb, cr * cr));
  const Reals kept = at_most(1.0f, at_least(0.0f, (distance - values.at[2]) * values.at[3]));
  const Pixels out = {in.r, in.g, in.b, in.a * kept};
  return out;
}
