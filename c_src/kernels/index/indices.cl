// What indices mean: I is their type. A negative one counts from the end; one that is outside all
// the same stands for no element.
#pragma once

#include "kernels/index/index_args.h"

// The place along a dimension of that size; -1: none.
static inline long place_of(const I index, const long size) {
  const long at = index < (I)0 ? (long)index + size : (long)index;
  return at >= 0 && at < size ? at : -1;
}

// The offset of a tuple, by strides; -1: it is outside in some dimension.
static inline long offset_of(__global const I *tuple, const long depth, const long *dims,
                             const long *strides) {
  long offset = 0;
  for (long d = 0; d < depth; ++d) {
    const long at = place_of(tuple[d], dims[d]);
    if (at < 0) return -1;
    offset += at * strides[d];
  }
  return offset;
}
