// out = activation(a * b + bias) for matrices a {m, k}, b {k, n}, out {m, n}, each `batch` times,
// GPU family.
//
//   a, b, out  row-major elements of type T; a and b are stored transposed according to `product`
//   bias       {n}, used if has_bias
//   low, high  bounds of the activation
//
//   T, UT      element type, and its unsigned counterpart (T itself for floats)
//   ACC        type in which products are summed: T for floats, unsigned for integers
//   SIDE       edge of a work-group
//   TILE_K     products of k between two barriers
//   LARGE_TILES, THIN_TILES   whether the device has room for these sizes of register tiles
//
// A kernel for each size of register tile, see gemm_tile_gpu.h: matmul_8x8, matmul_4x4 and, for few
// rows, matmul_1x4. Where there would be too few work-groups, k is split: each part of
// product.split products is a matrix of its own in `out`, and matmul_finish adds them.
//
// Edge rules: elements past an edge count as 0 and are not stored; every item takes part in every
// barrier. Integers wrap. Preconditions: out overlaps no input; the range is
// {tiles along n * SIDE, tiles along m * SIDE, splits * batch}.
#pragma once

#include "kernels/common/gemm_tile_gpu.h"
#include "kernels/linalg/product.cl"

// Four elements of the stored row `line`, from `at` on.
static inline ACC4 fetch_four(__global const UT *restrict matrix, const long pitch, const long line,
                              const long lines, const long at, const long extent) {
  ACC4 values = 0;
  if (line >= lines || at >= extent) return values;
  matrix += line * pitch + at;
  if (at + 4 <= extent) return PASTE(convert_, ACC4)(vload4(0, matrix));
  values.x = (ACC)matrix[0];
  if (at + 1 < extent) values.y = (ACC)matrix[1];
  if (at + 2 < extent) values.z = (ACC)matrix[2];
  return values;
}

// The same of a tile: rows (of a) or columns (of b) from `first` of `count` on, k from k0 to k_end.
static inline ACC4 fetch_of_tile(__global const UT *restrict matrix, const long pitch,
                                 const int four, const int extent, const bool along_k,
                                 const long first, const long count, const long k0,
                                 const long k_end) {
  const long outer = first + four_outer(four, extent, along_k);
  const long k = k0 + four_k(four, extent, along_k);
  // The same for all items of a work-group, so that most of them check nothing else.
  if (first + extent <= count && k0 + TILE_K <= k_end) {
    const long at = along_k ? outer * pitch + k : k * pitch + outer;
    return PASTE(convert_, ACC4)(vload4(0, matrix + at));
  }
  return along_k ? fetch_four(matrix, pitch, outer, count, k, k_end)
                 : fetch_four(matrix, pitch, k, k_end, outer, count);
}

static inline void store_four(__global T *restrict row, const long column, const long n,
                              __global const T *restrict bias, const bool has_bias, const T low,
                              const T high, const ACC4 sums) {
  const ACC values[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (column + c >= n) continue;
    const UT own = has_bias ? (UT)bias[column + c] : (UT)0;
    row[column + c] = finished((UT)values[c], own, low, high);
  }
}

// Of a sum that matmul_finish completes.
static inline void store_part(__global T *restrict row, const long column, const long n,
                              const ACC4 sums) {
  const ACC values[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    if (column + c < n) row[column + c] = (T)(UT)values[c];
  }
}

#if LARGE_TILES
#define MATMUL matmul_8x8
#define SUMS sums_8x8
#define ROWS 8
#define COLUMNS 8
#include "kernels/linalg/matmul_tile_gpu.cl"
#undef MATMUL
#undef SUMS
#undef ROWS
#undef COLUMNS
#endif

#define MATMUL matmul_4x4
#define SUMS sums_4x4
#define ROWS 4
#define COLUMNS 4
#include "kernels/linalg/matmul_tile_gpu.cl"
#undef MATMUL
#undef SUMS
#undef ROWS
#undef COLUMNS

#if THIN_TILES
#define MATMUL matmul_1x4
#define SUMS sums_1x4
#define ROWS 1
#define COLUMNS 4
#include "kernels/linalg/matmul_tile_gpu.cl"
#undef MATMUL
#undef SUMS
#undef ROWS
#undef COLUMNS
#endif
