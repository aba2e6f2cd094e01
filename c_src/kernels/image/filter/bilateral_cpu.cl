// The bilateral filter, CPU family. See neighbours.cl for the formula.
//
//   ENTRY        the kernel's name
//   COLOURS      channels without alpha: 1 or 3
//   in, out      the image and the result, elements of type T
//   neighbours   the offsets of the neighbours and their weights
//   lines        local memory: COLOURS * stride floats for each of 2 * radius + 1 rows, and for the
//                results; stride is tile.columns + 2 * radius + FLOAT_LANES
//
// A work-group is one item and owns a tile. The rows around the current one are kept as lines in a
// ring buffer. Edge rule: beyond an edge the image is mirrored, see image.cl. Alpha is copied.
// Preconditions: no extent is 0; in and out do not overlap; tile.columns is more than the radius,
// or the width; range is {ceil(width / tile.columns), ceil(height / tile.rows)}.

#include "kernels/common/kernel.h"
#include "kernels/common/loops.h"
#include "kernels/common/paste.h"
#include "kernels/image/filter/neighbours.cl"
#include "kernels/image/filter/planes_cpu.cl"

#define MAX_ROWS 9

// 2^x for x <= 0, accurate to 1e-6. Adding 1.5 * 2^23 rounds x to an integer in the
// low bits, from where it is shifted into the exponent; a polynomial computes the fraction.
static inline Floats PASTE(ENTRY, _power)(const Floats given) {
  const Floats x = given > (Floats)(-126.0f) ? given : (Floats)(-126.0f);
  const Floats shifted = x + 12582912.0f;
  const Floats t = x - (shifted - 12582912.0f);
  const Floats fraction =
      1.0f + t * (0.693147182f +
                  t * (0.240226463f + t * (0.0555032795f + t * (0.00961843f + t * 0.00133997f))));
  return AS_FLOATS(AS_INTS(fraction) + (AS_INTS(shifted) << 23));
}

static inline Floats PASTE(ENTRY, _distance)(const Floats a, const Floats b) {
  return AS_FLOATS(AS_INTS(a - b) & 0x7fffffff);
}

SINGLE_ITEM_KERNEL void ENTRY(__global const T *restrict in, __global T *restrict out,
                              const Image image, const Neighbours neighbours, const Tile tile,
                              __local float *lines) {
  const int width = (int)image.width, height = (int)image.height, channels = (int)image.channels;
  const int radius = neighbours.radius, rows = 2 * radius + 1;
  const long row_elements = image.width * image.channels;
  const int column0 = (int)get_group_id(0) * tile.columns;
  const int column_end = min(column0 + tile.columns, width);
  const int row0 = (int)get_group_id(1) * tile.rows, row_end = min(row0 + tile.rows, height);
  const int start = column0 - radius, end = column_end + radius;
  const int first = max(start, 0), there = min(end, width) - first;
  const int stride = tile.columns + 2 * radius + FLOAT_LANES;
  __local float *results = lines + rows * COLOURS * stride;
  __local const float *from[MAX_NEIGHBOURS];

  int next = row0 - radius;  // the first row that is not loaded yet; it may be outside the image
  for (int y = row0; y < row_end; ++y) {
    for (; next <= y + radius; ++next) {
      __local float *line = lines + ((next + rows) % rows) * COLOURS * stride;
      deinterleave(in + mirrored(next, height) * row_elements + (long)first * channels, there,
                   channels, line + first - start, stride);
      for (int c = 0; c < COLOURS; ++c) mirror_line(line + c * stride, start, end, width, stride);
    }
    for (int i = 0; i < neighbours.count; ++i) {
      const int row = (y + neighbours.dy[i] + rows) % rows;
      from[i] = lines + row * COLOURS * stride + radius + neighbours.dx[i];
    }
    __local const float *own = lines + (y % rows) * COLOURS * stride + radius;
    for (int x = 0; x < column_end - column0; x += FLOAT_LANES) {
      const Floats level0 = LOAD_FLOATS(own + x);
      Floats sum0 = level0, weights = (Floats)(1.0f);
#if COLOURS == 3
      const Floats level1 = LOAD_FLOATS(own + stride + x);
      const Floats level2 = LOAD_FLOATS(own + 2 * stride + x);
      Floats sum1 = level1, sum2 = level2;
#endif
      for (int i = 0; i < neighbours.count; ++i) {
        const Floats near0 = LOAD_FLOATS(from[i] + x);
        Floats distance = PASTE(ENTRY, _distance)(near0, level0);
#if COLOURS == 3
        const Floats near1 = LOAD_FLOATS(from[i] + stride + x);
        const Floats near2 = LOAD_FLOATS(from[i] + 2 * stride + x);
        distance += PASTE(ENTRY, _distance)(near1, level1) + PASTE(ENTRY, _distance)(near2, level2);
#endif
        const Floats weight =
            PASTE(ENTRY, _power)(neighbours.space[i] + neighbours.range * distance * distance);
        weights += weight;
        sum0 += weight * near0;
#if COLOURS == 3
        sum1 += weight * near1;
        sum2 += weight * near2;
#endif
      }
      const Floats share = 1.0f / weights;
      STORE_FLOATS(sum0 * share, results + x);
#if COLOURS == 3
      STORE_FLOATS(sum1 * share, results + stride + x);
      STORE_FLOATS(sum2 * share, results + 2 * stride + x);
#endif
    }
    const int count = column_end - column0;
#if COLOURS == 3
    if (neighbours.skin) {
      INDEPENDENT_LOOP
      for (int x = 0; x < count; ++x) {
        const float red = own[x], green = own[stride + x], blue = own[2 * stride + x];
        const float part = neighbours.strength * skin_likeness(red, green, blue);
        results[x] = red + part * (results[x] - red);
        results[stride + x] = green + part * (results[stride + x] - green);
        results[2 * stride + x] = blue + part * (results[2 * stride + x] - blue);
      }
    }
#endif
    const long place = y * row_elements + (long)column0 * channels;
    interleave(results, stride, count, channels, in + place, out + place);
  }
}
