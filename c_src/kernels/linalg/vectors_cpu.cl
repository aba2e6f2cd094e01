// Vectors of elements for the matrix products of the CPU family, on top of common/vectors_cpu.cl.
//
//   T, T_FLOAT  element type, and whether it is a float
//   ACC         type in which products are summed, LANE_TYPE of the vectors: T for floats, unsigned
//               for integers, which makes them wrap
//   ROUND_TRIP  1 if ACC has T's size, so that vectors can be reinterpreted in both directions
#pragma once

#include "kernels/common/vectors_cpu.cl"

#define T_VECTOR PASTE(T, LANES)

// LANES elements of an operand, converted to the accumulator's type.
static inline VECTOR load_elements(__global const T *from) {
#if ROUND_TRIP
  return LOAD((__global const ACC *)from);
#else
  return PASTE(convert_, VECTOR)(PASTE(vload, LANES)(0, from));
#endif
}

#if T_FLOAT
#define MULTIPLY_ADD(x, y, sum) fma(x, y, sum)
#define AS_T(vector) (vector)
#define AS_ACC(vector) (vector)
#else
#define MULTIPLY_ADD(x, y, sum) ((x) * (y) + (sum))
#define AS_T(vector) PASTE(as_, T_VECTOR)(vector)
#define AS_ACC(vector) PASTE(as_, VECTOR)(vector)
#endif
