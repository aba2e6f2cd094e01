// out[o][k][i] = exp(in[o][k][i] - m) / sum over k of exp(in[o][k][i] - m), m the maximum over k,
// GPU family.
//
//   in, out   view.outer * view.axis * view.inner elements of type T
//   view      see axis_args.h; one segment
//   partial   local memory, one SUM per item of the group
//
// One work-group per [o][i]; its size is a power of two. Edge rules: results are NaN along the
// whole axis if an element is NaN or the maximum is infinite; every item reaches every barrier.
// Preconditions: in and out are the same memory or do not overlap; axis > 0.
#pragma once

#include "kernels/reduce/axis_args.h"
#include "kernels/reduce/operations.cl"

__kernel void softmax(__global const T *in, __global T *out, const AxisView view,
                      __local SUM *partial) {
  const long result = (long)get_group_id(0);
  const int item = (int)get_local_id(0), items = (int)get_local_size(0);
  const long base = result / view.inner * view.axis * view.inner + result % view.inner;
  in += base;
  out += base;

  // Each item accesses the same elements throughout, so out may be in.
  T own = LOWEST;
  for (long k = item; k < view.axis; k += items) own = combine_max(own, in[k * view.inner]);
  partial[item] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = items / 2; reach > 0; reach /= 2) {
    if (item < reach) partial[item] = combine_max((T)partial[item], (T)partial[item + reach]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const T maximum = (T)partial[0];
  barrier(CLK_LOCAL_MEM_FENCE);

  SUM sum = 0;
  for (long k = item; k < view.axis; k += items) {
    const T power = exp(in[k * view.inner] - maximum);
    out[k * view.inner] = power;
    sum += power;
  }
  partial[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = items / 2; reach > 0; reach /= 2) {
    if (item < reach) partial[item] += partial[item + reach];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const T scale = (T)((SUM)1 / partial[0]);
  for (long k = item; k < view.axis; k += items) out[k * view.inner] *= scale;
}
