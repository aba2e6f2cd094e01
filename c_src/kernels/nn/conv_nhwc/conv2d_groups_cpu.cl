// conv2d in the NHWC layout with several groups per vector, for groups with the same number of
// channels in and out, CPU family. See conv2d_nhwc_cpu.cl for the formula and the arguments,
// depthwise_nhwc_cpu.cl for `rows`.
//
//   packed   blocks of LANES channels; a block has, for each element of the window, one vector per
//            channel of a group: lane l of vector i is the weight of channel l ^ i for output
//            channel l of the block
//
// A work-group is one item and owns a rectangle of rows and channels of one plane. Edge rule: the
// last block ends with the last channel, and may repeat channels of the block before.
// Preconditions: no extent is 0; out overlaps no input; groups have 2, 4 or 8 channels, fewer than
// LANES, and there are at least LANES channels in total; range is {ceil(out_height / strip_rows),
// ceil(channels / LANES / strip_blocks), batch}, with channels / LANES rounded down.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/conv_nhwc/depthwise_nhwc_cpu.cl"
#include "kernels/nn/window.cl"

#define NAME groups_of_2
#define WIDTH 2
#include "kernels/nn/conv_nhwc/conv2d_groups_row_cpu.cl"
#undef NAME
#undef WIDTH

#if LANES > 4
#define NAME groups_of_4
#define WIDTH 4
#include "kernels/nn/conv_nhwc/conv2d_groups_row_cpu.cl"
#undef NAME
#undef WIDTH
#endif

#if LANES > 8
#define NAME groups_of_8
#define WIDTH 8
#include "kernels/nn/conv_nhwc/conv2d_groups_row_cpu.cl"
#undef NAME
#undef WIDTH
#endif

// One row of outputs, for LANES channels.
static inline void row_of_groups(const Channels at, const Convolution conv, const long y,
                                 const VECTOR start, const T low, const T high, const T slope) {
  const Window window = conv.window;
  const long pitch = conv.groups * conv.out_channels, width = window.out_width;
  const long y0 = y * window.stride_y - window.pad_y;
  const int ky0 = first_inside(y0, window.dilation_y, window.size_y);
  const int ky_end = max(ky0, end_inside(y0, window.dilation_y, window.height, window.size_y));
  const long row_pitch = window.width * pitch, next_row = window.dilation_y * row_pitch;
  __global const T *row = at.in + (y0 + ky0 * window.dilation_y) * row_pitch;
  const bool has_residual = conv.has_residual != 0;
  for (long x = 0; x < width; x += 7) {
    const long first = width < 7 ? 0 : min(x, width - 7);
    const int count = (int)min(7L, width);
    const long to = (y * width + first) * pitch;
    __global T *out = at.out + to;
    __global const T *residual = at.residual + (has_residual ? to : 0);
#define GROUPS_OF(WIDTH)                                                                        \
  groups_of_##WIDTH(row, next_row, pitch, ky0, ky_end, window, first, count, at.weights, start, \
                    out, residual, has_residual, low, high);
    if (conv.out_channels == 2) {
      GROUPS_OF(2)
    }
#if LANES > 4
    else if (conv.out_channels == 4) {
      GROUPS_OF(4)
    }
#endif
#if LANES > 8
    else {
      GROUPS_OF(8)
    }
#endif
#undef GROUPS_OF
    if (conv.curve != CURVE_NONE) apply_curve(out, pitch, count, LANES, conv.curve, slope);
  }
}

static inline void groups_group(__global const T *restrict in, __global const T *restrict packed,
                                __global const T *restrict bias,
                                __global const T *restrict residual, __global T *restrict out,
                                const Convolution conv, const Rows rows, const T low, const T high,
                                const T slope, const Group group) {
  const Window window = conv.window;
  const long channels = conv.groups * conv.out_channels;
  const long row0 = group.x * rows.strip_rows;
  const long row_end = min(row0 + rows.strip_rows, window.out_height);
  const long block0 = group.y * rows.strip_blocks;
  // A block that repeats channels is computed by the work-group that owns the block before:
  // curves are applied in place, so two work-groups must not write the same channels.
  const bool last = block0 + rows.strip_blocks >= channels / LANES;
  const long block_end = last ? (channels + LANES - 1) / LANES : block0 + rows.strip_blocks;
  const long batch = group.z;
  const long block_weights = window.size_y * window.size_x * conv.in_channels * LANES;
  in += batch * window.height * window.width * channels;
  out += batch * window.out_height * window.out_width * channels;
  if (conv.has_residual) residual += batch * window.out_height * window.out_width * channels;
  for (long y0 = row0; y0 < row_end; y0 += rows.block_rows) {
    const long y_end = min(y0 + rows.block_rows, row_end);
    for (long block = block0; block < block_end; ++block) {
      const long first = min(block * LANES, channels - LANES);
      const Channels at = {in + first, packed + block * block_weights, out + first,
                           residual + (conv.has_residual ? first : 0)};
      const VECTOR start = conv.has_bias ? LOAD(bias + first) : (VECTOR)(0);
      for (long y = y0; y < y_end; ++y) row_of_groups(at, conv, y, start, low, high, slope);
    }
  }
}

SINGLE_ITEM_KERNEL void conv2d_groups(__global const T *restrict in,
                                      __global const T *restrict packed,
                                      __global const T *restrict bias,
                                      __global const T *restrict residual, __global T *restrict out,
                                      const Convolution conv, const Rows rows, const T low,
                                      const T high, const T slope) {
  groups_group(in, packed, bias, residual, out, conv, rows, low, high, slope, OWN_GROUP);
}
