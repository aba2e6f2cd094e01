// A template: one of the kernels of matmul_cpu.cl.
//
//   NAME        of the kernel
//   IN_PLACE    whether b is read where it is
//   TRANSPOSED  whether a is transposed
SINGLE_ITEM_KERNEL void NAME(__global const T *restrict a, __global const T *restrict b,
                             __global const T *restrict bias, __global T *restrict out,
                             const Product product, const T low, const T high, __local ACC *packed,
                             __local ACC *transposed) {
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
    if (!IN_PLACE) {
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
      if (TRANSPOSED) {
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
          __global const T *from = a + (TRANSPOSED ? 0 : row * product.a_pitch + k0);
          __local const ACC *own = transposed + (TRANSPOSED ? (row - rows) * block : 0);
          __global T *to = out + row * n + column;
          const int height = (int)min((long)TILE_ROWS, rows_end - row);
#define RUN(name, a_rows, a_row, a_step, b_rows, b_step)                   \
  name(a_rows, a_row, a_step, depth, b_rows, b_step, to, n, height, count, \
       has_bias ? bias + column : bias, has_bias, add, last, low, high)
#if IN_PLACE
#define RUN_TILE(wide) \
  RUN(tile##wide##_in_place, from, product.a_pitch, 1, rows_of_b, product.b_pitch)
#elif TRANSPOSED
#define RUN_TILE(wide) RUN(tile##wide##_transposed, own, 1, TILE_ROWS, panel, wide *LANES)
#else
#define RUN_TILE(wide) RUN(tile##wide##_packed, from, product.a_pitch, 1, panel, wide *LANES)
#endif
#if WIDE == 3
          if (wide == 3) {
            RUN_TILE(3);
            continue;
          }
#endif
          RUN_TILE(2);
#undef RUN_TILE
#undef RUN
        }
      }
    }
  }
}
