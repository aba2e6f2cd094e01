// `over` composited over `base`, GPU family: one item per pixel of the base. See over.cl for the
// formula and over_args.h for the view.
//
//   base, out   pixels of CHANNELS elements of type T
//   over        pixels of OVER_CHANNELS
//
// Edge rules: pixels of `over` outside of the base are clipped; items past the last pixel do
// nothing. out may be base, but not over.

#include "kernels/common/paste.h"
#include "kernels/image/composite/over.cl"
#include "kernels/image/pixels/pixel_access_gpu.cl"

__kernel void ENTRY(__global const T *base, __global const T *over, __global T *out,
                    const Over view) {
  const long i = (long)get_global_id(0);
  if (i >= view.height * view.width) return;
  const long x = i % view.width - view.x, y = i / view.width - view.y;
  base += i * CHANNELS;
  out += i * CHANNELS;
  if (x < 0 || y < 0 || x >= view.over_width || y >= view.over_height) {
    for (int c = 0; c < CHANNELS; ++c) out[c] = base[c];
    return;
  }
  over += (y * view.over_width + x) * OVER_CHANNELS;
  const Pixels below = PASTE(load_, CHANNELS)(base);
  const Pixels above = PASTE(load_, OVER_CHANNELS)(over);
  PASTE(store_, CHANNELS)(pixels_over(below, above, view.alpha), out);
}
