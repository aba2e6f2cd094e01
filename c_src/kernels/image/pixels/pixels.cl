// Pixels as the operands of the colour filters, independent of the image's type: red, green, blue
// and alpha as floats, 0 to 1, of LANES pixels. The loops of pixels_cpu.cl and pixels_gpu.cl load
// and store them; the filters themselves are in pixel_ops.cl.
//
//   T, T_FLOAT   element type of images: float (0 to 1) or uchar (0 to 255)
//
// Stored as u8, results are rounded to the nearest level, halves up, and saturated; floats are
// stored as computed, even beyond 0 to 1. Products and sums are contracted only where a filter
// calls fma, so that a filter computes the same bits alone and in a chain.
#pragma once

#include "kernels/common/fp_contract_off.h"
#include "kernels/image/pixels/pixels_args.h"

// The number of pixels that are processed together.
#if CPU_CLASS
#define LANES 16
#else
#define LANES 1
#endif

#if LANES == 16
typedef float16 Reals;
typedef uint16 Levels;
#ifdef __clang__
#define TO_REALS(x) __builtin_convertvector(x, float16)
#define TO_LEVELS(x) as_uint16(__builtin_convertvector(x, int16))
#else
#define TO_REALS(x) convert_float16(x)
#define TO_LEVELS(x) as_uint16(convert_int16(x))
#endif
#else
typedef float Reals;
typedef uint Levels;
#define TO_REALS(x) ((float)(x))
#define TO_LEVELS(x) ((uint)(x))
#endif

typedef struct {
  Reals r, g, b, a;
} Pixels;

// The position of pixels: 0 at the centre of the image, -1 and 1 at its edges.
typedef struct {
  Reals x, y;
} Place;

// Comparisons instead of min and max, which some compilers turn into function calls.
static inline Reals at_least(const float low, const Reals x) {
  return x < (Reals)(low) ? (Reals)(low) : x;
}
static inline Reals at_most(const float high, const Reals x) {
  return x > (Reals)(high) ? (Reals)(high) : x;
}

// The nearest u8 level. Rounding errors leave some halves slightly too low, so values that close to
// a half are rounded up as well.
#define HALF (0.5f + 1.0f / 4096)
static inline Levels to_levels(const Reals x) {
  return TO_LEVELS(at_most(255.0f, at_least(0.0f, x * 255.0f + HALF)));
}
static inline Reals from_levels(const Levels levels) { return TO_REALS(levels) * (1.0f / 255.0f); }

// A result as the next filter would load it after it was stored.
static inline Reals as_stored(const Reals x) {
#if T_FLOAT
  return x;
#else
  return from_levels(to_levels(x));
#endif
}
