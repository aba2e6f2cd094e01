// Comparison and merge step of argmax, shared by both families.
//
//   T     element type                    OUT   type of the indexes stored
//   LARGEST   1 for the largest element, 0 for the smallest
//
// The first of equal elements counts; NaN comes before every number, and the first NaN counts.
#pragma once

#include "kernels/reduce/axis_args.h"

// Whether x is preferred to `best` regardless of their positions.
static inline bool better(T x, T best) {
  return (LARGEST ? x > best : x < best) || (x != x && best == best);
}

// Whether x at `index` is preferred to `best` at `best_index`.
static inline bool comes_first(T x, long index, T best, long best_index) {
  return better(x, best) || (!better(best, x) && index < best_index);
}

// out[o][i] = the index of the best candidate of the segments: values[o][s][i] at
// indexes[o][s][i]. One work-item per result; segments are in the order of the axis, so the
// earlier one wins a tie.
__kernel void argmax_merge(__global const T *restrict values, __global const long *restrict indexes,
                           __global OUT *restrict out, const AxisView view) {
  const long result = (long)get_global_id(0);
  if (result >= view.outer * view.inner) return;
  const long first = result / view.inner * view.segments * view.inner + result % view.inner;
  T best = values[first];
  long best_index = indexes[first];
  for (long s = 1; s < view.segments; ++s) {
    const long at = first + s * view.inner;
    if (better(values[at], best)) {
      best = values[at];
      best_index = indexes[at];
    }
  }
  out[result] = (OUT)best_index;
}
