// Resizes an image to the nearest pixels, CPU family.
//
//   in, out   images whose pixels have 32 bits: four bytes, or one float
//   view      their sizes, and the columns and rows of the result per work-group
//   places    local memory: view.columns: the column of the image for each of the result
//
// The pixel nearest to output o is (2o + 1) * in / (2 * out), rounded down: the later one if two
// are equally near. A work-group is one item. Preconditions: no extent is 0; in and out do not
// overlap; range is {ceil(out_width / columns), ceil(out_height / rows)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/image/resample/resample.cl"

#ifdef __clang__
typedef uint AnyPixel __attribute__((aligned(1)));
#else
typedef uint AnyPixel;
#endif

SINGLE_ITEM_KERNEL void nearest(__global const AnyPixel *restrict in,
                                __global AnyPixel *restrict out, const Resample view,
                                __local int *places) {
  const long column0 = (long)get_group_id(0) * view.columns;
  const int count = (int)min((long)view.columns, view.out_width - column0);
  const long row0 = (long)get_group_id(1) * view.rows;
  const long row_end = min(row0 + view.rows, view.out_height);
  for (int x = 0; x < count; ++x) {
    places[x] = (int)((2 * (column0 + x) + 1) * view.width / (2 * view.out_width));
  }
  for (long row = row0; row < row_end; ++row) {
    const long nearest = (2 * row + 1) * view.height / (2 * view.out_height);
    __global const AnyPixel *from = in + nearest * view.width;
    __global AnyPixel *to = out + row * view.out_width + column0;
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) to[x] = from[places[x]];
  }
}
