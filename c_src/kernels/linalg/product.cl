// Shared by the matrix product kernels: the offsets of the matrices of a batch, and the epilogue.
// The extents are in product_args.h.
//
//   T, UT        element type, and its unsigned counterpart (T itself for floats)
#pragma once

#include "kernels/linalg/product_args.h"

// The offset of matrix `index` of an operand.
static inline long matrix_at(const Product *product, const long *steps, long index) {
  // Every index is a constant once the loop is unrolled: an array of an argument that is indexed by
  // a variable is copied to slow memory by some compilers, for each item.
  long at = 0;
#pragma unroll
  for (int d = 0; d < MAX_BATCH_RANK; ++d) {
    if (d < product->batch_rank) {
      at += index % product->batch_dims[d] * steps[d];
      index /= product->batch_dims[d];
    }
  }
  return at;
}

// The bounds of an activation; NaN stays.
#define BOUNDED(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))

static inline T finished(const UT sum, const UT bias, const T low, const T high) {
  const T x = (T)(UT)(sum + bias);
  return BOUNDED(x, low, high);
}
