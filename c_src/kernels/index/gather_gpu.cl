// Elements by index, GPU family. The contract is that of
// gather_cpu.cl; one work item per element of the output.
#pragma once

#include "kernels/index/indices.cl"

__kernel void gather(__global const T *restrict in, __global const I *restrict indices,
                     __global T *restrict out, const GatherView view) {
  const long i = (long)get_global_id(0);
  if (i >= view.count) return;
  const long row = i / view.inner, column = i % view.inner;
  long from = row / view.picks * view.source + column;
  bool inside = true;
  EACH_DIMENSION(d, view.depth, INDEX_DEPTH) {
    const long at = place_of(indices[row % view.picks * view.depth + d], view.dims[d]);
    inside = inside && at >= 0;
    from += at * view.strides[d];
  }
  out[i] = inside ? in[from] : (T)0;
}

__kernel void take_along_axis(__global const T *restrict in, __global const I *restrict indices,
                              __global T *restrict out, const GatherView view) {
  const long i = (long)get_global_id(0);
  if (i >= view.count) return;
  const long at = place_of(indices[i], view.dims[0]);
  const long from = i / (view.picks * view.inner) * view.source + at * view.inner + i % view.inner;
  out[i] = at < 0 ? (T)0 : in[from];
}
