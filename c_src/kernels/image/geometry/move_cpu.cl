// out[y][x] = in[start + y * down + x * across], CPU family: crop, flip, and rotation by multiples
// of 90 degrees.
//
//   in, out   pixels of CHANNELS elements of type T
//   view      see move_args.h
//
// A work-group is one item and owns view.strip rows of the output. If adjacent output pixels come
// from different input rows, it processes tiles, so that its reads hit the cache. Edge rule: the
// last strip and the last tiles end at the output's edges. in and out do not overlap.

#include "kernels/common/kernel.h"
#include "kernels/image/geometry/move_args.h"

#define TILE 16L

SINGLE_ITEM_KERNEL void ENTRY(__global const T *restrict in, __global T *restrict out,
                              const Move view) {
  typedef struct {
    T channel[CHANNELS];
  } Pixel;
  const long first = (long)get_group_id(0) * view.strip;
  const long end = min(first + view.strip, view.height);
  if (view.across == 1) {
    for (long y = first; y < end; ++y) {
      __global const T *row = in + (view.start + y * view.down) * CHANNELS;
      __global T *made = out + y * view.width * CHANNELS;
      for (long i = 0; i < view.width * CHANNELS; ++i) made[i] = row[i];
    }
    return;
  }
  __global const Pixel *from = (__global const Pixel *)in + view.start;
  __global Pixel *to = (__global Pixel *)out;
  if (view.across == -1) {
    for (long y = first; y < end; ++y) {
      __global const Pixel *row = from + y * view.down;
      __global Pixel *made = to + y * view.width;
      for (long x = 0; x < view.width; ++x) made[x] = row[-x];
    }
    return;
  }
  for (long y0 = first; y0 < end; y0 += TILE) {
    const long y1 = min(y0 + TILE, end);
    for (long x0 = 0; x0 < view.width; x0 += TILE) {
      const long x1 = min(x0 + TILE, view.width);
      for (long y = y0; y < y1; ++y) {
        for (long x = x0; x < x1; ++x) {
          to[y * view.width + x] = from[y * view.down + x * view.across];
        }
      }
    }
  }
}

#undef TILE
