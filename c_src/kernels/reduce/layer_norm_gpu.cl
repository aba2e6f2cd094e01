// out[o][k] = (in[o][k] - mean) / sqrt(variance + epsilon) * scale[k] + bias[k], mean and variance
// over k, GPU family.
//
//   in, out      rows of n elements of type T, one work-group each
//   scale, bias  n elements each; present when N_INPUTS is at least 2 and 3
//   partial      local memory, one SUM per item of the group, whose size is a power of two
//
// Edge rule: every item reaches every barrier. Preconditions: n > 0; out is the same memory as in,
// or scale or bias when there is one row, or does not overlap them.

#include "kernels/common/paste.h"

static inline SUM PASTE(ENTRY, _group_sum)(SUM own, __local SUM *partial) {
  const int item = (int)get_local_id(0);
  partial[item] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = (int)get_local_size(0) / 2; reach > 0; reach /= 2) {
    if (item < reach) partial[item] += partial[item + reach];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const SUM total = partial[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  return total;
}

__kernel void ENTRY(__global const T *in,
#if N_INPUTS > 1
                    __global const T *scale,
#endif
#if N_INPUTS > 2
                    __global const T *bias,
#endif
                    __global T *out, const long n, const SUM epsilon, __local SUM *partial) {
  const int item = (int)get_local_id(0), items = (int)get_local_size(0);
  in += (long)get_group_id(0) * n;
  out += (long)get_group_id(0) * n;

  SUM own = 0;
  for (long k = item; k < n; k += items) own += in[k];
  const SUM mean = PASTE(ENTRY, _group_sum)(own, partial) / (SUM)n;
  own = 0;
  for (long k = item; k < n; k += items) own += (in[k] - mean) * (in[k] - mean);
  const SUM variance = PASTE(ENTRY, _group_sum)(own, partial) / (SUM)n;

  const T center = (T)mean;
  const T factor = (T)((SUM)1 / sqrt(variance + epsilon));
  for (long k = item; k < n; k += items) {
    T result = (in[k] - center) * factor;
#if N_INPUTS > 1
    result *= scale[k];
#endif
#if N_INPUTS > 2
    result += bias[k];
#endif
    out[k] = result;
  }
}
