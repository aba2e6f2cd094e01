// out[b][y][x][c] = FINISH(COMBINE over the elements c of the window of (y, x) in plane b), as a
// kernel ENTRY, CPU family. See pool_cpu.cl for the macros.
//
//   in, out       planes of pixels of `channels` elements of type T, see window_args.h
//   pixels        output pixels of all planes
//   units         pieces per work-group; a piece is POOL_CHANNELS channels of one pixel
//   count_padding whether padding counts as elements of a mean
//
// A work-group is one item. It processes the channels of a piece together, for one element of the
// window after the other, which vectorises. Edge rule: padding is skipped. Preconditions: every
// window has an element; in and out do not overlap; range is {ceil(pixels * ceil(channels /
// POOL_CHANNELS) / units)}.

#include "kernels/common/kernel.h"
#include "kernels/common/paste.h"
#include "kernels/nn/window.cl"
#include "kernels/reduce/operations.cl"

#ifndef POOL_CHANNELS
#define POOL_CHANNELS 64
#endif

static inline void PASTE(ENTRY, _group)(__global const T *restrict in, __global T *restrict out,
                                        const Window window, const long channels, const long pixels,
                                        const long units, const int count_padding,
                                        const Group group) {
  const long across = (channels + POOL_CHANNELS - 1) / POOL_CHANNELS;
  const long first = group.x * units;
  const long end = min(first + units, pixels * across);
  for (long piece = first; piece < end; ++piece) {
    const long pixel = piece / across, c0 = piece % across * POOL_CHANNELS;
    const int width = (int)min((long)POOL_CHANNELS, channels - c0);
    const long row = pixel / window.out_width;
    const long y0 = row % window.out_height * window.stride_y - window.pad_y;
    const long x0 = pixel % window.out_width * window.stride_x - window.pad_x;
    const long low_y = max(y0, 0L), high_y = min(y0 + window.size_y, window.height);
    const long low_x = max(x0, 0L), high_x = min(x0 + window.size_x, window.width);
    __global const T *plane =
        in + row / window.out_height * window.height * window.width * channels + c0;
    ACC lanes[POOL_CHANNELS];
    for (int j = 0; j < POOL_CHANNELS; ++j) lanes[j] = IDENTITY;
    for (long y = low_y; y < high_y; ++y) {
      for (long x = low_x; x < high_x; ++x) {
        __global const T *from = plane + (y * window.width + x) * channels;
        if (width == POOL_CHANNELS) {
          for (int j = 0; j < POOL_CHANNELS; ++j) lanes[j] = COMBINE(lanes[j], (ACC)from[j]);
        } else {
          for (int j = 0; j < width; ++j) lanes[j] = COMBINE(lanes[j], (ACC)from[j]);
        }
      }
    }
    const long total =
        count_padding ? window.size_y * window.size_x : (high_y - low_y) * (high_x - low_x);
    __global T *to = out + pixel * channels + c0;
    for (int j = 0; j < width; ++j) to[j] = (T)FINISH(lanes[j], total);
  }
}

SINGLE_ITEM_KERNEL void ENTRY(__global const T *restrict in, __global T *restrict out,
                              const Window window, const long channels, const long pixels,
                              const long units, const int count_padding) {
  PASTE(ENTRY, _group)(in, out, window, channels, pixels, units, count_padding, OWN_GROUP);
}
