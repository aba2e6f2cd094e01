// A projective warp of a picture:
//
//   out[y][x] = in at (x' / w, y' / w), (x', y', w) = matrix * (x, y, 1)
//
// interpolated bilinearly between the four nearest pixels, whose centres are at integers. Edge
// rules: outside of the input all channels are 0 or, with view.edge, those of the nearest pixel;
// positions at infinity or behind the camera (w <= 0) are always 0. Each item computes view.span
// pixels; items past the last do nothing. in and out do not overlap.
#pragma once

#include "kernels/image/image.cl"
#include "kernels/image/geometry/warp_args.h"

static inline float warp_level(__global const T *in, const Warp *view, const long x, const long y,
                               const long channel) {
  if (x < 0 || y < 0 || x >= view->in_width || y >= view->in_height) return 0.0f;
  return (float)in[(y * view->in_width + x) * view->channels + channel];
}

__kernel void warp(__global const T *restrict in, __global T *restrict out, const Warp view) {
  const long begin = (long)get_global_id(0) * view.span;
  const long end = min(begin + view.span, view.height * view.width);
  const float right = (float)(view.in_width - 1), bottom = (float)(view.in_height - 1);
  for (long i = begin; i < end; ++i) {
    const float column = (float)(i % view.width), row = (float)(i / view.width);
    const float w = fma(view.matrix[6], column, fma(view.matrix[7], row, view.matrix[8]));
    float x = fma(view.matrix[0], column, fma(view.matrix[1], row, view.matrix[2])) / w;
    float y = fma(view.matrix[3], column, fma(view.matrix[4], row, view.matrix[5])) / w;
    bool seen = w > 0;
    if (view.edge) {
      // Comparisons with NaN are false, so NaN positions are outside.
      seen = seen && x == x && y == y;
      x = within(x, 0.0f, right);
      y = within(y, 0.0f, bottom);
    } else {
      seen = seen && x > -1 && y > -1 && x < right + 1 && y < bottom + 1;
    }
    __global T *to = out + i * view.channels;
    if (!seen) {
      for (long c = 0; c < view.channels; ++c) to[c] = 0;
      continue;
    }
    // The operand is not negative, so truncation rounds down.
    const long x0 = (long)(x + 1) - 1, y0 = (long)(y + 1) - 1;
    const float tx = x - (float)x0, ty = y - (float)y0;
    for (long c = 0; c < view.channels; ++c) {
      const float p00 = warp_level(in, &view, x0, y0, c);
      const float p01 = warp_level(in, &view, x0 + 1, y0, c);
      const float p10 = warp_level(in, &view, x0, y0 + 1, c);
      const float p11 = warp_level(in, &view, x0 + 1, y0 + 1, c);
      const float above = fma(tx, p01 - p00, p00), below = fma(tx, p11 - p10, p10);
      const float level = fma(ty, below - above, above);
      to[c] = AS_LEVEL(level);
    }
  }
}
