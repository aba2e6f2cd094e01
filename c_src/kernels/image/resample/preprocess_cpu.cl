// An image as the input of a network, see preprocess.cl, CPU family.
//
//   line    local memory: one sum per element of an input row that the columns of a tile cover, and
//           one more
//   spans   local memory: the elements of the line that each of view.columns covers
//
// A work-group is one item and owns view.columns x view.rows of the result. For each output row it
// sums the input rows that it covers, and then along the line. Preconditions: no extent is 0; in
// and out do not overlap; range is {ceil(out_width / columns), ceil(out_height / rows)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/image/resample/preprocess.cl"

static inline void border_pixels(__global float *row, const long from, const long end,
                                 const Preprocess view) {
  for (int c = 0; c < 3; ++c) {
    for (long x = from; x < end; ++x) row[x * view.pixel + c * view.plane] = view.border[c];
  }
}

#if T_FLOAT
typedef float Sum;
#else
typedef int Sum;
#endif

// line[x] = the weighted sum of the rows of a span. Rows between its ends have the same weight, and
// are added up four at a time before they are weighted.
static inline void add_rows(__global const T *restrict from, const long stride, const Span down,
                            const int count, __local float *restrict line) {
  const long between = down.last - down.first - 1;
  if (between < 0) {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) line[x] = down.at_first * (float)from[x];
    return;
  }
  __global const T *restrict end = from + (between + 1) * stride;
  const float weight = down.between;
  __global const T *restrict a = from + stride;
  if (between == 1) {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) {
      line[x] =
          down.at_first * (float)from[x] + weight * (float)a[x] + down.at_last * (float)end[x];
    }
    return;
  }
  INDEPENDENT_LOOP
  for (int x = 0; x < count; ++x) {
    line[x] = down.at_first * (float)from[x] + down.at_last * (float)end[x];
  }
  long i = 0;
  for (; i + 4 <= between; i += 4, a += 4 * stride) {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) {
      const Sum upper = (Sum)a[x] + (Sum)a[x + stride];
      const Sum lower = (Sum)a[x + 2 * stride] + (Sum)a[x + 3 * stride];
      line[x] += weight * (float)(upper + lower);
    }
  }
  if (between - i == 3) {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) {
      line[x] += weight * (float)((Sum)a[x] + (Sum)a[x + stride] + (Sum)a[x + 2 * stride]);
    }
  } else if (between - i == 2) {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) {
      line[x] += weight * (float)((Sum)a[x] + (Sum)a[x + stride]);
    }
  } else if (between - i == 1) {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) line[x] += weight * (float)a[x];
  }
}

SINGLE_ITEM_KERNEL void preprocess_tiles(__global const T *restrict in,
                                         __global float *restrict out, const Preprocess view,
                                         __local float *line, __local Column *spans) {
  const int channels = (int)view.channels;
  const long column0 = (long)get_group_id(0) * view.columns;
  const long column_end = min(column0 + view.columns, view.out_width);
  const long row0 = (long)get_group_id(1) * view.rows;
  const long row_end = min(row0 + view.rows, view.out_height);
  const long left = clamp(view.to_left, column0, column_end);
  const long right = clamp(view.to_left + view.width_to, left, column_end);
  const long first = span_of(left - view.to_left, view.width_in, view.width_to).first;
  const long last = span_of(right - 1 - view.to_left, view.width_in, view.width_to).last;
  const int count = (int)(last + 1 - first) * channels;
  const float between = span_of(0, view.width_in, view.width_to).between;
  for (long x = left; x < right; ++x) {
    const Span across = span_of(x - view.to_left, view.width_in, view.width_to);
    const Column column = {(int)(across.first - first) * channels,
                           (int)(across.last - first) * channels, across.at_first, across.at_last};
    spans[x - left] = column;
  }

  for (long y = row0; y < row_end; ++y) {
    __global float *row = out + view.start + y * view.out_width * view.pixel;
    if (left == right || !inside(y, view.to_top, view.height_to)) {
      border_pixels(row, column0, column_end, view);
      continue;
    }
    border_pixels(row, column0, left, view);
    border_pixels(row, right, column_end, view);

    const Span down = span_of(y - view.to_top, view.height_in, view.height_to);
    add_rows(in + ((view.top + down.first) * view.width + view.left + first) * channels,
             view.width * channels, down, count, line);
    for (long x = left; x < right; ++x) {
      const Column column = spans[x - left];
      __local const float *from = line + column.first;
      __local const float *end = line + column.last;
      float4 sum = (float4)(0);
      if (channels == 1) {
        float level = 0;
        for (__local const float *at = from + 1; at < end; ++at) level += at[0];
        level = column.at_first * from[0] + between * level;
        if (end > from) level += column.at_last * end[0];
        sum = (float4)(level);
      } else {
        // A pixel is loaded as four numbers; with three channels the fourth is the next pixel's.
        for (__local const float *at = from + channels; at < end; at += channels) {
          sum += vload4(0, at);
        }
        sum = column.at_first * vload4(0, from) + between * sum;
        if (end > from) sum += column.at_last * vload4(0, end);
      }
      __global float *to = row + x * view.pixel;
      to[0] = fma(sum.x, view.gain[0], view.bias[0]);
      to[view.plane] = fma(sum.y, view.gain[1], view.bias[1]);
      to[2 * view.plane] = fma(sum.z, view.gain[2], view.bias[2]);
    }
  }
}
