// The index along the axis of the largest element, or the smallest, GPU family.
//
//   in            view.outer * view.axis * view.inner elements of type T
//   out           the index of each result, of type OUT (argmax_direct, with one segment)
//   values,
//   indexes       the largest element of each result and segment, and its index (argmax_partial)
//   view          see axis_args.h
//   best, at      local memory, one T and one long per item of the group
//
// Work-groups are divided as in lines_gpu.cl. Edge rules: see argmax.cl; items without elements
// repeat the first one of their line; every item reaches every barrier. Preconditions: axis > 0; no
// operands overlap.
#pragma once

#include "kernels/reduce/argmax.cl"
#include "kernels/reduce/lines_gpu.cl"

// Afterwards the first lane of each line has the best element, and its index.
static inline void best_of_line(__global const T *in, const AxisView view, const Line line,
                                __local T *best, __local long *at) {
  if (line.depth > 0) {
    in += line.from;
    T own = in[0];
    long own_at = 0;
    for (long k = line.lane; k < line.depth; k += line.lanes) {
      const T x = in[k * view.inner];
      if (better(x, own)) {
        own = x;
        own_at = k;
      }
    }
    best[line.slot] = own;
    at[line.slot] = line.start + own_at;
  }
  for (int reach = line.lanes / 2; reach > 0; reach /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int other = line.slot + reach * line.step;
    if (line.lane < reach && line.depth > 0 &&
        comes_first(best[other], at[other], best[line.slot], at[line.slot])) {
      best[line.slot] = best[other];
      at[line.slot] = at[other];
    }
  }
}

__kernel void argmax_direct(__global const T *restrict in, __global OUT *restrict out,
                            const AxisView view, __local T *best, __local long *at) {
  const Line line = line_of(view);
  best_of_line(in, view, line, best, at);
  if (line.lane == 0 && line.depth > 0) out[line.result] = (OUT)at[line.slot];
}

__kernel void argmax_partial(__global const T *restrict in, __global T *restrict values,
                             __global long *restrict indexes, const AxisView view, __local T *best,
                             __local long *at) {
  const Line line = line_of(view);
  best_of_line(in, view, line, best, at);
  if (line.lane == 0 && line.depth > 0) {
    values[line.result] = best[line.slot];
    indexes[line.result] = at[line.slot];
  }
}
