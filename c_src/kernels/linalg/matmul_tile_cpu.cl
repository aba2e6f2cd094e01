// One tile of a matrix product, as a function NAME that matmul_cpu.cl calls:
// out[0..height)[0..width) = activation(bias + a * b), or a * b added to the values in out.
//
//   a          rows `row_step` elements apart, of which `depth` elements `a_step` apart are used;
//              elements of A_TYPE in A_SPACE
//   b          rows of VECTORS vectors, `b_step` elements apart, in SPACE
//   out        rows n elements apart
//   bias       of these columns, used when has_bias and not `add`
//   low, high  bounds of the activation, used when `last`
//
//   VECTORS    vectors of a row of b: 2 or 3
//
// The sums are TILE_ROWS x VECTORS separate vector variables, since compilers keep these in
// registers; each step multiplies TILE_ROWS broadcast elements of a with VECTORS vectors of b. Edge
// rule: rows past the end repeat the last one; they and columns past the end are not stored.

#include "kernels/linalg/product.cl"
#include "kernels/linalg/vectors_cpu.cl"

#if VECTORS == 3
#define FOR_VECTORS(DO, r) DO(r, 0) DO(r, 1) DO(r, 2)
#else
#define FOR_VECTORS(DO, r) DO(r, 0) DO(r, 1)
#endif

static inline void NAME(A_SPACE const A_TYPE *a, const long row_step, const long a_step,
                        const int depth, SPACE const ACC *b, const long b_step, __global T *out,
                        const long n, const int height, const int width, __global const T *bias,
                        const bool has_bias, const bool add, const bool last, const T low,
                        const T high) {
#define ROW_POINTER(r) A_SPACE const A_TYPE *a##r = a + min(r, height - 1) * row_step;
#define ZERO(r, v) VECTOR sum##r##_##v = (VECTOR)(0);
#define SUMS(r) FOR_VECTORS(ZERO, r)
  FOR_ROWS(ROW_POINTER)
  FOR_ROWS(SUMS)
#undef SUMS
#undef ZERO
#undef ROW_POINTER

#define ELEMENTS(unused, v) const VECTOR elements##v = LOAD(b + v * LANES);
#define PRODUCT(r, v) sum##r##_##v = MULTIPLY_ADD(factor, elements##v, sum##r##_##v);
#define ROW_STEP(r)                                \
  {                                                \
    const VECTOR factor = (VECTOR)((ACC)a##r[at]); \
    FOR_VECTORS(PRODUCT, r)                        \
  }
#define STEP                 \
  {                          \
    FOR_VECTORS(ELEMENTS, 0) \
    FOR_ROWS(ROW_STEP)       \
    b += b_step;             \
    at += a_step;            \
  }
  long at = 0;
  int p = 0;
  for (; p + 4 <= depth; p += 4) {
    STEP
    STEP
    STEP
    STEP
  }
  for (; p < depth; ++p) STEP
#undef STEP
#undef ROW_STEP
#undef PRODUCT
#undef ELEMENTS

#if ROUND_TRIP
  if (height == TILE_ROWS && width == VECTORS * LANES) {
    __global ACC *to = (__global ACC *)out;
    if (add) {
#define ADD(r, v) sum##r##_##v += LOAD(to + r * n + v * LANES);
#define ADD_ROW(r) FOR_VECTORS(ADD, r)
      FOR_ROWS(ADD_ROW)
#undef ADD_ROW
#undef ADD
    } else if (has_bias) {
#define OWN(unused, v) const VECTOR own##v = LOAD((__global const ACC *)bias + v * LANES);
#define ADD(r, v) sum##r##_##v += own##v;
#define ADD_ROW(r) FOR_VECTORS(ADD, r)
      FOR_VECTORS(OWN, 0)
      FOR_ROWS(ADD_ROW)
#undef ADD_ROW
#undef ADD
#undef OWN
    }
    if (last) {
      const T_VECTOR least = (T_VECTOR)(low), most = (T_VECTOR)(high);
#define BOUND(r, v) sum##r##_##v = AS_ACC(BOUNDED(AS_T(sum##r##_##v), least, most));
#define BOUND_ROW(r) FOR_VECTORS(BOUND, r)
      FOR_ROWS(BOUND_ROW)
#undef BOUND_ROW
#undef BOUND
    }
#define PUT(r, v) STORE(sum##r##_##v, to + r * n + v * LANES);
#define PUT_ROW(r) FOR_VECTORS(PUT, r)
    FOR_ROWS(PUT_ROW)
#undef PUT_ROW
#undef PUT
    return;
  }
#endif

  ACC sums[TILE_ROWS * VECTORS * LANES];
#define SPILL(r, v) STORE(sum##r##_##v, sums + (r * VECTORS + v) * LANES);
#define SPILL_ROW(r) FOR_VECTORS(SPILL, r)
  FOR_ROWS(SPILL_ROW)
#undef SPILL_ROW
#undef SPILL
  for (int r = 0; r < height; ++r) {
    for (int j = 0; j < width; ++j) {
      const UT before = add ? (UT)out[r * n + j] : has_bias ? (UT)bias[j] : (UT)0;
      const UT sum = (UT)sums[r * VECTORS * LANES + j];
      out[r * n + j] = last ? finished(sum, before, low, high) : (T)(UT)(sum + before);
    }
  }
}

#undef FOR_VECTORS
