// out[o][k] = (in[o][k] - mean) / sqrt(variance + epsilon) * scale[k] + bias[k], mean and variance
// over k, for devices that are CPUs.
//
//   in, out      rows * n elements of type T
//   scale, bias  n elements each; there when N_INPUTS is at least 2 and 3
//   group_rows   rows per work-group, which is one item
//
//   row_sum, row_squares   functions of row_cpu.cl: sums in SUM of x, and of (x - center)^2
//
// Edge rule: the last group has fewer rows. Preconditions: n > 0; out is the same memory as in, or
// scale or bias when there is one row, or does not overlap them.

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void ENTRY(__global const T *in,
#if N_INPUTS > 1
           __global const T *scale,
#endif
#if N_INPUTS > 2
           __global const T *bias,
#endif
           __global T *out, const long rows, const long n, const long group_rows,
           const SUM epsilon) {
  const long first = (long)get_group_id(0) * group_rows;
  const long last = min(first + group_rows, rows);
  for (long row = first; row < last; ++row) {
    __global const T *from = in + row * n;
    __global T *to = out + row * n;
    const SUM mean = row_sum(from, n, (SUM)0) / (SUM)n;
    const SUM variance = row_squares(from, n, mean) / (SUM)n;
    const T center = (T)mean;
    const T factor = (T)((SUM)1 / sqrt(variance + epsilon));
    INDEPENDENT_LOOP
    for (long k = 0; k < n; ++k) {
      T result = (from[k] - center) * factor;
#if N_INPUTS > 1
      result *= scale[k];
#endif
#if N_INPUTS > 2
      result += bias[k];
#endif
      to[k] = result;
    }
  }
}
