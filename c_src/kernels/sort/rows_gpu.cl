// Conversion between elements and keys, and sorting of short rows, GPU family.
//
//   sort_load    keys and indices of all rows, one after the other
//   sort_store   the first view.keep of each sorted row, as elements or indices (WITH_INDEX)
//   sort_rows    sorts short rows by rank: the number of elements before each
//
// One work-item per element. Edge rule: items past the last element do nothing. Preconditions:
// nothing overlaps.
#pragma once

#include "kernels/sort/keys.cl"

__kernel void sort_load(__global const T *restrict in, __global KEY *restrict keys,
                        __global uint *restrict places, const SortView view) {
  const long n = (long)get_global_id(0);
  if (n >= view.rows * view.length) return;
  const long row = n / view.length, k = n % view.length;
  keys[n] = key_of(in[row_start(row, view.length, view.inner) + k * view.inner], view);
  places[n] = (uint)k;
}

__kernel void sort_store(__global const KEY *restrict keys, __global const uint *restrict places,
                         __global OUT *restrict out, const SortView view) {
  const long n = (long)get_global_id(0);
  if (n >= view.rows * view.keep) return;
  const long row = n / view.keep, k = n % view.keep;
  const long to = row_start(row, view.keep, view.inner) + k * view.inner;
#if WITH_INDEX
  out[to] = (OUT)places[row * view.length + k];
#else
  out[to] = element_of(keys[row * view.length + k], view);
#endif
}

__kernel void sort_rows(__global const T *restrict in, __global OUT *restrict out,
                        const SortView view) {
  const long n = (long)get_global_id(0);
  if (n >= view.rows * view.length) return;
  const long row = n / view.length, k = n % view.length;
  in += row_start(row, view.length, view.inner);
  const KEY key = key_of(in[k * view.inner], view);
  long before = 0;
  for (long j = 0; j < view.length; ++j) {
    const KEY other = key_of(in[j * view.inner], view);
    before += (other < key || (other == key && j < k)) ? 1 : 0;
  }
  if (before >= view.keep) return;
  const long to = row_start(row, view.keep, view.inner) + before * view.inner;
#if WITH_INDEX
  out[to] = (OUT)k;
#else
  out[to] = element_of(key, view);
#endif
}
