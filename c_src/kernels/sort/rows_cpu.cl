// Sorts short rows, CPU family, each within one work-group, which is one item and owns view.units
// rows.
//
//   in, out     see sort_args.h; results are elements, or their indices (WITH_INDEX), of type OUT
//
// Very short rows use an insertion sort, others a radix sort of eight bits per pass, which skips
// digits that all keys share. Both are stable. Preconditions: length <= ROW_MAX; in and out do not
// overlap.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/sort/keys.cl"

#define ROW_MAX 2048
#define INSERTION 24
#define DIGITS ((int)sizeof(KEY))

static inline void insert_sorted(KEY *keys, uint *places, const int n) {
  for (int k = 1; k < n; ++k) {
    const KEY key = keys[k];
    const uint place = places[k];
    int at = k;
    for (; at > 0 && keys[at - 1] > key; --at) {
      keys[at] = keys[at - 1];
      places[at] = places[at - 1];
    }
    keys[at] = key;
    places[at] = place;
  }
}

// Sorts keys[0], using keys[1] as scratch; returns the index of the array with the result.
static inline int radix_sort(KEY keys[2][ROW_MAX], uint places[2][ROW_MAX], const int n) {
  uint counts[DIGITS][256];
  for (int p = 0; p < DIGITS; ++p) {
    for (int d = 0; d < 256; ++d) counts[p][d] = 0;
  }
  for (int k = 0; k < n; ++k) {
    for (int p = 0; p < DIGITS; ++p) ++counts[p][(keys[0][k] >> (8 * p)) & 255];
  }
  int now = 0;
  for (int p = 0; p < DIGITS; ++p) {
    if (counts[p][(keys[now][0] >> (8 * p)) & 255] == (uint)n) continue;
    uint before = 0;
    for (int d = 0; d < 256; ++d) {
      const uint count = counts[p][d];
      counts[p][d] = before;
      before += count;
    }
    for (int k = 0; k < n; ++k) {
      const KEY key = keys[now][k];
      const uint at = counts[p][(key >> (8 * p)) & 255]++;
      keys[1 - now][at] = key;
#if WITH_INDEX
      places[1 - now][at] = places[now][k];
#endif
    }
    now = 1 - now;
  }
  return now;
}

SINGLE_ITEM_KERNEL void sort_rows(__global const T *restrict in, __global OUT *restrict out,
                                  const SortView view) {
  KEY keys[2][ROW_MAX];
  uint places[2][ROW_MAX];
  const int n = (int)view.length;
  const long first = (long)get_group_id(0) * view.units;
  const long last = min(first + view.units, view.rows);
  for (long row = first; row < last; ++row) {
    __global const T *from = in + row_start(row, view.length, view.inner);
    __global OUT *to = out + row_start(row, view.keep, view.inner);
    for (int k = 0; k < n; ++k) {
      keys[0][k] = key_of(from[k * view.inner], view);
      places[0][k] = (uint)k;
    }
    int now = 0;
    if (n <= INSERTION) {
      insert_sorted(keys[0], places[0], n);
    } else {
      now = radix_sort(keys, places, n);
    }
    for (int k = 0; k < (int)view.keep; ++k) {
#if WITH_INDEX
      to[k * view.inner] = (OUT)places[now][k];
#else
      to[k * view.inner] = element_of(keys[now][k], view);
#endif
    }
  }
}
