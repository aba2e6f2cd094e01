// The entries of a lookup table, and the interpolation between them.
#pragma once

#include "kernels/common/fp_contract_off.h"
#include "kernels/image/colour/lookup_args.h"

static inline float4 mixed(const float4 a, const float4 b, const float t) {
  return fma((float4)(t), b - a, a);
}

// Loads an entry together with the number after it, which must exist, or an entry alone.
static inline float4 entry_and_next(__global const float *at) {
#ifdef __clang__
  typedef float4 Loose __attribute__((aligned(4)));
  return *(__global const Loose *)at;
#else
  return vload4(0, at);
#endif
}
static inline float4 entry_alone(__global const float *at) {
  return (float4)(at[0], at[1], at[2], 0.0f);
}

// The colour interpolated between the eight entries around a position.
#define BETWEEN(ENTRY_AT)                                                         \
  mixed(mixed(mixed(ENTRY_AT(at), ENTRY_AT(at + r), t[0]),                        \
              mixed(ENTRY_AT(at + g), ENTRY_AT(at + g + r), t[0]), t[1]),         \
        mixed(mixed(ENTRY_AT(at + b), ENTRY_AT(at + b + r), t[0]),                \
              mixed(ENTRY_AT(at + b + g), ENTRY_AT(at + b + g + r), t[0]), t[1]), \
        t[2])
