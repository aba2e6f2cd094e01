// Conversion between any two element types of models, given by their numbers in ONNX.
//
// Edge rules: floats to integers truncate and saturate, NaN becomes 0; integers to integers keep
// the low bits; to bool everything but 0 is 1; to f16 and bf16 values are rounded to nearest even,
// though they stay stored as f32.
//
//   REAL         the widest float of the device
//   HAS_DOUBLE   whether that is double; if not, f64 is converted by its bits
//
// Private, because models store narrow element types in wider ones, see
// model/graph/element_type.hpp, so that a conversion to one has to round or wrap, and because the
// host compiles it for constant folding.
#pragma once

#include "kernels/model/walk.cl"
#if !HAS_DOUBLE
#include "kernels/model/double_bits.cl"
#endif

#define F32 1
#define U8 2
#define I8 3
#define U16 4
#define I16 5
#define I32 6
#define I64 7
#define BOOL 9
#define F16 10
#define F64 11
#define U32 12
#define U64 13
#define BF16 16

// The names as_half and convert_half are OpenCL's own on devices that compute with halves.
static inline float half_near(float x) {
  const float size = fabs(x);
  if (!(size < 65520.0f)) return size != size ? x : (x > 0.0f ? INFINITY : -INFINITY);
  if (size < 0x1p-14f) return rint(x * 0x1p24f) * 0x1p-24f;
  const uint bits = as_uint(x);
  return as_float((bits + 0xfff + ((bits >> 13) & 1)) & ~0x1fffu);
}

static inline float brain_float_near(float x) {
  if (x != x) return x;
  const uint bits = as_uint(x);
  return as_float((bits + 0x7fff + ((bits >> 16) & 1)) & ~0xffffu);
}

static inline long saturated(REAL x, REAL lowest, REAL highest) {
  if (x != x) return 0;
  return x <= lowest ? (long)lowest : (x >= highest ? (long)highest : (long)x);
}

static inline long integer_of(int to, REAL x) {
  switch (to) {
    case U8: return saturated(x, 0, 255);
    case I8: return saturated(x, -128, 127);
    case U16: return saturated(x, 0, 65535);
    case I16: return saturated(x, -32768, 32767);
    case U32: return saturated(x, 0, 4294967295.0f) & 0xffffffffL;
    case I32: return x >= (REAL)0x1p31f ? 0x7fffffffL : saturated(x, (REAL)-0x1p31f, (REAL)0x1p31f);
    case U64:
      if (!(x > 0)) return 0;
      return x >= (REAL)0x1p64f ? -1L : (long)(ulong)x;
    default:
      if (x != x) return 0;
      if (x >= (REAL)0x1p63f) return 0x7fffffffffffffffL;
      return x <= (REAL)-0x1p63f ? -0x7fffffffffffffffL - 1 : (long)x;
  }
}

#if !HAS_DOUBLE
static inline long integer_of_double(int to, ulong bits) {
  switch (to) {
    case U8: return integer_of_bits(bits, 0, 0xff);
    case I8: return integer_of_bits(bits, 0x80, 0x7f);
    case U16: return integer_of_bits(bits, 0, 0xffff);
    case I16: return integer_of_bits(bits, 0x8000, 0x7fff);
    case U32: return integer_of_bits(bits, 0, 0xffffffffUL);
    case I32: return integer_of_bits(bits, 0x80000000UL, 0x7fffffffUL);
    case U64: return integer_of_bits(bits, 0, ~0UL);
    default: return integer_of_bits(bits, 1UL << 63, ~0UL >> 1);
  }
}

static inline ulong double_of_integer(int from, long n) {
  const bool negative = from != U64 && n < 0;
  return bits_of_integer(negative ? 0 - (ulong)n : (ulong)n, negative);
}
#endif

static inline void store(__global uchar *out, long i, int to, bool real, REAL x, float narrow,
                         long n) {
  switch (to) {
    case F32: ((__global float *)out)[i] = narrow; return;
    case F16: ((__global float *)out)[i] = half_near(narrow); return;
    case BF16: ((__global float *)out)[i] = brain_float_near(narrow); return;
#if HAS_DOUBLE
    case F64: ((__global double *)out)[i] = x; return;
#endif
    case BOOL: out[i] = real ? x != (REAL)0 : n != 0; return;
    default: break;
  }
  const long value = real ? integer_of(to, x) : n;
  switch (to) {
    case U8: out[i] = (uchar)value; return;
    case I8: ((__global int *)out)[i] = (char)value; return;
    case I16: ((__global int *)out)[i] = (short)value; return;
    case I32: ((__global int *)out)[i] = (int)value; return;
    case U16: ((__global uint *)out)[i] = (ushort)value; return;
    case U32: ((__global uint *)out)[i] = (uint)value; return;
    default: ((__global long *)out)[i] = value; return;
  }
}

__kernel void convert(__global const uchar *in, __global uchar *out, const int from, const int to,
                      const Walk walk) {
  const long end = LAST_OF(walk);
  for (long i = FIRST_OF(walk); i < end; ++i) {
    bool real = false;
    REAL x = 0;
    long n = 0;
#if !HAS_DOUBLE
    if (from == F64) {
      const ulong bits = ((__global const ulong *)in)[i];
      const bool to_integer = to != F32 && to != F16 && to != BF16 && to != BOOL;
      const long integer = to_integer ? integer_of_double(to, bits) : !bits_are_zero(bits);
      const float narrow = float_of_bits(bits);
      store(out, i, to, !to_integer && to != BOOL, narrow, narrow, integer);
      continue;
    }
#endif
    switch (from) {
      case F32:
      case F16:
      case BF16:
        real = true;
        x = ((__global const float *)in)[i];
        break;
#if HAS_DOUBLE
      case F64:
        real = true;
        x = ((__global const double *)in)[i];
        break;
#endif
      case U8:
      case BOOL: n = in[i]; break;
      case I8:
      case I16:
      case I32: n = ((__global const int *)in)[i]; break;
      case U16:
      case U32: n = ((__global const uint *)in)[i]; break;
      default: n = ((__global const long *)in)[i]; break;
    }
    // Integers are rounded to float once, not by way of a double.
    float narrow = (float)x;
    if (!real) {
      x = from == U64 ? (REAL)(ulong)n : (REAL)n;
      narrow = from == U64 ? (float)(ulong)n : (float)n;
    }
#if !HAS_DOUBLE
    if (to == F64) {
      ((__global ulong *)out)[i] = real ? bits_of_float(narrow) : double_of_integer(from, n);
      continue;
    }
#endif
    store(out, i, to, real, x, narrow, n);
  }
}

#undef F32
#undef U8
#undef I8
#undef U16
#undef I16
#undef I32
#undef I64
#undef BOOL
#undef F16
#undef F64
#undef U32
#undef U64
#undef BF16
