// The lowest (erode) or highest (dilate) level in the square of (2 radius + 1)^2 pixels around each
// pixel, channel by channel, CPU family:
//
//   out[y][x][c] = min or max of in[y + i][x + j][c], |i| <= radius, |j| <= radius
//
//   in      the picture, elements of type T
//   out     the result; alpha is copied
//   lines   local memory: two lines of (tile.columns + 2 radius) * channels elements
//   ENTRY, LOWEST   the kernel's name, and whether the lowest level counts or the highest
//
// The square is separable: the extremes of columns are computed first, then the extremes along that
// line. A work-group is one item and owns a tile. Edge rule: positions outside the picture are
// ignored. Preconditions: no extent is 0; in and out do not overlap; range is {ceil(width /
// tile.columns), ceil(height / tile.rows)}.

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/image/filter/morphology_args.h"
#include "kernels/image/image_args.h"

#if LOWEST
#define CHOSEN(a, b) ((b) < (a) ? (b) : (a))
#else
#define CHOSEN(a, b) ((b) > (a) ? (b) : (a))
#endif

SINGLE_ITEM_KERNEL void ENTRY(__global const T *restrict in, __global T *restrict out,
                              const Image image, const Morphology square, const Tile tile,
                              __local T *lines) {
  const int width = (int)image.width, height = (int)image.height, channels = (int)image.channels;
  const int radius = square.radius;
  const int column0 = (int)get_group_id(0) * tile.columns;
  const int column_end = min(column0 + tile.columns, width);
  const int row0 = (int)get_group_id(1) * tile.rows, row_end = min(row0 + tile.rows, height);
  const int left = max(column0 - radius, 0), right = min(column_end + radius, width);
  const int there = (right - left) * channels, wanted = (column_end - column0) * channels;
  const int offset = (column0 - left) * channels;
  __local T *columns = lines, *results = lines + (tile.columns + 2 * radius) * channels;

  for (int y = row0; y < row_end; ++y) {
    const int top = max(y - radius, 0), bottom = min(y + radius, height - 1);
    for (int row = top; row <= bottom; ++row) {
      __global const T *from = in + ((long)row * width + left) * channels;
      if (row == top) {
        INDEPENDENT_LOOP
        for (int i = 0; i < there; ++i) columns[i] = from[i];
      } else {
        INDEPENDENT_LOOP
        for (int i = 0; i < there; ++i) columns[i] = CHOSEN(columns[i], from[i]);
      }
    }
    INDEPENDENT_LOOP
    for (int i = 0; i < wanted; ++i) results[i] = columns[offset + i];
    for (int step = 1; step <= radius; ++step) {
      const int distance = step * channels;
      // Near the ends of the line, one of the sides is missing.
      const int first = max(distance - offset, 0), last = min(wanted, there - offset - distance);
      INDEPENDENT_LOOP
      for (int i = first; i < wanted; ++i) {
        results[i] = CHOSEN(results[i], columns[offset + i - distance]);
      }
      INDEPENDENT_LOOP
      for (int i = 0; i < last; ++i) {
        results[i] = CHOSEN(results[i], columns[offset + i + distance]);
      }
    }
    const long start = ((long)y * width + column0) * channels;
    INDEPENDENT_LOOP
    for (int i = 0; i < wanted; ++i) out[start + i] = results[i];
    if (channels == 4) {
      for (int i = 3; i < wanted; i += 4) out[start + i] = in[start + i];
    }
  }
}

#undef CHOSEN
