// The luma of each u8 pixel, CPU family: the result of pixel_grayscale, in fewer steps. Both are
// exact, the level nearest to 0.299 r + 0.587 g + 0.114 b with halves up: this sum is a multiple of
// 0.001, and their errors are less than a tenth of that.
//
//   in, out   images of CHANNELS (3 or 4) and OUT_CHANNELS (1 or CHANNELS) bytes per pixel
//   view      see pixels_args.h; a single row
//
// A work-group is one item and owns view.chunk pixels, which it processes LANES at a time, and the
// rest one by one. Edge rule: the last chunk ends at view.count. in and out may be the same memory
// if they have the same channels, and may be unaligned.

#include "kernels/common/kernel.h"
#include "kernels/common/paste.h"
#include "kernels/image/pixels/pixel_access_cpu.cl"

#if WORDS
static inline uint16 PASTE(ENTRY, _of)(const uint16 words) {
  const float16 r = TO_REALS(words & 255u), g = TO_REALS(words >> 8u & 255u);
  const float16 b = TO_REALS(words >> 16u & 255u);
  const float16 half_up = (float16)(HALF);
  const uint16 grey = TO_LEVELS(
      fma(r, (float16)(0.299f), fma(g, (float16)(0.587f), fma(b, (float16)(0.114f), half_up))));
#if OUT_CHANNELS == 1
  return grey;
#else
  return grey | grey << 8u | grey << 16u | (words & 0xff000000u);
#endif
}
#endif

SINGLE_ITEM_KERNEL void ENTRY(__global const T *in, __global T *out, const PixelView view,
                              const PixelValues values) {
  const long begin = (long)get_group_id(0) * view.chunk;
  const long end = min(begin + view.chunk, view.count);
  long i = begin;
#if WORDS
  for (; i + LANES <= end; i += LANES) {
    const uint16 words = PASTE(words_, CHANNELS)(in + i * CHANNELS);
    PASTE(put_words_, OUT_CHANNELS)(PASTE(ENTRY, _of)(words), out + i * OUT_CHANNELS);
  }
#endif
  for (; i < end; ++i) {
    __global const T *from = in + i * CHANNELS;
    __global T *to = out + i * OUT_CHANNELS;
    const float r = from[0], g = from[1], b = from[2];
    const T grey = (T)fma(r, 0.299f, fma(g, 0.587f, fma(b, 0.114f, HALF)));
#if OUT_CHANNELS == 4
    to[3] = from[3];
#endif
    to[0] = grey;
#if OUT_CHANNELS > 1
    to[1] = grey;
    to[2] = grey;
#endif
  }
}
