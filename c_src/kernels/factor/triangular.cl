// Solutions of triangular systems by substitution: x of a x = b for batches of a {size, size}.
//
//   a     row-major; only the triangle that the view names is read
//   b, x  see factor_args.h; they may be the same buffer
//
// CPU class: a work-group is one item and owns view.block systems, which are adjacent in memory if
// across is 1. Elsewhere there is one item per system. Edge rule: a 0 on the diagonal gives
// infinities or NaN.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/factor/factor_args.h"

#define BLOCK 32

static inline T coefficient(__global const T *a, const SolveView view, const long i, const long j) {
  return view.transposed ? a[j * view.size + i] : a[i * view.size + j];
}

#if CPU_CLASS

SINGLE_ITEM_KERNEL void triangular_solve(__global const T *restrict a, __global const T *b,
                                         __global T *x, const SolveView view) {
  const long blocks = (view.systems + view.block - 1) / view.block;
  const long matrix = (long)get_group_id(0) / blocks;
  const long first = (long)get_group_id(0) % blocks * view.block;
  const int count = (int)min((long)view.block, view.systems - first);
  if (matrix >= view.batch) return;
  a += matrix * view.size * view.size;
  b += matrix * view.size * view.systems + first * view.across;
  x += matrix * view.size * view.systems + first * view.across;
  for (long step = 0; step < view.size; ++step) {
    const long i = view.upper ? view.size - 1 - step : step;
    T sums[BLOCK];
    for (int c = 0; c < count; ++c) sums[c] = b[i * view.step + c * view.across];
    for (long k = 0; k < step; ++k) {
      const long j = view.upper ? view.size - 1 - k : k;
      const T factor = coefficient(a, view, i, j);
      if (view.across == 1 && count == BLOCK) {
        for (int c = 0; c < BLOCK; ++c) sums[c] = fma(-factor, x[j * view.step + c], sums[c]);
      } else {
        for (int c = 0; c < count; ++c) {
          sums[c] = fma(-factor, x[j * view.step + c * view.across], sums[c]);
        }
      }
    }
    const T divisor = view.unit ? (T)1 : coefficient(a, view, i, i);
    for (int c = 0; c < count; ++c) x[i * view.step + c * view.across] = sums[c] / divisor;
  }
}

#else

__kernel void triangular_solve(__global const T *restrict a, __global const T *b, __global T *x,
                               const SolveView view) {
  const long system = (long)get_global_id(0);
  if (system >= view.batch * view.systems) return;
  const long matrix = system / view.systems;
  const long at = matrix * view.size * view.systems + system % view.systems * view.across;
  a += matrix * view.size * view.size;
  for (long step = 0; step < view.size; ++step) {
    const long i = view.upper ? view.size - 1 - step : step;
    T sum = b[at + i * view.step];
    for (long k = 0; k < step; ++k) {
      const long j = view.upper ? view.size - 1 - k : k;
      sum = fma(-coefficient(a, view, i, j), x[at + j * view.step], sum);
    }
    x[at + i * view.step] = view.unit ? sum : sum / coefficient(a, view, i, i);
  }
}

#endif
