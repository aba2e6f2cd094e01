// out[y][x] = in[start + y * down + x * across], GPU family: crop, flip, and rotation by multiples
// of 90 degrees.
//
//   in, out   pixels of CHANNELS elements of type T
//   view      see move_args.h
//
// One item per pixel. Edge rule: items past the last pixel do nothing. in and out do not overlap.

#include "kernels/image/geometry/move_args.h"

__kernel void ENTRY(__global const T *restrict in, __global T *restrict out, const Move view) {
  const long i = (long)get_global_id(0);
  if (i >= view.height * view.width) return;
  const long place = view.start + i / view.width * view.down + i % view.width * view.across;
  for (int c = 0; c < CHANNELS; ++c) out[i * CHANNELS + c] = in[place * CHANNELS + c];
}
