// out = activation(a * b + bias) for matrices a {m, k}, b {k, n}, out {m, n}, each `batch` times,
// CPU family.
//
//   a, b, out   row-major elements of type T; a and b are stored transposed according to `product`
//   bias        {n}, used if has_bias
//   low, high   bounds of the activation
//   packed      local memory for block * (strip_columns + LANES) elements of type ACC; for 1 if b
//               is read in place
//   transposed  local memory for block * block_rows of them if a is transposed, else for 1
//
// Members of `product` that divide the work:
//
//   strip_rows     rows of out per work-group, a multiple of TILE_ROWS
//   strip_columns  columns of out per work-group, a multiple of LANES
//   block          the part of k that is processed at a time
//   block_rows     rows of a that stay in the cache meanwhile, a multiple of TILE_ROWS
//   split          the part of k that a work-group sums; if less than k, out is one matrix per
//                  split, which matmul_finish adds
//
//   WIDE           vectors of a wide tile: 2 or 3
//
// There are three kernels, so that a program of which one is used has no more than that compiled:
//
//   matmul_packed      a is not transposed
//   matmul_in_place    b is read where it is, not packed: every strip consists of whole vectors, at
//                      least two; neither a nor b is transposed
//   matmul_transposed  a is transposed
//
// A work-group is one item and owns a strip of columns over a strip of rows. For each block of k
// it packs its columns of b into panels as wide as a tile, which stay in the cache, and then
// computes the strip tile by tile. Rows of a are read in place; a transposed a is transposed back
// block by block.
//
// Edge rules: columns past the end are packed as zeros and not stored, for rows see
// matmul_tile_cpu.cl. Integers wrap. Preconditions: m, n, k > 0; out overlaps no input; the range
// is {ceil(n / strip_columns), ceil(m / strip_rows), batch * ceil(k / split)}.
#pragma once

#include "kernels/common/kernel.h"
#include "kernels/linalg/matmul_tiles_cpu.cl"
#include "kernels/linalg/product.cl"
#include "kernels/linalg/vectors_cpu.cl"

// The width of the next tile in vectors when `left` are left: wide tiles, then pairs, such that no
// vector of a pair is unused unless there is only one.
static inline int tile_vectors(const int left) {
#if WIDE == 3
  return left == 3 || left > 4 ? 3 : 2;
#else
  return 2;
#endif
}

// Rows 0..depth of a panel: `width` columns of b, rows `pitch` elements apart, zeros up to `wide`.
static inline void pack_rows(__global const T *b, const long pitch, const int depth,
                             const int width, const int wide, __local ACC *to) {
  if (width == wide) {
    for (int p = 0; p < depth; ++p, to += wide, b += pitch) {
      for (int j = 0; j < wide; j += LANES) STORE(load_elements(b + j), to + j);
    }
  } else {
    for (int p = 0; p < depth; ++p, to += wide, b += pitch) {
      for (int j = 0; j < width; ++j) to[j] = (ACC)b[j];
      for (int j = width; j < wide; ++j) to[j] = 0;
    }
  }
}

#if ROUND_TRIP
// Transposes LANES rows of LANES elements. Each round interleaves the first half of the rows with
// the second; after log2(LANES) rounds they are transposed.
static inline void transpose_block(__global const ACC *from, const long pitch, __local ACC *to,
                                   const int step) {
  VECTOR rows[LANES], next[LANES];
#pragma unroll
  for (int i = 0; i < LANES; ++i) rows[i] = LOAD(from + i * pitch);
#pragma unroll
  for (int round = 1; round < LANES; round *= 2) {
#pragma unroll
    for (int i = 0; i < LANES / 2; ++i) {
      next[2 * i].even = rows[i].lo;
      next[2 * i].odd = rows[i + LANES / 2].lo;
      next[2 * i + 1].even = rows[i].hi;
      next[2 * i + 1].odd = rows[i + LANES / 2].hi;
    }
#pragma unroll
    for (int i = 0; i < LANES; ++i) rows[i] = next[i];
  }
#pragma unroll
  for (int i = 0; i < LANES; ++i) STORE(rows[i], to + i * step);
}
#endif

// Packs a transposed b: the panel's columns are rows of b.
static inline void pack_columns(__global const T *b, const long pitch, const int depth,
                                const int width, const int wide, __local ACC *to) {
  int block_width = 0, block_depth = 0;
#if ROUND_TRIP
  block_width = width / LANES * LANES;
  block_depth = depth / LANES * LANES;
  for (int j = 0; j < block_width; j += LANES) {
    for (int p = 0; p < block_depth; p += LANES) {
      transpose_block((__global const ACC *)b + j * pitch + p, pitch, to + p * wide + j, wide);
    }
  }
#endif
  for (int j = 0; j < width; ++j) {
    __global const T *from = b + j * pitch;
    for (int p = j < block_width ? block_depth : 0; p < depth; ++p) {
      to[p * wide + j] = (ACC)from[p];
    }
  }
  for (int j = width; j < wide; ++j) {
    for (int p = 0; p < depth; ++p) to[p * wide + j] = 0;
  }
}

// Packs the rows of a tile of a transposed a, ordered by k; zeros for rows past the end.
static inline void transpose_rows(__global const T *a, const long pitch, const int depth,
                                  const int height, __local ACC *to) {
  if (height == TILE_ROWS) {
    for (int p = 0; p < depth; ++p, to += TILE_ROWS, a += pitch) {
      for (int r = 0; r < TILE_ROWS; ++r) to[r] = (ACC)a[r];
    }
  } else {
    for (int p = 0; p < depth; ++p, to += TILE_ROWS, a += pitch) {
      for (int r = 0; r < TILE_ROWS; ++r) to[r] = r < height ? (ACC)a[r] : (ACC)0;
    }
  }
}

#define NAME matmul_packed
#define IN_PLACE 0
#define TRANSPOSED 0
#include "kernels/linalg/matmul_strips_cpu.cl"
#undef NAME
#undef IN_PLACE
#undef TRANSPOSED

#define NAME matmul_in_place
#define IN_PLACE 1
#define TRANSPOSED 0
#include "kernels/linalg/matmul_strips_cpu.cl"
#undef NAME
#undef IN_PLACE
#undef TRANSPOSED

#define NAME matmul_transposed
#define IN_PLACE 0
#define TRANSPOSED 1
#include "kernels/linalg/matmul_strips_cpu.cl"
#undef NAME
#undef IN_PLACE
#undef TRANSPOSED
