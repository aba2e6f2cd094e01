// The arithmetic of the Gaussian filters on floats, with the same names as words_cpu.cl.
#pragma once

#include "kernels/image/filter/gauss_args.h"

#define MIDDLE float
#define ALPHA_MASK Masks

#ifdef __clang__
typedef float Values __attribute__((ext_vector_type(VALUE_LANES)));
typedef int Masks __attribute__((ext_vector_type(VALUE_LANES)));
typedef Values LooseValues __attribute__((aligned(4)));
#define LOAD_LEVELS(from) (*(__global const LooseValues *)(from))
#define STORE_LEVELS(v, to) (*(__global LooseValues *)(to) = (v))
#define LOAD_SUMS(from) (*(__local const LooseValues *)(from))
#define STORE_SUMS(v, to) (*(__local LooseValues *)(to) = (v))
#else
#undef VALUE_LANES
#define VALUE_LANES 16
typedef float16 Values;
typedef int16 Masks;
#define LOAD_LEVELS(from) vload16(0, from)
#define STORE_LEVELS(v, to) vstore16(v, 0, to)
#define LOAD_SUMS(from) vload16(0, from)
#define STORE_SUMS(v, to) vstore16(v, 0, to)
#endif

#define OVERLOADED __attribute__((overloadable))

#define WEIGHT(TYPE, gauss, k) ((TYPE)((gauss)->weights[k]))
#define FIRST_LEVEL(TYPE, level, weight) ((level) * (weight))
#define PAIR_OF_LEVELS(TYPE, pair, weight) ((pair) * (weight))
#define END_COLUMN(TYPE, sum, gauss) (sum)
#define FIRST_SUM(TYPE, sum, weight) ((sum) * (weight))
#define PAIR_OF_SUMS(TYPE, pair, weight) ((pair) * (weight))

static inline Values OVERLOADED blurred(const Values level, const Values sum, const Gauss *gauss) {
  return sum;
}
static inline float OVERLOADED blurred(const float level, const float sum, const Gauss *gauss) {
  return sum;
}
static inline Values OVERLOADED sharpened(const Values level, const Values sum,
                                          const Gauss *gauss) {
  return level + (level - sum) * gauss->amount;
}
static inline float OVERLOADED sharpened(const float level, const float sum, const Gauss *gauss) {
  return level + (level - sum) * gauss->amount;
}

static inline Masks alpha_lanes(const int channels) {
  Masks mask = (Masks)(0);
  for (int i = 3; channels == 4 && i < VALUE_LANES; i += 4) mask[i] = -1;
  return mask;
}
#define ALPHA_OR(mask, alpha, colour) ((mask) ? (alpha) : (colour))
