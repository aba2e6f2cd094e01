// The Gaussian blur of an image and filters based on it, CPU family.
//
//   columns[y][x][c] = sum over k of weight[|k|] * in[y + k][x][c]
//   blurred[y][x][c] = sum over k of weight[|k|] * columns[y][x + k][c],  k = -radius..radius
//
//   ENTRY           the kernel's name: blur or sharpen
//   FINISH          the result from a level and its blurred sum: blurred, or sharpened, which is
//                   in + amount * (in - blurred)
//   in, out         the image and the result, elements of type T
//   gauss           the radius and the weights
//   line            local memory: (tile.columns + 2 * radius) * channels sums
//   tile            pixels of a row, and rows, per work-group
//
// A work-group is one item and owns a tile. Row by row it sums along the columns, including the
// columns left and right that the tile needs, and then along the line. The last vector of a row
// overlaps with the one before; rows shorter than a vector are processed element by element. Edge
// rule: beyond an edge the image is mirrored, see image.cl. Alpha is copied. Preconditions: no
// extent is 0; in and out do not overlap; tile.columns is more than MAX_RADIUS, or the width; range
// is {ceil(width / tile.columns), ceil(height / tile.rows)}.

#include "kernels/common/kernel.h"
#include "kernels/image/filter/gauss_args.h"
#include "kernels/image/image.cl"
#if T_FLOAT
#include "kernels/image/filter/floats_cpu.cl"
#else
#include "kernels/image/filter/words_cpu.cl"
#endif

#define LEVEL_PAIR(TYPE, LOAD, k) (LOAD(above[k] + x) + LOAD(below[k] + x))
#define SUM_PAIR(TYPE, LOAD, k) (LOAD(from - (k)*channels) + LOAD(from + (k)*channels))
#define ONE(from) ((MIDDLE)(*(from)))

// The sum along the columns at x, of vectors or of single elements.
#define COLUMN_SUM(TYPE, LOAD, result)                                                  \
  TYPE result = FIRST_LEVEL(TYPE, LOAD(above[0] + x), WEIGHT(TYPE, &gauss, 0));         \
  for (int k = 1; k <= radius; ++k) {                                                   \
    result += PAIR_OF_LEVELS(TYPE, LEVEL_PAIR(TYPE, LOAD, k), WEIGHT(TYPE, &gauss, k)); \
  }
// The sum along the row at `from`.
#define ROW_SUM(TYPE, LOAD, result)                                                 \
  TYPE result = FIRST_SUM(TYPE, LOAD(from), WEIGHT(TYPE, &gauss, 0));               \
  for (int k = 1; k <= radius; ++k) {                                               \
    result += PAIR_OF_SUMS(TYPE, SUM_PAIR(TYPE, LOAD, k), WEIGHT(TYPE, &gauss, k)); \
  }

SINGLE_ITEM_KERNEL void ENTRY(__global const T *restrict in, __global T *restrict out,
                              const Image image, const Gauss gauss, const Tile tile,
                              __local MIDDLE *line) {
  const int width = (int)image.width, height = (int)image.height, channels = (int)image.channels;
  const int radius = gauss.radius;
  const long row_elements = image.width * image.channels;
  const int column0 = (int)get_group_id(0) * tile.columns;
  const int column_end = min(column0 + tile.columns, width);
  const int row0 = (int)get_group_id(1) * tile.rows, row_end = min(row0 + tile.rows, height);
  // The columns that the tile needs, and the range of them inside the image.
  const int needed0 = column0 - radius, needed_end = column_end + radius;
  const int first = max(needed0, 0), end = min(needed_end, width);
  const int there = (end - first) * channels, results = (column_end - column0) * channels;
  const ALPHA_MASK alpha = alpha_lanes(channels);
  __global const T *above[MAX_RADIUS + 1], *below[MAX_RADIUS + 1];

  for (int y = row0; y < row_end; ++y) {
    for (int k = 0; k <= radius; ++k) {
      above[k] = in + mirrored(y - k, height) * row_elements + (long)first * channels;
      below[k] = in + mirrored(y + k, height) * row_elements + (long)first * channels;
    }
    __local MIDDLE *sums = line + (first - needed0) * channels;
    for (int x = 0; there >= VALUE_LANES && x < there; x += VALUE_LANES) {
      x = min(x, there - VALUE_LANES);
      COLUMN_SUM(Values, LOAD_LEVELS, sum)
      STORE_SUMS(END_COLUMN(Values, sum, &gauss), sums + x);
    }
    for (int x = 0; there < VALUE_LANES && x < there; ++x) {
      COLUMN_SUM(MIDDLE, ONE, sum)
      sums[x] = END_COLUMN(MIDDLE, sum, &gauss);
    }
    for (int column = needed0; column < needed_end; ++column) {
      if (column == first) column = end;
      if (column >= needed_end) break;
      const int source = mirrored(column, width);
      for (int c = 0; c < channels; ++c) {
        line[(column - needed0) * channels + c] = line[(source - needed0) * channels + c];
      }
    }

    __global const T *levels = in + y * row_elements + (long)column0 * channels;
    __global T *to = out + y * row_elements + (long)column0 * channels;
    for (int x = 0; results >= VALUE_LANES && x < results; x += VALUE_LANES) {
      x = min(x, results - VALUE_LANES);
      __local const MIDDLE *from = line + radius * channels + x;
      ROW_SUM(Values, LOAD_SUMS, sum)
      const Values level = LOAD_LEVELS(levels + x);
      STORE_LEVELS(ALPHA_OR(alpha, level, FINISH(level, sum, &gauss)), to + x);
    }
    for (int x = 0; results < VALUE_LANES && x < results; ++x) {
      __local const MIDDLE *from = line + radius * channels + x;
      ROW_SUM(MIDDLE, ONE, sum)
      const bool keep = channels == 4 && x % 4 == 3;
      to[x] = keep ? levels[x] : (T)FINISH((MIDDLE)levels[x], sum, &gauss);
    }
  }
}
