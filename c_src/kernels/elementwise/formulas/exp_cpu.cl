// exp(x) for x <= 0 in the CPU family, in place of the builtin exp for f32: without branches,
// tables and the handling of positive arguments, so that the loops around it vectorise well.
//
//   T_BITS      32 for float, 64 for double
//
// With x = k * ln 2 + r, |r| <= ln 2 / 2, the result is a polynomial in r (Cephes) with k added to
// its exponent; the error is below one unit in the last place.
//
// Edge rules: 0 below -87, near the denormal range. Preconditions: x <= 0; the result for NaN is
// undefined.
#pragma once

#if T_BITS == 32

#define EXP_BELOW_0 exp_below_0

// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits of the mantissa.
#define DEFINE_EXP_BELOW_0(REAL, BITS, AS_REAL, AS_BITS)                             \
  static inline REAL __attribute__((overloadable)) exp_below_0(const REAL x) {       \
    const REAL shifted = fma(x, (REAL)(1.44269504088896341f), (REAL)(0x1.8p23f));    \
    const REAL k = shifted - (REAL)(0x1.8p23f);                                      \
    const REAL r = fma(k, (REAL)(2.12194440e-4f), fma(k, (REAL)(-0.693359375f), x)); \
    REAL tail = fma((REAL)(1.9875691500e-4f), r, (REAL)(1.3981999507e-3f));          \
    tail = fma(tail, r, (REAL)(8.3334519073e-3f));                                   \
    tail = fma(tail, r, (REAL)(4.1665795894e-2f));                                   \
    tail = fma(tail, r, (REAL)(1.6666665459e-1f));                                   \
    tail = fma(tail, r, (REAL)(5.0000001201e-1f));                                   \
    const REAL power = fma(tail, r * r, r + (REAL)(1.0f));                           \
    const REAL result = AS_REAL(AS_BITS(power) + (AS_BITS(shifted) << (BITS)(23)));  \
    return x < (REAL)(-87.0f) ? (REAL)(0.0f) : result;                               \
  }
DEFINE_EXP_BELOW_0(float, uint, as_float, as_uint)
DEFINE_EXP_BELOW_0(float16, uint16, as_float16, as_uint16)

#else

#define EXP_BELOW_0 exp

#endif
