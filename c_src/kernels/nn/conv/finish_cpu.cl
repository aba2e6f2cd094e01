// out[i] = activation(out[i] + residual[i]), CPU family: the epilogue for convolution kernels that
// store sums.
//
//   has_residual   whether there is a residual to add
//   count, chunk   elements, and elements per work-group
//
// A work-group is one item and owns a chunk. Precondition: residual does not overlap out.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/nn/activation/activation.cl"

SINGLE_ITEM_KERNEL void conv2d_finish(__global const T *restrict residual, __global T *restrict out,
                                      const long has_residual, const long curve, const long count,
                                      const long chunk, const T low, const T high, const T slope) {
  const long first = (long)get_group_id(0) * chunk;
  const int length = (int)min(chunk, count - first);
  out += first;
  if (has_residual) {
    residual += first;
    INDEPENDENT_LOOP
    for (int i = 0; i < length; ++i) out[i] += residual[i];
  }
  INDEPENDENT_LOOP
  for (int i = 0; i < length; ++i) out[i] = curved(ACTIVATED(out[i], low, high), curve, slope);
}
