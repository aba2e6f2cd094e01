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
// ENTRY_rows: one work-group per result, for short inner extents; its size is a power of two.
// ENTRY_columns: one item per result, for long inner extents, so that reads are coalesced.
// Edge rules: items without elements contribute IDENTITY; every item reaches every barrier.
// Preconditions: in and out do not overlap; ENTRY_rows has one group per result.

#include "kernels/common/paste.h"
#include "kernels/reduce/axis_args.h"
#include "kernels/reduce/operations.cl"

__kernel void PASTE(ENTRY, _rows)(__global const IN *restrict in, __global OUT *restrict out,
                                  const AxisView view, __local ACC *partial) {
  const long result = (long)get_group_id(0);
  const int item = (int)get_local_id(0), items = (int)get_local_size(0);
  const long row = result / view.inner, column = result % view.inner;
  const long start = row % view.segments * view.segment;
  const long depth = min(view.segment, view.axis - start);
  in += (row / view.segments * view.axis + start) * view.inner + column;

  ACC own = IDENTITY;
  for (long k = item; k < depth; k += items) own = COMBINE(own, (ACC)in[k * view.inner]);
  partial[item] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = items / 2; reach > 0; reach /= 2) {
    if (item < reach) partial[item] = COMBINE(partial[item], partial[item + reach]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0) out[result] = (OUT)FINISH(partial[0], view.total);
}

__kernel void PASTE(ENTRY, _columns)(__global const IN *restrict in, __global OUT *restrict out,
                                     const AxisView view) {
  const long result = (long)get_global_id(0);
  if (result >= view.outer * view.segments * view.inner) return;
  const long row = result / view.inner, column = result % view.inner;
  const long start = row % view.segments * view.segment;
  const long depth = min(view.segment, view.axis - start);
  in += (row / view.segments * view.axis + start) * view.inner + column;

  ACC own = IDENTITY;
  for (long k = 0; k < depth; ++k) own = COMBINE(own, (ACC)in[k * view.inner]);
  out[result] = (OUT)FINISH(own, view.total);
}
