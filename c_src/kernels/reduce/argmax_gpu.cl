// The index along the axis of the largest element, or the smallest, for devices with many narrow
// processors.
//
//   in            view.outer * view.axis * view.inner elements of type T
//   out           the index of each result, of type OUT (argmax_direct, with one segment)
//   values,
//   indexes       the largest element of each result and segment, and its index (argmax_partial)
//   view          see axis_args.h
//   best, at      local memory, one T and one long per item of the group
//
// One work-group per result and segment; its size is a power of two. Edge rules: see argmax.cl;
// items without elements repeat the first one; every item reaches every barrier. Preconditions:
// axis > 0; no operands overlap.
#pragma once

#include "kernels/reduce/argmax.cl"
#include "kernels/reduce/axis_args.h"

static inline void best_of_group(__global const T *in, const AxisView view, __local T *best,
                                 __local long *at) {
  const long result = (long)get_group_id(0);
  const int item = (int)get_local_id(0), items = (int)get_local_size(0);
  const long row = result / view.inner, column = result % view.inner;
  const long start = row % view.segments * view.segment;
  const long end = min(start + view.segment, view.axis);
  in += row / view.segments * view.axis * view.inner + column;

  T own = in[start * view.inner];
  long own_at = start;
  for (long k = start + item; k < end; k += items) {
    const T x = in[k * view.inner];
    if (better(x, own)) {
      own = x;
      own_at = k;
    }
  }
  best[item] = own;
  at[item] = own_at;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = items / 2; reach > 0; reach /= 2) {
    if (item < reach && comes_first(best[item + reach], at[item + reach], best[item], at[item])) {
      best[item] = best[item + reach];
      at[item] = at[item + reach];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel void argmax_direct(__global const T *restrict in, __global OUT *restrict out,
                            const AxisView view, __local T *best, __local long *at) {
  best_of_group(in, view, best, at);
  if (get_local_id(0) == 0) out[get_group_id(0)] = (OUT)at[0];
}

__kernel void argmax_partial(__global const T *restrict in, __global T *restrict values,
                             __global long *restrict indexes, const AxisView view, __local T *best,
                             __local long *at) {
  best_of_group(in, view, best, at);
  if (get_local_id(0) == 0) {
    values[get_group_id(0)] = best[0];
    indexes[get_group_id(0)] = at[0];
  }
}
