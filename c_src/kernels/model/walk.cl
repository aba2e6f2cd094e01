// How the kernels of this folder find their elements: the range of a work item, and the offsets of
// a row in every operand.
#pragma once

#include "kernels/model/layouts.h"

#define FIRST_OF(layout) ((long)get_global_id(0) * (layout).chunk)
#define LAST_OF(layout) \
  min((long)get_global_id(0) * (layout).chunk + (layout).chunk, (layout).count)

// The stride of an operand along the innermost dimension.
#define STRIDE_OF(walk, operand) ((walk).strides[(operand)*MODEL_RANK])

// Where row `row` (everything but the innermost dimension) begins in an operand.
static inline long row_offset(const Walk *walk, int operand, long row) {
  long at = walk->offsets[operand];
  for (long d = 1; d < walk->rank; ++d) {
    at += row % walk->dims[d] * walk->strides[operand * MODEL_RANK + d];
    row /= walk->dims[d];
  }
  return at;
}

// The place of element `index` of the dimensions, by the strides.
static inline long place(long rank, const long *dims, const long *strides, long index) {
  long at = 0;
  for (long d = 0; d < rank; ++d) {
    at += index % dims[d] * strides[d];
    index /= dims[d];
  }
  return at;
}

// An index as it is meant: counted from the end when negative; -1 when there is no such place.
static inline long index_at(__global const int *indices, long at, long wide, long size) {
  long index = wide != 0 ? ((__global const long *)indices)[at] : (long)indices[at];
  if (index < 0) index += size;
  return index >= 0 && index < size ? index : -1;
}
