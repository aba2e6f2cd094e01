// One tile of a convolution of pixels whose channels are next to each other, as a function NAME:
// out[0..height)[0..width) = activation(bias + a * b + residual), or a * b added to what out holds.
//
//   a         what output pixels see, in SPACE; see Seen in panels_cpu.cl
//   first     the first output pixel of the tile, of those that a is for
//   b         weights, a panel: a row of VECS * LANES elements per product of a sum
//   ahead     what the caller needs soon: two vectors per four products
//   out       pixels n elements apart; residual alike
//   low, high bounds of the activation
//
// The sums are ROWS x VECS named vectors, since this is what compilers keep in registers; each step
// multiplies ROWS broadcast elements of pixels with VECS vectors of weights. Edge rule: pixels past
// the end repeat the last one and are not stored, nor are channels past the end.

static inline void NAME(SPACE const T *a, const Seen seen, const int first, __global const T *b,
                        __global const T *ahead, __global T *out, const long n,
                        const int height, const int width, __global const T *bias,
                        __global const T *residual, const Pass pass, const T low, const T high) {
#define FOR_ROWS(DO) PASTE(DOWN_, ROWS)(DO)
#define FOR_VECS(DO, r) PASTE(ACROSS_, VECS)(DO, r)
#if IN_LINES
#define ROW_POINTER(r)                                                         \
  const int pixel##r = first + min(r, height - 1), line##r = pixel##r / seen.line; \
  SPACE const T *a##r =                                                        \
      a + (line##r * seen.line_pitch + (pixel##r - line##r * seen.line) * seen.pitch);
#else
#define ROW_POINTER(r) SPACE const T *a##r = a + (first + min(r, height - 1)) * seen.pitch;
#endif
#define START(v)                                                               \
  const VECTOR start##v =                                                      \
      pass.has_bias ? load_first(bias + v * LANES, width - v * LANES) : (VECTOR)(0);
#define SUM_STARTS(r, v) VECTOR sum##r##_##v = start##v;
#define SUMS(r) FOR_VECS(SUM_STARTS, r)
  FOR_ROWS(ROW_POINTER)
  PASTE(DOWN_, VECS)(START)
  FOR_ROWS(SUMS)
#undef SUMS
#undef SUM_STARTS
#undef START
#undef ROW_POINTER

#define WEIGHTS(v) const VECTOR weights##v = LOAD(b + v * LANES);
#define PRODUCT(r, v) sum##r##_##v = fma(factor, weights##v, sum##r##_##v);
#define ROW_STEP(r)                                                            \
  {                                                                            \
    const VECTOR factor = (VECTOR)(run##r[p]);                                 \
    FOR_VECS(PRODUCT, r)                                                       \
  }
#define STEP                                                                   \
  {                                                                            \
    PASTE(DOWN_, VECS)(WEIGHTS)                                                \
    FOR_ROWS(ROW_STEP)                                                         \
    b += VECS * LANES;                                                         \
    ++p;                                                                       \
  }
#if IN_LINES
  for (int y = 0; y < seen.runs_y; ++y) {
    for (int x = 0; x < seen.runs_x; ++x) {
      const int from = y * seen.apart_y + x * seen.apart_x;
#define RUN(r) SPACE const T *run##r = a##r + from;
#else
  {
    {
#define RUN(r) SPACE const T *run##r = a##r;
#endif
      FOR_ROWS(RUN)
#undef RUN
      const int end = seen.run;
      int p = 0;
      while (p + 4 <= end) {
        STEP STEP STEP STEP
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
#define STORE_PART(r, v)                                                       \
  STORE(ACTIVATED(sum##r##_##v, least, most), out + r * n + v * LANES);
#define STORE_ROW(r) FOR_VECS(STORE_PART, r)
    FOR_ROWS(STORE_ROW)
#undef STORE_ROW
#undef STORE_PART
  } else {
#define FINISH_PART(r, v)                                                      \
  {                                                                            \
    const int count = width - v * LANES;                                       \
    __global T *to = out + r * n + v * LANES;                                  \
    VECTOR sum = sum##r##_##v;                                                 \
    if (pass.adds) sum += load_first(to, count);                               \
    if (pass.has_residual) sum += load_first(residual + r * n + v * LANES, count); \
    store_first(ACTIVATED(sum, least, most), to, count);                       \
  }
#define FINISH_ROW(r)                                                          \
  if (r < height) { FOR_VECS(FINISH_PART, r) }
    FOR_ROWS(FINISH_ROW)
#undef FINISH_ROW
#undef FINISH_PART
  }
#undef FOR_VECS
#undef FOR_ROWS
}
