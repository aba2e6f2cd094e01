// Edge detection, CPU family. See edges.cl for the formula.
//
//   in      the image, elements of type T
//   out     the steepness, in every channel but alpha, which is copied
//   lines   local memory: stride floats of brightness for each of three rows, and for the results;
//           stride is tile.columns + 2
//
// A work-group is one item and owns a tile. Edge rule: beyond an edge the image is mirrored, see
// image.cl. Preconditions: no extent is 0; in and out do not overlap; tile.columns is more than 1,
// or the width; range is {ceil(width / tile.columns), ceil(height / tile.rows)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/image/filter/edges.cl"
#include "kernels/image/filter/planes_cpu.cl"

#define BRIGHTNESS(CHANNELS)                                                        \
  INDEPENDENT_LOOP                                                                  \
  for (int x = 0; x < count; ++x) {                                                 \
    to[x] = brightness_of((float)from[CHANNELS * x], (float)from[CHANNELS * x + 1], \
                          (float)from[CHANNELS * x + 2]);                           \
  }
static inline void brightness_line(__global const T *from, const int count, const int channels,
                                   __local float *to) {
  if (channels == 4) {
    BRIGHTNESS(4)
  } else if (channels == 3) {
    BRIGHTNESS(3)
  } else {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) to[x] = (float)from[x];
  }
}

SINGLE_ITEM_KERNEL void edge_detect(__global const T *restrict in, __global T *restrict out,
                                    const Image image, const Edges edges, const Tile tile,
                                    __local float *lines) {
  const int width = (int)image.width, height = (int)image.height, channels = (int)image.channels;
  const int column0 = (int)get_group_id(0) * tile.columns;
  const int column_end = min(column0 + tile.columns, width), count = column_end - column0;
  const int row0 = (int)get_group_id(1) * tile.rows, row_end = min(row0 + tile.rows, height);
  const int start = column0 - 1, end = column_end + 1;
  const int first = max(start, 0), there = min(end, width) - first;
  const int stride = tile.columns + 2;
  const float scale = edges.scale;
  __local float *results = lines + 3 * stride;

  int next = row0 - 1;  // the first row that is not loaded yet; it may be outside the image
  for (int y = row0; y < row_end; ++y) {
    for (; next <= y + 1; ++next) {
      __local float *line = lines + (next + 3) % 3 * stride;
      const long pixel = (long)mirrored(next, height) * width + first;
      brightness_line(in + pixel * channels, there, channels, line + first - start);
      mirror_line(line, start, end, width, end - start);
    }
    __local const float *a = lines + (y + 2) % 3 * stride, *b = lines + y % 3 * stride;
    __local const float *c = lines + (y + 1) % 3 * stride;
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) {
      results[x] =
          steepness(a[x], a[x + 1], a[x + 2], b[x], b[x + 2], c[x], c[x + 1], c[x + 2], scale);
    }
    const long pixel = (long)y * width + column0;
    // A stride of 0: one line for all channels.
    interleave(results, 0, count, (int)edges.channels, in + pixel * channels,
               out + pixel * edges.channels);
  }
}
