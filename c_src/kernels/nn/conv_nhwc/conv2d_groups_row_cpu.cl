// Seven adjacent outputs of a convolution in groups of WIDTH channels, for LANES channels, as a
// function NAME that conv2d_groups_cpu.cl calls.
//
//   in        column 0 of the input row of the window's row `ky0`, of these channels; rows are
//             `row_pitch` and pixels `pitch` elements apart
//   ky0,
//   ky_end    the range of the window's rows inside the plane
//   first     the first of the `count` outputs
//   weights   WIDTH vectors per element of the window, see conv2d_groups_cpu.cl
//   out       the first output; residual likewise
//
// Lane l of weight vector i is multiplied with channel l ^ i of the pixel, 0 <= i < WIDTH: this
// covers all channels of its group, in an order that lane permutations produce. Edge rule: elements
// outside the plane count as 0.

#include "kernels/nn/conv_nhwc/panels_cpu.cl"

#ifndef SWAPPED
#ifdef __clang__
#if LANES == 16
#define SWAPPED(v, i)                                                                          \
  __builtin_shufflevector(v, v, 0 ^ i, 1 ^ i, 2 ^ i, 3 ^ i, 4 ^ i, 5 ^ i, 6 ^ i, 7 ^ i, 8 ^ i, \
                          9 ^ i, 10 ^ i, 11 ^ i, 12 ^ i, 13 ^ i, 14 ^ i, 15 ^ i)
#elif LANES == 8
#define SWAPPED(v, i) \
  __builtin_shufflevector(v, v, 0 ^ i, 1 ^ i, 2 ^ i, 3 ^ i, 4 ^ i, 5 ^ i, 6 ^ i, 7 ^ i)
#else
#define SWAPPED(v, i) __builtin_shufflevector(v, v, 0 ^ i, 1 ^ i, 2 ^ i, 3 ^ i)
#endif
#else
static inline VECTOR swapped(const VECTOR v, const int i) {
  T from[LANES], to[LANES];
  STORE(v, from);
  for (int l = 0; l < LANES; ++l) to[l] = from[l ^ i];
  return LOAD(to);
}
#define SWAPPED(v, i) swapped(v, i)
#endif
#endif

static inline void NAME(__global const T *in, const long row_pitch, const long pitch, const int ky0,
                        const int ky_end, const Window window, const long first, const int count,
                        __global const T *weights, const VECTOR start, __global T *out,
                        __global const T *residual, const bool has_residual, const T low,
                        const T high) {
#define SUM_STARTS(j) VECTOR sum##j = start;
  DOWN_7(SUM_STARTS)
#undef SUM_STARTS
  const long x = first * window.stride_x - window.pad_x;
  const long step = window.stride_x * pitch;
  weights += ky0 * window.size_x * WIDTH * LANES;
  for (int ky = ky0; ky < ky_end; ++ky, in += row_pitch) {
    for (long kx = 0; kx < window.size_x; ++kx, weights += WIDTH * LANES) {
      const long column = x + kx * window.dilation_x;
      __global const T *from = in + column * pitch;
      const bool inside = count == 7 && column >= 0 && column + 6 * window.stride_x < window.width;
#define PIXEL(j)                                                                              \
  const long column##j = column + j * window.stride_x;                                        \
  const VECTOR pixel##j = inside || (j < count && column##j >= 0 && column##j < window.width) \
                              ? LOAD(from + j * step)                                         \
                              : (VECTOR)(0);
      DOWN_7(PIXEL)
#undef PIXEL
#define PRODUCT(j, i) sum##j = fma(weight##i, SWAPPED(pixel##j, i), sum##j);
#define CHANNEL(i)                                                                      \
  {                                                                                     \
    const VECTOR weight##i = LOAD(weights + i * LANES);                                 \
    PRODUCT(0, i)                                                                       \
    PRODUCT(1, i) PRODUCT(2, i) PRODUCT(3, i) PRODUCT(4, i) PRODUCT(5, i) PRODUCT(6, i) \
  }
      PASTE(DOWN_, WIDTH)(CHANNEL)
#undef CHANNEL
#undef PRODUCT
    }
  }
#define FINISH(j)                                                             \
  if (j < count) {                                                            \
    if (has_residual) sum##j += LOAD(residual + j * pitch);                   \
    STORE(ACTIVATED(sum##j, (VECTOR)(low), (VECTOR)(high)), out + j * pitch); \
  }
  DOWN_7(FINISH)
#undef FINISH
}
