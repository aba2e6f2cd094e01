// Numbers of a distribution from a block of four random words.
//
//   uniform   a + u * b, at most c, u being 24 (f32) or 53 (f64) bits over 2^24 or 2^53
//   normal    a + b * z, z being sqrt(-2 ln u) times cos and sin of a random angle (Box-Muller)
//   integer   a + floor(u * (b + 1)), u being 64 bits over 2^64 for types of up to 32 bits, and 128
//             over 2^128 for others, so that no result is likelier than another by more than 2^-32
//             of its share
//
//   T, T_FLOAT, T_BITS   the element type, see ops.cl
//   PER_BLOCK            numbers of a block: 4, 2 or 1
//   LANES                see philox.cl
//
// Every operation is one whose result IEEE 754 prescribes, the square root and the division of
// floats on some GPUs excepted, so all devices give the same numbers.
#pragma once

#include "kernels/common/fp_contract_off.h"
#include "kernels/random/philox.cl"

#if LANES == 1
#define ELEMENTS T
#define INTS int
#define LONGS long
#else
#define ELEMENTS PASTE(T, LANES)
#define INTS PASTE(int, LANES)
#define LONGS PASTE(long, LANES)
#endif

typedef struct Drawn {
  ELEMENTS x[PER_BLOCK];
} Drawn;

#define WIDE(low, high) (CONVERT(low, ULONGS) | CONVERT(high, ULONGS) << (ULONGS)32)

#if T_FLOAT && T_BITS == 32

static inline ELEMENTS uniform_of(const UINTS word, const T a, const T b, const T c) {
  const ELEMENTS u = CONVERT(word >> (UINTS)8, ELEMENTS) * (ELEMENTS)0x1p-24f;
  return fmin(fma(u, (ELEMENTS)b, (ELEMENTS)a), (ELEMENTS)c);
}

static inline Drawn draw_uniform(const Words w, const T a, const T b, const T c) {
  Drawn drawn;
  drawn.x[0] = uniform_of(w.w0, a, b, c);
  drawn.x[1] = uniform_of(w.w1, a, b, c);
  drawn.x[2] = uniform_of(w.w2, a, b, c);
  drawn.x[3] = uniform_of(w.w3, a, b, c);
  return drawn;
}

// -2 ln u for u = (word + 0.5) / 2^32. Near 1, 1 - u is converted instead of u, which preserves its
// digits. The polynomial is that of Cephes.
#if LANES == 1
#define AS_INTS as_int
#define AS_ELEMENTS as_float
#else
#define AS_INTS PASTE(as_int, LANES)
#define AS_ELEMENTS PASTE(as_float, LANES)
#endif

static inline ELEMENTS minus_two_log(const UINTS word) {
  const ELEMENTS u = fma(CONVERT(word, ELEMENTS), (ELEMENTS)0x1p-32f, (ELEMENTS)0x1p-33f);
  const INTS bits = AS_INTS(u) + (0x3f800000 - 0x3f3504f3);
  const ELEMENTS k = CONVERT((bits >> 23) - 127, ELEMENTS);
  const ELEMENTS rest = AS_ELEMENTS((bits & 0x007fffff) + 0x3f3504f3) - (ELEMENTS)1.0f;
  const ELEMENTS near = -fma(CONVERT(~word, ELEMENTS), (ELEMENTS)0x1p-32f, (ELEMENTS)0x1p-33f);
  const ELEMENTS f = k == (ELEMENTS)0.0f && word > (UINTS)0xb504f333u ? near : rest;
  const ELEMENTS z = f * f;
  ELEMENTS p = (ELEMENTS)7.0376836292e-2f;
  p = fma(p, f, (ELEMENTS)-1.1514610310e-1f);
  p = fma(p, f, (ELEMENTS)1.1676998740e-1f);
  p = fma(p, f, (ELEMENTS)-1.2420140846e-1f);
  p = fma(p, f, (ELEMENTS)1.4249322787e-1f);
  p = fma(p, f, (ELEMENTS)-1.6668057665e-1f);
  p = fma(p, f, (ELEMENTS)2.0000714765e-1f);
  p = fma(p, f, (ELEMENTS)-2.4999993993e-1f);
  p = fma(p, f, (ELEMENTS)3.3333331174e-1f);
  p = p * f * z;
  p = fma(k, (ELEMENTS)-2.12194440e-4f, p);
  p = fma(z, (ELEMENTS)-0.5f, p);
  const ELEMENTS log = fma(k, (ELEMENTS)0.693359375f, f + p);
  return fmax((ELEMENTS)-2.0f * log, (ELEMENTS)0.0f);
}

// The upper two bits of `word` select a quarter of the circle; the others are an angle t of -1/2 to
// 1/2 of a quarter, relative to its start.
static inline void circle(const UINTS word, ELEMENTS *cosine, ELEMENTS *sine) {
  const ELEMENTS t = CONVERT(AS_INTS(word << (UINTS)2), ELEMENTS) * (ELEMENTS)(0x1p-32f);
  const ELEMENTS x = t * (ELEMENTS)1.57079632679489661923f;
  const ELEMENTS z = x * x;
  ELEMENTS s = (ELEMENTS)-1.9515295891e-4f;
  s = fma(s, z, (ELEMENTS)8.3321608736e-3f);
  s = fma(s, z, (ELEMENTS)-1.6666654611e-1f);
  s = fma(s * z, x, x);
  ELEMENTS c = (ELEMENTS)2.443315711809948e-5f;
  c = fma(c, z, (ELEMENTS)-1.388731625493765e-3f);
  c = fma(c, z, (ELEMENTS)4.166664568298827e-2f);
  c = fma(c * z, z, fma(z, (ELEMENTS)-0.5f, (ELEMENTS)1.0f));
  const INTS quarter = AS_INTS(word >> (UINTS)30);
  const ELEMENTS across = (quarter & 1) != (INTS)0 ? s : c;
  const ELEMENTS up = (quarter & 1) != (INTS)0 ? c : s;
  *cosine = quarter == (INTS)1 || quarter == (INTS)2 ? -across : across;
  *sine = quarter >= (INTS)2 ? -up : up;
}

static inline void normal_pair(const UINTS first, const UINTS second, const T a, const T b,
                               ELEMENTS *x, ELEMENTS *y) {
  ELEMENTS cosine, sine;
  circle(second, &cosine, &sine);
  const ELEMENTS radius = sqrt(minus_two_log(first)) * (ELEMENTS)b;
  *x = fma(radius, cosine, (ELEMENTS)a);
  *y = fma(radius, sine, (ELEMENTS)a);
}

static inline Drawn draw_normal(const Words w, const T a, const T b, const T c) {
  Drawn drawn;
  normal_pair(w.w0, w.w1, a, b, drawn.x, drawn.x + 1);
  normal_pair(w.w2, w.w3, a, b, drawn.x + 2, drawn.x + 3);
  return drawn;
}

#elif T_FLOAT

static inline ELEMENTS uniform_of(const ULONGS bits, const T a, const T b, const T c) {
  const ELEMENTS u = CONVERT(bits >> (ULONGS)11, ELEMENTS) * (ELEMENTS)0x1p-53;
  return fmin(fma(u, (ELEMENTS)b, (ELEMENTS)a), (ELEMENTS)c);
}

static inline Drawn draw_uniform(const Words w, const T a, const T b, const T c) {
  Drawn drawn;
  drawn.x[0] = uniform_of(WIDE(w.w0, w.w1), a, b, c);
  drawn.x[1] = uniform_of(WIDE(w.w2, w.w3), a, b, c);
  return drawn;
}

#if LANES == 1
#define AS_LONGS as_long
#define AS_ELEMENTS as_double
#else
#define AS_LONGS PASTE(as_long, LANES)
#define AS_ELEMENTS PASTE(as_double, LANES)
#endif

// As for floats; the polynomial is that of fdlibm, see log_cpu.cl.
static inline ELEMENTS minus_two_log(const ULONGS word) {
  const ELEMENTS u = fma(CONVERT(word, ELEMENTS), (ELEMENTS)0x1p-64, (ELEMENTS)0x1p-65);
  const LONGS bits = AS_LONGS(u) + (0x3ff0000000000000L - 0x3fe6a09e00000000L);
  const ELEMENTS k = CONVERT((bits >> 52) - 1023, ELEMENTS);
  const ELEMENTS rest =
      AS_ELEMENTS((bits & 0x000fffffffffffffL) + 0x3fe6a09e00000000L) - (ELEMENTS)1.0;
  const ELEMENTS near = -fma(CONVERT(~word, ELEMENTS), (ELEMENTS)0x1p-64, (ELEMENTS)0x1p-65);
  const ELEMENTS f = k == (ELEMENTS)0.0 && word > (ULONGS)0xb504f333f9de6484UL ? near : rest;
  const ELEMENTS s = f / ((ELEMENTS)2.0 + f);
  const ELEMENTS z = s * s, w = z * z;
  ELEMENTS even = fma(w, (ELEMENTS)1.531383769920937332e-01, (ELEMENTS)2.222219843214978396e-01);
  even = w * fma(w, even, (ELEMENTS)3.999999999940941908e-01);
  ELEMENTS odd = fma(w, (ELEMENTS)1.479819860511658591e-01, (ELEMENTS)1.818357216161805012e-01);
  odd = fma(w, odd, (ELEMENTS)2.857142874366239149e-01);
  odd = z * fma(w, odd, (ELEMENTS)6.666666666666735130e-01);
  const ELEMENTS square = (ELEMENTS)0.5 * f * f;
  const ELEMENTS low = fma(k, (ELEMENTS)1.90821492927058770002e-10, s * (square + even + odd));
  const ELEMENTS log = fma(k, (ELEMENTS)6.93147180369123816490e-01, low - square + f);
  return fmax((ELEMENTS)-2.0 * log, (ELEMENTS)0.0);
}

// As for floats, with the series of sine and cosine, whose last terms are below 2^-60 here.
static inline void circle(const ULONGS word, ELEMENTS *cosine, ELEMENTS *sine) {
  const ELEMENTS t = CONVERT(AS_LONGS(word << (ULONGS)2), ELEMENTS) * (ELEMENTS)0x1p-64;
  const ELEMENTS x = t * (ELEMENTS)1.57079632679489661923;
  const ELEMENTS z = x * x;
  ELEMENTS s = (ELEMENTS)2.8114572543455206e-15;     // 1 / 17!
  s = fma(s, z, (ELEMENTS)-7.6471637318198164e-13);  // -1 / 15!
  s = fma(s, z, (ELEMENTS)1.6059043836821613e-10);
  s = fma(s, z, (ELEMENTS)-2.5052108385441720e-08);
  s = fma(s, z, (ELEMENTS)2.7557319223985893e-06);
  s = fma(s, z, (ELEMENTS)-1.9841269841269841e-04);
  s = fma(s, z, (ELEMENTS)8.3333333333333333e-03);
  s = fma(s, z, (ELEMENTS)-1.6666666666666667e-01);
  s = fma(s * z, x, x);
  ELEMENTS c = (ELEMENTS)-1.5619206968586226e-16;   // -1 / 18!
  c = fma(c, z, (ELEMENTS)4.7794773323873853e-14);  // 1 / 16!
  c = fma(c, z, (ELEMENTS)-1.1470745597729725e-11);
  c = fma(c, z, (ELEMENTS)2.0876756987868099e-09);
  c = fma(c, z, (ELEMENTS)-2.7557319223985888e-07);
  c = fma(c, z, (ELEMENTS)2.4801587301587302e-05);
  c = fma(c, z, (ELEMENTS)-1.3888888888888889e-03);
  c = fma(c, z, (ELEMENTS)4.1666666666666667e-02);
  c = fma(c * z, z, fma(z, (ELEMENTS)-0.5, (ELEMENTS)1.0));
  const LONGS quarter = AS_LONGS(word >> (ULONGS)62);
  const ELEMENTS across = (quarter & 1) != (LONGS)0 ? s : c;
  const ELEMENTS up = (quarter & 1) != (LONGS)0 ? c : s;
  *cosine = quarter == (LONGS)1 || quarter == (LONGS)2 ? -across : across;
  *sine = quarter >= (LONGS)2 ? -up : up;
}

static inline Drawn draw_normal(const Words w, const T a, const T b, const T c) {
  Drawn drawn;
  ELEMENTS cosine, sine;
  circle(WIDE(w.w2, w.w3), &cosine, &sine);
  const ELEMENTS radius = sqrt(minus_two_log(WIDE(w.w0, w.w1))) * (ELEMENTS)b;
  drawn.x[0] = fma(radius, cosine, (ELEMENTS)a);
  drawn.x[1] = fma(radius, sine, (ELEMENTS)a);
  return drawn;
}

#elif T_BITS == 64

// The sum of a product's upper half and `more` does not overflow: a * b + more < 2^128.
static inline ULONGS upper(const ULONGS a, const ULONGS b, const ULONGS more) {
  const ULONGS low = a * b, sum = low + more;
  const ULONGS carry = ((low & more) | ((low | more) & ~sum)) >> (ULONGS)63;
  return mul_hi(a, b) + carry;
}

static inline Drawn draw_integer(const Words w, const long a, const long b, const long c) {
  Drawn drawn;
  const ULONGS low = WIDE(w.w0, w.w1), high = WIDE(w.w2, w.w3);
  const ulong range = (ulong)b + 1;
  const ULONGS drawn_high = upper(high, (ULONGS)range, mul_hi(low, (ULONGS)range));
  drawn.x[0] = CONVERT((range == 0 ? high : drawn_high) + (ULONGS)(ulong)a, ELEMENTS);
  return drawn;
}

#else

static inline ELEMENTS integer_of(const UINTS low, const UINTS high, const ulong range,
                                  const ulong a) {
  const ULONGS carry = CONVERT(low, ULONGS) * (ULONGS)range >> (ULONGS)32;
  const ULONGS drawn = (CONVERT(high, ULONGS) * (ULONGS)range + carry) >> (ULONGS)32;
  return CONVERT(drawn + (ULONGS)a, ELEMENTS);
}

static inline Drawn draw_integer(const Words w, const long a, const long b, const long c) {
  Drawn drawn;
  drawn.x[0] = integer_of(w.w0, w.w1, (ulong)b + 1, (ulong)a);
  drawn.x[1] = integer_of(w.w2, w.w3, (ulong)b + 1, (ulong)a);
  return drawn;
}

#endif
