// Loads and stores of one pixel of 1, 3 or 4 channels, GPU family. One channel stands for red,
// green and blue; missing alpha is 1.
#pragma once

#include "kernels/image/pixels/pixels.cl"

#if T_FLOAT
#define LOADED(element) (element)
#define STORED(real) (real)
#else
#define LOADED(element) from_levels(element)
#define STORED(real) (T) to_levels(real)
#endif

static inline Pixels load_1(__global const T *from) {
  const float grey = LOADED(from[0]);
  const Pixels out = {grey, grey, grey, 1.0f};
  return out;
}
static inline Pixels load_3(__global const T *from) {
  const Pixels out = {LOADED(from[0]), LOADED(from[1]), LOADED(from[2]), 1.0f};
  return out;
}
static inline Pixels load_4(__global const T *from) {
  const Pixels out = {LOADED(from[0]), LOADED(from[1]), LOADED(from[2]), LOADED(from[3])};
  return out;
}

static inline void store_1(const Pixels in, __global T *to) { to[0] = STORED(in.r); }
static inline void store_3(const Pixels in, __global T *to) {
  to[0] = STORED(in.r);
  to[1] = STORED(in.g);
  to[2] = STORED(in.b);
}
static inline void store_4(const Pixels in, __global T *to) {
  store_3(in, to);
  to[3] = STORED(in.a);
}

#undef LOADED
#undef STORED
