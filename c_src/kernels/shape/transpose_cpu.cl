// out[b][c][r] = in[b][r][c] for 0 <= r < rows, 0 <= c < columns, 0 <= b < batches, for devices
// that are CPUs.
//
//   in, out   batches * rows * columns elements of type T, an unsigned type of the element's size
//   tiles     how many TILE x TILE tiles each work-group moves
//
// A tile is copied row by row into private memory and written column by column from there, so
// that every cache line of in and out is touched once, whatever the strides. Edge rule: tiles at
// the right and lower edge are cut. Preconditions: in and out do not overlap; the groups cover all
// tiles.

#define TILE 64

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void transpose(__global const T *restrict in, __global T *restrict out, const long batches,
               const long rows, const long columns, const long tiles) {
  const long tiles_down = (rows + TILE - 1) / TILE;
  const long tiles_across = (columns + TILE - 1) / TILE;
  const long first = (long)get_group_id(0) * tiles;
  const long last = min(first + tiles, batches * tiles_down * tiles_across);

  // One spare column keeps the elements of a column out of each other's cache set.
  T tile[TILE][TILE + 1];

  for (long t = first; t < last; ++t) {
    const long r0 = t % tiles_down * TILE;
    const long c0 = t / tiles_down % tiles_across * TILE;
    const long base = t / (tiles_down * tiles_across) * rows * columns;
    const int height = (int)min((long)TILE, rows - r0);
    const int width = (int)min((long)TILE, columns - c0);
    __global const T *from = in + base + r0 * columns + c0;
    __global T *to = out + base + c0 * rows + r0;

    for (int r = 0; r < height; ++r) {
      for (int c = 0; c < width; ++c) tile[r][c] = from[r * columns + c];
    }
    for (int c = 0; c < width; ++c) {
      for (int r = 0; r < height; ++r) to[c * rows + r] = tile[r][c];
    }
  }
}
