// Tensors that depend on their shape alone.
//
//   iota   out[o][k][i] = k
//   eye    out[o][r][c] = 1 where r = c, and 0 elsewhere
//
//   T_STORED   element type; integers wrap, floats round to nearest: STORED_INTEGER(x)
//   view   see generate_args.h
//
// On CPUs a work-group is one item and owns view.chunk elements; elsewhere there is one item per
// element. Edge rule: nothing is written past view.count.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/narrow_floats.h"
#include "kernels/shape/generate_args.h"

#if CPU_CLASS

SINGLE_ITEM_KERNEL void iota(__global T_STORED *out, const GenerateView view) {
  const long begin = (long)get_group_id(0) * view.chunk;
  const long end = min(begin + view.chunk, view.count);
  for (long i = begin; i < end;) {
    const long place = i / view.inner % view.extent;
    if (view.inner == 1) {
      const long run = min(view.extent - place, end - i);
      for (long j = 0; j < run; ++j) out[i + j] = STORED_INTEGER(place + j);
      i += run;
    } else {
      const long run = min(view.inner - i % view.inner, end - i);
      for (long j = 0; j < run; ++j) out[i + j] = STORED_INTEGER(place);
      i += run;
    }
  }
}

SINGLE_ITEM_KERNEL void eye(__global T_STORED *out, const GenerateView view) {
  const long begin = (long)get_group_id(0) * view.chunk;
  const long end = min(begin + view.chunk, view.count);
  for (long i = begin; i < end; ++i) out[i] = STORED_INTEGER(0L);
  if (begin >= end) return;
  for (long row = begin / view.inner; row * view.inner < end; ++row) {
    const long r = row % view.extent;
    const long i = row * view.inner + r;
    if (r < view.inner && i >= begin && i < end) out[i] = STORED_INTEGER(1L);
  }
}

#else

__kernel void iota(__global T_STORED *out, const GenerateView view) {
  const long i = (long)get_global_id(0);
  if (i < view.count) out[i] = STORED_INTEGER(i / view.inner % view.extent);
}

__kernel void eye(__global T_STORED *out, const GenerateView view) {
  const long i = (long)get_global_id(0);
  if (i < view.count)
    out[i] = STORED_INTEGER(i / view.inner % view.extent == i % view.inner ? 1L : 0L);
}

#endif
