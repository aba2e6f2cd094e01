// out[o][k][i] = COMBINE over in[o][0..k][i], GPU family. The contract
// is that of scan_cpu.cl.
//
//   sums       local memory, one ACC per item of the group
//
// ENTRY_rows: a work-group per row and segment, for short inner extents; it scans as many elements
// at once as it has items, a power of two. ENTRY_columns: an item per column and segment, so that
// adjacent items read adjacent elements. Edge rule: every item reaches every barrier.

#include "kernels/common/paste.h"
#include "kernels/reduce/axis_args.h"
#include "kernels/reduce/operations.cl"
#include "kernels/scan/scan_args.h"

// The combined partials of the segments of row `row` before segment `segment`.
static inline ACC PASTE(ENTRY, _before)(__global const PART *partials, const AxisView view,
                                        const ScanWay way, const long row, const long column,
                                        const long segment) {
  ACC sum = IDENTITY;
  const long first = way.reverse ? segment + 1 : 0;
  const long end = way.reverse ? view.segments : segment;
  for (long s = first; s < end; ++s) {
    sum = COMBINE(sum, (ACC)partials[(row * view.segments + s) * view.inner + column]);
  }
  return sum;
}

__kernel void PASTE(ENTRY, _rows)(__global const T *in, __global T *out,
                                  __global const PART *restrict partials, const AxisView view,
                                  const ScanWay way, __local ACC *sums) {
  const long result = (long)get_group_id(0);
  const int item = (int)get_local_id(0), items = (int)get_local_size(0);
  const long column = result % view.inner;
  const long row = result / view.inner / view.segments;
  const long segment = result / view.inner % view.segments;
  const long start = segment * view.segment;
  const long depth = min(view.segment, view.axis - start);
  const long base = (row * view.axis + start) * view.inner + column;

  ACC before = PASTE(ENTRY, _before)(partials, view, way, row, column, segment);
  for (long first = 0; first < depth; first += items) {
    const long k = first + item;
    const long at = base + (way.reverse ? depth - 1 - k : k) * view.inner;
    const ACC own = k < depth ? (ACC)in[at] : IDENTITY;
    sums[item] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = 1; reach < items; reach *= 2) {
      const ACC more = item >= reach ? sums[item - reach] : IDENTITY;
      barrier(CLK_LOCAL_MEM_FENCE);
      sums[item] = COMBINE(more, sums[item]);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    const ACC with = COMBINE(before, sums[item]);
    const ACC without = item > 0 ? COMBINE(before, sums[item - 1]) : before;
    if (k < depth) out[at] = (T)(way.exclusive ? without : with);
    before = COMBINE(before, sums[items - 1]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}

__kernel void PASTE(ENTRY, _columns)(__global const T *in, __global T *out,
                                     __global const PART *restrict partials, const AxisView view,
                                     const ScanWay way) {
  const long result = (long)get_global_id(0);
  if (result >= view.outer * view.segments * view.inner) return;
  const long column = result % view.inner;
  const long row = result / view.inner / view.segments;
  const long segment = result / view.inner % view.segments;
  const long start = segment * view.segment;
  const long depth = min(view.segment, view.axis - start);
  const long base = (row * view.axis + start) * view.inner + column;

  ACC sum = PASTE(ENTRY, _before)(partials, view, way, row, column, segment);
  for (long k = 0; k < depth; ++k) {
    const long at = base + (way.reverse ? depth - 1 - k : k) * view.inner;
    const ACC with = COMBINE(sum, (ACC)in[at]);
    out[at] = (T)(way.exclusive ? sum : with);
    sum = with;
  }
}
