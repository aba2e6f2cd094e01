// out[p][y][x] = FINISH(COMBINE over the elements of the window of (y, x) in plane p), as a kernel
// ENTRY, CPU family.
//
//   in, out       planes of elements of type T, see window_args.h
//   rows          output rows of all planes
//   units         rows per work-group
//   count_padding whether padding counts as elements of a mean
//
//   ACC, IDENTITY, COMBINE   type, neutral element and operation of partial results
//   FINISH                   the stored value, from the accumulated value and the element count
//
// A work-group is one item and owns `units` rows. It processes up to POOL_LANES adjacent outputs at
// a time, for one element of the window after the other, which vectorises. Edge rule: padding is
// skipped. Preconditions: every window has an element; in and out do not overlap.

#include "kernels/common/kernel.h"
#include "kernels/nn/window.cl"
#include "kernels/reduce/operations.cl"

#ifndef POOL_LANES
#define POOL_LANES 64
#endif

SINGLE_ITEM_KERNEL void ENTRY(__global const T *restrict in, __global T *restrict out,
                              const Window window, const long rows, const long units,
                              const int count_padding) {
  const long first = (long)get_group_id(0) * units;
  const long end = min(first + units, rows);
  for (long row = first; row < end; ++row) {
    __global const T *plane = in + row / window.out_height * window.height * window.width;
    __global T *to = out + row * window.out_width;
    const long y0 = row % window.out_height * window.stride_y - window.pad_y;
    const long low_y = max(y0, 0L), high_y = min(y0 + window.size_y, window.height);
    for (long x = 0; x < window.out_width; x += POOL_LANES) {
      const int width = (int)min((long)POOL_LANES, window.out_width - x);
      ACC lanes[POOL_LANES];
      for (int j = 0; j < POOL_LANES; ++j) lanes[j] = IDENTITY;
      for (long kx = 0; kx < window.size_x; ++kx) {
        const long shift = x * window.stride_x + kx - window.pad_x;
        const int low = first_inside(shift, window.stride_x, width);
        const int high = end_inside(shift, window.stride_x, window.width, width);
        for (long y = low_y; y < high_y; ++y) {
          __global const T *from = plane + y * window.width + shift;
          if (window.stride_x == 1) {
            for (int j = low; j < high; ++j) lanes[j] = COMBINE(lanes[j], (ACC)from[j]);
          } else if (window.stride_x == 2) {
            for (int j = low; j < high; ++j) lanes[j] = COMBINE(lanes[j], (ACC)from[2 * j]);
          } else {
            for (int j = low; j < high; ++j) {
              lanes[j] = COMBINE(lanes[j], (ACC)from[j * window.stride_x]);
            }
          }
        }
      }
      for (int j = 0; j < width; ++j) {
        const long x0 = (x + j) * window.stride_x - window.pad_x;
        const long across = min(x0 + window.size_x, window.width) - max(x0, 0L);
        const long total =
            count_padding ? window.size_y * window.size_x : (high_y - low_y) * across;
        to[x + j] = (T)FINISH(lanes[j], total);
      }
    }
  }
}
