// out[b][c][r] = in[b][r][c] for 0 <= r < rows, 0 <= c < columns, 0 <= b < batches, GPU family.
//
//   in, out   batches * rows * columns elements of type T, an unsigned type of the element's size
//
// A work-group of TILE x TILE items moves one tile through local memory, so that both reads and
// writes are coalesced. Dimension 2 of the range is the batch. Edge rule: items past an edge only
// take part in the barrier. Preconditions: in and out do not overlap; the range is a multiple of
// the tile.
#pragma once

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void transpose(
    __global const T *restrict in, __global T *restrict out, const long rows, const long columns) {
  __local T tile[TILE][TILE + 1];
  const long x = (long)get_local_id(0), y = (long)get_local_id(1);
  const long c0 = (long)get_group_id(0) * TILE, r0 = (long)get_group_id(1) * TILE;
  const long base = (long)get_group_id(2) * rows * columns;

  if (r0 + y < rows && c0 + x < columns) tile[y][x] = in[base + (r0 + y) * columns + c0 + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  if (c0 + y < columns && r0 + x < rows) out[base + (c0 + y) * rows + r0 + x] = tile[x][y];
}
