// Reductions, arg max, top k, cumulative sums, scatter and contraction. One program per element
// type has them all, with the kernels of elementwise.cl, windows.cl and sample.cl.
//
//   S    the type in memory; T, see scalar.cl, the type of the computation
//   ACC  the type of sums: the widest float or integer type, as T is
//
// Private, because they define what ONNX does and the kernels of the registry do not: reductions
// over any axes, with sums in ACC; the last of equal maxima; NaN above all numbers in top k;
// exclusive and reversed cumulative sums; scatter with min, max and product. The host compiles them
// for constant folding, too. Large sums, means, minima and maxima along one axis run on the
// registry.

#include "kernels/model/scalar.cl"
#include "kernels/model/walk.cl"

static inline ACC start_of(int op) { return op == REDUCE_PROD ? (ACC)1 : (ACC)0; }

static inline ACC absorb(int op, ACC sum, T x, ACC shift) {
  switch (op) {
    case REDUCE_PROD: return sum * (ACC)x;
    case REDUCE_L1: return sum + (ACC)magnitude_of(x);
    case REDUCE_L2:
    case REDUCE_SUM_SQUARE: return sum + (ACC)x * (ACC)x;
#if T_FLOAT
    case REDUCE_LOG_SUM_EXP: return sum + exp((ACC)x - shift);
#endif
    default: return sum + (ACC)x;
  }
}

static inline T conclude(int op, ACC sum, long total, ACC shift) {
  switch (op) {
#if T_FLOAT
    case REDUCE_MEAN: return (T)(sum / (ACC)total);
    case REDUCE_L2: return (T)sqrt(sum);
    case REDUCE_LOG_SUM: return (T)log(sum);
    case REDUCE_LOG_SUM_EXP: return (T)(shift + log(sum));
#else
    case REDUCE_MEAN: return total == 0 ? (T)0 : (T)(sum / (ACC)total);
    case REDUCE_L2: return (T)sqrt((REAL)sum);
#endif
    default: return (T)sum;
  }
}

// out[k] = reduction of in[k, r] over all r. The minimum and the maximum of no elements are 0.
__kernel void reduce(__global const S *in, __global S *out, const int op, const Reduction view) {
  const long end = LAST_OF(view);
  const long length = view.reduced_dims[0], step = view.reduced_strides[0];
  for (long i = FIRST_OF(view); i < end; ++i) {
    const long base = place(view.rank, view.dims, view.strides, i);
    T extreme = (T)0;
    const bool seek = op == REDUCE_MIN || op == REDUCE_MAX || op == REDUCE_LOG_SUM_EXP;
    for (long r = 0; seek && r < view.total; r += length) {
      const long at = base + place(view.reduced_rank, view.reduced_dims, view.reduced_strides, r);
      for (long j = 0; j < length; ++j) {
        const T x = (T)in[at + j * step];
        const T better = op == REDUCE_MIN ? lesser(extreme, x) : greater(extreme, x);
        extreme = r + j == 0 ? x : better;
      }
    }
    if (op == REDUCE_MIN || op == REDUCE_MAX) {
      out[i] = (S)extreme;
      continue;
    }
#if T_FLOAT
    const ACC shift = extreme - extreme == (T)0 ? (ACC)extreme : (ACC)0;
#else
    const ACC shift = (ACC)0;
#endif
    ACC sum = start_of(op);
    for (long r = 0; r < view.total; r += length) {
      const long at = base + place(view.reduced_rank, view.reduced_dims, view.reduced_strides, r);
      for (long j = 0; j < length; ++j) sum = absorb(op, sum, (T)in[at + j * step], shift);
    }
    out[i] = (S)conclude(op, sum, view.total, shift);
  }
}

// NaN is above every number.
static inline bool above(T a, T b) { return a > b || (a != a && b == b); }

// out[o][i] = the index along the axis of the largest (first_flag) or smallest element.
__kernel void arg_extreme(__global const S *in, __global long *out, const AxisWalk walk) {
  const long end = LAST_OF(walk);
  for (long i = FIRST_OF(walk); i < end; ++i) {
    __global const S *line = in + i / walk.inner * walk.axis * walk.inner + i % walk.inner;
    long best = 0;
    for (long k = 1; k < walk.axis; ++k) {
      const T x = (T)line[k * walk.inner], y = (T)line[best * walk.inner];
      const bool better = walk.first_flag != 0 ? above(x, y) : above(y, x);
      const bool equal = !above(x, y) && !above(y, x);
      if (better || (equal && walk.second_flag != 0)) best = k;
    }
    out[i] = best;
  }
}

// The indices of the `picks` largest (first_flag) or smallest elements of every line, in order; of
// equal elements, the first comes first. A work item finds the rank of one element.
__kernel void rank_axis(__global const S *in, __global long *out, const AxisWalk walk) {
  const long end = LAST_OF(walk);
  for (long i = FIRST_OF(walk); i < end; ++i) {
    const long inner = i % walk.inner, place_of = i / walk.inner % walk.axis;
    const long outer = i / walk.inner / walk.axis;
    __global const S *line = in + outer * walk.axis * walk.inner + inner;
    const T x = (T)line[place_of * walk.inner];
    long rank = 0;
    for (long k = 0; k < walk.axis && rank < walk.picks; ++k) {
      const T y = (T)line[k * walk.inner];
      const bool first = walk.first_flag != 0 ? above(y, x) : above(x, y);
      const bool tied = !above(x, y) && !above(y, x);
      if (first || (tied && k < place_of)) ++rank;
    }
    if (rank < walk.picks) out[(outer * walk.picks + rank) * walk.inner + inner] = place_of;
  }
}

// Cumulative sums along the axis: exclusive if first_flag, from the end if second_flag.
__kernel void cumulate(__global const S *in, __global S *out, const AxisWalk walk) {
  const long end = LAST_OF(walk);
  for (long i = FIRST_OF(walk); i < end; ++i) {
    const long base = i / walk.inner * walk.axis * walk.inner + i % walk.inner;
    ACC sum = (ACC)0;
    for (long k = 0; k < walk.axis; ++k) {
      const long at = base + (walk.second_flag != 0 ? walk.axis - 1 - k : k) * walk.inner;
      const ACC before = sum;
      sum += (ACC)(T)in[at];
      out[at] = (S)(T)(walk.first_flag != 0 ? before : sum);
    }
  }
}

static inline T combined(long how, T old, T new_one) {
  switch (how) {
    case SCATTER_ADD: return (T)((UT)old + (UT)new_one);
    case SCATTER_MUL: return (T)((UT)old * (UT)new_one);
    case SCATTER_MIN: return lesser(old, new_one);
    case SCATTER_MAX: return greater(old, new_one);
    default: return new_one;
  }
}

// out[i.., indices[i..] along the axis] = combined(old element, updates[i..]). A work item owns a
// line along the axis, so that updates of equal indices are applied in order. Indices out of range
// are skipped.
__kernel void scatter_elements(__global const int *indices, __global const S *updates,
                               __global S *out, const IndexWalk walk) {
  const long end = LAST_OF(walk);
  const long length = entry_at(walk.rank, walk.index_dims, walk.axis);
  const long places = entry_at(walk.rank, walk.dims, walk.axis);
  const long stride = entry_at(walk.rank, walk.strides, walk.axis);
  for (long i = FIRST_OF(walk); i < end; ++i) {
    long rest = i, from = 0, to = 0, step = 1, own_step = 1;
    EACH_DIMENSION(d, walk.rank, MODEL_RANK) {
      if (d == walk.axis) {
        own_step = step;
      } else {
        const long at = rest % walk.index_dims[d];
        from += at * step;
        to += at * walk.strides[d];
        rest /= walk.index_dims[d];
      }
      step *= walk.index_dims[d];
    }
    for (long k = 0; k < length; ++k) {
      const long at = from + k * own_step;
      const long index = index_at(indices, at, walk.wide, places);
      if (index < 0) continue;
      const long target = to + index * stride;
      out[target] = (S)combined(walk.how, (T)out[target], (T)updates[at]);
    }
  }
}

// out[indices[t]][s] = combined(old element, updates[t][s]). A work item owns a position s.
__kernel void scatter_nd(__global const int *indices, __global const S *updates, __global S *out,
                         const IndexWalk walk) {
  const long end = LAST_OF(walk);
  for (long i = FIRST_OF(walk); i < end; ++i) {
    for (long tuple = 0; tuple < walk.tuples; ++tuple) {
      long to = i;
      bool inside = true;
      EACH_DIMENSION(d, walk.rank, MODEL_RANK) {
        const long index = index_at(indices, tuple * walk.rank + d, walk.wide, walk.dims[d]);
        inside = inside && index >= 0;
        to += max(index, 0L) * walk.strides[d];
      }
      if (inside) out[to] = (S)combined(walk.how, (T)out[to], (T)updates[tuple * walk.slice + i]);
    }
  }
}

// Sums of products of two tensors over shared dimensions.
__kernel void contract(__global const S *a, __global const S *b, __global S *out,
                       const Contraction view) {
  const long end = LAST_OF(view);
  for (long i = FIRST_OF(view); i < end; ++i) {
    const long from_a = place(view.rank, view.dims, view.a, i);
    const long from_b = place(view.rank, view.dims, view.b, i);
    ACC sum = (ACC)0;
    for (long r = 0; r < view.total; ++r) {
      const long at_a = from_a + place(view.sum_rank, view.sum_dims, view.sum_a, r);
      const long at_b = from_b + place(view.sum_rank, view.sum_dims, view.sum_b, r);
      sum += (ACC)(T)a[at_a] * (ACC)(T)b[at_b];
    }
    out[i] = (S)(T)sum;
  }
}
