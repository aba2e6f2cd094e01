// out = activation(a * b + bias) for matrices a {m, k}, b {k, n}, out {m, n}, each `batch` times,
// CPU family.
//
//   a, b, out   row-major elements of type T; a and b are stored transposed according to `product`
//   bias        {n}, used if has_bias
//   low, high   bounds of the activation
//   packed      local memory for block * (strip_columns + LANES) elements of type ACC; for 1 if
//               in_place
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
//   in_place       b is read where it is, not packed: every strip consists of whole vectors, at
//                  least two; a is not transposed
//
//   WIDE           vectors of a wide tile: 2 or 3
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

SINGLE_ITEM_KERNEL void matmul(__global const T *restrict a, __global const T *restrict b,
                               __global const T *restrict bias, __global T *restrict out,
                               const Product product, const T low, const T high,
                               __local ACC *packed, __local ACC *transposed) {
  const long m = product.m, n = product.n, k = product.k;
  const long batch = (long)get_group_id(2) % product.batch;
  const long k_first = (long)get_group_id(2) / product.batch * product.split;
  const long column0 = (long)get_group_id(0) * product.strip_columns;
  const long row0 = (long)get_group_id(1) * product.strip_rows;
  if (column0 >= n || row0 >= m || k_first >= k) return;
  const int width = (int)min(product.strip_columns, n - column0);
  const int vectors = (width + LANES - 1) / LANES;
  const long row_end = min(row0 + product.strip_rows, m);
  const long k_end = min(k_first + product.split, k);
  const bool whole = product.split >= k;
  const bool has_bias = product.has_bias && whole;
  const int block = (int)product.block;
  a += matrix_at(&product, product.a_steps, batch);
  b += matrix_at(&product, product.b_steps, batch);
  b += column0 * (product.transpose_b ? product.b_pitch : 1);
  bias += has_bias ? column0 : 0;
  out += (long)get_group_id(2) * m * n + column0;

  for (long k0 = k_first; k0 < k_end; k0 += block) {
    const int depth = (int)min((long)block, k_end - k0);
    const bool add = k0 > k_first, last = whole && k0 + depth == k_end;
    __global const T *b0 = b + k0 * (product.transpose_b ? 1 : product.b_pitch);
    if (!product.in_place) {
      for (int v = 0, wide; v < vectors; v += wide) {
        wide = tile_vectors(vectors - v);
        const int column = v * LANES, count = min(wide * LANES, width - column);
        if (product.transpose_b) {
          pack_columns(b0 + column * product.b_pitch, product.b_pitch, depth, count, wide * LANES,
                       packed + column * block);
        } else {
          pack_rows(b0 + column, product.b_pitch, depth, count, wide * LANES,
                    packed + column * block);
        }
      }
    }
    for (long rows = row0; rows < row_end; rows += product.block_rows) {
      const long rows_end = min(rows + product.block_rows, row_end);
      if (product.transpose_a) {
        for (long row = rows; row < rows_end; row += TILE_ROWS) {
          transpose_rows(a + k0 * product.a_pitch + row, product.a_pitch, depth,
                         (int)min((long)TILE_ROWS, rows_end - row),
                         transposed + (row - rows) * block);
        }
      }
      for (int v = 0, wide; v < vectors; v += wide) {
        wide = tile_vectors(vectors - v);
        const int column = v * LANES, count = min(wide * LANES, width - column);
        __local const ACC *panel = packed + column * block;
        __global const ACC *rows_of_b = (__global const ACC *)b0 + column;
        for (long row = rows; row < rows_end; row += TILE_ROWS) {
          __global const T *from = a + (product.transpose_a ? 0 : row * product.a_pitch + k0);
          __local const ACC *own = transposed + (product.transpose_a ? (row - rows) * block : 0);
          __global T *to = out + row * n + column;
          const int height = (int)min((long)TILE_ROWS, rows_end - row);
#define RUN(name, a_rows, a_row, a_step, b_rows, b_step)                   \
  name(a_rows, a_row, a_step, depth, b_rows, b_step, to, n, height, count, \
       has_bias ? bias + column : bias, has_bias, add, last, low, high)
#define RUN_ANY(wide)                                                                 \
  if (product.in_place) {                                                             \
    RUN(tile##wide##_in_place, from, product.a_pitch, 1, rows_of_b, product.b_pitch); \
  } else if (product.transpose_a) {                                                   \
    RUN(tile##wide##_transposed, own, 1, TILE_ROWS, panel, wide *LANES);              \
  } else {                                                                            \
    RUN(tile##wide##_packed, from, product.a_pitch, 1, panel, wide *LANES);           \
  }
#if WIDE == 3
          if (wide == 3) {
            RUN_ANY(3)
            continue;
          }
#endif
          RUN_ANY(2)
#undef RUN_ANY
#undef RUN
        }
      }
    }
  }
}
