// Operations on one element, the bodies of the pointwise kernels.
//
//   T         element type of the result (and of every input, unless a body says otherwise)
//   UT        the unsigned type of T's width, in which integers are computed so that they wrap
//             without undefined behaviour; T itself for floats
//   WT        the same, but at least as wide as int, to which the product of two shorts would be
//             promoted
//   T_FLOAT   1 for float and double, else 0
//   T_SIGNED  1 for types with negative values, else 0
//   OP(name)  the function's name, which includes T: a program may have this file for several types
//
// Edge rules: integers wrap; an integer divided by zero is 0; floats follow IEEE 754, and min and
// max return NaN when either argument is NaN. No preconditions: every argument is defined.

#include "kernels/common/fp_contract_off.h"

// The logarithm and the power for T: the builtins, or the vectorisable ones of the CPU family.
#if CPU_CLASS && T_FLOAT && T_BITS == 32
#include "kernels/elementwise/formulas/log_cpu.cl"
#include "kernels/elementwise/formulas/pow_cpu.cl"
#define LOG log_f32
#define POW pow_f32
#elif CPU_CLASS && T_FLOAT
#include "kernels/elementwise/formulas/log_cpu.cl"
#define LOG log_f64
#define POW pow
#else
#define LOG log
#define POW pow
#endif

static inline T OP(identity)(T x) { return x; }

static inline T OP(add)(T a, T b) { return (T)((UT)a + (UT)b); }
static inline T OP(sub)(T a, T b) { return (T)((UT)a - (UT)b); }
static inline T OP(mul)(T a, T b) { return (T)((WT)a * (WT)b); }
static inline T OP(neg)(T x) { return (T)(T_FLOAT ? -x : (UT)0 - (UT)x); }

// For NaN in `a` the second comparison keeps it; for NaN in `b` both comparisons fail.
static inline T OP(min)(T a, T b) { return (a < b || a != a) ? a : b; }
static inline T OP(max)(T a, T b) { return (a > b || a != a) ? a : b; }

// NaN passes both comparisons.
static inline T OP(clamp)(T x, T low, T high) { return x < low ? low : (x > high ? high : x); }

static inline T OP(scalar_mul)(T x, T scalar) { return OP(mul)(x, scalar); }

// slope * x would turn -inf into NaN for a slope of 0; NaN itself stays.
static inline T OP(relu)(T x, T slope) {
  const T below = slope == (T)0 ? (x != x ? x : (T)0) : OP(mul)(slope, x);
  return x > (T)0 ? x : below;
}

static inline T OP(fill)(T value) { return value; }

#if T_FLOAT

static inline T OP(div)(T a, T b) { return a / b; }
static inline T __attribute__((always_inline)) OP(pow)(T a, T b) { return POW(a, b); }
static inline T OP(abs)(T x) { return fabs(x); }
static inline T OP(exp)(T x) { return exp(x); }
static inline T OP(log)(T x) { return LOG(x); }
static inline T OP(sqrt)(T x) { return sqrt(x); }
static inline T OP(tanh)(T x) { return tanh(x); }
static inline T OP(sigmoid)(T x) { return (T)1 / ((T)1 + exp(-x)); }

#else

// The divisors 0 and -1 trap on some CPUs (the latter for the smallest value only), so neither
// reaches the division.
static inline T OP(div)(T a, T b) {
#if T_SIGNED
  const T divisor = (b == 0 || b == -1) ? (T)1 : b;
  const T quotient = b == -1 ? OP(neg)(a) : (T)(a / divisor);
#else
  const T quotient = (T)(a / (b == 0 ? (T)1 : b));
#endif
  return b == 0 ? (T)0 : quotient;
}

// By squaring. Negative powers of all bases but 1 and -1 truncate to 0.
static inline T OP(pow)(T base, T exponent) {
#if T_SIGNED
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return (exponent & 1) ? -1 : 1;
    return 0;
  }
#endif
  WT result = 1;
  WT square = (WT)base;
  for (UT rest = (UT)exponent; rest != 0; rest >>= 1) {
    if (rest & 1) result *= square;
    square *= square;
  }
  return (T)result;
}

static inline T OP(abs)(T x) {
#if T_SIGNED
  return max(x, OP(neg)(x));
#else
  return x;
#endif
}

#endif

#undef LOG
#undef POW
