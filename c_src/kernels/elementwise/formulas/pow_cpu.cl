// pow for f32 in the CPU family, in place of the builtin: without branches, so that the loops
// around it vectorise (with the builtin they run 12 times slower).
//
// 2^(y * log2 |x|), with the logarithm and the product as sums of two floats: the exponent must be
// accurate to 2^-24 and may be as large as 128. With |x| = 2^k * (1 + f), 1 + f between
// sqrt(1/2) and sqrt(2), and s = f / (2 + f), log2 |x| is k + 2/ln 2 * (s + s^3/3 + s^5/5 + ...).
// The error is below four units in the last place.
//
// Edge rules: those of IEEE 754 (x^0 and 1^y are 1 even where the other argument is NaN; an odd
// power has the sign of x; a negative x to a non-integer power is NaN). No preconditions.
#pragma once

#include "kernels/common/fp_contract_off.h"

// 2^(high + low) for |high| <= 160: a polynomial in the distance to the nearest integer (Cephes),
// scaled in two steps, since 2^-149 is not a normal float.
static inline float power_of_2(const float high, const float low) {
  const float shifted = high + 0x1.8p23f;
  const float n = shifted - 0x1.8p23f;
  const float r = ((high - n) + low) * 6.93147181e-1f;
  float tail = fma(1.9875691500e-4f, r, 1.3981999507e-3f);
  tail = fma(tail, r, 8.3334519073e-3f);
  tail = fma(tail, r, 4.1665795894e-2f);
  tail = fma(tail, r, 1.6666665459e-1f);
  tail = fma(tail, r, 5.0000001201e-1f);
  const float power = fma(tail, r * r, r + 1.0f);
  const int whole = (int)n;
  const int half_scale = whole >> 1;
  return power * as_float((half_scale + 127) << 23) * as_float((whole - half_scale + 127) << 23);
}

// Compilers do not inline it everywhere by themselves, since it is long.
static inline float __attribute__((always_inline)) pow_f32(const float x, const float y) {
  const float size = fabs(x);
  const bool tiny = size < 0x1p-126f;
  const int bits = as_int(tiny ? size * 0x1p25f : size) + (0x3f800000 - 0x3f3504f3);
  const float k = (float)((bits >> 23) - 127 - (tiny ? 25 : 0));
  const float f = as_float((bits & 0x007fffff) + 0x3f3504f3) - 1.0f;

  // s and the remainder of the division.
  const float divisor = 2.0f + f;
  const float divisor_low = f - (divisor - 2.0f);
  const float inverse = 1.0f / divisor;
  const float s = f * inverse;
  const float s_low = fma(-s, divisor_low, fma(-s, divisor, f)) * inverse;
  const float z = s * s;
  float series = fma(z, 1.0f / 11.0f, 1.0f / 9.0f);
  series = fma(series, z, 1.0f / 7.0f);
  series = fma(series, z, 1.0f / 5.0f);
  series = fma(series, z, 1.0f / 3.0f);
  const float rest = fma(s * z, series, s_low);
  const float sum = s + rest;
  const float sum_low = rest - (sum - s);

  // Times 2/ln 2, plus k, times y.
  const float scaled = sum * 0x1.715476p+1f;
  const float scaled_low =
      fma(sum, 0x1.715476p+1f, -scaled) + fma(sum, 0x1.4ae0cp-25f, sum_low * 0x1.715476p+1f);
  const float log_high = k + scaled;
  const float log_low = scaled - (log_high - k) + scaled_low;
  const float product = log_high * y;
  const float product_low = fma(log_high, y, -product) + log_low * y;
  const bool huge = !(fabs(product) < 160.0f);
  const float finite =
      power_of_2(huge ? copysign(160.0f, product) : product, huge ? 0.0f : product_low);

  const bool infinite_exponent = fabs(y) == INFINITY;
  const bool grows = (size > 1.0f) == (y > 0.0f);
  const float edge = size == 1.0f ? 1.0f : grows ? INFINITY : 0.0f;
  const float magnitude = infinite_exponent || size == 0.0f || size == INFINITY ? edge : finite;
  // From 2^24 on every float is an even integer, like 0.
  const float exponent = fabs(y) < 0x1p24f ? y : 0.0f;
  const int integer = (int)exponent;
  const bool whole = (float)integer == exponent;
  const bool odd = whole && (integer & 1) != 0;
  const float with_sign = as_int(x) < 0 && odd ? -magnitude : magnitude;
  const float result = x < 0.0f && x > -INFINITY && !whole ? NAN : with_sign;
  const float number = x != x || y != y ? NAN : result;
  return y == 0.0f || x == 1.0f ? 1.0f : number;
}
