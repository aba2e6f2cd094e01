// out[b][o][y][x] = activation(bias[o] + sum over i, ky, kx of
//                   weights[o][i][ky][kx] * in[b][i][y * stride_y + ky * dilation_y - pad_y][...])
// where o and i are channels of the same group, CPU family.
//
//   in, weights, out   row-major elements of type T: {batch, channels, height, width}, {output
//                      channels, channels of a group, size_y, size_x}, {batch, output channels, ..}
//   bias               one element per output channel if conv.has_bias, otherwise not read
//   low, high          bounds of the activation
//   packed             local memory for block * (strip_pixels + 1) + LANES elements; with in_place,
//                      where at most one panel is packed, block * (TILE_PIXELS + 1) + LANES
//
//   strip_channels     output channels per work-group, a multiple of TILE_ROWS unless it is all
//   strip_pixels       pixels per work-group, a multiple of TILE_PIXELS; the last takes the rest
//   strips             number of strips of pixels
//   block              products of a sum that are processed at a time
//   in_place           1: whole tiles of pixels are read in place; pointwise only
//
// For each group of channels this is im2col and a matrix product of the weights and the patches. A
// work-group is one item and owns a strip of pixels over a strip of channels. It copies the patches
// into panels of TILE_PIXELS pixels, zeros for padding, and multiplies tile by tile. A few
// left-over pixels are computed as dot products, along the sum instead of across pixels, which
// costs a fraction of a tile.
//
// Edge rules: panels are filled with zeros past the last pixel. Preconditions: no extent is 0; out
// overlaps no input; range is {strips, ceil(out_channels / strip_channels), slices}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv/convolution_args.h"
#include "kernels/nn/conv/vectors_cpu.cl"
#include "kernels/nn/window.cl"

#define NAME tile_packed
#define SPACE __local
#include "kernels/nn/conv/conv2d_tile_cpu.cl"
#undef NAME
#undef SPACE

#define NAME tile_in_place
#define SPACE __global
#include "kernels/nn/conv/conv2d_tile_cpu.cl"
#undef NAME
#undef SPACE

#define MAX_DOTS (LANES / 4)
#define BLOCK_CHANNELS (9 * TILE_ROWS)  // whose weights stay in the cache across panels

// Packs one panel of `count` pixels of a pointwise convolution.
static inline void pack_pixels(__global const T *from, const long pixels, const int depth,
                               const int count, __local T *to) {
  for (int p = 0; p < depth; ++p, from += pixels, to += TILE_PIXELS) {
    if (count == TILE_PIXELS) {
      for (int j = 0; j < TILE_PIXELS; ++j) to[j] = from[j];
    } else {
      for (int j = 0; j < TILE_PIXELS; ++j) to[j] = j < count ? from[j] : (T)0;
    }
  }
}

// Packs one panel of a convolution with windows: the input elements of products first.. of the sum
// for the pixels `pixel`.., `count` of them. `left` is the number of elements of the input.
static inline void pack_windows(__global const T *in, long left, const Window window,
                                const long first, const int depth, const long pixel,
                                const int count, __local T *to) {
  const long area = window.size_y * window.size_x;
  const long first_y = pixel / window.out_width, first_x = pixel % window.out_width;
  long ky = first % area / window.size_x, kx = first % window.size_x;
  const long plane = window.height * window.width;
  in += first / area * plane;
  left -= first / area * plane;
  for (int p = 0; p < depth; ++p, to += TILE_PIXELS) {
    const long shift_y = ky * window.dilation_y - window.pad_y;
    const long shift_x = kx * window.dilation_x - window.pad_x;
    const int inside = first_inside(shift_x, window.stride_x, window.out_width);
    const int outside = end_inside(shift_x, window.stride_x, window.width, window.out_width);
    int x = (int)first_x;
    long y = first_y;
    int j = 0;
    while (j < count) {
      const int end = (int)min((long)(x + count - j), window.out_width);
      const long row = y * window.stride_y + shift_y;
      __local T *run = to + j - x;  // of this output row
      if (row < 0 || row >= window.height) {
        clear_run(end - x, run + x);
      } else {
        const int low = clamp(inside, x, end), high = clamp(outside, low, end);
        const long start = row * window.width + low * window.stride_x + shift_x;
        clear_run(low - x, run + x);
        if (window.stride_x == 1) {
          copy_run(in + start, left - start, high - low, run + low);
        } else if (window.stride_x == 2) {
          copy_every_second(in + start, left - start, high - low, run + low);
        } else {
          for (int i = low; i < high; ++i) run[i] = in[start + (i - low) * window.stride_x];
        }
        clear_run(end - high, run + high);
      }
      j += end - x;
      x = 0;
      ++y;
    }
    clear_run(TILE_PIXELS - j, to + j);
    if (++kx < window.size_x) continue;
    kx = 0;
    if (++ky < window.size_y) continue;
    ky = 0;
    in += plane;
    left -= plane;
  }
}

// out[r * n] for `rows` rows: dot products of the rows of a with one column of pixels.
static inline void dots(__global const T *a, const long k, const int depth, __local const T *column,
                        __global T *out, const long n, const long rows, __global const T *bias,
                        const bool has_bias, const bool add, const T low, const T high) {
  for (long row = 0; row < rows; row += 4) {
    const long left = rows - row - 1;
    __global const T *a0 = a + row * k;
    __global const T *a1 = a0 + min(1L, left) * k;
    __global const T *a2 = a0 + min(2L, left) * k;
    __global const T *a3 = a0 + min(3L, left) * k;
    VECTOR sum0 = (VECTOR)(0), sum1 = sum0, sum2 = sum0, sum3 = sum0;
    int p = 0;
    for (; p + LANES <= depth; p += LANES) {
      const VECTOR pixels = LOAD(column + p);
      sum0 = fma(LOAD(a0 + p), pixels, sum0);
      sum1 = fma(LOAD(a1 + p), pixels, sum1);
      sum2 = fma(LOAD(a2 + p), pixels, sum2);
      sum3 = fma(LOAD(a3 + p), pixels, sum3);
    }
    T sums[4] = {across(sum0), across(sum1), across(sum2), across(sum3)};
    for (; p < depth; ++p) {
      sums[0] += a0[p] * column[p];
      sums[1] += a1[p] * column[p];
      sums[2] += a2[p] * column[p];
      sums[3] += a3[p] * column[p];
    }
    for (int r = 0; r < 4 && row + r < rows; ++r) {
      __global T *to = out + (row + r) * n;
      const T sum = sums[r] + (add ? *to : has_bias ? bias[row + r] : (T)0);
      *to = ACTIVATED(sum, low, high);
    }
  }
}

SINGLE_ITEM_KERNEL void conv2d(__global const T *restrict in, __global const T *restrict weights,
                               __global const T *restrict bias, __global T *restrict out,
                               const Convolution conv, const T low, const T high,
                               __local T *packed) {
  const Window window = conv.window;
  const long slice = (long)get_group_id(2);
  const long channel0 = (long)get_group_id(1) * conv.strip_channels;
  const long channel_end = min(channel0 + conv.strip_channels, conv.out_channels);
  const long pixels = window.out_height * window.out_width;
  const long pixel0 = (long)get_group_id(0) * conv.strip_pixels;
  const bool last_strip = (long)get_group_id(0) == conv.strips - 1;
  const int width = (int)(last_strip ? pixels - pixel0 : conv.strip_pixels);
  const long k = conv.in_channels * window.size_y * window.size_x;
  const long group = slice % conv.groups;
  const bool has_bias = conv.has_bias != 0, in_place = conv.in_place != 0;
  const int block = (int)conv.block;
  const long slice_elements = conv.in_channels * window.height * window.width;
  const long left = (conv.slices - slice) * slice_elements;
  in += slice * slice_elements;
  weights += group * conv.out_channels * k;
  bias += has_bias ? group * conv.out_channels : 0;
  out += slice * conv.out_channels * pixels + pixel0;

  const int rest = width % TILE_PIXELS;
  const int dotted = rest <= MAX_DOTS ? rest : 0;
  const int tiled = width - dotted;
  // The first pixel that is packed; whole tiles before it are read in place.
  const int first_packed = in_place ? width - rest : 0;
  __local T *columns =
      packed + (tiled - first_packed + TILE_PIXELS - 1) / TILE_PIXELS * TILE_PIXELS * block;

  for (long k0 = 0; k0 < k; k0 += block) {
    const int depth = (int)min((long)block, k - k0);
    const bool add = k0 > 0, last = k0 + depth == k;
    const T least = last ? low : -(T)INFINITY, most = last ? high : (T)INFINITY;

    for (int j = first_packed; j < tiled; j += TILE_PIXELS) {
      const int count = min(TILE_PIXELS, tiled - j);
      __local T *panel = packed + (j - first_packed) * block;
      if (conv.pointwise) {
        pack_pixels(in + k0 * pixels + pixel0 + j, pixels, depth, count, panel);
      } else {
        pack_windows(in, left, window, k0, depth, pixel0 + j, count, panel);
      }
    }
    for (long rows = channel0; rows < channel_end; rows += BLOCK_CHANNELS) {
      const long rows_end = min(rows + BLOCK_CHANNELS, channel_end);
      for (int j = 0; j < tiled; j += TILE_PIXELS) {
        const int count = min(TILE_PIXELS, tiled - j);
        for (long row = rows; row < rows_end; row += TILE_ROWS) {
          const int height = (int)min((long)TILE_ROWS, rows_end - row);
          if (j < first_packed) {
            tile_in_place(weights + row * k + k0, k, depth, in + k0 * pixels + pixel0 + j, pixels,
                          out + row * pixels + j, pixels, height, count, bias + row, has_bias, add,
                          least, most);
          } else {
            tile_packed(weights + row * k + k0, k, depth, packed + (j - first_packed) * block,
                        TILE_PIXELS, out + row * pixels + j, pixels, height, count, bias + row,
                        has_bias, add, least, most);
          }
        }
      }
    }
    for (int j = tiled; j < width; ++j) {
      if (conv.pointwise) {
        for (int p = 0; p < depth; ++p) columns[p] = in[(k0 + p) * pixels + pixel0 + j];
      } else {
        const long y = (pixel0 + j) / window.out_width, x = (pixel0 + j) % window.out_width;
        for (int p = 0; p < depth; ++p) {
          const long kx = (k0 + p) % window.size_x, rest_k = (k0 + p) / window.size_x;
          const long row =
              y * window.stride_y + rest_k % window.size_y * window.dilation_y - window.pad_y;
          const long column = x * window.stride_x + kx * window.dilation_x - window.pad_x;
          const bool inside =
              row >= 0 && row < window.height && column >= 0 && column < window.width;
          columns[p] =
              inside ? in[(rest_k / window.size_y * window.height + row) * window.width + column]
                     : (T)0;
        }
      }
      dots(weights + channel0 * k + k0, k, depth, columns, out + channel0 * pixels + j, pixels,
           channel_end - channel0, bias + channel0, has_bias, add, least, most);
    }
  }
}
