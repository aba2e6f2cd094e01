// conv2d with one channel in and one channel out per group, GPU family. Each item computes four
// adjacent outputs of a row and, channels last, those of four adjacent channels, so that the input
// and the weights are read four elements at a time and overlapping windows share their reads.
//
// Arguments, edge rules and preconditions are those of conv2d_gpu.cl; the range is the number of
// such pieces of the output. Sizes of planes fit 32 bits.
#pragma once

#include "kernels/common/paste.h"
#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv/convolution_args.h"

#define T4 PASTE(T, 4)

// `count` elements, at least 1, each `step` after the one before; zeros behind them.
static inline T4 load_some(__global const T *restrict from, const long step, const int count) {
  if (step == 1 && count >= 4) return vload4(0, from);
  T4 values = 0;
  values.x = from[0];
  if (count > 1) values.y = from[step];
  if (count > 2) values.z = from[2 * step];
  if (count > 3) values.w = from[3 * step];
  return values;
}

static inline void store_some(__global T *restrict out, __global const T *restrict residual,
                              const long at, const int count, const T4 sums,
                              const Convolution *conv, const T low, const T high, const T slope) {
  const T values[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (i >= count) continue;
    T sum = values[i];
    if (conv->has_residual) sum += residual[at + i];
    out[at + i] = curved(ACTIVATED(sum, low, high), conv->curve, slope);
  }
}

// Channels last: four pixels of a row by four channels.
static inline void depthwise_nhwc(__global const T *restrict in, __global const T *restrict weights,
                                  __global const T *restrict bias,
                                  __global const T *restrict residual, __global T *restrict out,
                                  const Convolution *conv, const T low, const T high, const T slope,
                                  const long index) {
  const Window *window = &conv->window;
  const int channels = (int)conv->groups, fours = (channels + 3) / 4;
  const int out_width = (int)window->out_width, runs = (out_width + 3) / 4;
  const int height = (int)window->height, width = (int)window->width;
  const int channel = (int)(index % fours) * 4, ox = (int)(index / fours % runs) * 4;
  const long line = index / fours / runs;  // of all images
  const int oy = (int)(line % window->out_height);
  const int count = min(channels - channel, 4), area = (int)(window->size_y * window->size_x);
  const int stride = (int)window->stride_x;
  in += line / window->out_height * height * width * channels + channel;

  const T4 start = conv->has_bias ? load_some(bias + channel, 1, count) : (T4)(0);
  T4 sums[4] = {start, start, start, start};
  for (int ky = 0; ky < (int)window->size_y; ++ky) {
    const int y = oy * (int)window->stride_y - (int)window->pad_y + ky * (int)window->dilation_y;
    if (y < 0 || y >= height) continue;
    for (int kx = 0; kx < (int)window->size_x; ++kx) {
      const int tap = ky * (int)window->size_x + kx;
      const T4 weight = conv->packed ? load_some(weights + tap * conv->columns + channel, 1, count)
                                     : load_some(weights + (long)channel * area + tap, area, count);
      const int x0 = ox * stride - (int)window->pad_x + kx * (int)window->dilation_x;
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const int x = x0 + p * stride;
        if (x < 0 || x >= width) continue;
        sums[p] = fma(weight, load_some(in + ((long)y * width + x) * channels, 1, count), sums[p]);
      }
    }
  }
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    if (ox + p >= out_width) continue;
    store_some(out, residual, (line * out_width + ox + p) * channels + channel, count, sums[p],
               conv, low, high, slope);
  }
}

// Channels first: four pixels of a row.
static inline void depthwise_nchw(__global const T *restrict in, __global const T *restrict weights,
                                  __global const T *restrict bias,
                                  __global const T *restrict residual, __global T *restrict out,
                                  const Convolution *conv, const T low, const T high, const T slope,
                                  const long index) {
  const Window *window = &conv->window;
  const int out_width = (int)window->out_width, runs = (out_width + 3) / 4;
  const int height = (int)window->height, width = (int)window->width;
  const int ox = (int)(index % runs) * 4, stride = (int)window->stride_x;
  const long line = index / runs, slice = line / window->out_height;
  const int oy = (int)(line % window->out_height), channel = (int)(slice % conv->groups);
  in += slice * height * width;
  weights += channel * window->size_y * window->size_x;

  T4 sums = conv->has_bias ? (T4)(bias[channel]) : (T4)(0);
  for (int ky = 0; ky < (int)window->size_y; ++ky) {
    const int y = oy * (int)window->stride_y - (int)window->pad_y + ky * (int)window->dilation_y;
    if (y < 0 || y >= height) continue;
    for (int kx = 0; kx < (int)window->size_x; ++kx) {
      const int x = ox * stride - (int)window->pad_x + kx * (int)window->dilation_x;
      __global const T *from = in + (long)y * width;
      T4 values;
      if (stride == 1 && x >= 0 && x + 4 <= width) {
        values = vload4(0, from + x);
      } else {
        const int x1 = x + stride, x2 = x1 + stride, x3 = x2 + stride;
        values.x = x >= 0 && x < width ? from[x] : (T)0;
        values.y = x1 >= 0 && x1 < width ? from[x1] : (T)0;
        values.z = x2 >= 0 && x2 < width ? from[x2] : (T)0;
        values.w = x3 >= 0 && x3 < width ? from[x3] : (T)0;
      }
      sums = fma((T4)(weights[ky * window->size_x + kx]), values, sums);
    }
  }
  store_some(out, residual, line * out_width + ox, min(out_width - ox, 4), sums, conv, low, high,
             slope);
}

__kernel void depthwise(__global const T *restrict in, __global const T *restrict weights,
                        __global const T *restrict bias, __global const T *restrict residual,
                        __global T *restrict out, const Convolution conv, const T low, const T high,
                        const T slope) {
  const long index = (long)get_global_id(0);
  const long runs = (conv.window.out_width + 3) / 4;
  const long lines = conv.slices / conv.groups * conv.window.out_height;
  if (conv.nhwc) {
    if (index >= lines * runs * ((conv.groups + 3) / 4)) return;
    depthwise_nhwc(in, weights, bias, residual, out, &conv, low, high, slope, index);
  } else {
    if (index >= lines * conv.groups * runs) return;
    depthwise_nchw(in, weights, bias, residual, out, &conv, low, high, slope, index);
  }
}
