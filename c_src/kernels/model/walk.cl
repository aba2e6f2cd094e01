// The range of results of a work item, and the offsets of elements in strided operands.
#pragma once

#include "kernels/common/loops.h"
#include "kernels/model/layouts.h"

#define FIRST_OF(layout) ((long)get_global_id(0) * (layout).chunk)
#define LAST_OF(layout) \
  min((long)get_global_id(0) * (layout).chunk + (layout).chunk, (layout).count)

// The stride of an operand along the innermost dimension.
#define STRIDE_OF(walk, operand) ((walk).strides[(operand)*MODEL_RANK])

// The offset of row `row`, an index over all but the innermost dimension, in an operand.
static inline long row_offset(const Walk *walk, int operand, long row) {
  long at = walk->offsets[operand];
  EACH_DIMENSION(d, walk->rank, MODEL_RANK) {
    if (d == 0) continue;
    at += row % walk->dims[d] * walk->strides[operand * MODEL_RANK + d];
    row /= walk->dims[d];
  }
  return at;
}

// The offset of element `index` of these dimensions, by the strides.
static inline long place(long rank, const long *dims, const long *strides, long index) {
  long at = 0;
  EACH_DIMENSION(d, rank, MODEL_RANK) {
    at += index % dims[d] * strides[d];
    index /= dims[d];
  }
  return at;
}

// Entry `axis` of an array that has one per dimension.
static inline long entry_at(long rank, const long *entries, long axis) {
  long entry = entries[0];
  EACH_DIMENSION(d, rank, MODEL_RANK) { entry = d == axis ? entries[d] : entry; }
  return entry;
}

// An index from 0 on: negative ones count from the end; -1 if it is out of range.
static inline long index_at(__global const int *indices, long at, long wide, long size) {
  long index = wide != 0 ? ((__global const long *)indices)[at] : (long)indices[at];
  if (index < 0) index += size;
  return index >= 0 && index < size ? index : -1;
}
