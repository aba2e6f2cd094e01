// The Gaussian blur of a picture and what is made of it, for devices that are CPUs.
//
//   columns[y][x][c] = sum over k of weight[|k|] * in[y + k][x][c]
//   blurred[y][x][c] = sum over k of weight[|k|] * columns[y][x + k][c],  k = -radius..radius
//
//   ENTRY           the kernel's name: blur or sharpen
//   FINISH          the result from a level and its blurred sum: blurred, or sharpened, which is
//                   in + amount * (in - blurred)
//   in, out         the picture and the result, elements of type T
//   gauss           the radius and the weights
//   line            local memory: (tile.columns + 2 * radius) * channels sums
//   tile            pixels of a row, and rows, per work-group
//
// A work-group is one item and owns a tile. Row by row, it sums up the columns, those to the left
// and right that the tile needs included, and then along the line. Vectors at the end of a row
// overlap with those before; rows shorter than one are done element by element. Edge rule: beyond
// an edge the picture is mirrored, see image.cl. Alpha is copied. Preconditions: no extent is 0; in
// and out do not overlap; tile.columns is more than MOST_RADIUS, or the width; range is
// {ceil(width / tile.columns), ceil(height / tile.rows)}.

#define LEVEL_PAIR(TYPE, LOAD, k) (LOAD(above[k] + x) + LOAD(below[k] + x))
#define SUM_PAIR(TYPE, LOAD, k) (LOAD(from - (k) * channels) + LOAD(from + (k) * channels))
#define ONE(from) ((MIDDLE)(*(from)))

// The sum down the columns at x, of vectors or of single elements.
#define COLUMN_SUM(TYPE, LOAD, result)                                                     \
  TYPE result = FIRST_LEVEL(TYPE, LOAD(above[0] + x), WEIGHT(TYPE, &gauss, 0));            \
  for (int k = 1; k <= radius; ++k) {                                                      \
    result += PAIR_OF_LEVELS(TYPE, LEVEL_PAIR(TYPE, LOAD, k), WEIGHT(TYPE, &gauss, k));    \
  }
// The sum along the row at `from`.
#define ROW_SUM(TYPE, LOAD, result)                                                        \
  TYPE result = FIRST_SUM(TYPE, LOAD(from), WEIGHT(TYPE, &gauss, 0));                      \
  for (int k = 1; k <= radius; ++k) {                                                      \
    result += PAIR_OF_SUMS(TYPE, SUM_PAIR(TYPE, LOAD, k), WEIGHT(TYPE, &gauss, k));        \
  }

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void ENTRY(__global const T *restrict in, __global T *restrict out, const Image image,
           const Gauss gauss, const Tile tile, __local MIDDLE *line) {
  const int width = (int)image.width, height = (int)image.height, channels = (int)image.channels;
  const int radius = gauss.radius;
  const long row_elements = image.width * image.channels;
  const int column0 = (int)get_group_id(0) * tile.columns;
  const int column_end = min(column0 + tile.columns, width);
  const int row0 = (int)get_group_id(1) * tile.rows, row_end = min(row0 + tile.rows, height);
  // What the tile needs, and what there is of it.
  const int needed0 = column0 - radius, needed_end = column_end + radius;
  const int first = max(needed0, 0), end = min(needed_end, width);
  const int there = (end - first) * channels, results = (column_end - column0) * channels;
  const ALPHA_MASK alpha = alpha_lanes(channels);
  __global const T *above[MOST_RADIUS + 1], *below[MOST_RADIUS + 1];

  for (int y = row0; y < row_end; ++y) {
    for (int k = 0; k <= radius; ++k) {
      above[k] = in + mirrored(y - k, height) * row_elements + (long)first * channels;
      below[k] = in + mirrored(y + k, height) * row_elements + (long)first * channels;
    }
    __local MIDDLE *sums = line + (first - needed0) * channels;
    for (int x = 0; there >= LANES && x < there; x += LANES) {
      x = min(x, there - LANES);
      COLUMN_SUM(Values, LOAD_LEVELS, sum)
      STORE_SUMS(END_COLUMN(Values, sum, &gauss), sums + x);
    }
    for (int x = 0; there < LANES && x < there; ++x) {
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
    for (int x = 0; results >= LANES && x < results; x += LANES) {
      x = min(x, results - LANES);
      __local const MIDDLE *from = line + radius * channels + x;
      ROW_SUM(Values, LOAD_SUMS, sum)
      const Values level = LOAD_LEVELS(levels + x);
      STORE_LEVELS(ALPHA_OR(alpha, level, FINISH(level, sum, &gauss)), to + x);
    }
    for (int x = 0; results < LANES && x < results; ++x) {
      __local const MIDDLE *from = line + radius * channels + x;
      ROW_SUM(MIDDLE, ONE, sum)
      const bool keep = channels == 4 && x % 4 == 3;
      to[x] = keep ? levels[x] : (T)FINISH((MIDDLE)levels[x], sum, &gauss);
    }
  }
}
