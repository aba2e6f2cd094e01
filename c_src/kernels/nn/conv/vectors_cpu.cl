// Runs of elements in the convolutions of the CPU family, on top of common/vectors_cpu.cl.
//
//   T          element type, a float, and LANE_TYPE of the vectors
//   VECTORS    vectors of pixels of a tile: 2 or 3
#pragma once

#include "kernels/common/vectors_cpu.cl"

#define TILE_PIXELS (VECTORS * LANES)
#if VECTORS == 3
#define FOR_VECTORS(DO, r) DO(r, 0) DO(r, 1) DO(r, 2)
#else
#define FOR_VECTORS(DO, r) DO(r, 0) DO(r, 1)
#endif

// Copies `count` elements, or every second element. Writes up to LANES - 1 elements past them,
// where the caller writes next; does not read past the `left` available elements.
static inline void copy_run(__global const T *from, const long left, const int count,
                            __local T *to) {
  int i = 0;
  for (; i < count && i + LANES <= left; i += LANES) STORE(LOAD(from + i), to + i);
  for (; i < count; ++i) to[i] = from[i];
}
static inline void copy_every_second(__global const T *from, const long left, const int count,
                                     __local T *to) {
  int i = 0;
  for (; i < count && 2 * (i + LANES) <= left; i += LANES) {
    const VECTOR low = LOAD(from + 2 * i), high = LOAD(from + 2 * i + LANES);
    STORE((VECTOR)(low.even, high.even), to + i);
  }
  for (; i < count; ++i) to[i] = from[2 * i];
}
// Zeros, with the same overrun.
static inline void clear_run(const int count, __local T *to) {
  for (int i = 0; i < count; i += LANES) STORE((VECTOR)(0), to + i);
}

// Stores the first `count` elements, or all if the `room` elements from here on include LANES that
// may be overwritten.
static inline void store_part(const VECTOR v, __global T *to, const int count, const long room) {
  if (room >= LANES) {
    STORE(v, to);
    return;
  }
  T elements[LANES];
  STORE(v, elements);
  for (int i = 0; i < count; ++i) to[i] = elements[i];
}

// Loads the first `count` elements, at most LANES, followed by zeros.
static inline VECTOR load_first(__global const T *from, const int count) {
  if (count >= LANES) return LOAD(from);
  T elements[LANES];
  for (int i = 0; i < LANES; ++i) elements[i] = i < count ? from[i] : (T)0;
  return LOAD(elements);
}
// Stores the first `count` elements, at most LANES.
static inline void store_first(const VECTOR v, __global T *to, const int count) {
  if (count >= LANES) {
    STORE(v, to);
    return;
  }
  T elements[LANES];
  STORE(v, elements);
  int i = 0;
#if LANES >= 8
  for (; i + 4 <= count; i += 4) PASTE(vstore, 4)(PASTE(vload, 4)(0, elements + i), 0, to + i);
#endif
  for (; i < count; ++i) to[i] = elements[i];
}
