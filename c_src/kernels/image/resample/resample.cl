// The position of a column or row of the result in the image, computed incrementally: with
// half-pixel centres output o is at ((2o + 1) * in - out) / (2 * out), which is `base` + `rest` /
// (2 * out). Fractions of integers are exact on every device.
#pragma once

#include "kernels/image/resample/resample_args.h"

typedef struct {
  int base;
  uint rest, whole;
} Walk;

static inline Walk walk_from(const long o, const long in, const long out) {
  const long above = (2 * o + 1) * in - out, whole = 2 * out;
  Walk walk;
  walk.base = (int)(above >= 0 ? above / whole : -((whole - 1 - above) / whole));
  walk.rest = (uint)(above - walk.base * whole);
  walk.whole = (uint)whole;
  return walk;
}
// Advances to the next output: by `steps` columns and `more` / whole, more being below whole.
static inline void walk_on(Walk *walk, const int steps, const uint more) {
  walk->rest += more;
  const bool over = walk->rest >= walk->whole;
  walk->rest -= over ? walk->whole : 0;
  walk->base += steps + (over ? 1 : 0);
}
