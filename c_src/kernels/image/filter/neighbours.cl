// The weights of the bilateral filters: neighbours within a circle are weighted by their distance
// and by the difference of their colour, which is the sum of the absolute differences of the
// channels without alpha.
//
//   weight = exp(-distance^2 / (2 space_sigma^2) - colours^2 / (2 range_sigma^2))
//   smooth = sum of weight * level / sum of weight, the pixel itself included with weight 1
//
// Without `skin` the result is smooth. With `skin` it is level + strength * likeness * (smooth -
// level), likeness being the similarity to skin: 1 where the chroma of BT.601 (full range, levels
// of 255) has Cb of 77 to 127 and Cr of 133 to 173, and falling linearly from 1 to 0 from 4 levels
// inside these bounds to 4 levels outside.
#pragma once

#include "kernels/image/image.cl"
#include "kernels/image/filter/neighbours_args.h"

static inline float between(const float x, const float low, const float high) {
  const float inside = x - low < high - x ? x - low : high - x;
  return within(inside * 0.125f + 0.5f, 0.0f, 1.0f);
}
static inline float skin_likeness(const float red, const float green, const float blue) {
  const float scale = 255.0f / WHITE;
  const float cb = 128 + scale * (-0.168736f * red - 0.331264f * green + 0.5f * blue);
  const float cr = 128 + scale * (0.5f * red - 0.418688f * green - 0.081312f * blue);
  return between(cb, 77.0f, 127.0f) * between(cr, 133.0f, 173.0f);
}
