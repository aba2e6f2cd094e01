// The first few elements of long rows in sorted order, CPU family: at most TOP_MAX candidates are
// kept in order while the row is read, so that it need not be sorted.
//
//   top_chunks   keys and indices of the first view.keep of each chunk of a row
//   top_merge    the first view.keep of the chunks' candidates, as elements or indices (WITH_INDEX)
//
//   keys, places   view.keep per chunk of each row; short chunks have fewer
//
// A work-group is one item and owns a chunk of a row, or all candidates of a row. Among equal keys
// the earlier one comes first. Preconditions: 0 < keep <= TOP_MAX; nothing overlaps.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/sort/keys.cl"

#define TOP_MAX 64

// Inserts a key into the `n` best so far, of which at most `keep` are kept; returns their new
// number.
static inline int put_in_order(KEY *best, uint *at, const int n, const int keep, const KEY key,
                               const uint place) {
  int to = n < keep ? n : keep - 1;
  for (; to > 0 && best[to - 1] > key; --to) {
    best[to] = best[to - 1];
    at[to] = at[to - 1];
  }
  best[to] = key;
  at[to] = place;
  return n < keep ? n + 1 : keep;
}

SINGLE_ITEM_KERNEL void top_chunks(__global const T *restrict in, __global KEY *restrict keys,
                                   __global uint *restrict places, const SortView view) {
  const long row = (long)get_group_id(0) / view.chunks, chunk = (long)get_group_id(0) % view.chunks;
  const long begin = chunk * view.chunk, end = min(begin + view.chunk, view.length);
  if (row >= view.rows) return;
  KEY best[TOP_MAX];
  uint at[TOP_MAX];
  const int keep = (int)view.keep;
  int n = 0;
  in += row_start(row, view.length, view.inner);
  for (long k = begin; k < end; ++k) {
    const KEY key = key_of(in[k * view.inner], view);
    if (n < keep || key < best[keep - 1]) n = put_in_order(best, at, n, keep, key, (uint)k);
  }
  const long to = (row * view.chunks + chunk) * keep;
  for (int k = 0; k < n; ++k) {
    keys[to + k] = best[k];
    places[to + k] = at[k];
  }
}

SINGLE_ITEM_KERNEL void top_merge(__global const KEY *restrict keys,
                                  __global const uint *restrict places, __global OUT *restrict out,
                                  const SortView view) {
  const long row = (long)get_group_id(0);
  if (row >= view.rows) return;
  KEY best[TOP_MAX];
  uint at[TOP_MAX];
  const int keep = (int)view.keep;
  int n = 0;
  for (long chunk = 0; chunk < view.chunks; ++chunk) {
    const long from = (row * view.chunks + chunk) * keep;
    const long there = min(view.chunk, view.length - chunk * view.chunk);
    for (int k = 0; k < min(keep, (int)there); ++k) {
      const KEY key = keys[from + k];
      if (n < keep || key < best[keep - 1]) {
        n = put_in_order(best, at, n, keep, key, places[from + k]);
      }
    }
  }
  out += row_start(row, view.keep, view.inner);
  for (int k = 0; k < n; ++k) {
#if WITH_INDEX
    out[k * view.inner] = (OUT)at[k];
#else
    out[k * view.inner] = element_of(best[k], view);
#endif
  }
}
