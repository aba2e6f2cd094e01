// The vector type of the CPU family, with its loads, stores and horizontal sum.
//
//   LANE_TYPE  type of a vector's elements
//   LANES      elements per vector: 2, 4, 8 or 16
//   TILE_ROWS  rows of a tile: 6 or 8
#pragma once

#include "kernels/common/paste.h"

#define VECTOR PASTE(LANE_TYPE, LANES)

// Some compilers split wide vload and vstore calls. They do not split accesses through a vector
// type that has the alignment of its elements.
#ifdef __clang__
typedef VECTOR Loose __attribute__((aligned(sizeof(LANE_TYPE))));
#define LOAD_FROM(SPACE)                                                                 \
  static inline VECTOR __attribute__((overloadable)) load(SPACE const LANE_TYPE *from) { \
    return *(SPACE const Loose *)from;                                                   \
  }
#define STORE_TO(SPACE)                                                                         \
  static inline void __attribute__((overloadable)) store(const VECTOR v, SPACE LANE_TYPE *to) { \
    *(SPACE Loose *)to = v;                                                                     \
  }
LOAD_FROM(__global)
LOAD_FROM(__local)
LOAD_FROM(__private)
STORE_TO(__global)
STORE_TO(__local)
STORE_TO(__private)
#define LOAD(pointer) load(pointer)
#define STORE(vector, pointer) store(vector, pointer)
#else
#define LOAD(pointer) PASTE(vload, LANES)(0, pointer)
#define STORE(vector, pointer) PASTE(vstore, LANES)(vector, 0, pointer)
#endif

#if TILE_ROWS == 8
#define FOR_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#else
#define FOR_ROWS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#endif

// Horizontal sum of a vector.
static inline LANE_TYPE across(const VECTOR v) {
#if LANES == 16
  const PASTE(LANE_TYPE, 8) half8 = v.lo + v.hi;
  const PASTE(LANE_TYPE, 4) half4 = half8.lo + half8.hi;
  const PASTE(LANE_TYPE, 2) half2 = half4.lo + half4.hi;
#elif LANES == 8
  const PASTE(LANE_TYPE, 4) half4 = v.lo + v.hi;
  const PASTE(LANE_TYPE, 2) half2 = half4.lo + half4.hi;
#elif LANES == 4
  const PASTE(LANE_TYPE, 2) half2 = v.lo + v.hi;
#else
  const PASTE(LANE_TYPE, 2) half2 = v;
#endif
  return half2.x + half2.y;
}
