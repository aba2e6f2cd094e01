// Seven adjacent outputs of a depthwise convolution with windows of SIZE x SIZE and a stride of
// STRIDE columns, for LANES channels, as a function NAME that depthwise_nhwc_cpu.cl calls. SIZE is
// 3 or 5.
//
//   in         column 0 of the input row of the window's row `ky`, of these channels; rows are
//              `row_pitch` and pixels `pitch` elements apart
//   ky, ky_end the range of the window's rows inside the plane
//   x          column of the first output's window, at least -SIZE / 2, in the padding
//   width      of the plane; the last window may end SIZE / 2 columns past it
//   weights    rows of `columns` elements, one per element of the window
//   out        the first output; residual likewise
//
// Each loaded column contributes to up to SIZE outputs. Edge rule: elements outside the plane count
// as 0.

#include "kernels/nn/activation/activation.cl"
#include "kernels/nn/conv/vectors_cpu.cl"

static inline void NAME(__global const T *in, const long row_pitch, const long pitch, const int ky,
                        const int ky_end, const long x, const long width, __global const T *weights,
                        const long columns, const VECTOR start, __global T *out, const long n,
                        __global const T *residual, const bool has_residual, const T low,
                        const T high) {
  VECTOR s0 = start, s1 = start, s2 = start, s3 = start, s4 = start, s5 = start, s6 = start;
  in += x * pitch;
  weights += SIZE * ky * columns;
  for (int k = ky; k < ky_end; ++k, in += row_pitch, weights += SIZE * columns) {
    const VECTOR w0 = LOAD(weights), w1 = LOAD(weights + columns);
    const VECTOR w2 = LOAD(weights + 2 * columns);
// Only columns near the ends may be outside.
#define INSIDE(c) \
  (((c) >= SIZE / 2 && (c) < 6 * STRIDE + SIZE - SIZE / 2) || (x + (c) >= 0 && x + (c) < width))
#define TAP(s, w, c) \
  if (INSIDE(c)) s = fma(w, LOAD(in + (c)*pitch), s);
#if SIZE == 5
    const VECTOR w3 = LOAD(weights + 3 * columns), w4 = LOAD(weights + 4 * columns);
#define MORE_TAPS(s, c) TAP(s, w3, c + 3) TAP(s, w4, c + 4)
#else
#define MORE_TAPS(s, c)
#endif
#define OUTPUT(s, c) TAP(s, w0, c) TAP(s, w1, c + 1) TAP(s, w2, c + 2) MORE_TAPS(s, c)
    OUTPUT(s0, 0)
    OUTPUT(s1, STRIDE)
    OUTPUT(s2, 2 * STRIDE)
    OUTPUT(s3, 3 * STRIDE)
    OUTPUT(s4, 4 * STRIDE)
    OUTPUT(s5, 5 * STRIDE)
    OUTPUT(s6, 6 * STRIDE)
#undef OUTPUT
#undef MORE_TAPS
#undef TAP
#undef INSIDE
  }
#define FINISH(s, j)                                                 \
  {                                                                  \
    if (has_residual) s += LOAD(residual + j * n);                   \
    STORE(ACTIVATED(s, (VECTOR)(low), (VECTOR)(high)), out + j * n); \
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
