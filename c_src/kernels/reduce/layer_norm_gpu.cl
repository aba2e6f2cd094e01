// out[o][k] = (in[o][k] - mean) / sqrt(variance + epsilon) * scale[k] + bias[k], mean and variance
// over k, GPU family.
//
//   in, out      view.outer rows of view.axis elements of type T
//   scale, bias  view.axis elements each; present when N_INPUTS is at least 2 and 3
//   partial      local memory, one SUM per item of the group
//
// Work-groups are divided as in lines_gpu.cl. Edge rule: every item reaches every barrier.
// Preconditions: axis > 0; out is the same memory as in, or scale or bias when there is one row, or
// does not overlap them.

#include "kernels/reduce/lines_gpu.cl"

// The sum over the lanes of a line, for all of them.
#ifndef LINE_SUM
#define LINE_SUM
static inline SUM line_sum(const Line line, SUM own, __local SUM *partial) {
  partial[line.slot] = own;
  for (int reach = line.lanes / 2; reach > 0; reach /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (line.lane < reach) partial[line.slot] += partial[line.slot + reach * line.step];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const SUM total = partial[line.slot - line.lane * line.step];
  barrier(CLK_LOCAL_MEM_FENCE);
  return total;
}
#endif

__kernel void ENTRY(__global const T *in,
#if N_INPUTS > 1
                    __global const T *scale,
#endif
#if N_INPUTS > 2
                    __global const T *bias,
#endif
                    __global T *out, const AxisView view, const SUM epsilon, __local SUM *partial) {
  const Line line = line_of(view);
  in += line.from;
  out += line.from;

  SUM own = 0;
  for (long k = line.lane; k < line.depth; k += line.lanes) own += in[k];
  const SUM mean = line_sum(line, own, partial) / (SUM)view.axis;
  own = 0;
  for (long k = line.lane; k < line.depth; k += line.lanes) own += (in[k] - mean) * (in[k] - mean);
  const SUM variance = line_sum(line, own, partial) / (SUM)view.axis;

  const T center = (T)mean;
  const T factor = (T)((SUM)1 / sqrt(variance + epsilon));
  for (long k = line.lane; k < line.depth; k += line.lanes) {
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
