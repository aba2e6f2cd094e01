// Moves boxes of elements by strides, and pads tensors, GPU family. The contract is that of
// box_cpu.cl; one work-item per element of the box, or of the padded output.
#pragma once

#include "kernels/common/loops.h"
#include "kernels/shape/box_args.h"

__kernel void move_box(__global const T *restrict in, __global T *restrict out, const BoxMove box) {
  const long i = (long)get_global_id(0);
  if (i >= box.count) return;
  long from = box.from, to = box.to, rest = i;
  EACH_DIMENSION(d, box.rank, BOX_RANK) {
    const long position = rest % box.dims[d];
    rest /= box.dims[d];
    from += position * box.in_strides[d];
    to += position * box.out_strides[d];
  }
  out[to] = in[from];
}

__kernel void pad(__global const T *restrict in, __global T *restrict out, const PadView view,
                  const T value) {
  const long i = (long)get_global_id(0);
  if (i >= view.count) return;
  long from = 0, rest = i;
  bool inside = true;
  EACH_DIMENSION(d, view.rank, BOX_RANK) {
    const long at = rest % view.dims[d] - view.low[d];
    rest /= view.dims[d];
    const long element = at / view.step[d];
    inside = inside && at >= 0 && at % view.step[d] == 0 && element < view.in_dims[d];
    from += element * view.in_strides[d];
  }
  out[i] = inside ? in[from] : value;
}
