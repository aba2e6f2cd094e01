// The natural logarithm of the CPU family, in place of the builtin: without branches, so that the
// loops around it vectorise (with the builtin they run 15 times slower).
//
//   T_BITS      32 for float, 64 for double
//
// With x = 2^k * (1 + f), 1 + f between sqrt(1/2) and sqrt(2), and s = f / (2 + f), the logarithm
// is k * ln 2 + f - (f^2/2 - s * (f^2/2 + R(s^2))), where R is the minimax polynomial that goes
// back to Sun's fdlibm. The error is below one unit in the last place.
//
// Edge rules: log 0 is -infinity; the logarithm of a negative number and of NaN is NaN. Denormals
// are scaled up first. No preconditions.

#include "kernels/common/fp_contract_off.h"

#if T_BITS == 32

static inline float log_f32(float x) {
  const bool tiny = x < 0x1p-126f;
  const int bits = as_int(tiny ? x * 0x1p25f : x) + (0x3f800000 - 0x3f3504f3);
  const float k = (float)((bits >> 23) - 127 - (tiny ? 25 : 0));
  const float f = as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;
  const float s = f / (2.0f + f);
  const float z = s * s, w = z * z;
  const float even = w * (0xccce13.0p-25f + w * 0xf89e26.0p-26f);
  const float odd = z * (0xaaaaaa.0p-24f + w * 0x91e9ee.0p-25f);
  const float square = 0.5f * f * f;
  const float result =
      s * (square + even + odd) + k * 9.0580006145e-06f - square + f + k * 6.9313812256e-01f;
  const float edge = x == 0.0f ? -INFINITY : x < 0.0f ? NAN : x;
  return x > 0.0f && x < INFINITY ? result : edge;
}

#else

static inline double log_f64(double x) {
  const bool tiny = x < 0x1p-1022;
  const long bits = as_long(tiny ? x * 0x1p54 : x) + (0x3ff0000000000000L - 0x3fe6a09e00000000L);
  const double k = (double)((int)(bits >> 52) - 1023 - (tiny ? 54 : 0));
  const double f = as_double((bits & 0x000fffffffffffffL) + 0x3fe6a09e00000000L) - 1.0;
  const double s = f / (2.0 + f);
  const double z = s * s, w = z * z;
  const double even = w * (3.999999999940941908e-01 +
                           w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
  const double odd = z * (6.666666666666735130e-01 +
                          w * (2.857142874366239149e-01 +
                               w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
  const double square = 0.5 * f * f;
  const double result = s * (square + even + odd) + k * 1.90821492927058770002e-10 - square + f +
                        k * 6.93147180369123816490e-01;
  const double edge = x == 0.0 ? -INFINITY : x < 0.0 ? NAN : x;
  return x > 0.0 && x < INFINITY ? result : edge;
}

#endif
