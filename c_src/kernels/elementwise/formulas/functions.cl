// Functions of one element: transcendental functions of floats, bitwise operations on integers, and
// selection.
//
//   T, UT, WT, T_FLOAT, T_SIGNED, T_BITS, OP(name)   see ops.cl
//
// Edge rules: floats follow IEEE 754, and round goes away from zero at halves. The remainder has
// the dividend's sign, and that of an integer divided by zero is 0. A shift by less than 0, or by
// the width of the type or more, moves every bit out: 0, or -1 for a negative number to the right.
// No preconditions: every argument is defined.

#include "kernels/common/fp_contract_off.h"

static inline T OP(select)(uchar condition, T yes, T no) { return condition != 0 ? yes : no; }

#if T_FLOAT

static inline T OP(sign)(T x) { return x > (T)0 ? (T)1 : (x < (T)0 ? (T)-1 : x); }
static inline T OP(ceil)(T x) { return ceil(x); }
static inline T OP(floor)(T x) { return floor(x); }
static inline T OP(round)(T x) { return round(x); }
static inline T OP(sin)(T x) { return sin(x); }
static inline T OP(cos)(T x) { return cos(x); }
static inline T OP(tan)(T x) { return tan(x); }
static inline T OP(asin)(T x) { return asin(x); }
static inline T OP(acos)(T x) { return acos(x); }
static inline T OP(atan)(T x) { return atan(x); }
static inline T OP(sinh)(T x) { return sinh(x); }
static inline T OP(cosh)(T x) { return cosh(x); }
static inline T OP(asinh)(T x) { return asinh(x); }
static inline T OP(acosh)(T x) { return acosh(x); }
static inline T OP(atanh)(T x) { return atanh(x); }
static inline T OP(expm1)(T x) { return expm1(x); }
static inline T OP(log1p)(T x) { return log1p(x); }
static inline T OP(cbrt)(T x) { return cbrt(x); }
static inline T OP(rsqrt)(T x) { return (T)1 / sqrt(x); }
static inline T OP(erf)(T x) { return erf(x); }
static inline T OP(erfc)(T x) { return erfc(x); }
static inline T OP(atan2)(T y, T x) { return atan2(y, x); }
static inline T OP(remainder)(T a, T b) { return fmod(a, b); }

// M. Giles, "Approximating the erfinv function": two polynomials in w = -log(1 - x^2), good for the
// seven digits of float. A double takes that as the start of two steps of Halley's method, on erfc
// where x is near 1 or -1, since 1 - |x| is exact there.
static inline T OP(erf_inv)(T x) {
  const T w = -log(((T)1 - x) * ((T)1 + x));
  T p;
  if (w < (T)5) {
    const T v = w - (T)2.5f;
    p = (T)2.81022636e-08f;
    p = (T)3.43273939e-07f + p * v;
    p = (T)-3.5233877e-06f + p * v;
    p = (T)-4.39150654e-06f + p * v;
    p = (T)0.00021858087f + p * v;
    p = (T)-0.00125372503f + p * v;
    p = (T)-0.00417768164f + p * v;
    p = (T)0.246640727f + p * v;
    p = (T)1.50140941f + p * v;
  } else {
    const T v = sqrt(w) - (T)3;
    p = (T)-0.000200214257f;
    p = (T)0.000100950558f + p * v;
    p = (T)0.00134934322f + p * v;
    p = (T)-0.00367342844f + p * v;
    p = (T)0.00573950773f + p * v;
    p = (T)-0.0076224613f + p * v;
    p = (T)0.00943887047f + p * v;
    p = (T)1.00167406f + p * v;
    p = (T)2.83297682f + p * v;
  }
  T y = p * x;
#if T_BITS == 64
  const T size = fabs(x);
  T at = fabs(y);
  for (int n = 0; n < 2; ++n) {
    const T excess = size > 0.5 ? (1 - size) - erfc(at) : erf(at) - size;
    const T newton = excess / (1.1283791670955126 * exp(-at * at));
    at -= newton / (1 + at * newton);
  }
  y = x < 0 ? -at : at;
#endif
  if (x == (T)1) return (T)INFINITY;
  if (x == (T)-1) return -(T)INFINITY;
  return x == (T)0 ? x : y;
}

#else

#if T_SIGNED
static inline T OP(sign)(T x) { return (T)((x > 0) - (x < 0)); }

// The divisors 0 and -1 trap on some CPUs (the latter for the smallest value only).
static inline T OP(remainder)(T a, T b) {
  return (b == 0 || b == -1) ? (T)0 : (T)(a % ((b == 0 || b == -1) ? (T)1 : b));
}
#else
static inline T OP(sign)(T x) { return (T)(x != 0); }
static inline T OP(remainder)(T a, T b) { return b == 0 ? (T)0 : (T)(a % (b == 0 ? (T)1 : b)); }
#endif

static inline T OP(bitwise_and)(T a, T b) { return (T)(a & b); }
static inline T OP(bitwise_or)(T a, T b) { return (T)(a | b); }
static inline T OP(bitwise_xor)(T a, T b) { return (T)(a ^ b); }
static inline T OP(bitwise_not)(T x) { return (T)~x; }
static inline T OP(population_count)(T x) { return (T)popcount((UT)x); }
static inline T OP(count_leading_zeros)(T x) { return (T)clz((UT)x); }

// A negative amount becomes a large unsigned one.
static inline T OP(left_shift)(T x, T amount) {
  const bool all = (UT)amount >= (UT)T_BITS;
  return all ? (T)0 : (T)((WT)x << (all ? (UT)0 : (UT)amount));
}
static inline T OP(right_shift)(T x, T amount) {
  const bool all = (UT)amount >= (UT)T_BITS;
  const T kept = (T)(x >> (all ? (UT)(T_BITS - 1) : (UT)amount));
  return all && !T_SIGNED ? (T)0 : kept;
}

#endif
