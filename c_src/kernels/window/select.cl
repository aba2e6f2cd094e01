// Sums of sources at the elements that windows select:
//
//   window_select    selected[w] = the index of the first largest, or smallest, element of window
//                    w; NaN is both; -1 for a window of nothing but padding
//   window_scatter   out[e] = initial + the sum of source[w] over the windows w that selected e
//
//   in, out    view.elements elements of type T
//   source     view.windows elements
//   view       see window_args.h
//
// Sums follow the order of the windows, so they are deterministic. On CPUs a work-group is one item
// and owns view.chunk results; elsewhere there is one item per result. Edge rule: elements outside
// are padding, which is never selected.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/window/window_args.h"

#if CPU_CLASS
#define RESULT_KERNEL SINGLE_ITEM_KERNEL
#define EACH_RESULT(at, count)                                                           \
  for (long at = (long)get_group_id(0) * view.chunk, last = min(at + view.chunk, count); \
       at < last; ++at)
#else
#define RESULT_KERNEL __kernel
#define EACH_RESULT(at, count) for (long at = (long)get_global_id(0); at < (count); at = (count))
#endif

RESULT_KERNEL void window_select(__global const T *restrict in, __global long *restrict selected,
                                 const WindowView view) {
  EACH_RESULT(window, view.windows) {
    long best = -1;
    T found = 0;
    for (long k = 0; k < view.inside; ++k) {
      long place = 0, rest = k, window_rest = window, step = 1;
      bool inside = true;
      EACH_DIMENSION_BACKWARDS(d, view.rank, WINDOW_MOST_AXES) {
        const long x =
            window_rest % view.places[d] * view.stride[d] - view.low[d] + rest % view.size[d];
        inside = inside && x >= 0 && x < view.extent[d];
        place += x * step;
        step *= view.extent[d];
        rest /= view.size[d];
        window_rest /= view.places[d];
      }
      if (!inside) continue;
      const T x = in[place];
      const bool better = view.largest ? x > found : x < found;
      if (best < 0 || (found == found && (better || x != x))) {
        best = place;
        found = x;
      }
    }
    selected[window] = best;
  }
}

RESULT_KERNEL void window_scatter(__global const T *restrict source,
                                  __global const long *restrict selected, __global T *restrict out,
                                  const T initial, const WindowView view) {
  EACH_RESULT(element, view.elements) {
    // Along each axis, the windows that contain the element are consecutive: `count` from `first`
    // on.
    long first[WINDOW_MOST_AXES], count[WINDOW_MOST_AXES];
    long windows = 1, rest = element;
    EACH_DIMENSION_BACKWARDS(d, view.rank, WINDOW_MOST_AXES) {
      const long x = rest % view.extent[d] + view.low[d];
      rest /= view.extent[d];
      const long begin = max(0L, (x - view.size[d] + view.stride[d]) / view.stride[d]);
      const long end = min(view.places[d] - 1, x / view.stride[d]);
      first[d] = x < view.size[d] ? 0 : begin;
      count[d] = max(0L, end - first[d] + 1);
      windows *= count[d];
    }
    UT sum = (UT)initial;
    for (long k = 0; k < windows; ++k) {
      long window = 0, step = 1, number = k;
      EACH_DIMENSION_BACKWARDS(d, view.rank, WINDOW_MOST_AXES) {
        window += (first[d] + number % count[d]) * step;
        number /= count[d];
        step *= view.places[d];
      }
      if (selected[window] == element) sum += (UT)source[window];
    }
    out[element] = (T)sum;
  }
}
