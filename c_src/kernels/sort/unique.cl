// The distinct elements of a sorted row, in three steps: unique_mark, a sum of the marks up to each
// position, and unique_pick.
//
//   unique_mark    marks[i] = 1 if sorted[i] differs from the element in front of it, otherwise 0
//   unique_pick    out[places[i] - 1] = sorted[i] for the first of equal elements; `fill` after the
//                  last distinct element
//   unique_count   out[0] = the number of distinct elements, of type COUNT
//
//   sorted   view.count elements in ascending order, NaN last
//   places   the sums of the marks: the number of distinct elements up to each position
//   out      view.kept elements; distinct elements past them are left out
//
// All NaN are one element, and so are -0 and 0. CPU class: a work-group is one item and owns
// view.chunk positions; elsewhere there is one item per position.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/narrow_floats.h"
#include "kernels/sort/unique_args.h"

static inline int differs(const T_STORED a, const T_STORED b) {
  const T x = FROM_STORED(a), y = FROM_STORED(b);
#if T_FLOAT
  return x != y && !(isnan(x) && isnan(y));
#else
  return x != y;
#endif
}

#if CPU_CLASS
#define UNIQUE_KERNEL SINGLE_ITEM_KERNEL
#define EACH_POSITION(i, count)                                           \
  for (long i = (long)get_group_id(0) * view.chunk,                       \
            end = min((long)(get_group_id(0) + 1) * view.chunk, (count)); \
       i < end; ++i)
#else
#define UNIQUE_KERNEL __kernel
#define EACH_POSITION(i, count) \
  for (long i = (long)get_global_id(0), once = 1; once && i < (count); once = 0)
#endif

UNIQUE_KERNEL void unique_mark(__global const T_STORED *restrict sorted,
                               __global uint *restrict marks, const UniqueView view) {
  EACH_POSITION(i, view.count) {
    marks[i] = i == 0 || differs(sorted[i > 0 ? i - 1 : 0], sorted[i]) ? 1 : 0;
  }
}

UNIQUE_KERNEL void unique_pick(__global const T_STORED *restrict sorted,
                               __global const uint *restrict places,
                               __global T_STORED *restrict out, const T_STORED fill,
                               const UniqueView view) {
  const long distinct = (long)places[view.count - 1];
  EACH_POSITION(i, max(view.count, view.kept)) {
    if (i < view.count) {
      const long place = (long)places[i] - 1;
      const long before = i > 0 ? (long)places[i - 1] - 1 : -1;
      if (place != before && place < view.kept) out[place] = sorted[i];
    }
    if (i >= distinct && i < view.kept) out[i] = fill;
  }
}

UNIQUE_KERNEL void unique_count(__global const uint *restrict places, __global COUNT *restrict out,
                                const UniqueView view) {
  if (get_global_id(0) == 0) out[0] = (COUNT)places[view.count - 1];
}
