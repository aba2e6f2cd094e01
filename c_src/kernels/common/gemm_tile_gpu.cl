// Template: the sums of one size of register tile, see gemm_tile_gpu.h.
//
//   SUMS            name of the function
//   ROWS, COLUMNS   of an item's register tile: ROWS is 1 or a multiple of 4, COLUMNS a multiple
//                   of 4
//
// Adds the products of one step along k to the sums of item (x, y).
static inline void SUMS(__local const ACC *tile_a, __local const ACC *tile_b, const int x,
                        const int y, ACC4 kept[ROWS][COLUMNS / 4]) {
  // A copy whose live range ends before the next barrier: CPU drivers spill private variables that
  // are live across one.
  ACC4 sums[ROWS][COLUMNS / 4];
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLUMNS / 4; ++j) sums[i][j] = kept[i][j];
  }
  for (int k = 0; k < TILE_K; ++k) {
    ACC4 b[COLUMNS / 4];
#pragma unroll
    for (int j = 0; j < COLUMNS / 4; ++j) b[j] = vload4(j * SIDE + x, tile_b);
#if ROWS == 1
#pragma unroll
    for (int j = 0; j < COLUMNS / 4; ++j) sums[0][j] = MULTIPLY_ADD(tile_a[y], b[j], sums[0][j]);
#else
#pragma unroll
    for (int i = 0; i < ROWS / 4; ++i) {
      const ACC4 a = vload4(i * SIDE + y, tile_a);
#pragma unroll
      for (int j = 0; j < COLUMNS / 4; ++j) {
        sums[4 * i][j] = MULTIPLY_ADD(a.x, b[j], sums[4 * i][j]);
        sums[4 * i + 1][j] = MULTIPLY_ADD(a.y, b[j], sums[4 * i + 1][j]);
        sums[4 * i + 2][j] = MULTIPLY_ADD(a.z, b[j], sums[4 * i + 2][j]);
        sums[4 * i + 3][j] = MULTIPLY_ADD(a.w, b[j], sums[4 * i + 3][j]);
      }
    }
#endif
    tile_a += TILE_PITCH(SIDE * ROWS);
    tile_b += TILE_PITCH(SIDE * COLUMNS);
  }
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
#pragma unroll
    for (int j = 0; j < COLUMNS / 4; ++j) kept[i][j] = sums[i][j];
  }
}
