// conv2d in the NHWC layout with one channel per group in and out, CPU family. See
// conv2d_nhwc_cpu.cl for the formula and the arguments.
//
//   packed         one row of conv.columns weights per element of the window
//   strip_rows     output rows per work-group
//   strip_blocks   blocks of LANES channels per work-group
//   block_rows     rows that are processed before the next block of channels
//
// A work-group is one item and owns a rectangle of rows and channels of one plane. Windows of 3 or
// 5 columns are processed seven at a time, others four at a time where none of them has padding.
// Edge rules: the last block ends with the last channel, and may repeat channels of the block
// before; planes of less than LANES channels are processed channel by channel. Preconditions: no
// extent is 0; out overlaps no input; range is {ceil(out_height / strip_rows), ceil(max(1,
// channels / LANES) / strip_blocks), batch}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/conv_nhwc/conv2d_nhwc_args.h"
#include "kernels/nn/conv_nhwc/panels_cpu.cl"
#include "kernels/nn/window.cl"

#define NAME seven_3x3_stride_1
#define SIZE 3
#define STRIDE 1
#include "kernels/nn/conv_nhwc/depthwise_nhwc_row_cpu.cl"
#undef NAME
#undef SIZE
#undef STRIDE

#define NAME seven_3x3_stride_2
#define SIZE 3
#define STRIDE 2
#include "kernels/nn/conv_nhwc/depthwise_nhwc_row_cpu.cl"
#undef NAME
#undef SIZE
#undef STRIDE

#define NAME seven_5x5_stride_1
#define SIZE 5
#define STRIDE 1
#include "kernels/nn/conv_nhwc/depthwise_nhwc_row_cpu.cl"
#undef NAME
#undef SIZE
#undef STRIDE

#define NAME seven_5x5_stride_2
#define SIZE 5
#define STRIDE 2
#include "kernels/nn/conv_nhwc/depthwise_nhwc_row_cpu.cl"
#undef NAME
#undef SIZE
#undef STRIDE

// The operands of a plane, from some channel on.
typedef struct {
  __global const T *in;
  __global const T *weights;
  __global T *out;
  __global const T *residual;
} Channels;

static inline VECTOR window_of_lanes(__global const T *in, const Window window, const long pitch,
                                     const long y, const long x, const int ky0, const int ky_end,
                                     __global const T *weights, const long columns, VECTOR sum) {
  for (int ky = ky0; ky < ky_end; ++ky) {
    for (long kx = 0; kx < window.size_x; ++kx) {
      const long column = x + kx * window.dilation_x;
      if (column < 0 || column >= window.width) continue;
      const long row = y + ky * window.dilation_y;
      sum = fma(LOAD(weights + (ky * window.size_x + kx) * columns),
                LOAD(in + (row * window.width + column) * pitch), sum);
    }
  }
  return sum;
}

// One row of outputs, for LANES channels.
static inline void row_of_lanes(const Channels at, const Convolution conv, const long y,
                                const bool seven, const VECTOR start, const T low, const T high,
                                const T slope) {
  const Window window = conv.window;
  const long pitch = conv.groups, width = window.out_width;
  const long y0 = y * window.stride_y - window.pad_y;
  const int ky0 = first_inside(y0, window.dilation_y, window.size_y);
  const int ky_end = max(ky0, end_inside(y0, window.dilation_y, window.height, window.size_y));
  const long row_pitch = window.width * pitch;
  __global T *out = at.out + y * width * pitch;
  const bool has_residual = conv.has_residual != 0;
  __global const T *residual = at.residual + (has_residual ? y * width * pitch : 0);
  if (seven) {
    __global const T *row = at.in + (y0 + ky0 * window.dilation_y) * row_pitch;
    const long next_row = window.dilation_y * row_pitch;
    for (long x = 0; x < width; x += 7) {
      const long first = min(x, width - 7);
      const long column = first * window.stride_x - window.pad_x;
      __global const T *before = residual + (has_residual ? first * pitch : 0);
#define SEVEN(NAME)                                                                              \
  NAME(row, next_row, pitch, ky0, ky_end, column, window.width, at.weights, conv.columns, start, \
       out + first * pitch, pitch, before, has_residual, low, high)
      if (window.size_x == 3 && window.stride_x == 1) {
        SEVEN(seven_3x3_stride_1);
      } else if (window.size_x == 3) {
        SEVEN(seven_3x3_stride_2);
      } else if (window.stride_x == 1) {
        SEVEN(seven_5x5_stride_1);
      } else {
        SEVEN(seven_5x5_stride_2);
      }
#undef SEVEN
      if (conv.curve != CURVE_NONE) {
        apply_curve(out + first * pitch, pitch, 7, LANES, conv.curve, slope);
      }
    }
    return;
  }
  const VECTOR least = (VECTOR)(low), most = (VECTOR)(high);
  const long step = window.stride_x * pitch;
  for (long x = 0; x < width;) {
    const long column = x * window.stride_x - window.pad_x;
    const long reach = 3 * window.stride_x + (window.size_x - 1) * window.dilation_x;
    const bool four = x + 4 <= width && column >= 0 && column + reach < window.width;
    VECTOR s0 = start, s1 = start, s2 = start, s3 = start;
    if (four) {
      for (int ky = ky0; ky < ky_end; ++ky) {
        __global const T *from =
            at.in + ((y0 + ky * window.dilation_y) * window.width + column) * pitch;
        __global const T *weights = at.weights + ky * window.size_x * conv.columns;
        for (long kx = 0; kx < window.size_x; ++kx) {
          const VECTOR weight = LOAD(weights);
          s0 = fma(weight, LOAD(from), s0);
          s1 = fma(weight, LOAD(from + step), s1);
          s2 = fma(weight, LOAD(from + 2 * step), s2);
          s3 = fma(weight, LOAD(from + 3 * step), s3);
          from += window.dilation_x * pitch;
          weights += conv.columns;
        }
      }
    } else {
      s0 = window_of_lanes(at.in, window, pitch, y0, column, ky0, ky_end, at.weights, conv.columns,
                           s0);
    }
    __global T *to = out + x * pitch;
    const int count = four ? 4 : 1;
    if (has_residual) {
      __global const T *before = residual + x * pitch;
      s0 += LOAD(before);
      if (four) {
        s1 += LOAD(before + pitch);
        s2 += LOAD(before + 2 * pitch);
        s3 += LOAD(before + 3 * pitch);
      }
    }
    STORE(ACTIVATED(s0, least, most), to);
    if (four) {
      STORE(ACTIVATED(s1, least, most), to + pitch);
      STORE(ACTIVATED(s2, least, most), to + 2 * pitch);
      STORE(ACTIVATED(s3, least, most), to + 3 * pitch);
    }
    if (conv.curve != CURVE_NONE) apply_curve(to, pitch, count, LANES, conv.curve, slope);
    x += count;
  }
}

// One row of outputs, for one channel.
static inline void row_of_one(const Channels at, const Convolution conv, const long y,
                              const T start, const T low, const T high, const T slope) {
  const Window window = conv.window;
  const long pitch = conv.groups;
  const long y0 = y * window.stride_y - window.pad_y;
  const int ky0 = first_inside(y0, window.dilation_y, window.size_y);
  const int ky_end = end_inside(y0, window.dilation_y, window.height, window.size_y);
  for (long x = 0; x < window.out_width; ++x) {
    const long x0 = x * window.stride_x - window.pad_x;
    const long to = (y * window.out_width + x) * pitch;
    T sum = start;
    for (int ky = ky0; ky < ky_end; ++ky) {
      const long row = (y0 + ky * window.dilation_y) * window.width;
      for (long kx = 0; kx < window.size_x; ++kx) {
        const long column = x0 + kx * window.dilation_x;
        if (column < 0 || column >= window.width) continue;
        sum = fma(at.weights[(ky * window.size_x + kx) * conv.columns],
                  at.in[(row + column) * pitch], sum);
      }
    }
    if (conv.has_residual) sum += at.residual[to];
    at.out[to] = curved(ACTIVATED(sum, low, high), conv.curve, slope);
  }
}

static inline void depthwise_group(__global const T *restrict in, __global const T *restrict packed,
                                   __global const T *restrict bias,
                                   __global const T *restrict residual, __global T *restrict out,
                                   const Convolution conv, const Rows rows, const T low,
                                   const T high, const T slope, const Group group) {
  const Window window = conv.window;
  const long channels = conv.groups;
  const long row0 = group.x * rows.strip_rows;
  const long row_end = min(row0 + rows.strip_rows, window.out_height);
  const long batch = group.z;
  in += batch * window.height * window.width * channels;
  out += batch * window.out_height * window.out_width * channels;
  if (conv.has_residual) residual += batch * window.out_height * window.out_width * channels;

  if (channels < LANES) {
    for (long c = 0; c < channels; ++c) {
      const Channels at = {in + c, packed + c, out + c, residual + (conv.has_residual ? c : 0)};
      for (long y = row0; y < row_end; ++y) {
        row_of_one(at, conv, y, conv.has_bias ? bias[c] : (T)0, low, high, slope);
      }
    }
    return;
  }
  const long block0 = group.y * rows.strip_blocks;
  const bool last = block0 + rows.strip_blocks >= channels / LANES;
  const long end = last ? channels : (block0 + rows.strip_blocks) * LANES;
  for (long y0 = row0; y0 < row_end; y0 += rows.block_rows) {
    const long y_end = min(y0 + rows.block_rows, row_end);
    for (long c = block0 * LANES; c < end; c += LANES) {
      const long first = min(c, channels - LANES);
      const Channels at = {in + first, packed + first, out + first,
                           residual + (conv.has_residual ? first : 0)};
      const VECTOR start = conv.has_bias ? LOAD(bias + first) : (VECTOR)(0);
      for (long y = y0; y < y_end; ++y) {
        row_of_lanes(at, conv, y, rows.seven != 0, start, low, high, slope);
      }
    }
  }
}

SINGLE_ITEM_KERNEL void conv2d_depthwise_nhwc(
    __global const T *restrict in, __global const T *restrict packed,
    __global const T *restrict bias, __global const T *restrict residual, __global T *restrict out,
    const Convolution conv, const Rows rows, const T low, const T high, const T slope) {
  depthwise_group(in, packed, bias, residual, out, conv, rows, low, high, slope, OWN_GROUP);
}
