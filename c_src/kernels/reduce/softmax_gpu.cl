// out[o][k][i] = exp(in[o][k][i] - m) / sum over k of exp(in[o][k][i] - m), m the maximum over k,
// GPU family.
//
//   in, out   view.outer * view.axis * view.inner elements of type T
//   view      see axis_args.h; one segment
//   highest   local memory, one T per item of the group
//   partial   local memory, one SUM per item of the group
//
// Work-groups are divided as in lines_gpu.cl. Elements are read twice: each lane scales its sum
// anew whenever it meets a larger element, so that one pass finds the maximum and the sum.
//
// Edge rules: results are NaN along the whole axis if an element is NaN or the maximum is infinite;
// every item reaches every barrier. Preconditions: in and out are the same memory or do not
// overlap; axis > 0.
#pragma once

#include "kernels/reduce/lines_gpu.cl"
#include "kernels/reduce/operations.cl"

// A sum of powers relative to `from` as one relative to `to`.
static inline SUM rescaled(const SUM sum, const T from, const T to) {
  return from == to || sum == (SUM)0 ? sum : sum * (SUM)exp(from - to);
}

__kernel void softmax(__global const T *in, __global T *out, const AxisView view,
                      __local T *highest, __local SUM *partial) {
  const Line line = line_of(view);
  in += line.from;
  out += line.from;

  // Each item accesses the same elements throughout, so out may be in.
  T maximum = LOWEST;
  SUM sum = 0;
  for (long k = line.lane; k < line.depth; k += line.lanes) {
    const T x = in[k * view.inner];
    const T power = x == maximum ? (T)1 : exp(-fabs(x - maximum));
    sum = x > maximum ? sum * power + (SUM)1 : sum + power;
    maximum = combine_max(maximum, x);
  }
  highest[line.slot] = maximum;
  partial[line.slot] = sum;
  for (int reach = line.lanes / 2; reach > 0; reach /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (line.lane < reach) {
      const int other = line.slot + reach * line.step;
      const T larger = combine_max(maximum, highest[other]);
      sum = rescaled(sum, maximum, larger) + rescaled(partial[other], highest[other], larger);
      maximum = larger;
      highest[line.slot] = maximum;
      partial[line.slot] = sum;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const int first = line.slot - line.lane * line.step;
  maximum = highest[first];
  // The difference is 0, or NaN where the maximum is not finite.
  const T scale = (T)((SUM)1 / partial[first]) + (maximum - maximum);
  for (long k = line.lane; k < line.depth; k += line.lanes) {
    out[k * view.inner] = exp(in[k * view.inner] - maximum) * scale;
  }
}
