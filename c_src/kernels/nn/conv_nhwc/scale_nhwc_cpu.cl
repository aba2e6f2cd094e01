// conv2d in the NHWC layout with one channel per group in and out and windows of one pixel: each
// channel is scaled by its weight, CPU family. See conv2d_nhwc_cpu.cl for the formula and the
// arguments.
//
//   packed         one weight per channel
//   strip_pixels   pixels per work-group
//
// A work-group is one item and owns a strip of pixels. Preconditions: no extent is 0; out overlaps
// no input; range is {ceil(batch * height * width / strip_pixels)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv/convolution_args.h"
#include "kernels/nn/conv/vectors_cpu.cl"
#include "kernels/nn/window.cl"

static inline void scale_group(__global const T *restrict in, __global const T *restrict packed,
                               __global const T *restrict bias, __global const T *restrict residual,
                               __global T *restrict out, const Convolution conv,
                               const long strip_pixels, const T low, const T high, const T slope,
                               const Group group) {
  const long channels = conv.groups;
  const long pixels = conv.slices / conv.groups * conv.window.height * conv.window.width;
  const long end = min((group.x + 1) * strip_pixels, pixels);
  const VECTOR least = (VECTOR)(low), most = (VECTOR)(high);
  for (long pixel = group.x * strip_pixels; pixel < end; ++pixel) {
    const long at = pixel * channels;
    for (long c = 0; c < channels; c += LANES) {
      const int count = (int)min((long)LANES, channels - c);
      const VECTOR start = conv.has_bias ? load_first(bias + c, count) : (VECTOR)(0);
      VECTOR sum = fma(load_first(in + at + c, count), load_first(packed + c, count), start);
      if (conv.has_residual) sum += load_first(residual + at + c, count);
      sum = ACTIVATED(sum, least, most);
      store_first(curved_lanes(sum, conv.curve, slope), out + at + c, count);
    }
  }
}

SINGLE_ITEM_KERNEL void conv2d_scale(__global const T *restrict in,
                                     __global const T *restrict packed,
                                     __global const T *restrict bias,
                                     __global const T *restrict residual, __global T *restrict out,
                                     const Convolution conv, const long strip_pixels, const T low,
                                     const T high, const T slope) {
  scale_group(in, packed, bias, residual, out, conv, strip_pixels, low, high, slope, OWN_GROUP);
}
