// out[o][s][i] = FINISH(COMBINE over k in segment s of in[o][k][i], total), GPU family.
//
//   in        view.outer * view.axis * view.inner elements of type IN
//   out       view.outer * view.segments * view.inner elements of type OUT
//   view      see axis_args.h
//   partial   local memory, one ACC per item of the group
//
//   ACC, IDENTITY, COMBINE  type, neutral element and operation of partial results
//   FINISH                  the stored value, from the accumulated value and view.total
//
// Work-groups are divided as in lines_gpu.cl. Edge rules: items without elements contribute
// IDENTITY; every item reaches every barrier. Preconditions: in and out do not overlap.

#include "kernels/reduce/lines_gpu.cl"
#include "kernels/reduce/operations.cl"

__kernel void ENTRY(__global const IN *restrict in, __global OUT *restrict out, const AxisView view,
                    __local ACC *partial) {
  const Line line = line_of(view);
  in += line.from;
  ACC own = IDENTITY;
  for (long k = line.lane; k < line.depth; k += line.lanes) {
    own = COMBINE(own, (ACC)in[k * view.inner]);
  }
  partial[line.slot] = own;
  for (int reach = line.lanes / 2; reach > 0; reach /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (line.lane < reach) {
      own = COMBINE(own, partial[line.slot + reach * line.step]);
      partial[line.slot] = own;
    }
  }
  if (line.lane == 0 && line.depth > 0) out[line.result] = (OUT)FINISH(own, view.total);
}
