// One tile of a convolution in the NHWC layout, as a function NAME:
// out[0..height)[0..width) = activation(bias + a * b + residual), or a * b added to the values in
// out.
//
//   a         the input elements of output pixels, in SPACE; see InputView in panels_cpu.cl
//   first     the first output pixel of the tile, relative to a
//   b         weights, a panel: a row of VECS * LANES elements per product of a sum
//   ahead     memory to prefetch for the caller: two vectors per four products
//   out       pixels n elements apart; residual likewise
//   low, high bounds of the activation
//
// The sums are ROWS x VECS separate vector variables, since compilers keep these in registers; each
// step multiplies ROWS broadcast elements of pixels with VECS vectors of weights. Edge rule: pixels
// past the end repeat the last one and are not stored, nor are channels past the end.

#include "kernels/nn/conv_nhwc/panels_cpu.cl"

static inline void NAME(SPACE const T *a, const InputView view, const int first,
                        __global const T *b, __global const T *ahead, __global T *out, const long n,
                        const int height, const int width, __global const T *bias,
                        __global const T *residual, const Pass pass, const T low, const T high) {
#define FOR_TILE_ROWS(DO) PASTE(DOWN_, ROWS)(DO)
#define FOR_EACH_VEC(DO) PASTE(DOWN_, VECS)(DO)
#define FOR_VECS(DO, r) PASTE(ACROSS_, VECS)(DO, r)
#if IN_LINES
#define ROW_POINTER(r)                                                             \
  const int pixel##r = first + min(r, height - 1), line##r = pixel##r / view.line; \
  SPACE const T *a##r =                                                            \
      a + (line##r * view.line_pitch + (pixel##r - line##r * view.line) * view.pitch);
#else
#define ROW_POINTER(r) SPACE const T *a##r = a + (first + min(r, height - 1)) * view.pitch;
#endif
#define START(v)          \
  const VECTOR start##v = \
      pass.has_bias ? load_first(bias + v * LANES, width - v * LANES) : (VECTOR)(0);
#define SUM_STARTS(r, v) VECTOR sum##r##_##v = start##v;
#define SUMS(r) FOR_VECS(SUM_STARTS, r)
  FOR_TILE_ROWS(ROW_POINTER)
  FOR_EACH_VEC(START)
  FOR_TILE_ROWS(SUMS)
#undef SUMS
#undef SUM_STARTS
#undef START
#undef ROW_POINTER

#define WEIGHTS(v) const VECTOR weights##v = LOAD(b + v * LANES);
#define PRODUCT(r, v) sum##r##_##v = fma(factor, weights##v, sum##r##_##v);
#define ROW_STEP(r)                            \
  {                                            \
    const VECTOR factor = (VECTOR)(run##r[p]); \
    FOR_VECS(PRODUCT, r)                       \
  }
#define STEP                \
  {                         \
    FOR_EACH_VEC(WEIGHTS)   \
    FOR_TILE_ROWS(ROW_STEP) \
    b += VECS * LANES;      \
    ++p;                    \
  }
#if IN_LINES
  for (int y = 0; y < view.runs_y; ++y) {
    for (int x = 0; x < view.runs_x; ++x) {
      const int from = y * view.apart_y + x * view.apart_x;
#define RUN(r) SPACE const T *run##r = a##r + from;
#else
  {
    {
#define RUN(r) SPACE const T *run##r = a##r;
#endif
      FOR_TILE_ROWS(RUN)
#undef RUN
      const int end = view.run;
      int p = 0;
      while (p + 4 <= end) {
        STEP
        STEP
        STEP
        STEP
        PREFETCH(ahead);
        PREFETCH(ahead + LANES);
        ahead += 2 * LANES;
      }
      while (p < end) STEP
    }
  }
#undef STEP
#undef ROW_STEP
#undef PRODUCT
#undef WEIGHTS

  const VECTOR least = (VECTOR)(low), most = (VECTOR)(high);
  if (height == ROWS && width == VECS * LANES && !pass.adds && !pass.has_residual) {
#define STORE_PART(r, v) STORE(ACTIVATED(sum##r##_##v, least, most), out + r * n + v * LANES);
#define STORE_ROW(r) FOR_VECS(STORE_PART, r)
    FOR_TILE_ROWS(STORE_ROW)
#undef STORE_ROW
#undef STORE_PART
  } else {
#define FINISH_PART(r, v)                                                          \
  {                                                                                \
    const int count = width - v * LANES;                                           \
    __global T *to = out + r * n + v * LANES;                                      \
    VECTOR sum = sum##r##_##v;                                                     \
    if (pass.adds) sum += load_first(to, count);                                   \
    if (pass.has_residual) sum += load_first(residual + r * n + v * LANES, count); \
    store_first(ACTIVATED(sum, least, most), to, count);                           \
  }
#define FINISH_ROW(r)        \
  if (r < height) {          \
    FOR_VECS(FINISH_PART, r) \
  }
    FOR_TILE_ROWS(FINISH_ROW)
#undef FINISH_ROW
#undef FINISH_PART
  }
#undef FOR_VECS
#undef FOR_EACH_VEC
#undef FOR_TILE_ROWS
}
