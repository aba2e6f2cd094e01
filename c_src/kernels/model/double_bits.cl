// Conversions to and from doubles for devices without double precision, on the bits of IEEE 754
// binary64: 1 of sign, 11 of exponent (bias 1023), 52 of significand. Results are those of a device
// that has doubles. Private, because only convert.cl needs them.
#pragma once

#define EXPONENT_OF_BITS(bits) ((int)((bits) >> 52) & 0x7ff)
#define SIGNIFICAND_OF_BITS(bits) ((bits)&0xfffffffffffffUL)

static inline bool bits_are_nan(ulong bits) {
  return EXPONENT_OF_BITS(bits) == 0x7ff && SIGNIFICAND_OF_BITS(bits) != 0;
}

static inline bool bits_are_zero(ulong bits) { return (bits << 1) == 0; }

// bits / 2^count, rounded to nearest, ties to even; count is 1 to 63.
static inline ulong rounded_shift(ulong bits, int count) {
  const ulong kept = bits >> count;
  const ulong rest = bits & ((1UL << count) - 1);
  const ulong half_unit = 1UL << (count - 1);
  return kept + (rest > half_unit || (rest == half_unit && (kept & 1) != 0) ? 1 : 0);
}

static inline float float_of_bits(ulong bits) {
  const uint sign = (uint)(bits >> 32) & 0x80000000u;
  const int exponent = EXPONENT_OF_BITS(bits) - 1023 + 127;  // as a float has it
  const ulong significand = SIGNIFICAND_OF_BITS(bits) | (1UL << 52);
  if (bits_are_nan(bits)) return as_float(sign | 0x7fc00000u);
  if (exponent >= 255) return as_float(sign | 0x7f800000u);
  // A carry out of the significand raises the exponent, up to that of infinity.
  if (exponent > 0) {
    return as_float((sign | ((uint)(exponent - 1) << 23)) + (uint)rounded_shift(significand, 29));
  }
  // Subnormal floats are multiples of 2^-149. Subnormal doubles lie far below half of that.
  if (exponent < -24) return as_float(sign);
  return as_float(sign | (uint)rounded_shift(significand, 30 - exponent));
}

static inline ulong bits_of_float(float x) {
  const uint bits = as_uint(x);
  const ulong sign = (ulong)(bits & 0x80000000u) << 32;
  int exponent = (int)(bits >> 23) & 0xff;
  uint significand = bits & 0x7fffffu;
  if (exponent == 0xff) return sign | 0x7ff0000000000000UL | ((ulong)significand << 29);
  if (exponent == 0) {
    if (significand == 0) return sign;
    const int shift = (int)clz(significand) - 8;
    significand = (significand << shift) & 0x7fffffu;
    exponent = 1 - shift;
  }
  return sign | ((ulong)(exponent + 1023 - 127) << 52) | ((ulong)significand << 29);
}

// Truncates towards zero and saturates: at most `highest`, at least -`lowest`; NaN becomes 0.
static inline long integer_of_bits(ulong bits, ulong lowest, ulong highest) {
  if (bits_are_nan(bits)) return 0;
  const int exponent = EXPONENT_OF_BITS(bits) - 1023;
  const ulong significand = SIGNIFICAND_OF_BITS(bits) | (1UL << 52);
  ulong size = 0;
  if (exponent > 63) {
    size = ~0UL;
  } else if (exponent >= 52) {
    size = significand << (exponent - 52);
  } else if (exponent >= 0) {
    size = significand >> (52 - exponent);
  }
  if ((bits >> 63) != 0) return (long)(0 - (size < lowest ? size : lowest));
  return (long)(size < highest ? size : highest);
}

static inline ulong bits_of_integer(ulong size, bool negative) {
  if (size == 0) return 0;
  const int zeros = (int)clz(size);
  const ulong sign = negative ? 1UL << 63 : 0;
  // The leading bit of the significand, bit 52, adds one to the exponent.
  return sign + ((ulong)(1023 + 62 - zeros) << 52) + rounded_shift(size << zeros, 11);
}

#undef EXPONENT_OF_BITS
#undef SIGNIFICAND_OF_BITS
