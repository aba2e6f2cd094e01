// The mean of areas, see area.cl, CPU family.
//
//   line   local memory: one sum per element of an input row that the columns of a tile cover
//
// A work-group is one item and owns view.columns x view.rows of the result in one plane. For each
// output row it sums the input rows that it covers, and then along the line. Preconditions: no
// extent is 0; in and out do not overlap; range is {ceil(out_width / columns), ceil(out_height /
// rows), planes}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/image/resample/area.cl"

#ifdef __clang__
typedef ACC4 LoosePixelSum __attribute__((aligned(sizeof(ACC))));
#define LOAD_PIXEL_SUM(from) (*(__local const LoosePixelSum *)(from))
#else
#define LOAD_PIXEL_SUM(from) vload4(0, from)
#endif

SINGLE_ITEM_KERNEL void area_tiles(__global const T *restrict in, __global T *restrict out,
                                   const Area view, __local ACC *line) {
  const int channels = (int)view.channels;
  const long width = view.width, out_width = view.out_width;
  const long column0 = (long)get_group_id(0) * view.columns;
  const long column_end = min(column0 + view.columns, out_width);
  const long row0 = (long)get_group_id(1) * view.rows;
  const long row_end = min(row0 + view.rows, view.out_height);
  const long first = first_covered(column0, width, out_width);
  const int count = (int)(last_covered(column_end - 1, width, out_width) + 1 - first) * channels;
  in += ((long)get_group_id(2) * view.height * width + first) * channels;
  out += (long)get_group_id(2) * view.out_height * out_width * channels;

  for (long y = row0; y < row_end; ++y) {
    const long top = first_covered(y, view.height, view.out_height);
    const long bottom = last_covered(y, view.height, view.out_height);
    for (long i = top; i <= bottom; ++i) {
      const ACC weight = covered(i, y, view.height, view.out_height);
      __global const T *from = in + i * width * channels;
      if (i == top) {
        INDEPENDENT_LOOP
        for (int x = 0; x < count; ++x) line[x] = weight * (ACC)from[x];
      } else {
        INDEPENDENT_LOOP
        for (int x = 0; x < count; ++x) line[x] += weight * (ACC)from[x];
      }
    }
    // Elements inside an area have full weight, those at its ends the share that it covers.
    const ACC whole = (ACC)out_width / (ACC)width;
    for (long x = column0; x < column_end; ++x) {
      const long left = first_covered(x, width, out_width);
      const long right = last_covered(x, width, out_width);
      const ACC at_left = covered(left, x, width, out_width);
      const ACC at_right = covered(right, x, width, out_width);
      __global T *to = out + (y * out_width + x) * channels;
      __local const ACC *from = line + (left - first) * channels;
      const int inner = (int)(right - left);
      if (channels == 4) {
        ACC4 sum = at_left * LOAD_PIXEL_SUM(from), inside = (ACC4)(0);
        for (int j = 1; j < inner; ++j) inside += LOAD_PIXEL_SUM(from + 4 * j);
        if (inner > 0) sum += whole * inside + at_right * LOAD_PIXEL_SUM(from + 4 * inner);
        to[0] = AS_MEAN(sum.x);
        to[1] = AS_MEAN(sum.y);
        to[2] = AS_MEAN(sum.z);
        to[3] = AS_MEAN(sum.w);
        continue;
      }
      for (int c = 0; c < channels; ++c) {
        ACC sum = at_left * from[c], inside = 0;
        for (int j = 1; j < inner; ++j) inside += from[j * channels + c];
        if (inner > 0) sum += whole * inside + at_right * from[inner * channels + c];
        to[c] = AS_MEAN(sum);
      }
    }
  }
}
