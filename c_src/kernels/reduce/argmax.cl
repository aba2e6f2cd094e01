// What the argmax kernels of both device classes share.
//
//   T     element type                    OUT   type of the indexes stored
//
// The first maximum counts; NaN is above every number, and the first NaN counts.

// Whether x comes before `best` wherever the two stand.
static inline bool better(T x, T best) { return x > best || (x != x && best == best); }

// Whether x at `index` comes before `best` at `best_index`.
static inline bool comes_first(T x, long index, T best, long best_index) {
  return better(x, best) || (!better(best, x) && index < best_index);
}

// out[o][i] = the best of the segments' candidates: values[o][s][i] at indexes[o][s][i]. One item
// per result; segments are in the axis's order, so a tie leaves the earlier one.
__kernel void argmax_merge(__global const T *restrict values, __global const long *restrict indexes,
                           __global OUT *restrict out, const AxisView view) {
  const long result = (long)get_global_id(0);
  if (result >= view.outer * view.inner) return;
  const long first = result / view.inner * view.segments * view.inner + result % view.inner;
  T best = values[first];
  long best_index = indexes[first];
  for (long s = 1; s < view.segments; ++s) {
    const long at = first + s * view.inner;
    if (better(values[at], best)) {
      best = values[at];
      best_index = indexes[at];
    }
  }
  out[result] = (OUT)best_index;
}
