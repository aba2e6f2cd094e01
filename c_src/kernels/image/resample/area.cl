// Resizes planes or images, each output being the mean of the area that it covers:
//
//   out[p][y][x][c] = sum over i, j of wy[i] * wx[j] * in[p][i][j][c]
//
// Along an axis, output o covers o * in / out to (o + 1) * in / out; the weight of an element is
// the share of that range that it covers. In units of 1 / out all bounds are integers.
//
//   T, T_FLOAT   element type; integers are u8
//   ACC          the float type of the sums
#pragma once

#include "kernels/image/resample/area_args.h"

static inline long first_covered(const long o, const long in, const long out) {
  return o * in / out;
}
static inline long last_covered(const long o, const long in, const long out) {
  return ((o + 1) * in - 1) / out;
}
static inline ACC covered(const long i, const long o, const long in, const long out) {
  return (ACC)(min((o + 1) * in, (i + 1) * out) - max(o * in, i * out)) / (ACC)in;
}

// u8 results are rounded to nearest, halves up. Rounding errors leave some halves slightly too low,
// so values that close to a half are rounded up as well.
#if T_FLOAT
#define AS_MEAN(x) (x)
#else
#define AS_MEAN(x) ((uchar)(int)((x) + (ACC)(0.5 + 1.0 / 4096)))
#endif
