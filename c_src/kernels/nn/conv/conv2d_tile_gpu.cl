// Template: conv2d as a matrix product with one size of register tile, see conv2d_gemm_gpu.cl.
//
//   CONVOLVE   name of the kernel
//   SUMS       name of the function of gemm_tile_gpu.cl
//   EDGE       rows and columns of an item's register tile
#define ROWS EDGE
#define COLUMNS EDGE
#include "kernels/common/gemm_tile_gpu.cl"

#define TILE (SIDE * EDGE)

__kernel __attribute__((reqd_work_group_size(SIDE, SIDE, 1))) void CONVOLVE(
    __global const T *restrict in, __global const T *restrict weights,
    __global const T *restrict bias, __global const T *restrict residual, __global T *restrict out,
    const Convolution conv, const T low, const T high, const T slope) {
  __local ACC tile_a[TILE_ELEMENTS(TILE)] __attribute__((aligned(16)));
  __local ACC tile_b[TILE_ELEMENTS(TILE)] __attribute__((aligned(16)));
  const int x = (int)get_local_id(0), y = (int)get_local_id(1), item = y * SIDE + x;
  const bool nhwc = conv.nhwc, packed = conv.packed;
  const long pixels = conv.window.out_height * conv.window.out_width;
  const long plane = conv.window.height * conv.window.width;
  const long slice = (long)get_group_id(2), group = slice % conv.groups;
  const int channels = (int)conv.out_channels;
  const int k_end = (int)(conv.in_channels * conv.window.size_y * conv.window.size_x);
  const long rows = nhwc ? conv.slices / conv.groups * pixels : channels;
  const long columns = nhwc ? channels : pixels;
  const long row0 = (long)get_group_id(1) * TILE, column0 = (long)get_group_id(0) * TILE;
  const bool b_along_k = nhwc && !packed;
  in += nhwc ? group * conv.in_channels : slice * conv.in_channels * plane;
  weights += packed ? group * conv.group_columns : group * channels * k_end;

  // Each item fetches the same windows in every step.
  Corner corners[FOURS_PER_ITEM(TILE)];
#pragma unroll
  for (int f = 0; f < FOURS_PER_ITEM(TILE); ++f) {
    const int outer = four_outer(f * ITEMS + item, TILE, nhwc);
    corners[f] = corner_of(&conv, (nhwc ? row0 : column0) + outer, pixels);
  }

  ACC4 sums[ROWS][COLUMNS / 4];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLUMNS / 4; ++j) sums[i][j] = (ACC4)(0);
  }
  ACC4 next_a[FOURS_PER_ITEM(TILE)], next_b[FOURS_PER_ITEM(TILE)];
  for (int k0 = -TILE_K; k0 < k_end; k0 += TILE_K) {
    if (k0 >= 0) {
#pragma unroll
      for (int f = 0; f < FOURS_PER_ITEM(TILE); ++f) {
        const int four = f * ITEMS + item;
        if (four >= FOURS(TILE)) continue;
        keep_four(tile_a, four, TILE, true, next_a[f]);
        keep_four(tile_b, four, TILE, b_along_k, next_b[f]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const int next = k0 + TILE_K;
    if (next < k_end) {
#pragma unroll
      for (int f = 0; f < FOURS_PER_ITEM(TILE); ++f) {
        const int four = f * ITEMS + item;
        if (four >= FOURS(TILE)) continue;
        const int k_a = next + four_k(four, TILE, true);
        const int k_b = next + four_k(four, TILE, b_along_k);
        const long row = row0 + four_outer(four, TILE, true);
        const long column = column0 + four_outer(four, TILE, b_along_k);
        if (nhwc) {
          next_a[f] = fetch_window(&conv, in, corners[f], k_a, k_end);
        } else {
          next_a[f] = row < rows ? fetch_weights(weights + row * k_end, k_a, k_end) : (ACC4)(0);
        }
        if (!nhwc) {
          next_b[f] = fetch_windows(&conv, in, corners[f], column, pixels, k_b, k_end);
        } else if (packed) {
          next_b[f] = k_b < k_end
                          ? fetch_weights(weights + k_b * conv.columns, (int)column, channels)
                          : (ACC4)(0);
        } else {
          next_b[f] =
              column < columns ? fetch_weights(weights + column * k_end, k_b, k_end) : (ACC4)(0);
        }
      }
    }
    if (k0 >= 0) SUMS(tile_a, tile_b, x, y, sums);
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  const long pitch = nhwc ? conv.groups * channels : pixels;
  const long first = nhwc ? group * channels : slice * channels * pixels;
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    const long row = row0 + (i / 4 * SIDE + y) * 4 + i % 4;
    if (row >= rows) continue;
#pragma unroll
    for (int j = 0; j < COLUMNS / 4; ++j) {
      const long column = column0 + (j * SIDE + x) * 4;
      const T four[4] = {sums[i][j].x, sums[i][j].y, sums[i][j].z, sums[i][j].w};
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        if (column + c >= columns) continue;
        const long at = first + row * pitch + column + c;
        T sum = four[c];
        if (conv.has_bias) sum += bias[group * channels + (nhwc ? column + c : row)];
        if (conv.has_residual) sum += residual[at];
        out[at] = curved(ACTIVATED(sum, low, high), conv.curve, slope);
      }
    }
  }
}

#undef TILE
#undef ROWS
#undef COLUMNS
