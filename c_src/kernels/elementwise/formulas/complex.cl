// Operations on complex numbers, float2 of a real and an imaginary part.
//
//   OP(name)  the function's name, which includes the type
//
// Edge rules: products follow from the parts by IEEE 754, so that one of infinities may be NaN;
// quotients do not overflow on the way, and dividing by 0 gives NaN.

#include "kernels/common/fp_contract_off.h"

static inline float2 OP(identity)(float2 x) { return x; }
static inline float2 OP(fill)(float2 value) { return value; }
static inline float2 OP(select)(uchar condition, float2 yes, float2 no) {
  return condition != 0 ? yes : no;
}

static inline float2 OP(add)(float2 a, float2 b) { return a + b; }
static inline float2 OP(sub)(float2 a, float2 b) { return a - b; }
static inline float2 OP(mul)(float2 a, float2 b) {
  return (float2)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Smith's algorithm (1962): divides by the larger part of the divisor first.
static inline float2 OP(div)(float2 a, float2 b) {
  const bool real = fabs(b.x) >= fabs(b.y);
  const float large = real ? b.x : b.y;
  const float ratio = (real ? b.y : b.x) / large;
  const float scale = large + (real ? b.y : b.x) * ratio;
  const float x = real ? a.x + a.y * ratio : a.x * ratio + a.y;
  const float y = real ? a.y - a.x * ratio : a.y * ratio - a.x;
  return (float2)(x / scale, y / scale);
}

static inline float2 OP(neg)(float2 x) { return -x; }
static inline float2 OP(conjugate)(float2 x) { return (float2)(x.x, -x.y); }
static inline float OP(real)(float2 x) { return x.x; }
static inline float OP(imag)(float2 x) { return x.y; }
static inline float OP(complex_abs)(float2 x) { return hypot(x.x, x.y); }
static inline float OP(complex_angle)(float2 x) { return atan2(x.y, x.x); }
static inline float2 OP(complex)(float real, float imag) { return (float2)(real, imag); }
