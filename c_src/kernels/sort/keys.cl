// Elements as keys: unsigned numbers whose order is the order of the elements.
//
//   T, T_FLOAT, T_SIGNED, T_BITS   the element type, see ops.cl
//   KEY                            the unsigned type of its width
//   NARROW_INFINITY, NARROW_NAN    set for 16-bit floats, for which T is ushort: their bits
//   WITH_INDEX                     1 if indices are sorted along with keys (argsort), 0 for values
//
// NaN is last in either direction. With indices, 0 and -0 have the same key, so that the sort is
// stable; without, -0 is before 0 and keeps its sign.
#pragma once

#include "kernels/sort/sort_args.h"

#define TOP ((KEY)1 << (T_BITS - 1))

#if T_FLOAT && T_BITS == 32
#define BITS_OF(x) as_uint(x)
#define FROM_BITS(x) as_float(x)
#elif T_FLOAT
#define BITS_OF(x) as_ulong(x)
#define FROM_BITS(x) as_double(x)
#else
#define BITS_OF(x) ((KEY)(x))
#define FROM_BITS(x) ((T)(x))
#endif

static inline KEY key_of(const T x, const SortView view) {
  const KEY mask = view.descending ? (KEY) ~(KEY)0 : (KEY)0;
#ifdef NARROW_INFINITY
  const KEY size = x & 0x7fff;
  const KEY bits = WITH_INDEX && size == 0 ? 0 : x;
  const KEY ordered = bits ^ ((bits & TOP) ? (KEY) ~(KEY)0 : TOP);
  return size > NARROW_INFINITY ? (KEY) ~(KEY)0 : (KEY)(ordered ^ mask);
#elif T_FLOAT
#if WITH_INDEX
  const KEY bits = BITS_OF(x == (T)0 ? (T)0 : x);
#else
  const KEY bits = BITS_OF(x);
#endif
  const KEY ordered = bits ^ ((bits & TOP) ? (KEY) ~(KEY)0 : TOP);
  return x != x ? (KEY) ~(KEY)0 : ordered ^ mask;
#elif T_SIGNED
  return (KEY)(BITS_OF(x) ^ TOP ^ mask);
#else
  return (KEY)(x ^ mask);
#endif
}

static inline T element_of(const KEY key, const SortView view) {
  const KEY mask = view.descending ? (KEY) ~(KEY)0 : (KEY)0;
#ifdef NARROW_INFINITY
  const KEY ordered = key ^ mask;
  const KEY bits = ordered ^ ((ordered & TOP) ? TOP : (KEY) ~(KEY)0);
  return key == (KEY) ~(KEY)0 ? NARROW_NAN : bits;
#elif T_FLOAT
  if (key == (KEY) ~(KEY)0) return (T)NAN;
  const KEY ordered = key ^ mask;
  return FROM_BITS(ordered ^ ((ordered & TOP) ? TOP : (KEY) ~(KEY)0));
#elif T_SIGNED
  return FROM_BITS((KEY)(key ^ TOP ^ mask));
#else
  return (T)(key ^ mask);
#endif
}

// The first element of row `row` of a tensor with `length` elements along the axis.
static inline long row_start(const long row, const long length, const long inner) {
  return row / inner * length * inner + row % inner;
}
