// out[o][j][i] = COMBINE over k < view.size of in[o][j * view.stride - view.low + k * dilation][i]
//
//   in, out   [outer][length][inner] and [outer][places][inner] elements of type T
//   view      see window_args.h
//
//   ENTRY                    the kernel
//   ACC, IDENTITY, COMBINE   type, neutral element and operation of running results
//
// Windows over several axes take one pass per axis, since the operations are associative. On CPUs a
// work-group is one item and owns view.chunk results; elsewhere there is one item per result. Edge
// rule: elements outside are padding, which is neutral.

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/paste.h"
#include "kernels/reduce/operations.cl"
#include "kernels/window/window_args.h"

// The range of window elements, `first` to `end`, that are inside for the window at j.
#ifndef SLIDE_BOUNDS
#define SLIDE_BOUNDS
static inline long first_inside(const SlideView view, const long begin) {
  return begin >= 0 ? 0 : (-begin + view.dilation - 1) / view.dilation;
}
static inline long end_inside(const SlideView view, const long begin) {
  if (begin >= view.length) return 0;
  return min(view.size, (view.length - 1 - begin) / view.dilation + 1);
}
#define SLIDE_COLUMNS 64
#endif

#if CPU_CLASS

SINGLE_ITEM_KERNEL void ENTRY(__global const T *restrict in, __global T *restrict out,
                              const SlideView view) {
  const long count = view.outer * view.places * view.inner;
  long at = (long)get_group_id(0) * view.chunk;
  const long last = min(at + view.chunk, count);
  while (at < last) {
    const long column = at % view.inner, row = at / view.inner;
    const int width = (int)min(min(view.inner - column, last - at), (long)SLIDE_COLUMNS);
    const long begin = row % view.places * view.stride - view.low;
    const long end = end_inside(view, begin);
    __global const T *from = in + (row / view.places * view.length + begin) * view.inner + column;
    ACC sums[SLIDE_COLUMNS];
    for (int c = 0; c < width; ++c) sums[c] = IDENTITY;
    for (long k = first_inside(view, begin); k < end; ++k) {
      __global const T *x = from + k * view.dilation * view.inner;
      INDEPENDENT_LOOP
      for (int c = 0; c < width; ++c) sums[c] = COMBINE(sums[c], (ACC)x[c]);
    }
    for (int c = 0; c < width; ++c) out[at + c] = (T)sums[c];
    at += width;
  }
}

#else

__kernel void ENTRY(__global const T *restrict in, __global T *restrict out, const SlideView view) {
  const long at = (long)get_global_id(0);
  if (at >= view.outer * view.places * view.inner) return;
  const long row = at / view.inner;
  const long begin = row % view.places * view.stride - view.low;
  const long end = end_inside(view, begin);
  const long from = (row / view.places * view.length + begin) * view.inner + at % view.inner;
  ACC sum = IDENTITY;
  for (long k = first_inside(view, begin); k < end; ++k) {
    sum = COMBINE(sum, (ACC)in[from + k * view.dilation * view.inner]);
  }
  out[at] = (T)sum;
}

#endif
