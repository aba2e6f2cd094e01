// out = activation(a * b + bias) for matrices a {m, k}, b {k, n}, out {m, n}, each `batch` times,
// for devices with many narrow processors.
//
//   a, b, out  row-major elements of type T; a and b are stored transposed where `product` says so
//   bias       {n}, used when there is one
//   low, high  bounds of the activation
//
//   T          element type
//   ACC        type in which products are summed: T for floats, unsigned for integers
//   TILE       edge of a work-group and of the tiles it keeps in local memory
//
// Each item computes one element; a work-group walks along k tile by tile, loading each element
// of a and b once per tile, along the rows as they are stored. Edge rules: elements past an edge
// count as 0 and are not stored; every item takes part in every barrier. Integers wrap.
// Preconditions: out overlaps no input; the range is {n, m, batch} rounded up to the tile.

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(__global const T *restrict a, __global const T *restrict b,
            __global const T *restrict bias, __global T *restrict out, const Product product,
            const T low, const T high) {
  // One column more than is used, so that reading a column meets every bank of local memory.
  __local ACC tile_a[TILE][TILE + 1];
  __local ACC tile_b[TILE][TILE + 1];
  const int x = (int)get_local_id(0), y = (int)get_local_id(1);
  const long row0 = (long)get_group_id(1) * TILE, column0 = (long)get_group_id(0) * TILE;
  const long m = product.m, n = product.n, k = product.k;
  const long batch = (long)get_group_id(2);
  a += matrix_at(&product, product.a_steps, batch);
  b += matrix_at(&product, product.b_steps, batch);

  ACC sum = 0;
  for (long k0 = 0; k0 < k; k0 += TILE) {
    if (product.transpose_a) {
      const bool there = row0 + x < m && k0 + y < k;
      tile_a[x][y] = there ? (ACC)a[(k0 + y) * product.a_pitch + row0 + x] : (ACC)0;
    } else {
      const bool there = row0 + y < m && k0 + x < k;
      tile_a[y][x] = there ? (ACC)a[(row0 + y) * product.a_pitch + k0 + x] : (ACC)0;
    }
    if (product.transpose_b) {
      const bool there = column0 + y < n && k0 + x < k;
      tile_b[x][y] = there ? (ACC)b[(column0 + y) * product.b_pitch + k0 + x] : (ACC)0;
    } else {
      const bool there = column0 + x < n && k0 + y < k;
      tile_b[y][x] = there ? (ACC)b[(k0 + y) * product.b_pitch + column0 + x] : (ACC)0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < TILE; ++p) sum += tile_a[y][p] * tile_b[p][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const long row = row0 + y, column = column0 + x;
  if (row >= m || column >= n) return;
  const UT own = product.has_bias ? (UT)bias[column] : (UT)0;
  out[(batch * m + row) * n + column] = finished((UT)sum, own, low, high);
}
