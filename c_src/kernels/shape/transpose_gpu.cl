// out[b][c][r] = in[b][r][c] for 0 <= r < rows, 0 <= c < columns, 0 <= b < batches, GPU family.
//
//   in, out   batches * rows * columns elements of type T, an unsigned type of the element's size
//
// A work-group of TILE x LINES items moves a tile of TILE x TILE elements through local memory, so
// that reads and writes are coalesced. Lines of the tile have one element of padding, which avoids
// bank conflicts between the elements of a column. Dimension 2 of the range is the batch. Edge
// rule: items past an edge only take part in the barrier. Preconditions: in and out do not overlap;
// the range is {tiles along the columns * TILE, tiles along the rows * LINES, batches}.
#pragma once

__kernel __attribute__((reqd_work_group_size(TILE, LINES, 1))) void transpose(
    __global const T *restrict in, __global T *restrict out, const long rows, const long columns) {
  __local T tile[TILE * (TILE + 1)];
  const int x = (int)get_local_id(0);
  const long c0 = (long)get_group_id(0) * TILE, r0 = (long)get_group_id(1) * TILE;
  const long base = (long)get_group_id(2) * rows * columns;

#pragma unroll
  for (int y = (int)get_local_id(1); y < TILE; y += LINES) {
    if (r0 + y < rows && c0 + x < columns) {
      tile[y * (TILE + 1) + x] = in[base + (r0 + y) * columns + c0 + x];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
  for (int y = (int)get_local_id(1); y < TILE; y += LINES) {
    if (c0 + y < columns && r0 + x < rows) {
      out[base + (c0 + y) * rows + r0 + x] = tile[x * (TILE + 1) + y];
    }
  }
}
