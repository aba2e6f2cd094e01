// out[b][o][y][x] = activation(bias[o] + sum over i, ky, kx of weights[i][o][ky][kx] *
//                   in[b][i][(y + pad_y - ky * dilation_y) / stride_y][...])
// over the positions at which the division has no remainder, where o and i are channels of the same
// group: each input element times the weights is added where a convolution would have read it.
//
//   in, out            row-major elements of type T: {batch, channels, height, width}, or
//                      {batch, height, width, channels} when conv.nhwc
//   weights            {channels, output channels of a group, size_y, size_x}
//   bias               one element per output channel if conv.has_bias, otherwise not read
//   count, units       elements of out, and elements per item
//   low, high, slope   of the activation
//
// Each item owns `units` adjacent output elements: one in the GPU family, a chunk in the CPU
// family. Edge rules: elements outside the input count as 0; items past the last element do
// nothing. Precondition: out overlaps no input.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv/convolution_args.h"

#if CPU_CLASS
#define TRANSPOSED_KERNEL SINGLE_ITEM_KERNEL
#else
#define TRANSPOSED_KERNEL __kernel
#endif

static inline T transposed_at(__global const T *in, __global const T *weights,
                              const Convolution conv, const long channel, const long y,
                              const long x, T sum) {
  const Window window = conv.window;
  const long plane = window.height * window.width, in_channels = conv.groups * conv.in_channels;
  const long next_x = conv.nhwc ? in_channels : 1, next_channel = conv.nhwc ? 1 : plane;
  const long area = window.size_y * window.size_x;
  const long group = channel / conv.out_channels, o = channel % conv.out_channels;
  in += group * conv.in_channels * next_channel;
  weights += (group * conv.in_channels * conv.out_channels + o) * area;
  for (long ky = 0; ky < window.size_y; ++ky) {
    const long from_y = y + window.pad_y - ky * window.dilation_y, row = from_y / window.stride_y;
    if (from_y < 0 || from_y % window.stride_y != 0 || row >= window.height) continue;
    for (long kx = 0; kx < window.size_x; ++kx) {
      const long from_x = x + window.pad_x - kx * window.dilation_x;
      const long column = from_x / window.stride_x;
      if (from_x < 0 || from_x % window.stride_x != 0 || column >= window.width) continue;
      __global const T *pixel = in + (row * window.width + column) * next_x;
      __global const T *factors = weights + ky * window.size_x + kx;
      for (long i = 0; i < conv.in_channels; ++i) {
        sum = fma(factors[i * conv.out_channels * area], pixel[i * next_channel], sum);
      }
    }
  }
  return sum;
}

TRANSPOSED_KERNEL void conv_transpose2d(__global const T *restrict in,
                                        __global const T *restrict weights,
                                        __global const T *restrict bias, __global T *restrict out,
                                        const Convolution conv, const long count, const long units,
                                        const T low, const T high, const T slope) {
  const Window window = conv.window;
  const long pixels = window.out_height * window.out_width;
  const long channels = conv.groups * conv.out_channels;
  const long sample = conv.groups * conv.in_channels * window.height * window.width;
  const long first = (long)get_global_id(0) * units, end = min(first + units, count);
  for (long index = first; index < end; ++index) {
    const long channel = conv.nhwc ? index % channels : index / pixels % channels;
    const long pixel = conv.nhwc ? index / channels % pixels : index % pixels;
    const T sum = transposed_at(in + index / (channels * pixels) * sample, weights, conv, channel,
                                pixel / window.out_width, pixel % window.out_width,
                                conv.has_bias ? bias[channel] : (T)0);
    out[index] = curved(ACTIVATED(sum, low, high), conv.curve, slope);
  }
}
