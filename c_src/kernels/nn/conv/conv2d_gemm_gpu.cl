// conv2d as a matrix product, GPU family: the patches that windows
// see are gathered tile by tile on their way to local memory, so no im2col matrix is ever stored.
//
//   channels last   out {pixels, channels} = patches {pixels, k} * weights {k, channels}; the
//   pixels
//                   are those of the whole batch
//   channels first  out {channels, pixels} = weights {channels, k} * patches {k, pixels}, for each
//                   image
//
// where k runs over the elements of a window. Of packed weights {size_y, size_x, channels, columns}
// k counts channels fastest; of plain ones {output channels, channels, size_y, size_x} columns of
// the window. Arguments, edge rules and preconditions are those of conv2d_gpu.cl; the range is
// {tiles along the columns of out * SIDE, tiles along its rows * SIDE, groups (* batch when
// channels come first)}. Sizes of planes and windows fit 32 bits.
#pragma once

#include "kernels/common/gemm_tile_gpu.h"
#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv/convolution_args.h"

// A place in the input plane: where the window of an output pixel begins. Rows before the plane,
// which count as padding, stand for pixels that do not exist.
typedef struct Corner {
  long image;  // elements before its image, of this group's channels
  int y;
  int x;
} Corner;

static inline Corner corner_of(const Convolution *conv, const long pixel, const long pixels) {
  const Window *window = &conv->window;
  const long in_channels = conv->groups * conv->in_channels;
  const long batch = conv->slices / conv->groups;
  Corner corner;
  const long image = min(pixel / pixels, batch - 1);
  const int place = (int)(pixel % pixels), out_width = (int)window->out_width;
  corner.image = image * window->height * window->width * in_channels;
  corner.y = place / out_width * (int)window->stride_y - (int)window->pad_y;
  corner.x = place % out_width * (int)window->stride_x - (int)window->pad_x;
  if (pixel >= batch * pixels) corner.y = INT_MIN / 2;
  return corner;
}

// An element of a window: its channel, and its place from the corner.
typedef struct Tap {
  int channel;
  int y;
  int x;
} Tap;

static inline Tap tap_of(const Convolution *conv, const int k) {
  const Window *window = &conv->window;
  const int channels = (int)conv->in_channels, size_x = (int)window->size_x;
  const int area = (int)window->size_y * size_x;
  const int place = conv->packed ? k / channels : k % area;
  Tap tap;
  tap.channel = conv->packed ? k % channels : k / area;
  tap.y = place / size_x * (int)window->dilation_y;
  tap.x = place % size_x * (int)window->dilation_x;
  return tap;
}

// The input at a place; padding is 0. `next_x` and `next_channel` are how far neighbours are apart.
static inline T seen(const Convolution *conv, __global const T *restrict in, const Corner corner,
                     const Tap tap, const long next_x, const long next_channel) {
  const int y = corner.y + tap.y, x = corner.x + tap.x;
  const int height = (int)conv->window.height, width = (int)conv->window.width;
  if (y < 0 || y >= height || x < 0 || x >= width) return (T)0;
  return in[corner.image + ((long)y * width + x) * next_x + tap.channel * next_channel];
}

// Four elements of one window, from k on, channels last.
static inline ACC4 fetch_window(const Convolution *conv, __global const T *restrict in,
                                const Corner corner, const int k, const int k_end) {
  const long next_x = conv->groups * conv->in_channels;
  const Tap tap = tap_of(conv, k);
  ACC4 values = 0;
  if (k >= k_end) return values;
  // Four channels of one place are neighbours in memory.
  if (conv->packed && tap.channel + 4 <= (int)conv->in_channels) {
    const int y = corner.y + tap.y, x = corner.x + tap.x;
    const int height = (int)conv->window.height, width = (int)conv->window.width;
    if (y < 0 || y >= height || x < 0 || x >= width) return values;
    return vload4(0, in + corner.image + ((long)y * width + x) * next_x + tap.channel);
  }
  values.x = seen(conv, in, corner, tap, next_x, 1);
  if (k + 1 < k_end) values.y = seen(conv, in, corner, tap_of(conv, k + 1), next_x, 1);
  if (k + 2 < k_end) values.z = seen(conv, in, corner, tap_of(conv, k + 2), next_x, 1);
  if (k + 3 < k_end) values.w = seen(conv, in, corner, tap_of(conv, k + 3), next_x, 1);
  return values;
}

// The same element of four windows next to each other, channels first: those of `pixel` on.
// `corner` is the first one's.
static inline ACC4 fetch_windows(const Convolution *conv, __global const T *restrict in,
                                 const Corner corner, const long pixel, const long pixels,
                                 const int k, const int k_end) {
  const Window *window = &conv->window;
  const long plane = window->height * window->width;
  ACC4 values = 0;
  if (k >= k_end || pixel >= pixels) return values;
  const Tap tap = tap_of(conv, k);
  const int y = corner.y + tap.y, x = corner.x + tap.x;
  const bool one_row = (int)pixel % (int)window->out_width + 4 <= (int)window->out_width;
  // Windows of one row, one column apart, all of them inside.
  if (one_row && window->stride_x == 1 && y >= 0 && y < (int)window->height && x >= 0 &&
      x + 4 <= (int)window->width) {
    return vload4(0, in + corner.image + tap.channel * plane + (long)y * window->width + x);
  }
  T four[4] = {0, 0, 0, 0};
#pragma unroll
  for (int p = 0; p < 4; ++p) {
    if (pixel + p >= pixels) continue;
    four[p] = seen(conv, in, corner_of(conv, pixel + p, pixels), tap, 1, plane);
  }
  return (ACC4)(four[0], four[1], four[2], four[3]);
}

// Four weights next to each other in a stored row: from `at` of `extent` on.
static inline ACC4 fetch_weights(__global const T *restrict row, const int at, const int extent) {
  ACC4 values = 0;
  if (at >= extent) return values;
  if (at + 4 <= extent) return vload4(0, row + at);
  values.x = row[at];
  if (at + 1 < extent) values.y = row[at + 1];
  if (at + 2 < extent) values.z = row[at + 2];
  return values;
}

#if LARGE_TILES
#define CONVOLVE conv2d_8x8
#define SUMS sums_8x8
#define EDGE 8
#include "kernels/nn/conv/conv2d_tile_gpu.cl"
#undef CONVOLVE
#undef SUMS
#undef EDGE
#endif

#define CONVOLVE conv2d_4x4
#define SUMS sums_4x4
#define EDGE 4
#include "kernels/nn/conv/conv2d_tile_gpu.cl"
#undef CONVOLVE
#undef SUMS
#undef EDGE
