// Floats of 16 bits, which are a ushort in memory and a float wherever they are computed with: f16
// is IEEE 754 binary16, bf16 the upper half of a float. Numbers are rounded to nearest, halves to
// even; what is beyond the largest becomes infinite, and NaN stays NaN.
//
// CPUs compute the bits of an f16 in arithmetic that the compiler vectorises, which is as fast as
// memory; the builtin functions of some drivers are calls for each number. Their floats have
// subnormal numbers, as this needs.
#pragma once

#if CPU_CLASS

static inline float float_of_f16(const ushort stored) {
  const uint bits = (uint)(stored & 0x7fff) << 13;
  const uint sign = (uint)(stored & 0x8000) << 16;
  // The exponent has another bias; multiplying by the ratio is right for subnormal numbers too.
  const float scaled = as_float(bits) * 0x1p112f;
  const uint special = bits >= 0x0f800000u ? 0x7f800000u : 0u;
  return as_float(as_uint(scaled) | special | sign);
}

static inline ushort f16_of_float(const float x) {
  const uint sign = (as_uint(x) >> 16) & 0x8000u;
  const uint bits = as_uint(x) & 0x7fffffffu;
  const uint normal = (bits + (0xc8000fffu + ((bits >> 13) & 1u))) >> 13;
  // Adding 1/2 leaves a multiple of 2^-24, the step of subnormal numbers, in the last digits.
  const uint subnormal = as_uint(as_float(bits) + 0.5f) - 0x3f000000u;
  const uint special = bits > 0x7f800000u ? 0x7e00u : 0x7c00u;
  const uint finite = bits < 0x38800000u ? subnormal : normal;
  return (ushort)((bits >= 0x477ff000u ? special : finite) | sign);
}

#else

static inline float float_of_f16(const ushort stored) {
  return vload_half(0, (const __private half *)&stored);
}

static inline ushort f16_of_float(const float x) {
  ushort stored;
  vstore_half_rte(x, 0, (__private half *)&stored);
  return stored;
}

#endif

static inline float float_of_bf16(const ushort stored) { return as_float((uint)stored << 16); }

static inline ushort bf16_of_float(const float x) {
  const uint bits = as_uint(x);
  const uint rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint nan = (bits >> 16) | 0x40u;
  return (ushort)((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

// A number with more digits than a float has, as a float whose last digit is 1 where digits are
// lost: rounding it once more gives what rounding the number would.
static inline float sticky_float_of_ulong(const ulong x) {
  const uint digits = 64 - (uint)clz(x);
  const uint dropped = digits > 24 ? digits - 24 : 0;
  const ulong rest = x & (((ulong)1 << dropped) - 1);
  return (float)(((x >> dropped) | (rest != 0 ? 1 : 0)) << dropped);
}
static inline float sticky_float_of_long(const long x) {
  const float size = sticky_float_of_ulong(x < 0 ? (ulong)0 - (ulong)x : (ulong)x);
  return x < 0 ? -size : size;
}
#ifdef cl_khr_fp64
static inline float sticky_float_of_double(const double x) {
  const float nearest = (float)x;
  const double back = (double)nearest;
  const uint inexact = (as_uint(nearest) - (fabs(back) > fabs(x) ? 1u : 0u)) | 1u;
  return x != x || back == x ? nearest : as_float(inexact);
}
#endif
