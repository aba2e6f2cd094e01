// out[o][k][i] = exp(in[o][k][i] - m) / sum over k of exp(in[o][k][i] - m), m the maximum over k,
// CPU family.
//
//   in, out   view.outer * view.axis * view.inner elements of type T
//   view      see axis_args.h; one segment
//
//   T, SUM    element type, a float, and the type of sums
//
// A work-group is one item and owns view.units pieces: rows when inner is 1, otherwise up to
// COLUMNS adjacent columns. Edge rules: results are NaN along the whole axis if an element is NaN
// or the maximum is infinite. Preconditions: in and out are the same memory or do not overlap;
// axis > 0.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/stream_cpu.cl"
#include "kernels/elementwise/formulas/exp_cpu.cl"
#include "kernels/reduce/axis.cl"
#include "kernels/reduce/operations.cl"

#define IN T
#define MAP(x, center) (x)

#define NAME row_max
#define SPACE __global
#define ACC T
#define LANE T
#define IDENTITY LOWEST
#define COMBINE combine_max
#include "kernels/reduce/row_cpu.cl"
#undef NAME
#undef ACC
#undef LANE
#undef IDENTITY
#undef COMBINE

#define NAME row_sum
#define ACC SUM
#define LANE SUM_LANE
#define IDENTITY 0
#define COMBINE combine_sum
#include "kernels/reduce/row_cpu.cl"
#undef NAME
#undef SPACE

#define NAME own_row_sum
#define SPACE __private
#include "kernels/reduce/row_cpu.cl"
#undef NAME
#undef SPACE
#undef ACC
#undef LANE
#undef IDENTITY
#undef COMBINE

#undef IN
#undef MAP

// NaN for a maximum that is NaN or infinite, else 0: added to a sum it makes all results NaN.
#define POISON(maximum) ((SUM)((maximum) - (maximum)))

#define SHORT_ROW 4096  // elements that fit into the cache of a core

#if T_BITS == 32 && defined(__clang__)
typedef float16 Loose16 __attribute__((aligned(4)));

// powers[k] = exp(in[k] - maximum); returns their sum. The loop is written in vectors, since this
// compiler does not generate the widest ones from a scalar loop; lanes are added up after at most
// 32 additions, which limits their rounding error.
static inline SUM powers_of_row(__global const float *in, const long n, const float maximum,
                                float *powers) {
  SUM sum = 0;
  long k = 0;
  while (k + 32 <= n) {
    float16 low = (float16)(0), high = (float16)(0);
    const long end = min(k + 1024, n - 31);
    for (; k < end; k += 32) {
      const float16 first = exp_below_0(*(__global const Loose16 *)(in + k) - maximum);
      const float16 second = exp_below_0(*(__global const Loose16 *)(in + k + 16) - maximum);
      *(Loose16 *)(powers + k) = first;
      *(Loose16 *)(powers + k + 16) = second;
      low += first;
      high += second;
    }
    const float16 both = low + high;
    const float8 eight = both.lo + both.hi;
    const float4 four = eight.lo + eight.hi;
    sum += (SUM)four.x + four.y + four.z + four.w;
  }
  for (; k < n; ++k) sum += powers[k] = exp_below_0(in[k] - maximum);
  return sum;
}
#else
static inline SUM powers_of_row(__global const T *in, const long n, const T maximum, T *powers) {
  INDEPENDENT_LOOP
  for (long k = 0; k < n; ++k) powers[k] = EXP_BELOW_0(in[k] - maximum);
  return own_row_sum(powers, n, (SUM)0);
}
#endif

// A row that is assembled in private memory and written once.
static inline void softmax_short_row(__global const T *in, __global T *out, const long n,
                                     const bool stream) {
  T powers[SHORT_ROW];
  const T maximum = row_max(in, n, (T)0);
  const SUM sum = powers_of_row(in, n, maximum, powers);
  const T scale = (T)((SUM)1 / (sum + POISON(maximum)));
  long k = 0;
  if (stream) {
    const long skipped = min(to_next_line(out) / (long)sizeof(T), n);
    for (; k < skipped; ++k) out[k] = powers[k] * scale;
    for (; k + STREAM_BLOCK / (long)sizeof(T) <= n; k += STREAM_BLOCK / sizeof(T)) {
      T block[STREAM_BLOCK / sizeof(T)] __attribute__((aligned(64)));
      INDEPENDENT_LOOP
      for (int j = 0; j < STREAM_BLOCK / (int)sizeof(T); ++j) block[j] = powers[k + j] * scale;
      stream_block(block, out + k);
    }
  }
  INDEPENDENT_LOOP
  for (long rest = k; rest < n; ++rest) out[rest] = powers[rest] * scale;
}

static inline void softmax_row(__global const T *in, __global T *out, const long n) {
  const T maximum = row_max(in, n, (T)0);
  INDEPENDENT_LOOP
  for (long k = 0; k < n; ++k) out[k] = EXP_BELOW_0(in[k] - maximum);
  const T scale = (T)((SUM)1 / (row_sum(out, n, (SUM)0) + POISON(maximum)));
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
      const T power = EXP_BELOW_0(in[k * stride + j] - maximum[j]);
      out[k * stride + j] = power;
      sum[j] += power;
    }
  }
  for (int j = 0; j < width; ++j) maximum[j] = (T)((SUM)1 / (sum[j] + POISON(maximum[j])));
  for (long k = 0; k < n; ++k) {
    INDEPENDENT_LOOP
    for (int j = 0; j < width; ++j) out[k * stride + j] *= maximum[j];
  }
}

SINGLE_ITEM_KERNEL void softmax(__global const T *in, __global T *out, const AxisView view) {
  const long first = (long)get_group_id(0) * view.units;
  const long last = min(first + view.units, pieces_of(view));
  const bool stream =
      view.axis <= SHORT_ROW && streams(view.outer * view.axis * view.inner * sizeof(T));
  for (long index = first; index < last; ++index) {
    const Piece piece = piece_at(view, index);
    if (view.inner == 1 && view.axis <= SHORT_ROW) {
      softmax_short_row(in + piece.from, out + piece.from, view.axis, stream);
    } else if (view.inner == 1) {
      softmax_row(in + piece.from, out + piece.from, view.axis);
    } else {
      softmax_columns(in + piece.from, out + piece.from, view.axis, view.inner, piece.width);
    }
  }
  if (stream) end_stream();
}
