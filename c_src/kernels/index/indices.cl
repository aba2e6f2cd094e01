// The meaning of indices, which are of type I: a negative index counts from the end; an index that
// is still out of range refers to no element.
#pragma once

#include "kernels/common/loops.h"
#include "kernels/index/index_args.h"

// The position along a dimension of that size, or -1 if it is out of range.
static inline long place_of(const I index, const long size) {
  const long at = index < (I)0 ? (long)index + size : (long)index;
  return at >= 0 && at < size ? at : -1;
}

// The offset of a tuple by strides, or -1 if it is out of range in some dimension.
static inline long offset_of(__global const I *tuple, const long depth, const long *dims,
                             const long *strides) {
  long offset = 0;
  EACH_DIMENSION(d, depth, INDEX_DEPTH) {
    const long at = place_of(tuple[d], dims[d]);
    if (at < 0) return -1;
    offset += at * strides[d];
  }
  return offset;
}
