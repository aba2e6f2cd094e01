// The arithmetic of the Gaussian filters on u8, in 16-bit words.
//
// Sums of columns are stored in units of 1/128 level, so that the sum of two fits into a word; sums
// along rows, and the accumulators of columns, are in units of 1/256. Products keep their high
// half: each is up to one unit too small, half a unit on average, which the sum of radius + 1 of
// them compensates for at its end. With weights of 17 bits the error of a result before rounding is
// less than half a level with radius 64, and a fiftieth of a level with radius 3.
#pragma once

#include "kernels/image/filter/gauss_args.h"

#define MIDDLE ushort
#define ALPHA_MASK Values

#ifdef __clang__
typedef uchar Bytes __attribute__((ext_vector_type(VALUE_LANES)));
typedef ushort Values __attribute__((ext_vector_type(VALUE_LANES)));
typedef short Signed __attribute__((ext_vector_type(VALUE_LANES)));
typedef uint Wide __attribute__((ext_vector_type(VALUE_LANES)));
typedef int SignedWide __attribute__((ext_vector_type(VALUE_LANES)));
// Compilers do not split these conversions and accesses, as they do with vload and convert_.
typedef Bytes LooseBytes __attribute__((aligned(1)));
typedef Values LooseValues __attribute__((aligned(2)));
#define CONVERT(v, TYPE) __builtin_convertvector(v, TYPE)
#define LOAD_LEVELS(from) CONVERT(*(__global const LooseBytes *)(from), Values)
#define STORE_LEVELS(v, to) (*(__global LooseBytes *)(to) = CONVERT(v, Bytes))
#define LOAD_SUMS(from) (*(__local const LooseValues *)(from))
#define STORE_SUMS(v, to) (*(__local LooseValues *)(to) = (v))
#else
#undef VALUE_LANES
#define VALUE_LANES 16
typedef ushort16 Values;
typedef short16 Signed;
typedef uint16 Wide;
typedef int16 SignedWide;
#define CONVERT(v, TYPE) CONVERT_##TYPE(v)
#define CONVERT_Values(v) convert_ushort16(v)
#define CONVERT_Signed(v) convert_short16(v)
#define CONVERT_Wide(v) convert_uint16(v)
#define CONVERT_SignedWide(v) convert_int16(v)
#define LOAD_LEVELS(from) convert_ushort16(vload16(0, from))
#define STORE_LEVELS(v, to) vstore16(convert_uchar16(v), 0, to)
#define LOAD_SUMS(from) vload16(0, from)
#define STORE_SUMS(v, to) vstore16(v, 0, to)
#endif

#define OVERLOADED __attribute__((overloadable))

// The high half of a product.
static inline Values OVERLOADED high(const Values a, const Values b) {
  return CONVERT((CONVERT(a, Wide) * CONVERT(b, Wide)) >> 16u, Values);
}
static inline ushort OVERLOADED high(const ushort a, const ushort b) {
  return (ushort)(((uint)a * b) >> 16);
}
static inline Signed OVERLOADED high(const Signed a, const Signed b) {
  return CONVERT((CONVERT(a, SignedWide) * CONVERT(b, SignedWide)) >> 16, Signed);
}
static inline short OVERLOADED high(const short a, const short b) {
  return (short)(((int)a * b) >> 16);
}

#define WEIGHT(TYPE, gauss, k) ((TYPE)((gauss)->words[k]))
#define FIRST_LEVEL(TYPE, level, weight) high((TYPE)((level) << (ushort)8), weight)
#define PAIR_OF_LEVELS(TYPE, pair, weight) high((TYPE)((pair) << (ushort)7), weight)
#define END_COLUMN(TYPE, sum, gauss) \
  ((TYPE)(((sum) + (TYPE)((ushort)((gauss)->radius / 2 + 1))) >> (ushort)1))
#define FIRST_SUM(TYPE, sum, weight) high((TYPE)((sum) << (ushort)1), weight)
#define PAIR_OF_SUMS(TYPE, pair, weight) high((TYPE)(pair), weight)

static inline Values OVERLOADED blurred(const Values level, const Values sum, const Gauss *gauss) {
  return (sum + (Values)((ushort)(gauss->radius / 2 + 128))) >> (ushort)8;
}
static inline ushort OVERLOADED blurred(const ushort level, const ushort sum, const Gauss *gauss) {
  return (ushort)(sum + gauss->radius / 2 + 128) >> 8;
}

// The difference of the level and the blurred one, in units of 1/128, times the amount, gives units
// of 1/16.
static inline Values OVERLOADED sharpened(const Values level, const Values sum,
                                          const Gauss *gauss) {
  const Values smooth = (sum + (Values)((ushort)(gauss->radius / 2 + 1))) >> (ushort)1;
  const Signed above = CONVERT((level << (ushort)7) - smooth, Signed);
  const Signed more = high(above, (Signed)(gauss->amount_word));
  Signed result = (CONVERT(level << (ushort)4, Signed) + more + (Signed)((short)8)) >> (short)4;
  result = result < (Signed)((short)0) ? (Signed)((short)0) : result;
  return CONVERT(result > (Signed)((short)255) ? (Signed)((short)255) : result, Values);
}
static inline ushort OVERLOADED sharpened(const ushort level, const ushort sum,
                                          const Gauss *gauss) {
  const short smooth = (short)((sum + gauss->radius / 2 + 1) >> 1);
  const short more = high((short)((level << 7) - smooth), gauss->amount_word);
  return (ushort)clamp(((level << 4) + more + 8) >> 4, 0, 255);
}

// All bits in the lanes of alpha, none in others. Vectors start at the first channel of a pixel.
static inline Values alpha_lanes(const int channels) {
  Values mask = (Values)((ushort)0);
  for (int i = 3; channels == 4 && i < VALUE_LANES; i += 4) mask[i] = 0xffff;
  return mask;
}
#define ALPHA_OR(mask, alpha, colour) (((alpha) & (mask)) | ((colour) & ~(mask)))
