// Images: rows of pixels with adjacent channels. Beyond its edges an image is mirrored about the
// edge pixels: c b | a b c d | c b.
//
//   T, T_FLOAT   element type: uchar or float
#pragma once

#include "kernels/image/image_args.h"

// The row or column, of `count`, that is mirrored to `place`, which may be far outside.
static inline int mirrored(const int place, const int count) {
  if (place >= 0 && place < count) return place;
  if (count == 1) return 0;
  const int period = 2 * (count - 1);
  const int inside = abs(place) % period;
  return min(inside, period - inside);
}

// Compilers vectorise this form, but not every saturating conversion.
static inline float within(const float x, const float low, const float high) {
  const float enough = x > low ? x : low;
  return enough < high ? enough : high;
}

// Converts a result to an element: u8 is rounded to nearest and saturates, floats are unchanged.
#if T_FLOAT
#define WHITE 1.0f
#define AS_LEVEL(x) (x)
#else
#define WHITE 255.0f
#define AS_LEVEL(x) ((uchar)(int)(within(x, 0.0f, WHITE) + 0.5f))
#endif
