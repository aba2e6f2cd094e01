// Template: matmul with one size of register tile, see matmul_gpu.cl.
//
//   MATMUL          name of the kernel
//   SUMS            name of the function of gemm_tile_gpu.cl
//   ROWS, COLUMNS   of an item's register tile
#include "kernels/common/gemm_tile_gpu.cl"

#define TILE_M (SIDE * ROWS)
#define TILE_N (SIDE * COLUMNS)

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void MATMUL(
    __global const T *restrict a, __global const T *restrict b, __global const T *restrict bias,
    __global T *restrict out, const Product product, const T low, const T high) {
  __local ACC tile_a[TILE_ELEMENTS(TILE_M)] __attribute__((aligned(16)));
  __local ACC tile_b[TILE_ELEMENTS(TILE_N)] __attribute__((aligned(16)));
  const int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * SIDE + x;
  const long m = product.m, n = product.n;
  const long column0 = (long)get_group_id(0) * TILE_N, row0 = (long)get_group_id(1) * TILE_M;
  const long batch = (long)get_group_id(2) % product.batch;
  const long part = (long)get_group_id(2) / product.batch;
  const long k_begin = part * product.split, k_end = min(k_begin + product.split, product.k);
  const bool a_along_k = !product.transpose_a, b_along_k = product.transpose_b;
  __global const UT *matrix_a =
      (__global const UT *)a + matrix_at(&product, product.a_steps, batch);
  __global const UT *matrix_b =
      (__global const UT *)b + matrix_at(&product, product.b_steps, batch);

  ACC4 sums[ROWS][COLUMNS / 4];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLUMNS / 4; ++j) sums[i][j] = (ACC4)(0);
  }
  ACC4 next_a[FOURS_PER_ITEM(TILE_M)], next_b[FOURS_PER_ITEM(TILE_N)];
  for (long k0 = k_begin - TILE_K; k0 < k_end; k0 += TILE_K) {
    if (k0 >= k_begin) {
#pragma unroll
      for (int f = 0; f < FOURS_PER_ITEM(TILE_M); ++f) {
        const int four = f * ITEMS + item;
        if (four < FOURS(TILE_M)) keep_four(tile_a, four, TILE_M, a_along_k, next_a[f]);
      }
#pragma unroll
      for (int f = 0; f < FOURS_PER_ITEM(TILE_N); ++f) {
        const int four = f * ITEMS + item;
        if (four < FOURS(TILE_N)) keep_four(tile_b, four, TILE_N, b_along_k, next_b[f]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const long next = k0 + TILE_K;
    if (next < k_end) {
#pragma unroll
      for (int f = 0; f < FOURS_PER_ITEM(TILE_M); ++f) {
        const int four = f * ITEMS + item;
        if (four < FOURS(TILE_M)) {
          next_a[f] = fetch_of_tile(matrix_a, product.a_pitch, four, TILE_M, a_along_k, row0, m,
                                    next, k_end);
        }
      }
#pragma unroll
      for (int f = 0; f < FOURS_PER_ITEM(TILE_N); ++f) {
        const int four = f * ITEMS + item;
        if (four < FOURS(TILE_N)) {
          next_b[f] = fetch_of_tile(matrix_b, product.b_pitch, four, TILE_N, b_along_k, column0, n,
                                    next, k_end);
        }
      }
    }
    if (k0 >= k_begin) SUMS(tile_a, tile_b, x, y, sums);
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  const bool whole = product.split >= product.k;
  out += (part * product.batch + batch) * m * n;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const long row = row0 + (i / 4 * SIDE + y) * (ROWS < 4 ? 1 : 4) + i % 4;
    if (row >= m) continue;
#pragma unroll
    for (int j = 0; j < COLUMNS / 4; ++j) {
      const long column = column0 + (j * SIDE + x) * 4;
      if (whole) {
        store_four(out + row * n, column, n, bias, product.has_bias, low, high, sums[i][j]);
      } else {
        store_part(out + row * n, column, n, sums[i][j]);
      }
    }
  }
}

#undef TILE_M
#undef TILE_N
