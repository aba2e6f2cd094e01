// out[o][k][i] = exp(in[o][k][i] - m) / sum over k of exp(in[o][k][i] - m), m the maximum over k,
// for devices that are CPUs.
//
//   in, out   view.outer * view.axis * view.inner elements of type T
//   view      see axis.cl; one segment
//
//   row_max, row_sum   functions of row_cpu.cl: maximum of T, sum of T in SUM
//
// A work-group is one item and owns view.units pieces: rows when inner is 1, otherwise up to
// COLUMNS neighbouring columns. Edge rules: NaN anywhere, or a maximum that is infinite, makes the
// whole result NaN. Preconditions: in and out are the same memory or do not overlap; axis > 0.

static inline void softmax_row(__global const T *in, __global T *out, const long n) {
  const T maximum = row_max(in, n, (T)0);
  INDEPENDENT_LOOP
  for (long k = 0; k < n; ++k) out[k] = exp(in[k] - maximum);
  const T scale = (T)((SUM)1 / row_sum(out, n, (SUM)0));
  INDEPENDENT_LOOP
  for (long k = 0; k < n; ++k) out[k] *= scale;
}

static inline void softmax_columns(__global const T *in, __global T *out, const long n,
                                   const long stride, const int width) {
  T maximum[COLUMNS];
  SUM sum[COLUMNS];
  for (int j = 0; j < width; ++j) {
    maximum[j] = in[j];
    sum[j] = 0;
  }
  for (long k = 1; k < n; ++k) {
    for (int j = 0; j < width; ++j) maximum[j] = combine_max(maximum[j], in[k * stride + j]);
  }
  for (long k = 0; k < n; ++k) {
    INDEPENDENT_LOOP
    for (int j = 0; j < width; ++j) {
      const T power = exp(in[k * stride + j] - maximum[j]);
      out[k * stride + j] = power;
      sum[j] += power;
    }
  }
  for (int j = 0; j < width; ++j) maximum[j] = (T)((SUM)1 / sum[j]);
  for (long k = 0; k < n; ++k) {
    INDEPENDENT_LOOP
    for (int j = 0; j < width; ++j) out[k * stride + j] *= maximum[j];
  }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void softmax(__global const T *in, __global T *out, const AxisView view) {
  const long first = (long)get_group_id(0) * view.units;
  const long last = min(first + view.units, pieces_of(view));
  for (long index = first; index < last; ++index) {
    const Piece piece = piece_at(view, index);
    if (view.inner == 1) {
      softmax_row(in + piece.from, out + piece.from, view.axis);
    } else {
      softmax_columns(in + piece.from, out + piece.from, view.axis, view.inner, piece.width);
    }
  }
}
