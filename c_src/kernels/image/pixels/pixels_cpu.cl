// out[i] = BODY(in[i], position of i, values), CPU family.
//
//   in, out   images of CHANNELS and OUT_CHANNELS elements per pixel: 1, 3 or 4
//   view      see pixels_args.h
//   values    the parameters of BODY
//
// A work-group is one item and owns view.chunk pixels, which it processes LANES at a time along
// each row; the rest of a row goes through private memory. One channel stands for red, green and
// blue; missing alpha is 1. Edge rule: the last chunk ends at view.count. in and out may be the
// same memory if they have the same channels, and may be unaligned.

#include "kernels/common/kernel.h"
#include "kernels/common/paste.h"
#include "kernels/image/colour/pixel_ops.cl"
#include "kernels/image/pixels/pixel_access_cpu.cl"

SINGLE_ITEM_KERNEL void ENTRY(__global const T *in, __global T *out, const PixelView view,
                              const PixelValues values) {
  const long begin = (long)get_group_id(0) * view.chunk;
  const long end = min(begin + view.chunk, view.count);
  const float across = 1.0f / (float)view.width, down = 1.0f / (float)view.height;
  for (long i = begin; i < end;) {
    const long row = i / view.width, column = i % view.width;
    const long run = min(view.width - column, end - i);
    Place place;
    place.y = (Reals)((float)(2 * row + 1 - view.height) * down);
    long j = 0;
    for (; j + LANES <= run; j += LANES) {
      place.x = ((float)(2 * (column + j) + 1 - view.width) + LANE_STEPS) * across;
      const Pixels pixels = PASTE(load_, CHANNELS)(in + (i + j) * CHANNELS);
      PASTE(store_, OUT_CHANNELS)(BODY(pixels, place, values), out + (i + j) * OUT_CHANNELS);
    }
    if (j < run) {
      T elements[LANES * 4];
      const int left = (int)(run - j);
      for (int k = 0; k < left * CHANNELS; ++k) elements[k] = in[(i + j) * CHANNELS + k];
      for (int k = left * CHANNELS; k < LANES * CHANNELS; ++k) elements[k] = 0;
      place.x = ((float)(2 * (column + j) + 1 - view.width) + LANE_STEPS) * across;
      const Pixels pixels = PASTE(load_, CHANNELS)(elements);
      PASTE(store_, OUT_CHANNELS)(BODY(pixels, place, values), elements);
      for (int k = 0; k < left * OUT_CHANNELS; ++k) out[(i + j) * OUT_CHANNELS + k] = elements[k];
    }
    i += run;
  }
}
