// Activations of the epilogue: bounds, whose cost is negligible, then a curve.
//
//   T, T_BITS  element type, a float, and its width
#pragma once

// In the CPU family exp of single precision is computed here, since the library function does not
// vectorise well.
#define BY_SERIES (CPU_CLASS && T_BITS == 32)

// Applies the bounds of an activation; NaN stays NaN.
#define ACTIVATED(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x))

#define CURVE_NONE 0
#define CURVE_LEAKY 1
#define CURVE_SIGMOID 2
#define CURVE_SILU 3

// 1 / (1 + exp(-x)), to a few units in the last place; NaN stays NaN. exp(y) is 2^n * exp(r) with
// y = n * ln 2 + r: adding 1.5 * 2^23 rounds to an integer and leaves n in the low bits, and adding
// n to the exponent multiplies by 2^n. The quotient is an estimate from the exponent, refined by
// three Newton iterations.
#if BY_SERIES
#define LOGISTIC(NAME, REAL, AS_INT, AS_REAL)                                           \
  static inline REAL NAME(const REAL x) {                                               \
    const REAL one = (REAL)(1.0f), units_zero = (REAL)(12582912.0f);                    \
    const REAL y = ACTIVATED(-x, (REAL)(-80.0f), (REAL)(80.0f));                        \
    const REAL units = fma(y, (REAL)(1.44269504f), units_zero), n = units - units_zero; \
    const REAL r = fma(n, (REAL)(-1.42860677e-6f), fma(n, (REAL)(-0.693145752f), y));   \
    REAL series = fma(r, (REAL)(1.37805939e-3f), (REAL)(8.37312452e-3f));               \
    series = fma(series, r, (REAL)(4.16695364e-2f));                                    \
    series = fma(series, r, (REAL)(1.66664720e-1f));                                    \
    series = fma(series, r, (REAL)(4.99999851e-1f));                                    \
    series = fma(fma(series, r, one), r, one);                                          \
    const REAL whole = one + AS_REAL(AS_INT(series) + (AS_INT(units) << 23));           \
    REAL inverse = AS_REAL(0x7ef311c3 - AS_INT(whole));                                 \
    inverse = fma(inverse, fma(-whole, inverse, one), inverse);                         \
    inverse = fma(inverse, fma(-whole, inverse, one), inverse);                         \
    return fma(inverse, fma(-whole, inverse, one), inverse);                            \
  }
#else
#define LOGISTIC(NAME, REAL, AS_INT, AS_REAL) \
  static inline REAL NAME(const REAL x) { return 1 / (1 + exp(-x)); }
#endif

// The curve of an element or of a vector.
#define CURVED(NAME, LOGISTIC_OF, REAL)                                    \
  static inline REAL NAME(const REAL x, const long curve, const T slope) { \
    if (curve == CURVE_NONE) return x;                                     \
    if (curve == CURVE_LEAKY) return x < (REAL)(0) ? slope * x : x;        \
    if (curve == CURVE_SIGMOID) return LOGISTIC_OF(x);                     \
    if (curve == CURVE_SILU) return x * LOGISTIC_OF(x);                    \
    const REAL gate = fma(x, (REAL)((T)1 / 6), (REAL)((T)0.5));            \
    return x * ACTIVATED(gate, (REAL)(0), (REAL)(1));                      \
  }

LOGISTIC(logistic, T, as_int, as_float)
CURVED(curved, logistic, T)
