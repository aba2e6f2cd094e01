// Seven neighbouring outputs of a depthwise convolution with windows of 3 x 3, STRIDE columns apart,
// for LANES channels, as a function NAME that depthwise_nhwc_cpu.cl calls.
//
//   in         column 0 of the row of the window's row `ky`, of these channels; rows `row_pitch`,
//              pixels `pitch` elements apart
//   ky, ky_end which rows of the window lie inside the plane
//   x          column of the first output's window, -1 when it begins in the padding
//   width      of the plane; the last window may end one column past it
//   weights    rows of `columns` elements, one per element of the window
//   out        the first output; residual alike
//
// Each column that is loaded serves up to three outputs. Edge rule: what lies outside counts as 0.

static inline void NAME(__global const T *in, const long row_pitch, const long pitch, const int ky,
                        const int ky_end, const long x, const long width,
                        __global const T *weights, const long columns, const VECTOR start,
                        __global T *out, const long n, __global const T *residual,
                        const bool has_residual, const T low, const T high) {
  VECTOR s0 = start, s1 = start, s2 = start, s3 = start, s4 = start, s5 = start, s6 = start;
  const bool left = x >= 0, right = x + 6 * STRIDE + 2 < width;
  in += x * pitch;
  weights += 3 * ky * columns;
  for (int k = ky; k < ky_end; ++k, in += row_pitch, weights += 3 * columns) {
    const VECTOR w0 = LOAD(weights), w1 = LOAD(weights + columns);
    const VECTOR w2 = LOAD(weights + 2 * columns);
#define COLUMN(c) LOAD(in + (c) * pitch)
#define NEXT(s, c)                                                             \
  {                                                                            \
    const VECTOR middle = COLUMN(c + 1);                                       \
    const VECTOR last = COLUMN(c + 2);                                         \
    s = fma(w0, COLUMN(c), s);                                                 \
    s = fma(w1, middle, s);                                                    \
    s = fma(w2, last, s);                                                      \
  }
    if (left) s0 = fma(w0, COLUMN(0), s0);
    s0 = fma(w1, COLUMN(1), s0);
    s0 = fma(w2, COLUMN(2), s0);
    NEXT(s1, STRIDE)
    NEXT(s2, 2 * STRIDE)
    NEXT(s3, 3 * STRIDE)
    NEXT(s4, 4 * STRIDE)
    NEXT(s5, 5 * STRIDE)
    s6 = fma(w0, COLUMN(6 * STRIDE), s6);
    s6 = fma(w1, COLUMN(6 * STRIDE + 1), s6);
    if (right) s6 = fma(w2, COLUMN(6 * STRIDE + 2), s6);
#undef NEXT
#undef COLUMN
  }
#define FINISH(s, j)                                                           \
  {                                                                            \
    if (has_residual) s += LOAD(residual + j * n);                             \
    STORE(ACTIVATED(s, (VECTOR)(low), (VECTOR)(high)), out + j * n);           \
  }
  FINISH(s0, 0)
  FINISH(s1, 1)
  FINISH(s2, 2)
  FINISH(s3, 3)
  FINISH(s4, 4)
  FINISH(s5, 5)
  FINISH(s6, 6)
#undef FINISH
}
