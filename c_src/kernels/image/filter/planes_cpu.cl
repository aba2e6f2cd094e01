// Rows of pixels deinterleaved into lines of floats in local memory, one line per colour channel,
// CPU family: lines allow vector loads from any column on, edges included.
//
//   FLOAT_LANES   floats of a vector
#pragma once

#include "kernels/common/loops.h"
#include "kernels/common/paste.h"
#include "kernels/image/image.cl"

typedef PASTE(float, FLOAT_LANES) Floats;
typedef PASTE(int, FLOAT_LANES) Ints;
#ifdef __clang__
typedef Floats LooseFloats __attribute__((aligned(4)));
#define LOAD_FLOATS(from) (*(__local const LooseFloats *)(from))
#define STORE_FLOATS(v, to) (*(__local LooseFloats *)(to) = (v))
#define AS_INTS(v) __builtin_astype(v, Ints)
#define AS_FLOATS(v) __builtin_astype(v, Floats)
#else
#define LOAD_FLOATS(from) PASTE(vload, FLOAT_LANES)(0, from)
#define STORE_FLOATS(v, to) PASTE(vstore, FLOAT_LANES)(v, 0, to)
#define AS_INTS(v) PASTE(as_int, FLOAT_LANES)(v)
#define AS_FLOATS(v) PASTE(as_float, FLOAT_LANES)(v)
#endif

// Deinterleaves `count` pixels. The number of channels is a constant, so that the loop vectorises.
#define DEINTERLEAVE(CHANNELS)                          \
  INDEPENDENT_LOOP                                      \
  for (int x = 0; x < count; ++x) {                     \
    to[x] = (float)from[CHANNELS * x];                  \
    to[stride + x] = (float)from[CHANNELS * x + 1];     \
    to[2 * stride + x] = (float)from[CHANNELS * x + 2]; \
  }
static inline void deinterleave(__global const T *from, const int count, const int channels,
                                __local float *to, const int stride) {
  if (channels == 4) {
    DEINTERLEAVE(4)
  } else if (channels == 3) {
    DEINTERLEAVE(3)
  } else {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) to[x] = (float)from[x];
  }
}

// The reverse, with alpha from the original.
#define INTERLEAVE(CHANNELS, ALPHA)                        \
  INDEPENDENT_LOOP                                         \
  for (int x = 0; x < count; ++x) {                        \
    to[CHANNELS * x] = AS_LEVEL(from[x]);                  \
    to[CHANNELS * x + 1] = AS_LEVEL(from[stride + x]);     \
    to[CHANNELS * x + 2] = AS_LEVEL(from[2 * stride + x]); \
    ALPHA                                                  \
  }
static inline void interleave(__local const float *from, const int stride, const int count,
                              const int channels, __global const T *original, __global T *to) {
  if (channels == 4) {
    INTERLEAVE(4, to[4 * x + 3] = original[4 * x + 3];)
  } else if (channels == 3) {
    INTERLEAVE(3, )
  } else {
    INDEPENDENT_LOOP
    for (int x = 0; x < count; ++x) to[x] = AS_LEVEL(from[x]);
  }
}

// Fills the part of a line outside the image, for a line of `room` elements that starts at column
// `start`: the mirror image up to `end`, zeros from there on.
static inline void mirror_line(__local float *line, const int start, const int end, const int width,
                               const int room) {
  for (int column = start; column < 0; ++column) {
    line[column - start] = line[mirrored(column, width) - start];
  }
  for (int column = width; column < end; ++column) {
    line[column - start] = line[mirrored(column, width) - start];
  }
  for (int i = end - start; i < room; ++i) line[i] = 0;
}
