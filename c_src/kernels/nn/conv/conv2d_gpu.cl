// out[b][o][y][x] = activation(bias[o] + residual[b][o][y][x] + sum over i, ky, kx of
//                   weights[o][i][ky][kx] * in[b][i][y * stride_y + ky * dilation_y - pad_y][...])
// where o and i are channels of the same group, GPU family.
//
//   in, out, residual   row-major elements of type T: {batch, channels, height, width}, or
//                       {batch, height, width, channels} when conv.nhwc
//   weights             {output channels, channels of a group, size_y, size_x}, or
//                       {size_y, size_x, channels of a group, columns} when conv.packed
//   bias                one element per output channel if conv.has_bias, otherwise not read
//   residual            read if conv.has_residual
//   low, high, slope    of the activation
//
// One item per output element. Adjacent items have adjacent outputs, so their reads of the input,
// or of packed weights, are coalesced. Edge rules: elements outside the input count as 0; items
// past the last element do nothing. Preconditions: out overlaps no input.
#pragma once

#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv/convolution_args.h"

__kernel void conv2d(__global const T *restrict in, __global const T *restrict weights,
                     __global const T *restrict bias, __global const T *restrict residual,
                     __global T *restrict out, const Convolution conv, const T low, const T high,
                     const T slope) {
  const Window window = conv.window;
  const long pixels = window.out_height * window.out_width;
  const long channels = conv.groups * conv.out_channels;
  const long index = (long)get_global_id(0);
  if (index >= conv.slices * conv.out_channels * pixels) return;
  const long channel = conv.nhwc ? index % channels : index / pixels % channels;
  const long pixel = conv.nhwc ? index / channels % pixels : index % pixels;
  const long group = channel / conv.out_channels;
  const long x0 = pixel % window.out_width * window.stride_x - window.pad_x;
  const long y0 = pixel / window.out_width * window.stride_y - window.pad_y;

  // Strides in elements.
  const long plane = window.height * window.width, in_channels = conv.groups * conv.in_channels;
  const long next_x = conv.nhwc ? in_channels : 1, next_channel = conv.nhwc ? 1 : plane;
  const long area = window.size_y * window.size_x;
  const long next_kx = conv.packed ? conv.in_channels * conv.columns : 1;
  const long next_weights = conv.packed ? conv.columns : area;
  in += index / (channels * pixels) * plane * in_channels + group * conv.in_channels * next_channel;
  weights += conv.packed ? group * conv.group_columns + channel % conv.out_channels
                         : channel * conv.in_channels * area;

  T sum = conv.has_bias ? bias[channel] : (T)0;
  for (long i = 0; i < conv.in_channels; ++i, in += next_channel, weights += next_weights) {
    for (long ky = 0; ky < window.size_y; ++ky) {
      const long y = y0 + ky * window.dilation_y;
      if (y < 0 || y >= window.height) continue;
      for (long kx = 0; kx < window.size_x; ++kx) {
        const long x = x0 + kx * window.dilation_x;
        if (x < 0 || x >= window.width) continue;
        sum = fma(weights[(ky * window.size_x + kx) * next_kx], in[(y * window.width + x) * next_x],
                  sum);
      }
    }
  }
  if (conv.has_residual) sum += residual[index];
  out[index] = curved(ACTIVATED(sum, low, high), conv.curve, slope);
}
