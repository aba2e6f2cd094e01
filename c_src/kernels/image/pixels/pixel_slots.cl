// Loads and stores of the pixels of buffers as values of the filters in a fused kernel: LANES
// pixels from a position on, or `left` of them, which the loop defines. One slot per number of
// channels; fusion/fused_cpu.cl explains slots.
#pragma once

#include "kernels/image/pixels/pixel_access.cl"

#if LANES == 1
#define LOAD_SOME(channels, pointer, place) load_##channels((pointer) + (place)*channels)
#define STORE_SOME(channels, pointer, place, value) \
  store_##channels(value, (pointer) + (place)*channels)
#else
#define LOAD_SOME(channels, pointer, place) load_some_##channels((pointer) + (place)*channels, left)
#define STORE_SOME(channels, pointer, place, value) \
  store_some_##channels(value, (pointer) + (place)*channels, left)

// Fewer than LANES pixels go through private memory.
#define SOME(channels)                                                                             \
  static inline Pixels load_some_##channels(__global const T *from, const int left) {              \
    if (left == LANES) return load_##channels(from);                                               \
    T elements[LANES * channels];                                                                  \
    for (int k = 0; k < LANES * channels; ++k) elements[k] = k < left * channels ? from[k] : (T)0; \
    return load_##channels(elements);                                                              \
  }                                                                                                \
  static inline void store_some_##channels(const Pixels in, __global T *to, const int left) {      \
    if (left == LANES) {                                                                           \
      store_##channels(in, to);                                                                    \
      return;                                                                                      \
    }                                                                                              \
    T elements[LANES * channels];                                                                  \
    store_##channels(in, elements);                                                                \
    for (int k = 0; k < left * channels; ++k) to[k] = elements[k];                                 \
  }
SOME(1)
SOME(3)
SOME(4)
#endif

#define VALUE_pixels_1 Pixels
#define VALUE_pixels_3 Pixels
#define VALUE_pixels_4 Pixels
#define LOAD_pixels_1(pointer, place) LOAD_SOME(1, pointer, place)
#define LOAD_pixels_3(pointer, place) LOAD_SOME(3, pointer, place)
#define LOAD_pixels_4(pointer, place) LOAD_SOME(4, pointer, place)
#define STORE_pixels_1(pointer, place, value) STORE_SOME(1, pointer, place, value)
#define STORE_pixels_3(pointer, place, value) STORE_SOME(3, pointer, place, value)
#define STORE_pixels_4(pointer, place, value) STORE_SOME(4, pointer, place, value)
