// out = a * b for matrices a {m, k}, b {k, n}, out {m, n}, each `batch` times, for devices with
// many narrow processors.
//
//   a, b, out   row-major elements of type T, matrix after matrix
//   m, n, k     extents of one matrix product
//
//   T           element type
//   ACC         type in which products are summed: T for floats, unsigned for integers
//   TILE        edge of a work-group and of the tiles it keeps in local memory
//
// Each item computes one element; a work-group walks along k tile by tile, loading each element
// of a and b once per tile. Edge rules: elements past an edge count as 0 and are not stored; every
// item takes part in every barrier. Integers wrap. Preconditions: out overlaps neither a nor b;
// the range is {n, m, batch} rounded up to the tile.

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(__global const T *restrict a, __global const T *restrict b, __global T *restrict out,
            const long m, const long n, const long k) {
  __local ACC tile_a[TILE][TILE];
  __local ACC tile_b[TILE][TILE];
  const int x = (int)get_local_id(0), y = (int)get_local_id(1);
  const long row = (long)get_global_id(1), column = (long)get_global_id(0);
  const long batch = (long)get_group_id(2);
  a += batch * m * k;
  b += batch * k * n;

  ACC sum = 0;
  for (long k0 = 0; k0 < k; k0 += TILE) {
    tile_a[y][x] = row < m && k0 + x < k ? (ACC)a[row * k + k0 + x] : (ACC)0;
    tile_b[y][x] = column < n && k0 + y < k ? (ACC)b[(k0 + y) * n + column] : (ACC)0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < TILE; ++p) sum += tile_a[y][p] * tile_b[p][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (row < m && column < n) out[batch * m * n + row * n + column] = (T)sum;
}
