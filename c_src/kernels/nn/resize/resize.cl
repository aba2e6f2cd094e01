// The position of an output row or column in the input, and the elements around it.
//
// Coordinates are fractions of integers, so that they are exact on every device: with half-pixel
// centres output o is at ((2o + 1) * in - out) / (2 * out), with aligned corners at
// o * (in - 1) / (out - 1).
//
//   T, T_FLOAT, T_BITS   element type; integers are u8
#pragma once

#include "kernels/nn/resize/resize_args.h"

// The float type of the interpolation.
#if T_BITS == 64
#define BLEND double
#else
#define BLEND float
#endif

#define MAX_TAPS 4

typedef struct {
  long base;  // the element at or before the position
  BLEND t;    // the distance of the position from it, 0 to 1
} Place;

static inline Place place_of(const long o, const long in, const long out, const long align) {
  const long above = align ? o * (in - 1) : (2 * o + 1) * in - out;
  const long below = align ? max(out - 1, 1L) : 2 * out;
  Place place;
  place.base = above >= 0 ? above / below : -((below - 1 - above) / below);
  place.t = (BLEND)(above - place.base * below) / (BLEND)below;
  return place;
}

// The nearest element, the later one if two are equally near.
static inline long nearest_of(const long o, const long in, const long out, const long align) {
  const long index =
      align ? (2 * o * (in - 1) + out - 1) / max(2 * (out - 1), 1L) : (2 * o + 1) * in / (2 * out);
  return min(index, in - 1);
}

// The index of tap j of `taps` around a position, clamped to the edges.
static inline long tap_index(const Place place, const int taps, const int j, const long in) {
  return clamp(place.base + j - (taps / 2 - 1), 0L, in - 1);
}

// The cubic kernel of a = -0.75 at distances t and, factored to avoid cancellation, 1 + t.
#define CUBIC ((BLEND)-0.75)
static inline BLEND cubic_near(const BLEND t) {
  return 1 - ((CUBIC + 3) - (CUBIC + 2) * t) * t * t;
}
static inline BLEND cubic_far(const BLEND t) { return CUBIC * t * (1 - t) * (1 - t); }

static inline BLEND tap_weight(const Place place, const int taps, const int j) {
  const BLEND t = place.t;
  if (taps == 2) return j == 0 ? 1 - t : t;
  return j == 0   ? cubic_far(t)
         : j == 1 ? cubic_near(t)
         : j == 2 ? cubic_near(1 - t)
                  : cubic_far(1 - t);
}

// u8 results are rounded to nearest, halves up. Rounding errors leave some halves slightly too low,
// so values that close to a half are rounded up as well.
#if T_FLOAT
#define AS_ELEMENT(x) (x)
#else
#define AS_ELEMENT(x) convert_uchar_sat_rtn((x) + (BLEND)(0.5 + 1.0 / 4096))
#endif
