// out[i] = BODY(in[i], position of i, values), GPU family.
//
//   in, out   images of CHANNELS and OUT_CHANNELS elements per pixel: 1, 3 or 4
//   view      see pixels_args.h
//   values    the parameters of BODY
//
// One item per pixel. Edge rule: items past view.count do nothing. in and out may be the same
// memory if they have the same channels.

#include "kernels/common/paste.h"
#include "kernels/image/pixels/pixel_access_gpu.cl"
#include "kernels/image/colour/pixel_ops.cl"

__kernel void ENTRY(__global const T *in, __global T *out, const PixelView view,
                    const PixelValues values) {
  const long i = (long)get_global_id(0);
  if (i >= view.count) return;
  const long x = i % view.width, y = i / view.width;
  const Place place = {(float)(2 * x + 1 - view.width) / (float)view.width,
                       (float)(2 * y + 1 - view.height) / (float)view.height};
  const Pixels pixel = PASTE(load_, CHANNELS)(in + i * CHANNELS);
  PASTE(store_, OUT_CHANNELS)(BODY(pixel, place, values), out + i * OUT_CHANNELS);
}
