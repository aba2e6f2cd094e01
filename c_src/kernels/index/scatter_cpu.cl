// Updates rows of a tensor by index, CPU family.
//
//   scatter   out[indices[n]][i] = MEET(out[indices[n]][i], updates[n][i]), for n = 0, 1, ..
//
//   T      element type
//   I      type of the indices
//   MEET   what becomes of an element and an update
//   view   see index_args.h
//
// Updates of one row are applied in the order of their indices: a work-group is one item, reads all
// indices in order, and applies those of the view.chunk rows that it owns or, if rows are long, all
// of them to the columns that it owns. Edge rule: an index out of range is ignored, see indices.cl.
// Preconditions: out holds the tensor; nothing overlaps.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/index/indices.cl"

#define BLOCK 256

static inline void update_row(__global T *to, __global const T *from, const long n) {
  INDEPENDENT_LOOP
  for (long j = 0; j < n; ++j) to[j] = MEET(to[j], from[j]);
}

SINGLE_ITEM_KERNEL void scatter(__global const I *restrict indices,
                                __global const T *restrict updates, __global T *restrict out,
                                const ScatterView view) {
  const long first = (long)get_group_id(0) * view.chunk;
  const long last = min(first + view.chunk, view.by_columns ? view.inner : view.rows);
  if (first >= last) return;
  if (view.by_columns) {
    for (long n = 0; n < view.tuples; ++n) {
      const long row = offset_of(indices + n * view.depth, view.depth, view.dims, view.strides);
      if (row < 0) continue;
      update_row(out + row * view.inner + first, updates + n * view.inner + first, last - first);
    }
    return;
  }
  // The rows of a block of tuples. Those of this group are compacted without a branch, which would
  // be unpredictable.
  long rows[BLOCK];
  int owned[BLOCK];
  for (long n = 0; n < view.tuples; n += BLOCK) {
    const int block = (int)min((long)BLOCK, view.tuples - n);
    if (view.depth == 1) {
      for (int k = 0; k < block; ++k) rows[k] = place_of(indices[n + k], view.rows);
    } else {
      for (int k = 0; k < block; ++k) {
        rows[k] = offset_of(indices + (n + k) * view.depth, view.depth, view.dims, view.strides);
      }
    }
    int count = 0;
    for (int k = 0; k < block; ++k) {
      owned[count] = k;
      count += (rows[k] >= first) & (rows[k] < last);
    }
    if (view.inner == 1) {
      for (int k = 0; k < count; ++k) {
        const long row = rows[owned[k]];
        out[row] = MEET(out[row], updates[n + owned[k]]);
      }
    } else {
      for (int k = 0; k < count; ++k) {
        update_row(out + rows[owned[k]] * view.inner, updates + (n + owned[k]) * view.inner,
                   view.inner);
      }
    }
  }
}
