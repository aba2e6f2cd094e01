// out[o][k] = (in[o][k] - mean) / sqrt(variance + epsilon) * scale[k] + bias[k], mean and variance
// over k, CPU family.
//
//   in, out      rows * n elements of type T
//   scale, bias  n elements each; present when N_INPUTS is at least 2 and 3
//   group_rows   rows per work-group, which is one item
//
// Squares are summed in lanes of T, which is accurate enough for SQUARES elements at a time.
//
// Edge rule: the last group has fewer rows. Preconditions: n > 0; out is the same memory as in, or
// scale or bias when there is one row, or does not overlap them.

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/stream_cpu.cl"
#include "kernels/reduce/layer_norm_rows_cpu.cl"

#define SQUARES 4096L

// The normalised element k.
#if N_INPUTS == 1
#define NORMAL(k) ((from[k] - center) * factor)
#elif N_INPUTS == 2
#define NORMAL(k) ((from[k] - center) * factor * scale[k])
#else
#define NORMAL(k) ((from[k] - center) * factor * scale[k] + bias[k])
#endif

SINGLE_ITEM_KERNEL void ENTRY(__global const T *in,
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
  const bool stream = streams(rows * n * sizeof(T));
  for (long row = first; row < last; ++row) {
    __global const T *from = in + row * n;
    __global T *to = out + row * n;
    const SUM mean = row_sum(from, n, (SUM)0) / (SUM)n;
    SUM squares = 0;
    for (long k = 0; k < n; k += SQUARES)
      squares += row_squares(from + k, min(n - k, SQUARES), mean);
    const SUM variance = squares / (SUM)n;
    const T center = (T)mean;
    const T factor = (T)((SUM)1 / sqrt(variance + epsilon));
    long k = 0;
    if (stream) {
      const long skipped = min(to_next_line(to) / (long)sizeof(T), n);
      for (; k < skipped; ++k) to[k] = NORMAL(k);
      for (; k + STREAM_BLOCK / (long)sizeof(T) <= n; k += STREAM_BLOCK / sizeof(T)) {
        T block[STREAM_BLOCK / sizeof(T)] __attribute__((aligned(64)));
        INDEPENDENT_LOOP
        for (int j = 0; j < STREAM_BLOCK / (int)sizeof(T); ++j) block[j] = NORMAL(k + j);
        stream_block(block, to + k);
      }
    }
    INDEPENDENT_LOOP
    for (long rest = k; rest < n; ++rest) to[rest] = NORMAL(rest);
  }
  if (stream) end_stream();
}

#undef NORMAL
