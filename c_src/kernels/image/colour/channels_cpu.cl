// Converts u8 images of three channels to four, with alpha 255, and back, CPU family: the result of
// pixel_copy, without the conversion to floats.
//
//   in, out   images of CHANNELS and OUT_CHANNELS bytes per pixel
//   view      see pixels_args.h; a single row
//
// A work-group is one item and owns view.chunk pixels, which it processes LANES at a time, and the
// rest one by one. Edge rule: the last chunk ends at view.count. Operands may be unaligned.

#include "kernels/common/kernel.h"
#include "kernels/common/paste.h"
#include "kernels/image/pixels/pixel_access_cpu.cl"

SINGLE_ITEM_KERNEL void ENTRY(__global const T *in, __global T *out, const PixelView view,
                              const PixelValues values) {
  long i = (long)get_group_id(0) * view.chunk;
  const long end = min(i + view.chunk, view.count);
#if WORDS
  for (; i + LANES <= end; i += LANES) {
    const uint16 words = PASTE(words_, CHANNELS)(in + i * CHANNELS);
    PASTE(put_words_, OUT_CHANNELS)(words | 0xff000000u, out + i * OUT_CHANNELS);
  }
#endif
  for (; i < end; ++i) {
    for (int c = 0; c < 3; ++c) out[i * OUT_CHANNELS + c] = in[i * CHANNELS + c];
#if OUT_CHANNELS == 4
    out[i * OUT_CHANNELS + 3] = 255;
#endif
  }
}
