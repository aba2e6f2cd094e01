// out = activation(the sum of `parts` + bias): the last step of a product that was computed in
// several parts, or by a library that has neither bias nor activation.
//
//   parts      `count` matrices of {rows, n}, one after the other; may be `out` if count is 1
//   bias       {n}, used if has_bias
//   chunk      columns per item
//   low, high  bounds of the activation
//
// Edge rule: integers wrap. Preconditions: the range is at least {ceil(n / chunk), rows}.
#pragma once

#include "kernels/linalg/product.cl"

__kernel void matmul_finish(__global const T *parts, __global const T *bias, __global T *out,
                            const long count, const long rows, const long n, const long has_bias,
                            const long chunk, const T low, const T high) {
  const long row = (long)get_global_id(1);
  const long first = (long)get_global_id(0) * chunk;
  if (row >= rows) return;
  const long end = min(first + chunk, n);
  for (long column = first; column < end; ++column) {
    UT sum = (UT)parts[row * n + column];
    for (long part = 1; part < count; ++part) sum += (UT)parts[(part * rows + row) * n + column];
    const UT own = has_bias ? (UT)bias[column] : (UT)0;
    out[row * n + column] = finished(sum, own, low, high);
  }
}
