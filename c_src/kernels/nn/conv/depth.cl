// out[n][p][c][k] = in[n][c][p * view.stride - view.low + k * view.dilation], which are planes of
// view.plane elements, p < view.places, k < view.size
//
//   in, out   elements of type T, moved as they are
//   view      see depth_args.h
//
// A convolution of volumes is one of planes with view.channels * view.size channels. CPU class: a
// work-group is one item and owns view.chunk planes; elsewhere there is one item per element. Edge
// rule: planes outside the volume are zeros.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/conv/depth_args.h"

// The plane of the input that a plane of the output shows, or -1 if it is outside.
static inline long plane_shown(const DepthView view, long plane) {
  const long k = plane % view.size;
  plane /= view.size;
  const long c = plane % view.channels;
  plane /= view.channels;
  const long layer = plane % view.places * view.stride - view.low + k * view.dilation;
  const long volume = plane / view.places * view.channels + c;
  return layer >= 0 && layer < view.layers ? volume * view.layers + layer : -1;
}

#if CPU_CLASS

SINGLE_ITEM_KERNEL void conv_depth(__global const T *restrict in, __global T *restrict out,
                                   const DepthView view) {
  const long first = (long)get_group_id(0) * view.chunk;
  const long last = min(first + view.chunk, view.planes);
  for (long plane = first; plane < last; ++plane) {
    const long shown = plane_shown(view, plane);
    __global T *to = out + plane * view.plane;
    if (shown < 0) {
      for (long i = 0; i < view.plane; ++i) to[i] = 0;
    } else {
      __global const T *from = in + shown * view.plane;
      for (long i = 0; i < view.plane; ++i) to[i] = from[i];
    }
  }
}

#else

__kernel void conv_depth(__global const T *restrict in, __global T *restrict out,
                         const DepthView view) {
  const long at = (long)get_global_id(0);
  if (at >= view.planes * view.plane) return;
  const long shown = plane_shown(view, at / view.plane);
  out[at] = shown < 0 ? 0 : in[shown * view.plane + at % view.plane];
}

#endif
