// Updates rows of a tensor by index, GPU family. The contract is that of scatter_cpu.cl.
//
// scatter_put: scatter_mark records the last update of every row, then scatter_last writes it.
// scatter_add: scatter_rows writes the rows as sort keys, where an index out of range has the key
// view.rows; after the sort, the item of a row's first update adds all of them in order
// (scatter_runs). One work-item per tuple, or per element of a row. Precondition: fewer than 2^32 -
// 1 tuples.
#pragma once

#include "kernels/index/indices.cl"

#if PUTS

// last: per row, 1 + the number of its last update; 0 where there is none.
__kernel void scatter_mark(__global const I *restrict indices, volatile __global uint *last,
                           const ScatterView view) {
  const long n = (long)get_global_id(0);
  if (n >= view.tuples) return;
  const long row = offset_of(indices + n * view.depth, view.depth, view.dims, view.strides);
  if (row >= 0) atomic_max(last + row, (uint)(n + 1));
}

__kernel void scatter_last(__global const uint *restrict last, __global const T *restrict updates,
                           __global T *restrict out, const ScatterView view) {
  const long i = (long)get_global_id(0);
  if (i >= view.rows * view.inner) return;
  const uint update = last[i / view.inner];
  if (update > 0) out[i] = updates[((long)update - 1) * view.inner + i % view.inner];
}

#else

__kernel void scatter_rows(__global const I *restrict indices, __global KEY *restrict keys,
                           __global uint *restrict places, const ScatterView view) {
  const long n = (long)get_global_id(0);
  if (n >= view.tuples) return;
  const long row = offset_of(indices + n * view.depth, view.depth, view.dims, view.strides);
  keys[n] = (KEY)(row < 0 ? view.rows : row);
  places[n] = (uint)n;
}

__kernel void scatter_runs(__global const KEY *restrict keys, __global const uint *restrict places,
                           __global const T *restrict updates, __global T *restrict out,
                           const ScatterView view) {
  const long i = (long)get_global_id(0);
  if (i >= view.tuples * view.inner) return;
  const long n = i / view.inner, column = i % view.inner;
  const KEY row = keys[n];
  if ((long)row >= view.rows || (n > 0 && keys[n - 1] == row)) return;
  T sum = out[(long)row * view.inner + column];
  for (long m = n; m < view.tuples && keys[m] == row; ++m) {
    sum = MEET(sum, updates[(long)places[m] * view.inner + column]);
  }
  out[(long)row * view.inner + column] = sum;
}

#endif
