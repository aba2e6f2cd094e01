// e to the power of x for CPUs, in place of the builtin one for f32: without branches or tables, so
// that the loops around it vectorise well.
//
//   T_BITS      32 for float, 64 for double
//
// With x = k * ln 2 + r, |r| <= ln 2 / 2, the result is 2^k times a polynomial in r (Cephes); the
// error is below two units in the last place. The power of two is applied in halves, so that
// results may be denormal.
//
// Edge rules: infinity above the range, 0 below it, NaN for NaN. No preconditions.

#if T_BITS == 32

#define VECTOR_EXP exp_f32

static inline float exp_f32(float x) {
  const float bounded = x < -105.0f ? -105.0f : x > 89.0f ? 89.0f : x;
  // Adding this leaves no room for digits after the point, and the whole number in the low bits.
  const float shifted = bounded * 1.44269504088896341f + 0x1.8p23f;
  const float k = shifted - 0x1.8p23f;
  const float r = (bounded - k * 0.693359375f) + k * 2.12194440e-4f;
  const float tail =
      ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) *
           r +
       1.6666665459e-1f) *
          r +
      5.0000001201e-1f;
  const float power = tail * (r * r) + r + 1.0f;
  const uint whole = as_uint(shifted) - 0x4b400000u;
  const uint half_of_it = (uint)((int)whole >> 1);
  return power * as_float((half_of_it + 127) << 23) * as_float((whole - half_of_it + 127) << 23);
}

#else

#define VECTOR_EXP exp

#endif
