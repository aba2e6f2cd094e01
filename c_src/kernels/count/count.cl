// How many elements belong to each bin.
//
//   bincount         bin x of an integer x
//   histogram_bins   bin floor((x - low) * scale), computed as REAL; x = high belongs to the last
//
//   in       view.count elements of type T
//   counts   view.bins numbers, zeros before the first group adds to them
//   own      local memory: COPIES * view.bins numbers (_local kernels)
//
//   T, T_SIGNED   the element type, see ops.cl
//   COPIES        tables of a work-group, which takes them in turn, so that equal neighbours do not
//                 wait for each other (CPU class); 1 elsewhere
//
// A work-group counts its chunk in local memory and then adds its counts to `counts`; if the bins
// do not fit there (_global kernels), it adds every element directly. CPU class: groups of one
// item. Edge rule: elements that belong to no bin, including NaN, are not counted.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/count/count_args.h"

static inline long bin_of_integer(const T x, const CountView view) {
#if T_SIGNED
  return x >= 0 && (long)x < view.bins ? (long)x : -1;
#else
  return (long)x < view.bins ? (long)x : -1;
#endif
}

#define BIN_COUNT(x) bin_of_integer(x, view)

static inline long bin_of_number(const T x, const CountView view, const REAL low, const REAL high,
                                 const REAL scale) {
  const REAL at = (REAL)x;
  if (!(at >= low && at <= high)) return -1;
  return min((long)((at - low) * scale), view.bins - 1);
}

#define BIN_NUMBER(x) bin_of_number(x, view, low, high, scale)

#if CPU_CLASS

#define COUNT_KERNEL SINGLE_ITEM_KERNEL

#define COUNT_LOCALLY(BIN)                                          \
  for (long i = 0; i < COPIES * view.bins; ++i) own[i] = 0;         \
  const long begin = (long)get_group_id(0) * view.chunk;            \
  const long end = min(begin + view.chunk, view.count);             \
  long k = begin;                                                   \
  for (; k + COPIES <= end; k += COPIES) {                          \
    _Pragma("unroll") for (int c = 0; c < COPIES; ++c) {            \
      const long bin = BIN(in[k + c]);                              \
      if (bin >= 0) ++own[c * view.bins + bin];                     \
    }                                                               \
  }                                                                 \
  for (; k < end; ++k) {                                            \
    const long bin = BIN(in[k]);                                    \
    if (bin >= 0) ++own[bin];                                       \
  }                                                                 \
  for (long i = 0; i < view.bins; ++i) {                            \
    uint sum = 0;                                                   \
    for (int c = 0; c < COPIES; ++c) sum += own[c * view.bins + i]; \
    if (sum != 0) atomic_add(counts + i, sum);                      \
  }

#define COUNT_GLOBALLY(BIN)                              \
  const long begin = (long)get_group_id(0) * view.chunk; \
  const long end = min(begin + view.chunk, view.count);  \
  for (long k = begin; k < end; ++k) {                   \
    const long bin = BIN(in[k]);                         \
    if (bin >= 0) atomic_inc(counts + bin);              \
  }

#else

#define COUNT_KERNEL __kernel

#define COUNT_LOCALLY(BIN)                                               \
  const int item = (int)get_local_id(0), items = (int)get_local_size(0); \
  for (long i = item; i < view.bins; i += items) own[i] = 0;             \
  barrier(CLK_LOCAL_MEM_FENCE);                                          \
  const long begin = (long)get_group_id(0) * view.chunk;                 \
  const long end = min(begin + view.chunk, view.count);                  \
  for (long k = begin + item; k < end; k += items) {                     \
    const long bin = BIN(in[k]);                                         \
    if (bin >= 0) atomic_inc(own + bin);                                 \
  }                                                                      \
  barrier(CLK_LOCAL_MEM_FENCE);                                          \
  for (long i = item; i < view.bins; i += items) {                       \
    if (own[i] != 0) atomic_add(counts + i, own[i]);                     \
  }

#define COUNT_GLOBALLY(BIN)                                              \
  const int item = (int)get_local_id(0), items = (int)get_local_size(0); \
  const long begin = (long)get_group_id(0) * view.chunk;                 \
  const long end = min(begin + view.chunk, view.count);                  \
  for (long k = begin + item; k < end; k += items) {                     \
    const long bin = BIN(in[k]);                                         \
    if (bin >= 0) atomic_inc(counts + bin);                              \
  }

#endif

#if !T_FLOAT

COUNT_KERNEL void bincount_local(__global const T *restrict in, __global uint *restrict counts,
                                 const CountView view, __local uint *own) {
  COUNT_LOCALLY(BIN_COUNT);
}

COUNT_KERNEL void bincount_global(__global const T *restrict in, __global uint *restrict counts,
                                  const CountView view) {
  COUNT_GLOBALLY(BIN_COUNT);
}
#endif

COUNT_KERNEL
void histogram_bins_local(__global const T *restrict in, __global uint *restrict counts,
                          const CountView view, const REAL low, const REAL high, const REAL scale,
                          __local uint *own) {
  COUNT_LOCALLY(BIN_NUMBER);
}

COUNT_KERNEL void histogram_bins_global(__global const T *restrict in,
                                        __global uint *restrict counts, const CountView view,
                                        const REAL low, const REAL high, const REAL scale) {
  COUNT_GLOBALLY(BIN_NUMBER);
}
