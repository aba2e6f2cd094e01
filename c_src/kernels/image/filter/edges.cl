// The gradient of the brightness of an image at a pixel, by the Sobel operator:
//
//   gx = (a.right - a.left) + 2 * (b.right - b.left) + (c.right - c.left)
//   gy = (c.left - a.left) + 2 * (c.middle - a.middle) + (c.right - a.right)
//   steepness = scale * sqrt(gx^2 + gy^2)
//
// a, b and c being the row above, the pixel's row and the row below. The brightness of a colour is
// that of BT.601, 0.299 red + 0.587 green + 0.114 blue, not rounded.
#pragma once

#include "kernels/image/filter/edges_args.h"

static inline float brightness_of(const float red, const float green, const float blue) {
  return 0.299f * red + 0.587f * green + 0.114f * blue;
}

static inline float steepness(const float a0, const float a1, const float a2, const float b0,
                              const float b2, const float c0, const float c1, const float c2,
                              const float scale) {
  const float gx = (a2 - a0) + 2 * (b2 - b0) + (c2 - c0);
  const float gy = (c0 - a0) + 2 * (c1 - a1) + (c2 - a2);
  return scale * sqrt(gx * gx + gy * gy);
}
