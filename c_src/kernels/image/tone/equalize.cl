// The luma of a picture spread over all levels, tile by tile, its colour differences kept:
//
//   out = in + shift(luma), shift(v) = table(v) - v
//
// in every channel but alpha. Between the centres of four tiles, shift is bilinear; outwards of the
// outermost centres it is that of the nearest ones.
#pragma once

#include "kernels/image/tone/tone.cl"

// Clips counts above the limit and distributes the excess equally over all levels; the remainder of
// that division goes to evenly spaced levels.
static inline void limit_counts(__global uint *counts, const uint limit) {
  uint excess = 0;
  for (int v = 0; v < TONE_LEVELS; ++v) {
    if (counts[v] > limit) {
      excess += counts[v] - limit;
      counts[v] = limit;
    }
  }
  for (int v = 0; v < TONE_LEVELS; ++v) counts[v] += excess / TONE_LEVELS;
  const uint rest = excess % TONE_LEVELS;
  const int step = rest == 0 ? TONE_LEVELS : TONE_LEVELS / (int)rest;
  for (uint i = 0; i < rest; ++i) ++counts[(int)i * step];
}

//   counts   the histogram of each tile's luma; limited in place
//   shifts   256 numbers per tile, in levels
//
// Without a limit, the lowest level that occurs becomes 0 and the highest 255, in proportion to how
// many pixels lie between: table(v) = 255 * (up to v - first) / (all - first), first being the
// count of the lowest level; of a single level, nothing changes. With one, table(v) = 255 * up to v
// / all.
//
// An item per tile; items past the last do nothing. No tile is empty.
__kernel void equalize_tables(__global uint *restrict counts, __global float *restrict shifts,
                              const Tones tones, const Equalize equalize) {
  const long tile = (long)get_global_id(0);
  if (tile >= tones.tiles_x * tones.tiles_y) return;
  counts += tile * TONE_LEVELS;
  shifts += tile * TONE_LEVELS;
  uint all = 0;
  for (int v = 0; v < TONE_LEVELS; ++v) all += counts[v];
  uint first = 0;
  if (equalize.limit > 0) {
    limit_counts(counts, max((uint)(equalize.limit * ((float)all / TONE_LEVELS)), 1u));
  } else {
    for (int v = 0; v < TONE_LEVELS && first == 0; ++v) first = counts[v];
  }
  const float scale = all > first ? 255.0f / (float)(all - first) : 0.0f;
  uint up_to = 0;
  for (int v = 0; v < TONE_LEVELS; ++v) {
    up_to += counts[v];
    const float level = up_to > first ? (float)(up_to - first) * scale : 0.0f;
    shifts[v] = all > first ? level - (float)v : 0.0f;
  }
}

// The two tiles whose centres are nearest to a position, and the position between them, 0 to 1.
typedef struct {
  int a, b;
  float t;
} Between;
static inline Between between_centres(const long place, const long extent, const long tiles) {
  const float at = ((float)place + 0.5f) * (float)tiles / (float)extent - 0.5f;
  const float inside = within(at, 0.0f, (float)(tiles - 1));
  Between result;
  result.a = (int)inside;
  result.b = min(result.a + 1, (int)tiles - 1);
  result.t = inside - (float)result.a;
  return result;
}

//   in, out   pictures; they may be the same
//   shifts    256 numbers per tile, in levels
//
// An item does `span` pixels; items past the last pixel do nothing.
__kernel void equalize_levels(__global const T *in, __global T *out,
                              __global const float *restrict shifts, const Tones tones,
                              const long span) {
  const long begin = (long)get_global_id(0) * span;
  const long end = min(begin + span, tones.height * tones.width);
  const int channels = (int)tones.channels, colours = min(channels, 3);
  const float unit = WHITE / 255.0f;
  for (long i = begin; i < end; ++i) {
    __global const T *pixel = in + i * channels;
    const Between x = between_centres(i % tones.width, tones.width, tones.tiles_x);
    const Between y = between_centres(i / tones.width, tones.height, tones.tiles_y);
    const int luma = luma_of(pixel, channels);
    __global const float *above = shifts + y.a * tones.tiles_x * TONE_LEVELS + luma;
    __global const float *below = shifts + y.b * tones.tiles_x * TONE_LEVELS + luma;
    const float upper = mix(above[x.a * TONE_LEVELS], above[x.b * TONE_LEVELS], x.t);
    const float lower = mix(below[x.a * TONE_LEVELS], below[x.b * TONE_LEVELS], x.t);
    const float shift = mix(upper, lower, y.t) * unit;
    for (int c = 0; c < colours; ++c) {
      const float level = (float)pixel[c] + shift;
      out[i * channels + c] = AS_LEVEL(level);
    }
    if (channels == 4) out[i * 4 + 3] = pixel[3];
  }
}
