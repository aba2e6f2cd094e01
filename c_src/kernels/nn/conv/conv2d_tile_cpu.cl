// One tile of a convolution as a matrix product, as a function NAME that conv2d_cpu.cl calls:
// out[0..height)[0..width) = activation(bias + a * b), or a * b added to the values in out.
//
//   a         weights: row-major, rows k elements apart, of which `depth` are used
//   b         pixels: TILE_PIXELS of them, rows `step` elements apart, in SPACE
//   out       rows n elements apart
//   bias      one element per row if has_bias; not added when `add`
//   low, high bounds of the activation
//
// The sums are TILE_ROWS x VECTORS separate vector variables, since compilers keep these in
// registers; each step multiplies TILE_ROWS broadcast weights with VECTORS vectors of pixels. Edge
// rule: rows past the end repeat the last one and are not stored; pixels past the end are not
// stored.

#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv/vectors_cpu.cl"

static inline void NAME(__global const T *a, const long k, const int depth, SPACE const T *b,
                        const long step, __global T *out, const long n, const int height,
                        const int width, __global const T *bias, const bool has_bias,
                        const bool add, const T low, const T high) {
#define ROW_POINTER(r) __global const T *a##r = a + min(r, height - 1) * k;
#define ZERO(r, v) VECTOR sum##r##_##v = (VECTOR)(0);
#define SUMS(r) FOR_VECTORS(ZERO, r)
  FOR_ROWS(ROW_POINTER)
  FOR_ROWS(SUMS)
#undef ROW_POINTER
#undef SUMS
#undef ZERO

#define PIXELS(unused, v) const VECTOR pixels##v = LOAD(b + v * LANES);
#define PRODUCT(r, v) sum##r##_##v = fma(factor, pixels##v, sum##r##_##v);
#define ROW_STEP(r)                          \
  {                                          \
    const VECTOR factor = (VECTOR)(a##r[p]); \
    FOR_VECTORS(PRODUCT, r)                  \
  }
#define STEP               \
  {                        \
    FOR_VECTORS(PIXELS, 0) \
    FOR_ROWS(ROW_STEP)     \
    b += step;             \
    ++p;                   \
  }
  int p = 0;
  while (p + 4 <= depth) {
    STEP
    STEP
    STEP
    STEP
  }
  while (p < depth) STEP
#undef STEP
#undef ROW_STEP
#undef PRODUCT
#undef PIXELS

  if (height == TILE_ROWS && width == TILE_PIXELS) {
#define STORE_PART(r, v)                                                           \
  {                                                                                \
    const VECTOR before = add ? LOAD(out + r * n + v * LANES) : (VECTOR)(own);     \
    const VECTOR sum = sum##r##_##v + before;                                      \
    STORE(ACTIVATED(sum, (VECTOR)(low), (VECTOR)(high)), out + r * n + v * LANES); \
  }
#define STORE_ROW(r)                         \
  {                                          \
    const T own = has_bias ? bias[r] : (T)0; \
    FOR_VECTORS(STORE_PART, r)               \
  }
    FOR_ROWS(STORE_ROW)
#undef STORE_ROW
#undef STORE_PART
    return;
  }

  T sums[TILE_ROWS * TILE_PIXELS];
#define SPILL_PART(r, v) STORE(sum##r##_##v, sums + r * TILE_PIXELS + v * LANES);
#define SPILL(r) FOR_VECTORS(SPILL_PART, r)
  FOR_ROWS(SPILL)
#undef SPILL
#undef SPILL_PART
  for (int r = 0; r < height; ++r) {
    const T own = has_bias ? bias[r] : (T)0;
    for (int j = 0; j < width; ++j) {
      const T sum = sums[r * TILE_PIXELS + j] + (add ? out[r * n + j] : own);
      out[r * n + j] = ACTIVATED(sum, low, high);
    }
  }
}
