// Arithmetic on one element, with the operation as an argument.
//
//   T         the type of the computation, described by T_FLOAT, T_SIGNED and T_BITS
//   UT        the unsigned type of its width, in which integers wrap; T itself for floats
//
// Edge rules: integers wrap; division by 0 gives 0, as does the remainder; floats follow IEEE 754;
// the minimum and the maximum are NaN if either argument is. Unknown operations give 0.

#include "kernels/model/layouts.h"

// A guard by macro, which the host undefines, because it compiles this file once for each type.
#ifndef SCALAR_ARITHMETIC
#define SCALAR_ARITHMETIC

static inline T positive_or_zero(T x) { return x > (T)0 ? x : (x != x ? x : (T)0); }
static inline T lesser(T a, T b) { return (a < b || a != a) ? a : b; }
static inline T greater(T a, T b) { return (a > b || a != a) ? a : b; }

// Integers use max: some drivers lack the instruction for a comparison of narrow integers with 0.
static inline T magnitude_of(T x) {
#if T_FLOAT
  return fabs(x);
#elif T_SIGNED
  return max(x, (T)((UT)0 - (UT)x));
#else
  return x;
#endif
}

#if T_FLOAT

static inline T power_of(T a, T b) { return pow(a, b); }

// log(1 + exp(x)) without overflow.
static inline T softplus_of(T x) { return greater(x, (T)0) + log1p(exp(-fabs(x))); }

// The error function. For f32, a quotient of polynomials with a relative error of 3e-7, which takes
// a fraction of the time of the builtin function; from 4 on it is 1.
static inline T erf_of(T x) {
  if (sizeof(T) > 4) return erf(x);
  const T near = x < (T)-4 ? (T)-4 : (x > (T)4 ? (T)4 : x);
  const T z = near * near;
  T over = (T)1.98881996e-6f * z + (T)2.83835750e-4f;
  over = over * z + (T)3.85825462e-3f;
  over = over * z + (T)5.30231853e-2f;
  over = over * z + (T)1.92983388e-1f;
  over = over * z + (T)1.12837915f;
  T under = (T)3.74033189e-5f * z + (T)1.17919122e-3f;
  under = under * z + (T)1.51569222e-2f;
  under = under * z + (T)1.15114000e-1f;
  under = under * z + (T)5.04359748e-1f;
  under = under * z + (T)1;
  const T result = near * over / under;
  return result < (T)-1 ? (T)-1 : (result > (T)1 ? (T)1 : result);
}

static inline T remainder_of(T a, T b) {
  const T rest = fmod(a, b);
  return rest != (T)0 && (rest < (T)0) != (b < (T)0) ? rest + b : rest;
}

static inline T unary_real(int op, T x, T p, T q) {
  switch (op) {
    case OP_ABS: return fabs(x);
    case OP_NEG: return -x;
    case OP_CEIL: return ceil(x);
    case OP_FLOOR: return floor(x);
    case OP_ROUND: return rint(x);
    case OP_SQRT: return sqrt(x);
    case OP_EXP: return exp(x);
    case OP_LOG: return log(x);
    case OP_SIN: return sin(x);
    case OP_COS: return cos(x);
    case OP_TAN: return tan(x);
    case OP_ASIN: return asin(x);
    case OP_ACOS: return acos(x);
    case OP_ATAN: return atan(x);
    case OP_SINH: return sinh(x);
    case OP_COSH: return cosh(x);
    case OP_TANH: return tanh(x);
    case OP_ASINH: return asinh(x);
    case OP_ACOSH: return acosh(x);
    case OP_ATANH: return atanh(x);
    case OP_ERF: return erf_of(x);
    case OP_SIGN: return x > (T)0 ? (T)1 : (x < (T)0 ? (T)-1 : x);
    case OP_RECIPROCAL: return (T)1 / x;
    case OP_SIGMOID: return (T)1 / ((T)1 + exp(-x));
    case OP_SOFTPLUS: return softplus_of(x);
    case OP_SOFTSIGN: return x / ((T)1 + fabs(x));
    case OP_LEAKY_RELU: return x < (T)0 ? p * x : x;
    case OP_ELU: return x < (T)0 ? p * expm1(x) : x;
    case OP_SELU: return q * (x > (T)0 ? x : p * expm1(x));
    case OP_CELU: return x < (T)0 ? p * expm1(x / p) : x;
    case OP_THRESHOLDED_RELU: return x > p || x != x ? x : (T)0;
    case OP_HARD_SIGMOID: return lesser(greater(p * x + q, (T)0), (T)1);
    case OP_HARD_SWISH: return x * lesser(greater(x / (T)6 + (T)0.5f, (T)0), (T)1);
    case OP_MISH: return x * tanh(softplus_of(x));
    case OP_GELU: return (T)0.5f * x * ((T)1 + erf_of(x * (T)0.7071067811865476));
    case OP_GELU_TANH:
      return (T)0.5f * x * ((T)1 + tanh((T)0.7978845608028654 * (x + (T)0.044715 * x * x * x)));
    case OP_SHRINK: return x < -p ? x + q : (x > p ? x - q : (x != x ? x : (T)0));
    case OP_AFFINE: return p * x + q;
    default: return (T)0;
  }
}

#else

static inline T power_of(T base, T exponent) {
#if T_SIGNED
  if (exponent < 0) return base == 1 ? 1 : (base == -1 ? ((exponent & 1) ? -1 : 1) : 0);
#endif
  UT result = 1;
  UT square = (UT)base;
  for (UT rest = (UT)exponent; rest != 0; rest = (UT)(rest >> 1)) {
    if (rest & 1) result = (UT)(result * square);
    square = (UT)(square * square);
  }
  return (T)result;
}

static inline T quotient_of(T a, T b) {
  if (b == 0) return 0;
#if T_SIGNED
  if (b == -1) return (T)((UT)0 - (UT)a);
#endif
  return (T)(a / b);
}

static inline T truncated_rest(T a, T b) {
  if (b == 0) return 0;
#if T_SIGNED
  if (b == -1) return 0;
#endif
  return (T)(a % b);
}

static inline T remainder_of(T a, T b) {
  const T rest = truncated_rest(a, b);
#if T_SIGNED
  if (rest != 0 && (rest < 0) != (b < 0)) return (T)(rest + b);
#endif
  return rest;
}

#endif

static inline T arithmetic(int op, T x, T y, T z, T p, T q) {
  switch (op) {
    case OP_IDENTITY: return x;
    case OP_ADD: return (T)((UT)x + (UT)y);
    case OP_SUB: return (T)((UT)x - (UT)y);
    case OP_MUL: return (T)((UT)x * (UT)y);
    case OP_POW: return power_of(x, y);
    case OP_MOD: return remainder_of(x, y);
    case OP_MIN: return lesser(x, y);
    case OP_MAX: return greater(x, y);
    case OP_CLIP: return lesser(greater(x, y), z);
    case OP_RELU: return positive_or_zero(x);
    case OP_SQUARE: return (T)((UT)x * (UT)x);
    case OP_PRELU: return x < (T)0 ? (T)((UT)x * (UT)y) : x;
    case OP_AND: return (T)(x != 0 && y != 0);
    case OP_OR: return (T)(x != 0 || y != 0);
    case OP_XOR: return (T)((x != 0) != (y != 0));
    case OP_LOGICAL_NOT: return (T)(x == 0);
#if T_FLOAT
    case OP_DIV: return x / y;
    case OP_FMOD: return fmod(x, y);
    default: return unary_real(op, x, p, q);
#else
    case OP_DIV: return quotient_of(x, y);
    case OP_FMOD: return truncated_rest(x, y);
    case OP_NEG: return (T)((UT)0 - (UT)x);
    case OP_ABS: return magnitude_of(x);
#if T_SIGNED
    case OP_SIGN: return (T)(x > 0 ? 1 : (x < 0 ? -1 : 0));
#else
    case OP_SIGN: return (T)(x > 0 ? 1 : 0);
#endif
    case OP_CEIL:
    case OP_FLOOR:
    case OP_ROUND: return x;
    case OP_AFFINE: return (T)((UT)((UT)p * (UT)x) + (UT)q);
    case OP_SHRINK: return (T)(x < -p ? x + q : (x > p ? x - q : 0));
    case OP_BITWISE_NOT: return (T)~x;
    case OP_BITWISE_AND: return (T)(x & y);
    case OP_BITWISE_OR: return (T)(x | y);
    case OP_BITWISE_XOR: return (T)(x ^ y);
    case OP_SHIFT_LEFT: return (UT)y < T_BITS ? (T)((UT)x << (UT)y) : (T)0;
    case OP_SHIFT_RIGHT: return (UT)y < T_BITS ? (T)((UT)x >> (UT)y) : (T)0;
    default: return (T)0;
#endif
  }
}

static inline bool comparison(int op, T x, T y, T p, T q) {
  switch (op) {
    case CMP_EQUAL: return x == y;
    case CMP_LESS: return x < y;
    case CMP_LESS_EQUAL: return x <= y;
    case CMP_GREATER: return x > y;
    case CMP_GREATER_EQUAL: return x >= y;
    case CMP_NAN: return x != x;
#if T_FLOAT
    case CMP_INFINITE: return (p != (T)0 && x == (T)INFINITY) || (q != (T)0 && x == -(T)INFINITY);
#endif
    default: return false;
  }
}

#endif
