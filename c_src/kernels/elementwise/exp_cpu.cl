// e to the power of x for x <= 0, on CPUs, in place of the builtin exp for f32: without branches or
// tables, and without what only larger numbers need, so that the loops around it vectorise well.
//
//   T_BITS      32 for float, 64 for double
//
// With x = k * ln 2 + r, |r| <= ln 2 / 2, the result is a polynomial in r (Cephes) with k added to
// its exponent; the error is below one unit in the last place.
//
// Edge rules: 0 below -87, where results would soon be denormal. Preconditions: x <= 0; what NaN
// gives is not defined.

#if T_BITS == 32

#define EXP_BELOW_0 exp_below_0

static inline float exp_below_0(float x) {
  // Adding this leaves no room for digits after the point, and the whole number in the low bits.
  const float shifted = x * 1.44269504088896341f + 0x1.8p23f;
  const float k = shifted - 0x1.8p23f;
  const float r = (x - k * 0.693359375f) + k * 2.12194440e-4f;
  const float tail =
      ((((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f) *
           r +
       1.6666665459e-1f) *
          r +
      5.0000001201e-1f;
  const float power = tail * (r * r) + (r + 1.0f);
  const float result = as_float(as_uint(power) + (as_uint(shifted) << 23));
  return x < -87.0f ? 0.0f : result;
}

#else

#define EXP_BELOW_0 exp

#endif
