// out[i] = BODY(in[i], place of i, values), for devices with many narrow processors.
//
//   in, out   images of CHANNELS and OUT_CHANNELS elements per pixel: 1, 3 or 4
//   view      see pixels.cl
//   values    the parameters of BODY
//
// An item per pixel. Edge rule: items past view.count do nothing. in and out may be the same memory
// if their channels are.

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
