// Selects between two images by a mask:
//
//   out = outside + m * (inside - outside), in all channels; u8 is rounded to nearest.
//
//   inside, outside, out   pixels of view.channels elements of type T
//   mask                   levels of type T, view.mask_height by view.mask_width; white is m = 1
//   view                   the size of the images, and the region of the mask over them
//
// m is the mask at the pixel's centre, interpolated bilinearly and clamped to the edges of the
// mask. Each item owns `chunk` pixels: many in the CPU family, one in the GPU family. Edge rule:
// the last chunk ends at the last pixel. out may be inside or outside, but not mask.
#pragma once

#include "kernels/image/composite/matte_args.h"
#include "kernels/image/pixels/pixels.cl"

static inline float between(const float from, const float to, const float share) {
  return fma(share, to - from, from);
}

__kernel void matte(__global const T *inside, __global const T *outside, __global const T *mask,
                    __global T *out, const Matte view, const long chunk) {
  const long begin = (long)get_global_id(0) * chunk;
  const long end = min(begin + chunk, view.height * view.width);
  long row = begin / view.width, column = begin % view.width;
  for (long i = begin; i < end; ++i) {
    const float y = fma((float)row + 0.5f, view.step_y, view.y) - 0.5f;
    const float x = fma((float)column + 0.5f, view.step_x, view.x) - 0.5f;
    const float upper = clamp(y, 0.0f, (float)(view.mask_height - 1));
    const float left = clamp(x, 0.0f, (float)(view.mask_width - 1));
    const long top = min((long)upper, view.mask_height - 1);
    const long start = min((long)left, view.mask_width - 1);
    const long bottom = min(top + 1, view.mask_height - 1);
    const long stop = min(start + 1, view.mask_width - 1);
    const float across = left - (float)start;
    __global const T *first = mask + top * view.mask_width;
    __global const T *second = mask + bottom * view.mask_width;
    const float above = between((float)first[start], (float)first[stop], across);
    const float below = between((float)second[start], (float)second[stop], across);
#if T_FLOAT
    const float m = between(above, below, upper - (float)top);
#else
    const float m = between(above, below, upper - (float)top) / 255.0f;
#endif
    for (long k = i * view.channels; k < (i + 1) * view.channels; ++k) {
      const float mixed = between((float)outside[k], (float)inside[k], m);
#if T_FLOAT
      out[k] = mixed;
#else
      out[k] = (T)(int)(mixed + HALF);
#endif
    }
    if (++column == view.width) {
      column = 0;
      ++row;
    }
  }
}
